"""Reading rows from tables: any library's data frames, and Parquet, Arrow and Excel files."""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from rag_evals.dataset.columns import Cells, Row, check_header
from rag_evals.dataset.files import Opened, required_module
from rag_evals.errors import DataError

# Small batches, so that even a million rows need little memory.
_BATCH_ROWS = 1024
# A row group may be the whole file, so it is read in pieces.
_BUFFER_BYTES = 1 << 20


@runtime_checkable
class ArrowTable(Protocol):
    """A table with Arrow's C stream interface, such as a polars, DuckDB or cuDF table."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a PyCapsule of an ArrowArrayStream."""


def rows_of(data: Any) -> Iterable[Any] | None:
    """Return the rows of a table; None if `data` is not a table."""
    kind = _kind(data)
    if kind in ("datasets.DatasetDict", "datasets.IterableDatasetDict"):
        splits = ", ".join(map(repr, data)) or "none"
        raise DataError(f"data is a {kind} with the splits {splits}; pass one, as in data['train']")
    if kind in ("pandas.Series", "polars.Series"):
        raise DataError(f"data is one column, a {kind}; expected a table of rows")
    if kind in ("datasets.Dataset", "datasets.IterableDataset"):
        return _Again(lambda: map(Cells, data))
    if kind == "pandas.DataFrame":
        return _Again(lambda: _rows_of_pandas(data))
    if kind == "polars.LazyFrame":
        return _Again(lambda: map(Cells, data.collect().iter_rows(named=True)))
    if kind == "polars.DataFrame":
        return _Again(lambda: map(Cells, data.iter_rows(named=True)))
    if type(data) is dict:
        return _rows_of_columns(data)
    streams = ("__arrow_c_stream__", "__arrow_c_array__", "scanner")
    if any(hasattr(data, name) for name in streams) and not isinstance(data, type):
        return _rows_of_stream(data)  # some Arrow streams can be read only once
    return None


def row_of(row: Any) -> Mapping[str, Any] | None:
    """Return a row's fields, keyed by name; None if `row` is not a row."""
    if isinstance(row, Mapping):
        return row
    if type(row) is tuple and len(row) == 2:
        row = row[1] if _kind(row[1]) == "pandas.Series" else row
    if _kind(row) == "pandas.Series":
        return Cells(zip(map(str, row.index), row.tolist(), strict=True))
    if isinstance(row, BaseModel):
        return dict(row)
    if isinstance(row, type):
        return None
    of_attrs = getattr(type(row), "__attrs_attrs__", None)
    fields = dataclasses.fields(row) if dataclasses.is_dataclass(row) else of_attrs
    if fields is not None:
        return {field.name: getattr(row, field.name) for field in fields}
    if isinstance(row, tuple) and hasattr(row, "_asdict"):
        named: Mapping[str, Any] = row._asdict()
        return named
    return None


def _kind(thing: object) -> str:
    """Return the names of an object's library and class, without importing the library."""
    return f"{type(thing).__module__.partition('.')[0]}.{type(thing).__name__}"


def _rows_of_columns(columns: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    is_table = columns and all(
        isinstance(values, Iterable)
        and isinstance(values, Sized)
        and not isinstance(values, str | bytes | Mapping)
        for values in columns.values()
    )
    if not is_table:
        raise DataError(
            "data is a dict without columns of values; expected a path, a table or an iterable "
            "of rows, such as evaluate([row]) for one row or evaluate(df) for a data frame"
        )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise DataError(f"data is a dict whose columns have different lengths: {listed}")
    cells = zip(*columns.values(), strict=True)
    return [Cells(zip(map(str, columns), row, strict=True)) for row in cells]


class _Again:
    """Rows that can be read more than once."""

    def __init__(self, begin: Any) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        rows: Iterator[Mapping[str, Any]] = self._begin()
        return rows


def _rows_of_pandas(frame: Any) -> Iterator[Mapping[str, Any]]:
    # Arrow is not used, because a cell may hold any object, such as a retriever's documents.
    check_header(list(frame.columns))
    names = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns
    ]
    for start in range(0, len(frame), _BATCH_ROWS):
        piece = frame.iloc[start : start + _BATCH_ROWS]
        columns = [piece.iloc[:, place].tolist() for place in range(len(names))]
        for cells in zip(*columns, strict=True):
            yield Cells(zip(names, cells, strict=True))


