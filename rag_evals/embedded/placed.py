"""Does an answer stand beside what was asked about, or beside something else?

"In 1889." to "When was the Louvre Pyramid completed?" has all its words in a chunk that says it of
the Eiffel Tower. Where another sentence says more of what was asked, with another number or name in
place of the answer, that sentence counts.
"""

import re
from collections.abc import Iterator, Sequence

from rag_evals.core import Evidence
from rag_evals.embedded.asked import leading_subject
from rag_evals.embedded.opposites import opposites
from rag_evals.embedded.standalone import Reading
from rag_evals.text import (
    Word,
    expand_dates,
    is_name_at,
    leaning_of,
    normalise_numbers,
    split_sentences,
    unit_at,
    words,
)

# "It opened in 1989." speaks of what the sentence before does; "Her brother died" does not.
_PRONOUN_SUBJECT = re.compile(r"(?:he|she|it|they|this|these|он|она|оно|они|это)\b", re.IGNORECASE)
# "The game" at the head of a chunk is what the chunk before tells of.
_DEFINITE_SUBJECT = re.compile(r"the [a-z'-]+ (?:is|are|was|were|has|had)\b", re.IGNORECASE)
# How much more of the question the other sentence must say.
_LEAST_LEAD = 0.2
# Without a verb, the first word is the subject: "Машина синяя."
_FEW_WORDS = 3
_DIGITS_OF_YEAR = 4


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
    sentences = list(_sentences(chunks))
    # "Red." begins with a capital and is no name: the chunks write it small.
    names = _values(claim) & given
    if names:
        names -= {
            word.key for _, said_by, _ in sentences for word in said_by if word.surface.islower()
        }
    for place, sequence, known in sentences:
        keys = {word.key for word in sequence}
        share = len(frame & (keys | known)) / len(frame)
        if given <= keys:
            beside = max(beside, share)
        elif (
            share > most
            and (reading.gap or said <= keys | known)
            and _has_rival(sequence, claim, given, names, complete=share == 1.0)
        ):
            most, rival = share, place
    return (
        rival
        if beside and most >= beside + _LEAST_LEAD
        else rival
        if most == 1.0 > beside
        else None
    )


def said_of_another(text: str, evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the sentence that says something else of what a statement speaks of.

    "Tom was born in 1970." | "Tom was born in 1982. Anna was born in 1970." → the first sentence.

    Args:
        text: A supported statement that stands alone.
        evidence: The sentences that support it.

    Returns:
        None unless a number or an opposable word comes only from a sentence about
        something else, which adds nothing more, and stands there beside another one.
    """
    subject = _keys_of_subject(text)
    if len(evidence) < 2 or not subject:
        return None
    claim = _sequence(text)
    content = {word.key for word in claim if _counts(word)}
    read = [(place, _sequence(place.text)) for place in evidence]
    for place, sequence in read:
        known = {word.key for word in sequence}
        if not (subject <= known and subject & _keys_of_subject(place.text)):
            continue
        for key in content - known:
            holders = [one for one in read if key in {word.key for word in one[1]}]
            is_added = all(_adds_only(key, one, subject, content, known) for one in holders)
            if holders and is_added and _is_rivalled(key, claim, sequence):
                return place
    return None


def _adds_only(
    key: str,
    holder: tuple[Evidence, list[Word]],
    subject: set[str],
    content: set[str],
    known: set[str],
) -> bool:
    """Say whether a sentence about something else adds a word to what is known, and no other."""
    place, sequence = holder
    theirs = {word.key for word in sequence}
    own = _keys_of_subject(place.text)
    is_other = bool(own - subject) and bool(subject - theirs)
    return is_other and theirs & content <= known | {key}


def _is_rivalled(key: str, claim: list[Word], sequence: list[Word]) -> bool:
    """Say whether a sentence has another number, or an opposite, in the place of a word."""
    own = {word.key for word in claim}
    at = next(place for place, word in enumerate(claim) if word.key == key)
    if claim[at].kind == "number":
        return any(
            word.kind == "number"
            and word.key not in own
            and _counts_alike(claim, at, sequence, place)
            for place, word in enumerate(sequence)
        )
    theirs = {word.key for word in sequence}
    return bool(opposites().get(key, frozenset()) & theirs - own)


def _counts_alike(claim: list[Word], at: int, sequence: list[Word], place: int) -> bool:
    """Say whether two numbers have one unit, count the same, or are both years."""
    unit = unit_at(claim, at)
    if unit or unit_at(sequence, place):
        return unit == unit_at(sequence, place)
    if _is_year(claim[at]) or _is_year(sequence[place]):
        return _is_year(claim[at]) and _is_year(sequence[place])
    # "40 rooms", and "rooms 40" of a table.
    beside = claim[at + 1 : at + 2] or claim[max(0, at - 1) : at]
    near = {word.key for word in sequence[max(0, place - 1) : place + 2]}
    return any(word.key in near for word in beside)


def _is_year(word: Word) -> bool:
    return len(word.key) == _DIGITS_OF_YEAR and word.key.isdecimal()


def _keys_of_subject(text: str) -> set[str]:
    """Return the keys of the subject; of a row of a table, of its first cell."""
    subject = leading_subject(text)
    if not subject and leaning_of(text) != "pronoun":
        first, comma, _ = text.partition(",")
        tokens = (first if comma else text).split()
        subject = " ".join(tokens if comma else tokens[:1]) if len(tokens) <= _FEW_WORDS else ""
    return {word.key for word in words(subject) if _counts(word)}


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


def _has_rival(
    sequence: list[Word], claim: list[Word], given: set[str], names: set[str], *, complete: bool
) -> bool:
    """Say whether a sentence holds another number or name where the claim has its own."""
    own = {word.key for word in claim}
    others = _values(sequence) - own
    numbers = {word.key for word in claim if word.kind == "number"} & given
    if numbers:
        return any(word.kind == "number" and word.key not in own for word in sequence)
    if names:
        return bool(others)
    # Neither number nor name: only a sentence that says all that was asked can stand against it.
    return complete and any(_counts(word) and word.key not in own for word in sequence)


def _sequence(text: str) -> list[Word]:
    return normalise_numbers(words(expand_dates(text)))


def _counts(word: Word) -> bool:
    return word.kind in ("word", "number")


def _values(sequence: list[Word]) -> set[str]:
    return {
        word.key
        for n, word in enumerate(sequence)
        if word.kind == "number" or (word.kind == "word" and is_name_at(sequence, n))
    }
