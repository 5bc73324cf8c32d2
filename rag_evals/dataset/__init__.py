"""Where do samples come from? Files, tables and rows, with their columns mapped to fields."""

from rag_evals.dataset.checked import CheckedFile, KeptCheck
from rag_evals.dataset.columns import USUAL_NAMES, ColumnMap, Columns
from rag_evals.dataset.extras import required_module
from rag_evals.dataset.location import DataFile
from rag_evals.dataset.numbered import NumberedSample
from rag_evals.dataset.opened import ReadOptions
from rag_evals.dataset.presets import PRESETS
from rag_evals.dataset.readers import read_rows
from rag_evals.dataset.row import Row
from rag_evals.dataset.source import (
    Data,
    FileData,
    RowData,
    data_from,
)

__all__ = [
    "PRESETS",
    "USUAL_NAMES",
    "CheckedFile",
    "ColumnMap",
    "Columns",
    "Data",
    "DataFile",
    "FileData",
    "KeptCheck",
    "NumberedSample",
    "ReadOptions",
    "Row",
    "RowData",
    "data_from",
    "read_rows",
    "required_module",
]
