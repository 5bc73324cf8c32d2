"""Export a run as flat rows, data frames and files."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, get_args

from rag_evals.core import Finding, Phrases, phrases, private_file
from rag_evals.dataset import required_module
from rag_evals.embedded import evidence_words
from rag_evals.errors import ConfigurationError
from rag_evals.run.record.extras import LabelLines
from rag_evals.run.record.outcome import Record, findings_in
from rag_evals.run.record.samples import StoredSample
from rag_evals.stats import band_of
from rag_evals.verify import Confidence

Shape = Literal["wide", "long"]
"""One row per sample, or one row per finding."""

# Maps each table column to the field of a stored sample.
_FIELDS = {
    "question": "question",
    "answer": "answer",
    "context": "chunks",
    "reference": "reference",
    "language": "language",
}

_PARTS = ("score", "percent", "band", "outcome", "why", "unsupported", "reasons", "passages")
_NOTHING = Finding("", None, "")


@dataclass(frozen=True, slots=True)
class RunTable:
    """Converts a run to flat rows with identical columns, in the same order.

    A wide row has `id`, the columns of the data, and, for each grader G: `G` (the score, 0 to 1),
    `G_percent`, `G_band`, `G_outcome`, `G_why` (why there is no score), `G_unsupported` (findings
    that lower the score, one per line), `G_reasons` (the reasons for them, one per line) and
    `G_passages` (passages to check them against, one per line). The last column is `judge`.

    A long row has `id`, `grader`, `score`, `outcome`, `why` and one finding: `about`, `text`,
    `verdict`, `label`, `reasoning`, `chunk_ids`, `quotes`, `passages` (quotes, or the nearest
    passage and how it differs), `support`, `decided_by`. A grading without findings has one row.

    If people labelled the run, a wide row also has `G_people`, the mean share of people who
    labelled a finding as supported. A long row then has `people`, the share for its finding, and
    `note`. With a tuned verifier, a long row also has `confidence`.

    Attributes:
        confidences: Confidence of tuned verdicts, by grader and verifier; may be empty.
    """

    records: Sequence[Record]
    samples: Mapping[str, StoredSample]
    graders: Sequence[str]
    judge: str | None
    say: Phrases
    labels: LabelLines
    confidences: Mapping[str, Mapping[str, Confidence]]

    def rows(self, shape: Shape) -> Iterator[dict[str, Any]]:
        if shape not in get_args(Shape):
            raise ConfigurationError(f"shape is {shape!r}; expected 'wide' or 'long'")
        return self._long() if shape == "long" else self._wide()

    def _wide(self) -> Iterator[dict[str, Any]]:
        say = self.say
        of_sample: dict[str, dict[str, Record]] = {}
        for record in self.records:
            of_sample.setdefault(record["sample_id"], {})[record["grader"]] = record
        parts = (*_PARTS, "people") if self.labels else _PARTS
        names = {}
        for grader in self.graders:
            title = say.named("graders", grader)
            names[grader] = [say(f"export.{part}_of", grader=title) for part in parts]
        row_id, judged = say("export.id"), say("export.judge")
        own = self._own_columns({row_id, judged, *chain(*names.values())})
        for sample_id, graded in of_sample.items():
            row = {row_id: sample_id, **self._of_sample(sample_id, own)}
            for grader, called in names.items():
                found = graded.get(grader)
                values = [None] * len(parts) if found is None else self._of_grading(found)
                row |= zip(called, values, strict=False)
            yield row | {judged: self.judge}

    def _own_columns(self, ours: Set[str]) -> dict[str, tuple[str, str]]:
        """Map each table column to the sample's field, or to '' and a column of the data."""
        known: set[str] = set()
        others: dict[str, None] = {}
        for sample in self.samples.values():
            known.update(name for name, field in _FIELDS.items() if getattr(sample, field))
            others |= dict.fromkeys(sample.columns)
        own = {self.say(f"export.{name}"): (_FIELDS[name], "") for name in _FIELDS if name in known}
        for one in others:
            name = one
            # Append underscores to data columns whose names are already in use.
            while name in ours or name in own or (name != one and name in others):
                name += "_"
            own[name] = "", one
        return own

    def _of_sample(self, sample_id: str, own: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
        sample = self.samples.get(sample_id)
        if sample is None:
            return dict.fromkeys(own)
        values: dict[str, Any] = {}
        for column, (field, of_data) in own.items():
            value = getattr(sample, field) if field else sample.columns.get(of_data)
            values[column] = list(value) if isinstance(value, tuple) else value
        return values

    def _of_grading(self, record: Record) -> list[Any]:
        score, say, findings = record["score"], self.say, findings_in(record)
        against = [finding for finding in findings if finding.counts_against]
        people = [self._people(record, place) for place in range(len(findings))]
        band = None if score is None else band_of(score).label(say.language, record["grader"])
        return [
            score,
            None if score is None else round(100 * score, 2),
            band,
            say.named("outcomes", record["status"]),
            why_unscored(record, say),
            "\n".join(say.text(finding.text) for finding in against),
            "\n".join(finding.reasoning or "" for finding in against),
            "\n".join("; ".join(self._passages(finding, record)) for finding in against),
            _mean([one for one in people if one is not None]),
        ]

    def _label_lines(self, record: Record, place: int) -> Sequence[Mapping[str, Any]]:
        return self.labels.get((record["sample_id"], record["grader"], place), ())

    def _people(self, record: Record, place: int) -> float | None:
        """Return the share of people who labelled a finding as supported; None without labels."""
        given = (one.get("label") for one in self._label_lines(record, place))
        return _mean([float(label) for label in given if label is not None])

    def _passages(self, finding: Finding, record: Record) -> list[str]:
        sample = self.samples.get(record["sample_id"])
        return [] if sample is None else evidence_words(finding, sample.chunks, self.say)

    def _confidence(self, finding: Finding, record: Record) -> float | None:
        """Return the probability that a verdict is right; None without a tuned verifier."""
        found = self.confidences.get(record["grader"], {}).get(finding.decided_by or "")
        sample = self.samples.get(record["sample_id"])
        chunks = () if sample is None else sample.chunks
        return None if found is None else found.of(finding, chunks, record.get("attempts") or 0)

    def _long(self) -> Iterator[dict[str, Any]]:
        say = self.say
        for record in self.records:
            for place, finding in enumerate(findings_in(record) or (_NOTHING,)):
                row = {
                    "id": record["sample_id"],
                    "grader": say.named("graders", record["grader"]),
                    "score": record["score"],
                    "outcome": say.named("outcomes", record["status"]),
                    "why": why_unscored(record, say),
                    "about": None if finding is _NOTHING else say.named("abouts", finding.about),
                    "text": say.text(finding.text),
                    "verdict": finding.verdict,
                    "label": say.label(finding.label),
                    "reasoning": finding.reasoning,
                    "chunk_ids": list(finding.chunk_ids),
                    "quotes": [quote.text for quote in finding.quotes],
                    "passages": self._passages(finding, record),
                    "support": finding.support,
                    "decided_by": finding.decided_by,
                }
                if self.confidences:
                    row["confidence"] = self._confidence(finding, record)
                if self.labels:
                    notes = (one.get("note") for one in self._label_lines(record, place))
                    row["people"] = self._people(record, place)
                    row["note"] = "; ".join(str(note) for note in notes if note)
                yield {say(f"export.{name}"): value for name, value in row.items()}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def why_unscored(record: Record, say: Phrases) -> str | None:
    """Return why an outcome has no score; None if it has one."""
    if record["score"] is not None:
        return None
    error = record.get("error")
    said = f"{error.get('type')}: {error.get('message')}" if error else None
    reason = record.get("reason")
    return say.named("reasons", reason) if reason else said


Library = Literal["pandas", "polars", "pyarrow"]
"""The library of a data frame."""

_EXTRAS = {"pandas": "pandas", "polars": "polars", "pyarrow": "data"}


def frame_of(rows: Iterable[Mapping[str, Any]], library: Library) -> Any:
    """Create a data frame from flat rows.

    Columns that contain objects or values of several types are converted to JSON strings.

    Raises:
        ConfigurationError: The library is not installed.
    """
    cells: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            cells.setdefault(name, []).append(value)
    columns = {name: _of_one_kind(values) for name, values in cells.items()}
    module = required_module(library, _EXTRAS[library], f"make a {library} table")
    if library == "pyarrow":
        arrays = {name: module.array(values, type=None) for name, values in columns.items()}
        for name, array in arrays.items():
            # Some file formats lack a null type.
            if module.types.is_null(array.type):
                arrays[name] = array.cast(module.string())
        return module.table(arrays)
    return module.DataFrame(columns)


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _of_one_kind(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if kinds <= {int, float} or (len(kinds) <= 1 and kinds <= {str, bool, list}):
        return values
    return [
        value if value is None or isinstance(value, str) else json_text(value) for value in values
    ]


def _kind(value: Any) -> type:
    is_long = isinstance(value, int) and not -(2**63) <= value < 2**63  # too long for Arrow
    is_nested = isinstance(value, list) and not all(isinstance(one, str | int) for one in value)
    kinds = () if is_long or is_nested else (bool, int, float, str, list)
    return next((kind for kind in kinds if isinstance(value, kind)), object)


Rows = Iterable[Mapping[str, Any]]

# Spreadsheets interpret these as formulas, even as full-width characters (OWASP, CSV injection).
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_MOST_EXCEL_CHARS = 32_767
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The decimal separator and the cell separator of a CSV file.

    Russian and German versions of Excel use `","` and `";"`; with `","`, `";"` is the default.

    Raises:
        ConfigurationError: A separator is invalid, or the two are identical.
    """

    decimal: str = "."
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ConfigurationError(f"decimal is {self.decimal!r}; expected '.' or ','")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ConfigurationError(f"delimiter is {self.delimiter!r}; expected one character")
        if self.between == self.decimal:
            raise ConfigurationError(
                f"decimal and delimiter are both {self.decimal!r}; expected different characters"
            )

    @property
    def between(self) -> str:
        return self.delimiter or (";" if self.decimal == "," else ",")


def write_run(rows: Rows, path: Path, layout: Layout | None = None) -> Path:
    """Write flat rows to a file in the format given by its suffix.

    Raises:
        ConfigurationError: The suffix is not supported, a library is not installed, or the file
            cannot be written.
    """
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise ConfigurationError(
            f"{path.name!r} has no known suffix; expected {', '.join(FORMATS)}"
        )
    layout = layout or Layout()
    if write is not _write_csv and layout != Layout():
        raise ConfigurationError(f"{path.name!r} is not a CSV file; drop decimal and delimiter")
    with private_file(path) as file:
        write(rows, file, layout)
    return path


def with_own_cells(
    rows: Rows, columns: Mapping[str, str], *, language: str = "en"
) -> Iterator[dict[str, Any]]:
    """Restore the original sheet's headers and cell types in wide rows."""
    say = phrases(language)
    own = {say(f"export.{name}"): columns[name] for name in _FIELDS if name in columns}
    for row in rows:
        # `id` is not renamed, because labels in an exported table are matched by it.
        names = {name: own[name] for name in own if own[name] not in row}
        yield {names.get(name, name): _own_cell(value) for name, value in row.items()}


_DATE = re.compile(r"(?:19|2\d)\d\d-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?")


def _own_cell(value: object) -> object:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return value
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return value
    return read if "T" in value else read.date()


def safe_cell(value: object) -> object:
    """Escape text that a spreadsheet would interpret as a formula."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def _write_csv(rows: Rows, file: IO[bytes], layout: Layout) -> None:
    # Excel recognises UTF-8 only with a byte order mark.
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
        made.data_type = "s"  # keep text that looks like a formula as text
        return made

    for number, row in enumerate(rows):
        if number == 0:
            sheet.append([cell(name) for name in row])
        sheet.append([cell(value) for value in row.values()])
    book.save(file)


def _fitting(text: str) -> str:
    """Truncate text that is too long for an Excel cell, and add a note to the cell."""
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
"""Functions that write files, by suffix."""
