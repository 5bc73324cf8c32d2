"""How is a run written as a file? CSV and Excel that spreadsheets open as they should, and more."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rag_evals.core import private_file
from rag_evals.dataset import required_module
from rag_evals.errors import ConfigurationError
from rag_evals.run.export.frames import frame_of, json_text

Rows = Iterable[Mapping[str, Any]]

# A spreadsheet would take these for a formula (OWASP, CSV injection), full-width signs too.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_MOST_EXCEL_CHARS = 32_767
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Layout:
    """How numbers and cells are written in a CSV file.

    Attributes:
        decimal: Sign before the fraction: `"."`, or `","` as in Russian and German Excel.
        delimiter: Sign between cells; None: `","`, or `";"` where the decimal sign is a comma.
    """

    decimal: str = "."
    delimiter: str | None = None

    def __post_init__(self) -> None:
        """Check the signs.

        Raises:
            ConfigurationError: Not one sign each, or the same for both.
        """
        if self.decimal not in (".", ","):
            raise ConfigurationError(f"decimal is {self.decimal!r}; expected '.' or ','")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ConfigurationError(f"delimiter is {self.delimiter!r}; expected one sign")
        if self.between == self.decimal:
            raise ConfigurationError(
                f"decimal and delimiter are both {self.decimal!r}; a cell could not be told apart"
            )

    @property
    def between(self) -> str:
        """The sign between cells."""
        return self.delimiter or (";" if self.decimal == "," else ",")


def write_run(rows: Rows, path: Path, layout: Layout | None = None) -> Path:
    """Write flat rows as a file of the kind that its name ends with.

    Args:
        rows: All with the same columns.
        path: Ends with one of `FORMATS`.
        layout: How a CSV file is written.

    Raises:
        ConfigurationError: Another end of the name, a library that is not installed,
            or a place that cannot be written to.
    """
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise ConfigurationError(
            f"{path.name!r} is not a kind of file that can be written; expected "
            f"{', '.join(FORMATS)}"
        )
    with private_file(path) as file:
        write(rows, file, layout or Layout())
    return path


def safe_cell(value: object) -> object:
    """Return a cell's value so that no spreadsheet takes it for a formula."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def _write_csv(rows: Rows, file: IO[bytes], layout: Layout) -> None:
    # The mark is what makes Excel read UTF-8.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    writer = csv.writer(text, delimiter=layout.between, lineterminator="\r\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(safe_cell(name) for name in row)
        writer.writerow(_csv_cell(value, layout) for value in row.values())
    text.detach()


def _csv_cell(value: object, layout: Layout) -> object:
    if isinstance(value, float) and layout.decimal == ",":
        return repr(value).replace(".", ",")
    if isinstance(value, list | dict):
        return safe_cell(json_text(value))
    return safe_cell(value)


def _write_jsonl(rows: Rows, file: IO[bytes], _: Layout) -> None:
    for row in rows:
        file.write(json_text(row).encode("utf-8", "replace") + b"\n")


def _write_parquet(rows: Rows, file: IO[bytes], _: Layout) -> None:
    parquet = required_module("pyarrow.parquet", "data", "write this file")
    parquet.write_table(frame_of(rows, "pyarrow"), file)


def _write_excel(rows: Rows, file: IO[bytes], _: Layout) -> None:
    excel = required_module("openpyxl", "excel", "write this file")
    cells = required_module("openpyxl.cell", "excel", "write this file")
    book = excel.Workbook(write_only=True)
    sheet = book.create_sheet("scores")
    sheet.freeze_panes = "B2"

    def cell(value: object) -> Any:
        value = json_text(value) if isinstance(value, list | dict) else value
        if not isinstance(value, str):
            return value
        made = cells.WriteOnlyCell(sheet, value=_NOT_IN_EXCEL.sub("\ufffd", _fitting(value)))
        made.data_type = "s"  # text that begins like a formula stays text
        return made

    for number, row in enumerate(rows):
        if number == 0:
            sheet.append([cell(name) for name in row])
        sheet.append([cell(value) for value in row.values()])
    book.save(file)


def _fitting(text: str) -> str:
    """Cut what no Excel cell holds, and say so in the cell."""
    if len(text) <= _MOST_EXCEL_CHARS:
        return text
    end = f"… [cut: {len(text)} characters]"
    return text[: _MOST_EXCEL_CHARS - len(end)] + end


FORMATS: Mapping[str, Callable[[Rows, IO[bytes], Layout], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".xlsx": _write_excel,
    ".jsonl": _write_jsonl,
}
"""How a file is written, by the end of its name."""
