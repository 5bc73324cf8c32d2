"""Does an answer stand beside what was asked about, or beside something else?

"In 1889." to "When was the Louvre Pyramid completed?" has all its words in a chunk that says it of
the Eiffel Tower. Where another sentence says more of what was asked, with another number or name in
place of the answer, that sentence counts.
"""

import re
from collections.abc import Iterator, Sequence

from rag_evals.core import Evidence
from rag_evals.embedded.standalone import Reading
from rag_evals.text import (
    Word,
    is_name_at,
    normalise_numbers,
    split_sentences,
    words,
)

# "It opened in 1989." speaks of what the sentence before does; "Her brother died" does not.
_PRONOUN_SUBJECT = re.compile(r"(?:he|she|it|they|this|these|он|она|оно|они|это)\b", re.IGNORECASE)
# "The game" at the head of a chunk is what the chunk before tells of.
_DEFINITE_SUBJECT = re.compile(r"the [a-z'-]+ (?:is|are|was|were|has|had)\b", re.IGNORECASE)
# How much more of the question the other sentence must say.
_LEAST_LEAD = 0.2


def said_otherwise(reading: Reading, chunks: Sequence[str]) -> Evidence | None:
    """Return the sentence that says something else of what a claim speaks of.

    Args:
        reading: A claim with an antecedent or a gap.
        chunks: All chunks.

    Returns:
        None where the words of the answer stand beside what was asked about, or nowhere.
    """
    claim = _sequence(reading.text)
    if reading.gap:
        given = {word.key for word in _sequence(reading.gap) if _counts(word)}
    else:
        inside = {word.key for word in _sequence(reading.antecedent)}
        given = _values(claim) - inside
    frame = {word.key for word in claim if _counts(word)} - given
    if not given or not frame:
        return None
    # What is said of the antecedent: another sentence that only names it says something else.
    said = frame - {word.key for word in _sequence(reading.antecedent)}
    beside = most = 0.0
    rival: Evidence | None = None
    for place, sequence, known in _sentences(chunks):
        keys = {word.key for word in sequence}
        share = len(frame & (keys | known)) / len(frame)
        if given <= keys:
            beside = max(beside, share)
        elif (
            share > most
            and (reading.gap or said <= keys | known)
            and _has_rival(sequence, claim, given, complete=share == 1.0)
        ):
            most, rival = share, place
    return (
        rival
        if beside and most >= beside + _LEAST_LEAD
        else rival
        if most == 1.0 > beside
        else None
    )


def _sentences(chunks: Sequence[str]) -> Iterator[tuple[Evidence, list[Word], set[str]]]:
    """Yield each sentence, its words, and the keys that its subject takes from the one before."""
    chunk_before: set[str] = set()
    for number, chunk in enumerate(chunks):
        before: set[str] = set()
        for span in split_sentences(chunk):
            sequence = _sequence(span.text)
            known = before if _PRONOUN_SUBJECT.match(span.text) else set()
            if span.start == 0 and _DEFINITE_SUBJECT.match(span.text):
                known = chunk_before
            yield Evidence(number, *span), sequence, known
            before = known | {word.key for word in sequence}
        chunk_before = before


def _has_rival(sequence: list[Word], claim: list[Word], given: set[str], *, complete: bool) -> bool:
    """Say whether a sentence holds another number or name where the claim has its own."""
    own = {word.key for word in claim}
    others = _values(sequence) - own
    numbers = {word.key for word in claim if word.kind == "number"} & given
    if numbers:
        return any(word.kind == "number" and word.key not in own for word in sequence)
    if _values(claim) & given:
        return bool(others)
    # Neither number nor name: only a sentence that says all that was asked can stand against it.
    return complete and any(_counts(word) and word.key not in own for word in sequence)


def _sequence(text: str) -> list[Word]:
    return normalise_numbers(words(text))


def _counts(word: Word) -> bool:
    return word.kind in ("word", "number")


def _values(sequence: list[Word]) -> set[str]:
    return {
        word.key
        for n, word in enumerate(sequence)
        if word.kind == "number" or (word.kind == "word" and is_name_at(sequence, n))
    }
