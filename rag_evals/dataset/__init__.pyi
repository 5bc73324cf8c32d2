# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.dataset.columns import ColumnMap as ColumnMap
from rag_evals.dataset.columns import Columns as Columns
from rag_evals.dataset.columns import NumberedSample as NumberedSample
from rag_evals.dataset.files import DataFile as DataFile
from rag_evals.dataset.files import required_module as required_module
from rag_evals.dataset.readers import read_rows as read_rows
from rag_evals.dataset.source import CheckedFile as CheckedFile
from rag_evals.dataset.source import Data as Data
from rag_evals.dataset.source import FileData as FileData
from rag_evals.dataset.source import KeptCheck as KeptCheck
from rag_evals.dataset.source import RowData as RowData
from rag_evals.dataset.source import data_from as data_from

__all__: list[str]
