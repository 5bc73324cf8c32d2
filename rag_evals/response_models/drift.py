"""Does what a judge extracted still say what the answer says? Code compares the words.

A judge that corrects, adds, drops or translates while it extracts grades another answer than the
one it was given. Each fault is told to the judge in words; one that stays is a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationInfo

from rag_evals.core import facts_of, is_last_attempt
from rag_evals.response_models.statements import NoClaimSentence
from rag_evals.text import (
    DENIES,
    Word,
    expand_dates,
    is_name_at,
    normalise_numbers,
    numbers_of,
    plain_form,
    script_of,
    words,
)

# More statements of one sentence have fewer than one in a thousand sentences that people broke up.
MOST_STATEMENTS = 15
# At least this share of a statement's words stands in its sentence, the question or what is before.
_LEAST_SHARED = 0.3
# Names and numbers outlive a translation; other words do not.
_LEAST_OF_TRANSLATED = 0.7
_FEW_WORDS = 2
# "One part is …", "his first film": hardly numbers.
_ARTICLES = frozenset(("0", "1"))
_MOST_NAMED = 5
# "Der Turm wurde 1889 in Paris gebaut" has one word in seven that is a function word in English.
_FEW_STOPS, _MANY_STOPS, _LEAST_WORDS = 0.15, 0.25, 5


DRIFT_NAMES = (
    "changed number",
    "lost number",
    "lost name",
    "lost negation",
    "added negation",
    "other language",
    "other words",
    "too many statements",
    "merged",
    "passed over",
)
"""What a fault begins with; a run's summary counts warnings by these."""


class Extracted(NamedTuple):
    """One statement that a judge made of sentences."""

    text: str
    sentence_ids: tuple[int, ...]


def check_drift(
    statements: Sequence[Extracted], passed_over: Sequence[NoClaimSentence], info: ValidationInfo
) -> None:
    """Refuse statements that do not say what their sentences do, while the judge may be asked.

    Args:
        statements: What the judge made of the sentences.
        passed_over: The sentences that it made nothing of.
        info: Has the facts of the call.

    Raises:
        ValueError: The faults, in words; the first few.
    """
    facts = facts_of(info)
    # A judge that insists is taken at its word, with warnings: the fault may be the code's.
    if facts is None or is_last_attempt(info):
        return
    places, _ = _without_repeats(statements)
    faults = _faults([statements[place] for place in places], passed_over, facts)
    if faults:
        raise ValueError("; ".join(faults[:_MOST_NAMED]))


def distinct_statements(
    statements: Sequence[Extracted],
    passed_over: Sequence[NoClaimSentence],
    facts: Mapping[str, Any],
) -> tuple[list[int], list[str]]:
    """Leave out statements that repeat others, and compare the rest with the sentences.

    Args:
        statements: What a judge made of the sentences.
        passed_over: The sentences that it made nothing of.
        facts: Of the call: `sentences`, and, where known, `question` and `claiming_sentences`, the
            ids of those that claim something, as code reads them.

    Returns:
        The places of the statements that stay, in order; and the drift, one fault each, in words
        that a judge can act on.
    """
    places, merged = _without_repeats(statements)
    return places, _faults([statements[place] for place in places], passed_over, facts) + merged


def _faults(
    statements: Sequence[Extracted],
    passed_over: Sequence[NoClaimSentence],
    facts: Mapping[str, Any],
) -> list[str]:
    sentences, question = facts["sentences"], facts.get("question") or ""
    faults = [fault for one in statements for fault in _of_statement(one, sentences, question)]
    by_sentence: dict[int, list[Extracted]] = {}
    for one in statements:
        for number in set(one.sentence_ids):
            by_sentence.setdefault(number, []).append(one)
    for number, own in sorted(by_sentence.items()):
        faults += _of_sentence(number, sentences[number], own)
    claiming = {one.sentence_id for one in passed_over} & set(facts.get("claiming_sentences", ()))
    faults += [
        f"passed over: sentence {number} claims something; break it into statements: "
        f"{sentences[number]!r}"
        for number in sorted(claiming)
    ]
    return faults


