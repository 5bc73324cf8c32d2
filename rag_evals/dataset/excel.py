"""What do the cells of an Excel sheet say? The first row is the header."""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_evals.dataset.extras import required_module
from rag_evals.dataset.opened import Opened
from rag_evals.dataset.row import Row, SheetCells, check_header
from rag_evals.errors import DataError


def read_excel(file: Opened, path: Path) -> Iterator[Row]:
    """Read a sheet row by row; empty rows are passed over."""
    excel = required_module("openpyxl", "excel", f"read {path.name!r}")
    try:
        book = excel.load_workbook(file.file, read_only=True, data_only=True)
    except Exception as error:  # what openpyxl and zipfile raise has no common class
        raise DataError(f"{str(path)!r} is no Excel file that can be read: {error}") from error
    name = _sheet_of(book.sheetnames, file.options.sheet, path)
    header: list[str] | None = None
    for number, line in enumerate(book[name].iter_rows(), 1):
        cells = [_value(cell) for cell in line]
        if all(cell is None or cell == "" for cell in cells):
            continue
        if header is None:
            header = ["" if cell is None else str(cell).strip() for cell in cells]
            check_header(header, f"{str(path)!r}, sheet {name!r}")
            continue
        values = zip(header, cells, strict=False)
        yield Row(f"row {number}", SheetCells((column, cell) for column, cell in values if column))


def _sheet_of(names: Sequence[str], asked: str | None, path: Path) -> str:
    listed = ", ".join(map(repr, names))
    if asked is not None:
        if asked not in names:
            raise DataError(f"{str(path)!r} has no sheet {asked!r}; it has {listed}")
        return asked
    if len(names) > 1:
        raise DataError(
            f"{str(path)!r} has the sheets {listed}; say which, as in --sheet {names[0]!r}"
        )
    return names[0]


def _value(cell: Any) -> Any:
    """Return a cell's value; a date as text, an error such as #VALUE! as nothing."""
    value = cell.value
    if cell.data_type == "e":
        return None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
