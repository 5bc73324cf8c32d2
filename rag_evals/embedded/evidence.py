"""Passages against which a reader can check a finding; they are looked up only for display."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from rag_evals.core import Evidence, EvidencePassage, Finding, Phrases, phrases
from rag_evals.embedded.verifier import EmbeddedVerifier
from rag_evals.text import split_sentences

_WITH_TEXT = ("statement", "reference", "citation")
# Maximum number of sentences to compare in one context.
_MOST_COMPARED = 2_000


def find_passages(finding: Finding, chunks: Sequence[str]) -> tuple[EvidencePassage, ...]:
    """Find the passages against which a reader can check a finding, best first.

    If the judge did not quote any, the embedded judge selects sentences from the cited chunks, or
    from all chunks if none are cited.
    """
    quoted = quoted_passages(finding, chunks)
    if quoted or finding.about not in _WITH_TEXT or not any(map(str.strip, chunks)):
        return quoted
    cited = [one for one in finding.chunk_ids if 0 <= one < len(chunks)]
    if cited and not any(chunks[one].strip() for one in cited):
        cited = []
    places = cited or range(len(chunks))
    (verdict,) = _verifier().verify([finding.text], [chunks[one] for one in places])
    # The chunk ids in the reason are correct only if all chunks were compared.
    is_said = finding.verdict or verdict.is_supported or verdict.reason == finding.reasoning
    differs = "" if cited or is_said else verdict.reason
    found = verdict.evidence[:3] or _most_similar(finding.text, [chunks[one] for one in places])
    return tuple(
        EvidencePassage(
            places[one.chunk_id], one.start, one.end, one.text, True, differs if not n else ""
        )
        for n, one in enumerate(found)
    )


def _most_similar(text: str, chunks: Sequence[str]) -> list[Evidence]:
    """Return the sentence with the largest share of matching character trigrams (Dice), if any."""
    own = _trigrams(text)
    sentences = [
        Evidence(place, one.start, one.end, one.text)
        for place, chunk in enumerate(chunks)
        for one in split_sentences(chunk)
    ][:_MOST_COMPARED]

    def similarity(one: Evidence) -> float:
        other = _trigrams(one.text)
        return (own & other).total() / ((own.total() + other.total()) or 1)

    return [max(sentences, key=similarity)] if sentences else []


def _trigrams(text: str) -> Counter[str]:
    low = f" {text.lower()} "
    return Counter(low[at : at + 3] for at in range(len(low) - 2))


def evidence_words(
    finding: Finding, chunks: Sequence[str], say: Phrases | None = None, most: int = 300
) -> list[str]:
    """Return at most two lines: the passage for a finding, and how it differs from the finding.

    Args:
        finding: A finding from any grader.
        chunks: Text of each context chunk.
        say: Phrases in the reader's language; None means English.
        most: Maximum length of the passage in characters.
    """
    say = say or phrases()
    found = find_passages(finding, chunks)[:1]
    differing = [say("notebook.differs", words=one.differs) for one in found if one.differs]
    return [*(one.words(say, most) for one in found), *differing]


def quoted_passages(finding: Finding, chunks: Sequence[str]) -> tuple[EvidencePassage, ...]:
    """Return the passages that the judge quoted, omitting quotes not found in any chunk."""
    found: list[EvidencePassage] = []
    for quote in finding.quotes:
        text = chunks[quote.chunk_id] if 0 <= quote.chunk_id < len(chunks) else ""
        start = text.find(quote.text) if quote.start is None else quote.start
        end = start + len(quote.text) if quote.end is None else quote.end
        if 0 <= start < end <= len(text):
            found.append(EvidencePassage(quote.chunk_id, start, end, text[start:end]))
    return tuple(found)


@cache
def _verifier() -> EmbeddedVerifier:
    return EmbeddedVerifier()