def _of_statement(one: Extracted, sentences: Sequence[str], question: str) -> Iterator[str]:
    named = " ".join(sentences[number] for number in one.sentence_ids)
    place = f"statement {one.text!r}"
    ids = ", ".join(map(str, one.sentence_ids))
    numbers = sorted(numbers_of(one.text) - numbers_of(named) - numbers_of(question) - _ARTICLES)
    if numbers:
        yield (
            f"changed number: {place} has {', '.join(numbers)}, which sentence {ids} does not say; "
            "keep the answer's numbers, right or wrong"
        )
    script, expected = script_of(one.text), script_of(named)
    if script and expected and script != expected:
        yield f"other language: {place} is in another script than sentence {ids}; keep its language"
        return
    yield from _other_words(one, place, f"{named} {question}", sentences)


def _other_words(one: Extracted, place: str, asked: str, sentences: Sequence[str]) -> Iterator[str]:
    own, ids = _content(one.text), ", ".join(map(str, one.sentence_ids))
    shared = len(own & _content(asked))
    before = " ".join(sentences[: max(one.sentence_ids, default=0) + 1])
    known = _content(f"{before} {asked}")
    if own and not shared:
        yield f"other words: {place} shares no word with sentence {ids}, which it names"
    elif len(own) >= _FEW_WORDS and len(own & known) < _LEAST_SHARED * len(own):
        yield f"other words: {place} says hardly anything of what sentence {ids} says"
    elif (
        shared < _LEAST_OF_TRANSLATED * len(own)
        and _stops(one.text) < _FEW_STOPS
        and _stops(asked) >= _MANY_STOPS
    ):
        yield f"other language: {place} has no small words of sentence {ids}; keep its language"


def _of_sentence(number: int, sentence: str, own: Sequence[Extracted]) -> Iterator[str]:
    if len(own) > MOST_STATEMENTS:
        yield (
            f"too many statements: sentence {number} has {len(own)}; at most {MOST_STATEMENTS}, "
            "each a claim of its own"
        )
    said = " ".join(one.text for one in own)
    if script_of(said) != script_of(sentence):
        return
    lost = sorted(numbers_of(sentence) - numbers_of(said) - _ARTICLES)
    if lost:
        yield f"lost number: no statement of sentence {number} has {', '.join(lost)}"
    keys = {word.key for word in words(said)}
    # One word of a name may go ("Ann Field" is "Field"); a whole name is a claim that goes.
    names = _names(sentence)
    missing = [
        name
        for place, (name, parts) in enumerate(names)
        if not (parts.difference(*(p for n, (_, p) in enumerate(names) if n != place)) or parts)
        & keys
    ]
    if missing:
        yield f"lost name: no statement of sentence {number} has {', '.join(missing[:3])}"
    if _denies(sentence) and not _denies(said):
        yield f"lost negation: sentence {number} denies something, and no statement of it does"
    if _denies(said) and not _denies(sentence):
        yield f"added negation: a statement of sentence {number} denies what the sentence says"


def _stops(text: str) -> float:
    """Return the share of English and Russian function words; short texts have no telling one."""
    sequence = words(text)
    if len(sequence) < _LEAST_WORDS:
        return _MANY_STOPS
    return sum(word.kind == "stop" for word in sequence) / len(sequence)


def _names(text: str) -> list[tuple[str, set[str]]]:
    """Return the names of a sentence: runs of capitalised words, each with its keys."""
    sequence = words(text)
    names: list[tuple[str, set[str]]] = []
    last = -2
    for n, word in enumerate(sequence):
        if word.kind == "word" and is_name_at(sequence, n):
            if last == n - 1:
                name, keys = names.pop()
                names.append((f"{name} {word.surface}", keys | {word.key}))
            else:
                names.append((word.surface, {word.key}))
            last = n
    return names


def _denies(text: str) -> bool:
    return any(word.marks & DENIES for word in words(text))


def _content(text: str) -> set[str]:
    sequence: list[Word] = normalise_numbers(words(expand_dates(text)))
    return {word.key for word in sequence if word.kind in ("word", "number")}


def _without_repeats(statements: Sequence[Extracted]) -> tuple[list[int], list[str]]:
    """Find statements that say the same of the same sentences in the same words.

    Returns:
        The places of the first of each, in order, and a warning for each that came repeatedly.
    """
    places: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for place, one in enumerate(statements):
        text = plain_form(one.text).casefold()
        places.setdefault((text, tuple(sorted(set(one.sentence_ids)))), []).append(place)
    warnings = [
        f"merged: statement {statements[same[0]].text!r} was given {len(same)} times"
        for same in places.values()
        if len(same) > 1
    ]
    return sorted(same[0] for same in places.values()), warnings
