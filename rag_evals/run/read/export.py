"""Tables of a run: flat rows, data frames and files."""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
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
from rag_evals.stats import DEFAULT_BANDS, Band
from rag_evals.verify import Confidence

Shape = Literal["wide", "long"]
"""One row per sample, or one row per finding."""

# Each field of a stored sample, and its name in a table.
_FIELDS = {
    "question": "question",
    "answer": "answer",
    "chunks": "context",
    "reference": "reference",
    "language": "language",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """People's labels and confidences; both are often empty.

    Attributes:
        confidences: How sure a tuned verdict is, by grader and verifier.
    """

    labels: LabelLines
    confidences: Mapping[str, Mapping[str, Confidence]]

    def people(self, record: Record, place: int) -> float | None:
        """Return the share of people who label a finding as supported; None without labels."""
        lines = self.labels.get((record["sample_id"], record["grader"], place), ())
        values = [float(one["label"]) for one in lines if one.get("label") is not None]
        return sum(values) / len(values) if values else None

    def notes(self, record: Record, place: int) -> str:
        lines = self.labels.get((record["sample_id"], record["grader"], place), ())
        return "; ".join(str(one["note"]) for one in lines if one.get("note"))

    def confidence(self, finding: Finding, record: Record, chunks: Sequence[str]) -> float | None:
        """Return the probability that a verdict is right; None without a tuned verifier."""
        found = self.confidences.get(record["grader"], {}).get(finding.decided_by or "")
        return None if found is None else found.of(finding, chunks, record.get("attempts") or 0)


_PARTS = ("score", "percent", "band", "outcome", "why", "unsupported", "reasons", "passages")
_NOTHING = Finding("", None, "")


def rows_of_run(
    records: Sequence[Record],
    samples: Mapping[str, StoredSample],
    graders: Sequence[str],
    judge: str | None,
    shape: Shape = "wide",
    *,
    language: str = "en",
    marks: Marks,
) -> Iterator[dict[str, Any]]:
    """Turn a run into flat rows that all have the same columns, in the same order.

    A wide row has `id`, the data's own columns, and for each grader, here called G: `G` (the score,
    0 to 1), `G_percent`, `G_band`, `G_outcome`, `G_why` (why there is no score), `G_unsupported`
    (what lowers the score, one per line), `G_reasons` (why, one per line) and `G_passages` (where
    to check it, one per line); then `judge`.

    A long row has `id`, `grader`, `score`, `outcome`, `why` and one finding: `about`, `text`,
    `verdict`, `label`, `reasoning`, `chunk_ids`, `quotes`, `passages` (quotes, or the nearest
    passage, and what differs), `support`, `decided_by`. A grading without findings has one row.

    If people labelled the run, a wide row also has `G_people`, the share of labelled findings that
    people support, and a long row has `people`, the share of people who agree, and `note`. With a
    tuned verifier, a long row has `confidence`.

    Raises:
        ConfigurationError: An unknown shape or language.
    """
    say = phrases(language)
    if shape not in get_args(Shape):
        raise ConfigurationError(f"shape is {shape!r}; expected 'wide' or 'long'")
    if shape == "long":
        return _long(records, samples, say, marks)
    return _wide(records, samples, graders, judge, say, marks)


def band_label(score: float, bands: Sequence[Band], language: str, grader: str) -> str:
    return next(band.label(language, grader) for band in bands if score >= band.lower - 1e-9)


def why_unscored(record: Record, say: Phrases) -> str | None:
    """Return why an outcome has no score; None if it has one."""
    if record["score"] is not None:
        return None
    error: Mapping[str, Any] = record.get("error") or {}
    said = f"{error.get('type')}: {error.get('message')}" if error else None
    reason = record.get("reason")
    return say.named("reasons", reason) if reason else said


def _wide(
    records: Sequence[Record],
    samples: Mapping[str, StoredSample],
    graders: Sequence[str],
    judge: str | None,
    say: Phrases,
    marks: Marks,
) -> Iterator[dict[str, Any]]:
    of_sample: dict[str, dict[str, Record]] = {}
    for record in records:
        of_sample.setdefault(record["sample_id"], {})[record["grader"]] = record
    parts = (*_PARTS, "people") if marks.labels else _PARTS
    names = [_names_of(grader, say, parts) for grader in graders]
    row_id, judged = say("export.id"), say("export.judge")
    own = _own_columns(samples.values(), {row_id, judged, *chain(*names)}, say)
    for sample_id, graded in of_sample.items():
        row = {row_id: sample_id, **_of_sample(samples.get(sample_id), own)}
        for grader, called in zip(graders, names, strict=True):
            values = _of_grading(graded.get(grader), samples, say)
            if marks.labels:
                values.append(_people(graded.get(grader), marks))
            row |= zip(called, values, strict=True)
        yield row | {judged: judge}


def _own_columns(samples: Collection[StoredSample], ours: Set[str], say: Phrases) -> dict[str, str]:
    """Map each column of the table to the sample's field, or to '' for a column of the data."""
    columns: dict[str, str] = {}
    for sample in samples:
        for field, name in _FIELDS.items():
            if getattr(sample, field):
                columns.setdefault(name, field)
    fields = {say(f"export.{name}"): columns[name] for name in _FIELDS.values() if name in columns}
    # Append an underscore to a data column whose name is already used.
    others = dict.fromkeys(column for sample in samples for column in sample.columns)
    return fields | {(f"{one}_" if one in {*ours, *fields} else one): "" for one in others}


def _of_sample(sample: StoredSample | None, own: Mapping[str, str]) -> dict[str, Any]:
    if sample is None:
        return dict.fromkeys(own)
    values: dict[str, Any] = {}
    for column, field in own.items():
        value = getattr(sample, field) if field else sample.columns.get(column)
        if not field and value is None:
            value = sample.columns.get(column.removesuffix("_"))
        values[column] = list(value) if isinstance(value, tuple) else value
    return values


def _people(record: Record | None, marks: Marks) -> float | None:
    places = range(0 if record is None else len(findings_in(record)))
    found = [marks.people(record, place) for place in places] if record else []
    values = [one for one in found if one is not None]
    return sum(values) / len(values) if values else None


def _names_of(grader: str, say: Phrases, parts: Sequence[str]) -> list[str]:
    title = say.named("graders", grader)
    return [say(f"export.{part}_of", grader=title) for part in parts]


def _of_grading(
    record: Record | None, samples: Mapping[str, StoredSample], say: Phrases
) -> list[Any]:
    if record is None:
        return [None, None, None, None, None, "", "", ""]
    score = record["score"]
    against = [finding for finding in findings_in(record) if finding.counts_against]
    return [
        score,
        None if score is None else round(100 * score, 2),
        None if score is None else band_label(score, DEFAULT_BANDS, say.language, record["grader"]),
        say.named("outcomes", record["status"]),
        why_unscored(record, say),
        "\n".join(say.text(finding.text) for finding in against),
        "\n".join(finding.reasoning or "" for finding in against),
        "\n".join("; ".join(_passages(finding, record, samples, say)) for finding in against),
    ]


def _passages(
    finding: Finding, record: Record, samples: Mapping[str, StoredSample], say: Phrases
) -> list[str]:
    sample = samples.get(record["sample_id"])
    return [] if sample is None else evidence_words(finding, sample.chunks, say)


def _long(
    records: Sequence[Record], samples: Mapping[str, StoredSample], say: Phrases, marks: Marks
) -> Iterator[dict[str, Any]]:
    for record in records:
        for place, finding in enumerate(findings_in(record) or (_NOTHING,)):
            about = None if finding is _NOTHING else finding.about
            row = {
                "id": record["sample_id"],
                "grader": say.named("graders", record["grader"]),
                "score": record["score"],
                "outcome": say.named("outcomes", record["status"]),
                "why": why_unscored(record, say),
                "about": about and say.named("abouts", about),
                "text": say.text(finding.text),
                "verdict": finding.verdict,
                "label": say.label(finding.label),
                "reasoning": finding.reasoning,
                "chunk_ids": list(finding.chunk_ids),
                "quotes": [quote.text for quote in finding.quotes],
                "passages": _passages(finding, record, samples, say),
                "support": finding.support,
                "decided_by": finding.decided_by,
            }
            if marks.confidences:
                sample = samples.get(record["sample_id"])
                chunks = () if sample is None else sample.chunks
                row["confidence"] = marks.confidence(finding, record, chunks)
            if marks.labels:
                row |= {"people": marks.people(record, place), "note": marks.notes(record, place)}
            yield {say(f"export.{name}"): value for name, value in row.items()}


Library = Literal["pandas", "polars", "pyarrow"]
"""The library of a data frame."""

_EXTRAS = {"pandas": "pandas", "polars": "polars", "pyarrow": "data"}
_TEXTS = "list of texts"


def frame_of(rows: Iterable[Mapping[str, Any]], library: Library) -> Any:
    """Make a data frame of flat rows.

    A column with objects, or with values of several types, becomes JSON text.

    Raises:
        ConfigurationError: The library is not installed.
    """
    columns = columns_of(rows)
    module = required_module(library, _EXTRAS[library], f"make a {library} table")
    if library == "pyarrow":
        arrays = {name: module.array(values, type=None) for name, values in columns.items()}
        return module.table(_typed(arrays, module))
    return module.DataFrame(columns)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into columns whose values have one type each."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: _of_one_kind(values) for name, values in columns.items()}


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _of_one_kind(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if kinds <= {"number", "whole"} or (len(kinds) <= 1 and kinds <= {"text", "yes", _TEXTS}):
        return values
    return [
        value if value is None or isinstance(value, str) else json_text(value) for value in values
    ]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "yes"
    if isinstance(value, int):
        # Arrow's integers have 64 bits.
        return "whole" if -(2**63) <= value < 2**63 else "object"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    whole_list = isinstance(value, list) and all(isinstance(one, str | int) for one in value)
    return _TEXTS if whole_list else "object"


def _typed(arrays: Mapping[str, Any], arrow: Any) -> dict[str, Any]:
    """Cast columns without values to text, because not every file format has a null type."""
    return {
        name: array.cast(arrow.string()) if arrow.types.is_null(array.type) else array
        for name, array in arrays.items()
    }


Rows = Iterable[Mapping[str, Any]]

# Spreadsheets interpret these as formulas, also in full width (OWASP, CSV injection).
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_MOST_EXCEL_CHARS = 32_767
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Layout:
    """How numbers and cells are written in a CSV file.

    Attributes:
        decimal: Decimal separator: `"."`, or `","` as in Russian and German Excel.
        delimiter: Separator of cells; None: `","`, or `";"` if the decimal separator is a comma.

    Raises:
        ConfigurationError: A separator is not one character, or both are the same.
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
    """Write flat rows to a file whose suffix selects the format.

    Raises:
        ConfigurationError: The suffix is unknown, a library is not installed, or the file cannot
            be written.
    """
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise ConfigurationError(
            f"{path.name!r} has no known suffix; expected {', '.join(FORMATS)}"
        )
    with private_file(path) as file:
        write(rows, file, layout or Layout())
    return path


def with_own_cells(
    rows: Rows, columns: Mapping[str, str], *, language: str = "en"
) -> Iterator[dict[str, Any]]:
    """Restore the original sheet's headers and cell types in wide rows."""
    say = phrases(language)
    own = {say(f"export.{name}"): columns[name] for name in _FIELDS.values() if name in columns}
    for row in rows:
        # `id` stays, because labels in an exported table are matched by it.
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
    """Escape a text that spreadsheets would read as a formula."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def _write_csv(rows: Rows, file: IO[bytes], layout: Layout) -> None:
    # Excel recognizes UTF-8 only with a byte order mark.
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
    """Cut text that is too long for an Excel cell, and say so in the cell."""
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
"""Writers of files, by suffix."""
