"""What counts against a grading, in words? For a failing test, a build log and a JUnit file.

What no chunk supports is shown with the reason, and with the chunk that comes nearest to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_evals.core import Finding
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.run import Outcome, Record, Run, findings_in, reason_of
from rag_evals.text import shortened

_MOST_FINDINGS = 10
_MOST_CHARS = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding that counts against a score.

    Attributes:
        label: Its word, such as "not supported".
        text: What was decided on.
        reasoning: Why; None where nobody said.
        nearest: The chunk that comes nearest to a statement, by its id and best sentence; None
            where no chunk shares a word with it, or where the finding is about something else.
    """

    label: str
    text: str
    reasoning: str | None = None
    nearest: tuple[int, str] | None = None

    def __repr__(self) -> str:
        """One line."""
        return f"Fault({self.label}: {shortened(self.text, 60)!r})"

    def lines(self) -> list[str]:
        """Say it in one to three lines; the second and third are indented."""
        lines = [f"{self.label}: {shortened(self.text, _MOST_CHARS)}"]
        if self.reasoning:
            lines.append(f"  why: {shortened(self.reasoning, _MOST_CHARS)}")
        if self.nearest is not None:
            chunk_id, sentence = self.nearest
            lines.append(f"  nearest chunk {chunk_id}: {shortened(sentence, _MOST_CHARS)}")
        return lines


def faults_of(findings: Sequence[Finding], chunks: Sequence[str]) -> list[Fault]:
    """Return what counts against a score, the first ten.

    Args:
        findings: All findings of a result.
        chunks: Texts of the sample's context, in the order of their ids.
    """
    against = [finding for finding in findings if finding.counts_against][:_MOST_FINDINGS]
    return [Fault(one.label, one.text, one.reasoning, _nearest(one, chunks)) for one in against]


def worst_records(run: Run, under: float = 1.0) -> list[Record]:
    """Return the outcomes to look at: failed ones, then scores under a number, the lowest first.

    Args:
        run: A run.
        under: Scores from this on are good enough.
    """
    low = [one for one in run.records if one["score"] is not None and one["score"] < under]
    low.sort(key=lambda record: record["score"])
    return [*(one for one in run.records if one["status"] == "failed"), *low]


def outcome_lines(outcome: Outcome, chunks: Sequence[str] = ()) -> list[str]:
    """Say how a grading ended, and what counts against it, line by line.

    Args:
        outcome: Of one row.
        chunks: Texts of its context, in the order of their ids.
    """
    return list(_lines(outcome.findings, chunks, f"{outcome.grader}: {outcome.words()}"))


def record_lines(record: Record, chunks: Sequence[str] = ()) -> list[str]:
    """Say the same of an outcome as a run folder keeps it; arguments as for `outcome_lines`."""
    score = record["score"]
    error: Mapping[str, str] = record.get("error") or {}
    why = f"{error['type']}: {error['message']}" if error else reason_of(record)
    ended = (
        f"{record['status'].replace('_', ' ')}: {shortened(why or '', _MOST_CHARS)}"
        if score is None
        else f"scored {score:.2f}"
    )
    return list(_lines(findings_in(record), chunks, f"{record['grader']}: {ended}"))


def _lines(findings: Sequence[Finding], chunks: Sequence[str], head: str) -> Iterator[str]:
    yield head
    for fault in faults_of(findings, chunks):
        yield from (f"  {line}" for line in fault.lines())
    left_out = sum(finding.counts_against for finding in findings) - _MOST_FINDINGS
    if left_out > 0:
        yield f"  and {left_out} more"


def _nearest(finding: Finding, chunks: Sequence[str]) -> tuple[int, str] | None:
    """Find the chunk that shares most with a statement, as the embedded judge reads evidence."""
    if finding.about not in ("statement", "reference", "citation") or not chunks:
        return None
    (verdict,) = EmbeddedVerifier().verify([finding.text], chunks)
    if not verdict.evidence:
        return None
    best = verdict.evidence[0]
    return best.chunk_id, best.text
