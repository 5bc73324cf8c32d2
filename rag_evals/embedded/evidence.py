"""The passage at which a reader checks a finding; found when it is shown, not when it is graded."""

from collections.abc import Iterator, Sequence
from functools import cache

from rag_evals.core import EvidencePassage, Finding, Phrases, Quote, Verdict, phrases
from rag_evals.embedded.verifier import EmbeddedVerifier

_WITH_TEXT = ("statement", "reference", "citation")


def find_passages(finding: Finding, chunks: Sequence[str]) -> tuple[EvidencePassage, ...]:
    """Find where in the chunks a reader checks a finding, and what differs there.

    What the judge quoted comes first. Where it quoted nothing, it is the sentence that the embedded
    judge reads as evidence: of the cited chunks where there are any, else of all.

    Returns:
        Best first; empty where the finding is about no statement, or there are no chunks.
    """
    quoted = quoted_passages(finding, chunks)
    if quoted or finding.about not in _WITH_TEXT or not any(map(str.strip, chunks)):
        return quoted
    cited = [one for one in finding.chunk_ids if 0 <= one < len(chunks)]
    if cited and not any(chunks[one].strip() for one in cited):
        cited = []
    places = cited or range(len(chunks))
    (verdict,) = _verifier().verify([finding.text], [chunks[one] for one in places])
    found = verdict.evidence
    # The ids in the words are those of all chunks only where all were compared.
    differs = "" if cited or finding.verdict else _difference(finding, verdict)
    return tuple(
        EvidencePassage(
            places[one.chunk_id], one.start, one.end, one.text, True, differs if first else ""
        )
        for first, one in zip((True, False, False), found, strict=False)
    )


def evidence_words(
    finding: Finding, chunks: Sequence[str], say: Phrases | None = None, most: int = 300
) -> list[str]:
    """Say where a reader checks a finding, and what differs there: two lines at most.

    Args:
        finding: Of any grader.
        chunks: The texts of the context.
        say: The reader's language; None takes English.
        most: Characters of the passage.
    """
    say = say or phrases()
    found = find_passages(finding, chunks)[:1]
    differing = [say("notebook.differs", words=one.differs) for one in found if one.differs]
    return [*(one.words(say, most) for one in found), *differing]


def quoted_passages(finding: Finding, chunks: Sequence[str]) -> tuple[EvidencePassage, ...]:
    """Return the passages that the judge quoted, as far as the chunks have them."""
    return tuple(_located(finding.quotes, chunks))


def _located(quotes: Sequence[Quote], chunks: Sequence[str]) -> Iterator[EvidencePassage]:
    for quote in quotes:
        text = chunks[quote.chunk_id] if 0 <= quote.chunk_id < len(chunks) else ""
        start = text.find(quote.text) if quote.start is None else quote.start
        end = start + len(quote.text) if quote.end is None else quote.end
        if 0 <= start < end <= len(text):
            yield EvidencePassage(quote.chunk_id, start, end, text[start:end])


def _difference(finding: Finding, verdict: Verdict) -> str:
    is_said = verdict.is_supported or verdict.reason == (finding.reasoning or "")
    return "" if is_said else verdict.reason


@cache
def _verifier() -> EmbeddedVerifier:
    return EmbeddedVerifier()
