"""How are Parquet and Arrow read? In batches, so that a million rows take little memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evals.dataset.extras import required_module
from rag_evals.dataset.opened import Opened
from rag_evals.dataset.row import Cells, Row
from rag_evals.errors import DataError

_BATCH_ROWS = 1024
# A group of rows may be all of a file: it is read in pieces, not at once.
_BUFFER_BYTES = 1 << 20


def read_parquet(file: Opened, path: Path) -> Iterator[Row]:
    """Read a Parquet file, a batch of rows at a time."""
    parquet = required_module("pyarrow.parquet", "data", f"read {path.name!r}")
    with _errors_of(path):
        # Without asking, pyarrow loads all of the file first.
        opened = parquet.ParquetFile(file.file, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        # Threads read columns side by side, each with memory of its own; grading takes far longer.
        yield from _numbered(opened.iter_batches(batch_size=_BATCH_ROWS, use_threads=False), file)


def read_arrow(file: Opened, path: Path) -> Iterator[Row]:
    """Read an Arrow or Feather file, or an Arrow stream, a batch of rows at a time."""
    arrow = required_module("pyarrow", "data", f"read {path.name!r}")
    with _errors_of(path):
        begin = file.file.read(6)
        file.file.seek(0)
        if begin == b"ARROW1":
            opened = arrow.ipc.open_file(file.file)
            yield from _numbered(map(opened.get_batch, range(opened.num_record_batches)), file)
        else:
            yield from _numbered(arrow.ipc.open_stream(file.file), file)


def rows_of_stream(table: Any) -> Iterator[Mapping[str, Any]]:
    """Read rows from anything that speaks Arrow's C stream or the dataframe interchange protocol.

    Args:
        table: With `__arrow_c_stream__`, `__dataframe__`, or batches as a pyarrow `Dataset` has.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    arrow = required_module("pyarrow", "data", f"read a {type(table).__name__}")
    if hasattr(table, "to_batches") and hasattr(table, "scanner"):
        batches = table.to_batches(batch_size=_BATCH_ROWS)
    elif hasattr(table, "__arrow_c_stream__"):
        batches = arrow.RecordBatchReader.from_stream(table)
    elif hasattr(table, "__arrow_c_array__"):
        batches = [arrow.record_batch(table)]
    else:
        interchange = required_module("pyarrow.interchange", "data", "read a table")
        batches = interchange.from_dataframe(table).to_batches(max_chunksize=_BATCH_ROWS)
    for batch in batches:
        _require_unique(batch.schema.names)
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield from map(Cells, batch.slice(start, _BATCH_ROWS).to_pylist())


def _require_unique(names: Sequence[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise DataError(f"the table has two columns {twice!r}; rename one")


def _numbered(batches: Iterable[Any], file: Opened) -> Iterator[Row]:
    number = 0
    for batch in batches:
        _require_unique(batch.schema.names)
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            part = batch.slice(start, _BATCH_ROWS)
            wanted = [file.wants() for _ in range(part.num_rows)]
            # Making Python's objects of a batch takes far longer than reading it.
            for place, values in enumerate(part.to_pylist() if any(wanted) else ()):
                if wanted[place]:
                    yield Row(f"row {number + place}", Cells(values))
            number += part.num_rows


class _errors_of:  # noqa: N801 - reads as a function where it is used
    """Say that a file is broken in one error, whatever pyarrow calls it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """Raise pyarrow's errors as ours; they derive from ValueError, OSError and others."""
        if error is not None and type(error).__module__.startswith("pyarrow"):
            said = " ".join(str(error).split())
            raise DataError(f"{str(self._path)!r} cannot be read: {said}") from error
