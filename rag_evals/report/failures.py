"""Explains low scores in failing tests, build logs and JUnit files."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from rag_evals.embedded import evidence_words
from rag_evals.run import Outcome, Record, Run, findings_in, reason_of, score_of
from rag_evals.text import shortened

REPORT_URL = "RAG_EVALS_REPORT_URL"
"""Environment variable with the URL of the report that a build publishes."""
_MOST_FINDINGS = 10
_MOST_CHARS = 300
# GitHub shows at most ten warnings per step.
_MOST_WARNINGS = 10
_MOST_WARNING_CHARS = 2000
# Finding the nearest chunk takes a millisecond per statement.
_MOST_NEAREST = 200
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def worst_records(run: Run, most: int, under: float = 1.0) -> list[Record]:
    """Return failed outcomes, then the outcomes with the lowest scores below `under`."""
    return [
        record
        for record in run.lowest_records(most)
        if record["status"] == "failed" or (record["score"] is not None and record["score"] < under)
    ]


def outcome_lines(outcome: Outcome, chunks: Sequence[str] = ()) -> list[str]:
    lines = [f"{outcome.grader}: {outcome.words()}"]
    against = [finding for finding in outcome.findings if finding.counts_against]
    for finding in against[:_MOST_FINDINGS]:
        lines.append(f"  {finding.label}: {shortened(finding.text, _MOST_CHARS)}")
        if finding.reasoning:
            lines.append(f"    why: {shortened(finding.reasoning, _MOST_CHARS)}")
        lines += [f"    {line}" for line in evidence_words(finding, chunks, most=_MOST_CHARS)]
    if len(against) > _MOST_FINDINGS:
        lines.append(f"  and {len(against) - _MOST_FINDINGS} more")
    return lines


def record_lines(record: Record, run: Run | None = None) -> list[str]:
    """Describe a stored outcome, with the nearest passages if its run is given."""
    chunks = () if run is None else run.chunks(record["sample_id"])
    outcome = replace(Outcome.from_record(record), findings=findings_in(record))
    return outcome_lines(outcome, chunks)


def row_link(run: Run, sample_id: str) -> str | None:
    """Return a link to a row in the published or local report; None if there is no report."""
    base = os.environ.get(REPORT_URL)
    if not base and run.folder is not None and (run.folder / "report.html").exists():
        base = str(run.folder / "report.html")
    return f"{base}#row={quote(sample_id, safe='')}" if base else None


def junit_xml(
    run: Run, under: float = 1.0, count: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Yield the lines of a JUnit XML file: a suite for each grader, a test case for each row.

    A row that scores below `under` is a failure, a failed grading is an error, and a row that is
    not scorable is skipped unless `count` has a score for its reason.
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
            yield from _case(record, kind, under, run if explained <= _MOST_NEAREST else None)
        yield "</testsuite>"
    yield "</testsuites>"


def build_warnings(run: Run, under: float = 1.0) -> list[str]:
    """Return the worst rows as GitHub warning commands, escaped so that data cannot forge one."""
    return [
        f"::warning title={_escaped(title, ':,')}::{_escaped(text)}"
        for record in worst_records(run, _MOST_WARNINGS, under)
        for title in [f"rag-evals: {record['grader']}, row {record['sample_id'][:60]}"]
        for text in ["\n".join(record_lines(record, run))[:_MOST_WARNING_CHARS]]
    ]


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\r\n{more}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _kind(record: Record, under: float, count: Mapping[str, float]) -> str:
    score = score_of(record, count)
    if record["status"] == "failed":
        return "error"
    if score is None:
        return "skipped"
    return "failure" if score < under else "passed"


def _case(record: Record, kind: str, under: float, run: Run | None) -> Iterator[str]:
    name, grader = _attribute(record["sample_id"]), _attribute(record["grader"])
    case = f'<testcase classname={grader} name={name} time="{record.get("seconds") or 0.0:.3f}"'
    if kind == "passed":
        yield f"{case}/>"
        return
    head, *rest = record_lines(record, run)
    yield f"{case}>"
    if kind == "skipped":
        yield f"<skipped message={_attribute(str(reason_of(record)))}/>"
    else:
        message = head if kind == "error" else f"{head}, below {under:g}"
        link = None if run is None else row_link(run, record["sample_id"])
        text = escape(_valid("\n".join([message, *rest, *([f"  see {link}"] if link else [])])))
        yield f"<{kind} message={_attribute(message)}>{text}</{kind}>"
    yield "</testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_valid(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _valid(text: str) -> str:
    # XML cannot represent these characters.
    return _NO_XML.sub("\ufffd", text)