def _rows_of_stream(table: Any) -> Iterator[Mapping[str, Any]]:
    arrow = required_module("pyarrow", "data", f"read a {type(table).__name__}")
    if hasattr(table, "to_batches") and hasattr(table, "scanner"):
        batches = table.to_batches(batch_size=_BATCH_ROWS)
    elif hasattr(table, "__arrow_c_stream__"):
        batches = arrow.RecordBatchReader.from_stream(table)
    else:
        batches = [arrow.record_batch(table)]
    for batch in batches:
        check_header(batch.schema.names)
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield from map(Cells, batch.slice(start, _BATCH_ROWS).to_pylist())


def read_parquet(file: Opened) -> Iterator[Row]:
    parquet = required_module("pyarrow.parquet", "data", f"read {file.path.name!r}")
    with _one_error(file.path):
        # By default, pyarrow loads the whole file first.
        opened = parquet.ParquetFile(file.file, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        check_header(opened.schema_arrow.names)
        number = 0
        for group in range(opened.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            wanted = bytes(file.wants() for _ in range(rows))
            if any(wanted):
                # Threads would need more memory, and grading is the bottleneck anyway.
                batches = opened.iter_batches(_BATCH_ROWS, row_groups=[group], use_threads=False)
                part = dataclasses.replace(file, wanted=iter(wanted))
                yield from _numbered(batches, part, number)
            number += rows


def read_arrow(file: Opened) -> Iterator[Row]:
    arrow = required_module("pyarrow", "data", f"read {file.path.name!r}")
    with _one_error(file.path):
        begin = file.file.read(6)
        file.file.seek(0)
        if begin == b"ARROW1":
            opened = arrow.ipc.open_file(file.file)
            yield from _numbered(map(opened.get_batch, range(opened.num_record_batches)), file)
        else:
            yield from _numbered(arrow.ipc.open_stream(file.file), file)


def _numbered(batches: Iterable[Any], file: Opened, number: int = 0) -> Iterator[Row]:
    for batch in batches:
        check_header(batch.schema.names)
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            part = batch.slice(start, _BATCH_ROWS)
            wanted = [file.wants() for _ in range(part.num_rows)]
            # Converting a batch to Python objects takes far longer than reading it.
            for place, values in enumerate(part.to_pylist() if any(wanted) else ()):
                if wanted[place]:
                    yield Row(f"row {number + place}", Cells(values))
            number += part.num_rows


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # pyarrow's errors derive from ValueError, OSError and others
        if not type(error).__module__.startswith("pyarrow"):
            raise
        said = " ".join(str(error).split())
        raise DataError(f"{str(path)!r} cannot be read: {said}") from error


def read_excel(file: Opened) -> Iterator[Row]:
    where = repr(str(file.path))
    excel = required_module("openpyxl", "excel", f"read {file.path.name!r}")
    try:
        book = excel.load_workbook(file.file, read_only=True, data_only=True)
    except Exception as error:  # openpyxl's and zipfile's errors have no common base
        raise DataError(f"{where} cannot be read as an Excel file: {error}") from error
    name = _sheet_of(book.sheetnames, file.options.sheet, where)
    header: list[str] | None = None
    for number, line in enumerate(book[name].iter_rows(), 1):
        cells = [_value(cell) for cell in line]
        if all(cell is None or cell == "" for cell in cells):
            continue
        if header is None:
            header = ["" if cell is None else str(cell).strip() for cell in cells]
            check_header(header, f"{where}, sheet {name!r}")
            continue
        if file.wants():
            values = zip(header, cells, strict=False)
            yield Row(f"row {number}", Cells((column, cell) for column, cell in values if column))


def _sheet_of(names: Sequence[str], asked: str | None, where: str) -> str:
    if asked is None and len(names) == 1:
        return names[0]
    if asked is not None and asked in names:
        return asked
    listed = ", ".join(map(repr, names))
    raise DataError(f"{where} has the sheets {listed}; specify one, as in --sheet {names[0]!r}")


def _value(cell: Any) -> Any:
    """Return a cell's value: dates as text, errors such as #VALUE! as None."""
    value = cell.value
    if cell.data_type == "e":
        return None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
