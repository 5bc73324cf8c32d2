"""Where do samples come from? Files and rows, with their columns mapped to fields."""

from rag_evals.dataset.columns import USUAL_NAMES, ColumnMap, Columns
from rag_evals.dataset.readers import Row, read_rows
from rag_evals.dataset.source import CheckedFile, Data, FileData, NumberedSample, RowData, data_from

__all__ = [
    "USUAL_NAMES",
    "CheckedFile",
    "ColumnMap",
    "Columns",
    "Data",
    "FileData",
    "NumberedSample",
    "Row",
    "RowData",
    "data_from",
    "read_rows",
]
