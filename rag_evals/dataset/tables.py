"""Which rows does a table hold? Frames of every library, one row at a time."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from rag_evals.dataset.arrow_files import rows_of_stream
from rag_evals.dataset.row import Cells
from rag_evals.errors import DataError

_SLICE_ROWS = 1024


@runtime_checkable
class ArrowTable(Protocol):
    """A table that hands itself over as Arrow's C stream: of polars, DuckDB, cuDF and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a PyCapsule of an ArrowArrayStream."""


def rows_of(data: Any) -> Iterable[Any] | None:
    """Return the rows of a table; None for what is no table.

    Args:
        data: A frame of pandas or polars; a Hugging Face data set; a pyarrow table, batch or data
            set; anything with `__arrow_c_stream__`, `__arrow_c_array__` or `__dataframe__`; or a
        mapping from column to values.

    Raises:
        DataError: A `DatasetDict`, of which one split has to be chosen; a single column; one row.
        ConfigurationError: pyarrow is needed and not installed.
    """
    kind = _kind(data)
    if kind in ("datasets.DatasetDict", "datasets.IterableDatasetDict"):
        splits = list(data)
        raise DataError(
            f"data is a {type(data).__name__} with the splits {', '.join(map(repr, splits))}; "
            f"say which, as in data[{splits[0]!r}]"
            if splits
            else f"data is a {type(data).__name__} without splits"
        )
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
    streams = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "scanner")
    if any(hasattr(data, name) for name in streams) and not isinstance(data, type):
        # Arrow's stream may be one that can be read once only.
        return rows_of_stream(data)
    return None


def row_of(row: Any) -> Mapping[str, Any] | None:
    """Return the fields of one row by name; None for what is no row.

    Args:
        row: A mapping, a pandas `Series`, a pair of `iterrows`, or an object of a pydantic,
            dataclass, attrs or namedtuple class.
    """
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
    if dataclasses.is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    if hasattr(type(row), "__attrs_attrs__"):
        return {field.name: getattr(row, field.name) for field in type(row).__attrs_attrs__}
    if isinstance(row, tuple) and hasattr(row, "_asdict"):
        named: Mapping[str, Any] = row._asdict()
        return named
    return None


def _kind(thing: object) -> str:
    """Name a class with its library, which need not be installed."""
    return f"{type(thing).__module__.partition('.')[0]}.{type(thing).__name__}"


def _rows_of_columns(columns: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the rows of columns, as `to_dict("list")` makes them."""
    is_table = columns and all(
        isinstance(values, Iterable)
        and isinstance(values, Sized)
        and not isinstance(values, str | bytes | Mapping)
        for values in columns.values()
    )
    if not is_table:
        raise DataError(
            "data is a dict without columns of values; expected a path, a table or an iterable "
            "of rows, such as evaluate([row]) for one row or evaluate(df) for a frame"
        )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise DataError(f"data is a dict with columns of several lengths: {listed}")
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
    # Not through Arrow: a cell may hold any object, such as a retriever's documents.
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"the table has two columns {twice!r}; rename one")
    names = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns
    ]
    for start in range(0, len(frame), _SLICE_ROWS):
        piece = frame.iloc[start : start + _SLICE_ROWS]
        columns = [piece.iloc[:, place].tolist() for place in range(len(names))]
        for cells in zip(*columns, strict=True):
            yield Cells(zip(names, cells, strict=True))
