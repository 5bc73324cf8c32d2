"""Reading takes work in proportion to the data, however wide its lines and rows are."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rag_evals.dataset import ColumnMap, FileData, read_rows
from tests.late import Late
from tests.work import work_of

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = Late("pyarrow", "parquet")


def one_wide_line(length: int) -> Path:
    """Write a UTF-16 file whose last line has so many characters, read in many blocks."""
    path = Path(f"line-{length}.csv")
    path.write_bytes(f"answer,context\nA.,{'c' * length}\n".encode("utf-16"))
    return path


def many_columns(count: int, suffix: str) -> Path:
    """Write one row of so many columns."""
    row = {"answer": "A.", "context": "c"} | {f"column {place}": "x" for place in range(count)}
    path = Path(f"columns-{count}{suffix}")
    if suffix == ".parquet":
        pa.parquet.write_table(pa.table({name: [cell] for name, cell in row.items()}), path)
    else:
        path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n", encoding="utf-8")
    return path


def test_a_wide_line_of_utf16_is_read_once() -> None:
    """Four times the characters in one line take four times the work, not sixteen times."""
    short, wide = one_wide_line(2**21), one_wide_line(2**23)

    assert work_of(lambda: list(read_rows(wide))) < 5 * work_of(lambda: list(read_rows(short)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_many_columns_are_read_once(suffix: str) -> None:
    """Four times the columns take four times the work, from the check to the sample."""

    def read(count: int) -> Callable[[], object]:
        data = FileData(many_columns(count, suffix), ColumnMap(), frozenset({"answer"}))
        return data.check

    assert work_of(read(4_000)) < 5 * work_of(read(1_000))
