"""Samples from files, tables and rows, whose columns are mapped to fields."""

from rag_evals.dataset.columns import ColumnMap, Columns, NumberedSample
from rag_evals.dataset.files import DataFile, required_module
from rag_evals.dataset.readers import read_rows
from rag_evals.dataset.source import CheckedFile, Data, FileData, KeptCheck, RowData, data_from

__all__ = [
    "CheckedFile",
    "ColumnMap",
    "Columns",
    "Data",
    "DataFile",
    "FileData",
    "KeptCheck",
    "NumberedSample",
    "RowData",
    "data_from",
    "read_rows",
    "required_module",
]
