"""What does a build get from a run? A JUnit file, and warnings on GitHub's page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from rag_evals.report.failures import record_lines, worst_records
from rag_evals.run import Record, Run, reason_of, score_of

# GitHub shows ten of a step and no more.
_MOST_WARNINGS = 10
_MOST_CHARS = 2000
# Looking for the nearest chunk takes a millisecond a statement.
_MOST_NEAREST = 200
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(
    run: Run, under: float = 1.0, count: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Write a run as JUnit XML, line by line: a suite for each grader, a test case for each row.

    A row with a score under `under` is a failure, one whose grading failed is an error, and one
    that is not scorable is skipped.

    Args:
        run: A run.
        under: Scores under this are failures; 1 takes each row with anything against it.
        count: Numbers for reasons of rows without a score.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<testsuites name="rag-evals">'
    explained = 0
    for grader in run.graders:
        records = run.of_grader(grader)
        kinds = [_kind(record, under, count or {}) for record in records]
        counts = {
            "tests": len(records),
            "failures": kinds.count("failure"),
            "errors": kinds.count("error"),
            "skipped": kinds.count("skipped"),
        }
        shown = " ".join(f'{name}="{value}"' for name, value in counts.items())
        seconds = sum(record.get("seconds") or 0.0 for record in records)
        yield f'<testsuite name={_attribute(grader)} {shown} time="{seconds:.3f}">'
        for record, kind in zip(records, kinds, strict=True):
            explained += kind == "failure"
            chunks = _chunks(run, record) if explained <= _MOST_NEAREST else ()
            yield from _case(record, kind, under, chunks)
        yield "</testsuite>"
    yield "</testsuites>"


def build_warnings(run: Run, under: float = 1.0) -> list[str]:
    """Write the worst rows as commands that GitHub shows as warnings, ten at most.

    Args:
        run: A run.
        under: As for `junit_xml`.
    """
    return [
        f"::warning title={_property(_title(record))}::{_command(_text(run, record))}"
        for record in worst_records(run, under)[:_MOST_WARNINGS]
    ]


def _kind(record: Record, under: float, count: Mapping[str, float]) -> str:
    score = score_of(record, count)
    if record["status"] == "failed":
        return "error"
    if score is None:
        return "skipped"
    return "failure" if score < under else "passed"


def _case(record: Record, kind: str, under: float, chunks: Sequence[str]) -> Iterator[str]:
    name, grader = _attribute(record["sample_id"]), _attribute(record["grader"])
    case = f'<testcase classname={grader} name={name} time="{record.get("seconds") or 0.0:.3f}"'
    if kind == "passed":
        yield f"{case}/>"
        return
    head, *rest = record_lines(record, chunks)
    yield f"{case}>"
    if kind == "skipped":
        yield f"<skipped message={_attribute(str(reason_of(record)))}/>"
    else:
        message = head if kind == "error" else f"{head}, under {under:g}"
        text = escape(_valid("\n".join([message, *rest])))
        yield f"<{kind} message={_attribute(message)}>{text}</{kind}>"
    yield "</testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_valid(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _valid(text: str) -> str:
    # XML has no way to write these.
    return _NO_XML.sub("\ufffd", text)


def _chunks(run: Run, record: Record) -> Sequence[str]:
    sample = run.samples.get(record["sample_id"])
    return () if sample is None else sample.chunks


def _title(record: Record) -> str:
    return f"rag-evals: {record['grader']}, row {record['sample_id'][:60]}"


def _text(run: Run, record: Record) -> str:
    return "\n".join(record_lines(record, _chunks(run, record)))[:_MOST_CHARS]


def _command(text: str) -> str:
    """Write a text so that it ends no command and begins none."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _command(text).replace(":", "%3A").replace(",", "%2C")
