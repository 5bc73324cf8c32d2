"""What does a run look like as one flat table? One row a sample, or one a finding."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Literal, get_args

from rag_evals.core import Finding, Phrases, phrases
from rag_evals.errors import ConfigurationError
from rag_evals.run.outcome import findings_in
from rag_evals.run.record.reading import Record
from rag_evals.run.samples import StoredSample
from rag_evals.stats import DEFAULT_BANDS, Band

Shape = Literal["wide", "long"]
"""One row a sample, or one row a finding."""

# Field of a stored sample, and what it is called.
_FIELDS = {
    "question": "question",
    "answer": "answer",
    "chunks": "context",
    "reference": "reference",
    "language": "language",
}
_PARTS = ("score", "percent", "band", "outcome", "why", "unsupported", "reasons")
_NOTHING = Finding("", None, "")


def rows_of_run(
    records: Sequence[Record],
    samples: Mapping[str, StoredSample],
    graders: Sequence[str],
    judge: str | None,
    shape: Shape = "wide",
    *,
    language: str = "en",
) -> Iterator[dict[str, Any]]:
    """Write a run as flat rows; all have the same columns, in the same order.

    A wide row has `id`, the data's own columns, and for each grader, here called G: `G` (the score,
    0 to 1), `G_percent`, `G_band`, `G_outcome`, `G_why` (why there is no score), `G_unsupported`
    (what counts against the score, a line each) and `G_reasons` (why, a line each); then `judge`.

    A long row has `id`, `grader`, `score`, `outcome`, `why` and one finding: `about`, `text`,
    `verdict`, `label`, `reasoning`, `chunk_ids`, `quotes`, `support`, `decided_by`; a grading
    without findings has one row with none.

    Args:
        records: Of the run, in the order of the data.
        samples: What was graded, by id; a row without one has no columns of the data.
        graders: Names, in order.
        judge: Who graded; None where it is not known.
        shape: Which of the two.
        language: Of names, labels and reasons, "en" or "ru"; the data's own columns stay.

    Raises:
        ConfigurationError: Another shape, or another language.
    """
    say = phrases(language)
    if shape not in get_args(Shape):
        raise ConfigurationError(f"shape is {shape!r}; expected 'wide' or 'long'")
    if shape == "long":
        return _long(records, say)
    return _wide(records, samples, graders, judge, say)


def band_label(score: float, bands: Sequence[Band], language: str) -> str:
    """Return the label of the band that a score is in."""
    return next(band.label(language) for band in bands if score >= band.lower - 1e-9)


def why_unscored(record: Record, say: Phrases) -> str | None:
    """Say why an outcome has no score: the reason, or the error, in English; None: it has one."""
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
) -> Iterator[dict[str, Any]]:
    of_sample: dict[str, dict[str, Record]] = {}
    for record in records:
        of_sample.setdefault(record["sample_id"], {})[record["grader"]] = record
    names = [_names_of(grader, say) for grader in graders]
    row_id, judged = say("export.id"), say("export.judge")
    own = _own_columns(samples.values(), {row_id, judged, *chain(*names)}, say)
    for sample_id, graded in of_sample.items():
        row = {row_id: sample_id, **_of_sample(samples.get(sample_id), own)}
        for grader, called in zip(graders, names, strict=True):
            row |= zip(called, _of_grading(graded.get(grader), say), strict=True)
        yield row | {judged: judge}


def _own_columns(samples: Collection[StoredSample], ours: Set[str], say: Phrases) -> dict[str, str]:
    """Return the columns that any row has, and the field of a sample that each one is, or ''."""
    columns: dict[str, str] = {}
    for sample in samples:
        for field, name in _FIELDS.items():
            if getattr(sample, field):
                columns.setdefault(name, field)
    fields = {say(f"export.{name}"): columns[name] for name in _FIELDS.values() if name in columns}
    # A column of the data that is called like one of ours keeps its name with a mark behind.
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


def _names_of(grader: str, say: Phrases) -> list[str]:
    title = say.named("graders", grader)
    return [say(f"export.{part}_of", grader=title) for part in _PARTS]


def _of_grading(record: Record | None, say: Phrases) -> list[Any]:
    """Return the values of `_PARTS`."""
    if record is None:
        return [None, None, None, None, None, "", ""]
    score = record["score"]
    against = [finding for finding in findings_in(record) if finding.counts_against]
    return [
        score,
        None if score is None else round(100 * score, 2),
        None if score is None else band_label(score, DEFAULT_BANDS, say.language),
        say.named("outcomes", record["status"]),
        why_unscored(record, say),
        "\n".join(say.text(finding.text) for finding in against),
        "\n".join(finding.reasoning or "" for finding in against),
    ]


def _long(records: Sequence[Record], say: Phrases) -> Iterator[dict[str, Any]]:
    for record in records:
        for finding in findings_in(record) or (_NOTHING,):
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
                "support": finding.support,
                "decided_by": finding.decided_by,
            }
            yield {say(f"export.{name}"): value for name, value in row.items()}
