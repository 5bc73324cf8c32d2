"""What is known of one sentence before it is compared? Its words, and what they tell."""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar, overload

from rag_evals.text import (
    DENIES,
    DENIES_ABROAD,
    READ_WELL,
    Span,
    Word,
    denials,
    expand_dates,
    is_name_at,
    language_of,
    normalise_numbers,
    pairs_in,
    rivals_in,
    small_words,
    stem,
    synonyms,
    unit_at,
    words,
)

# Which words say the opposite of one another? Keys are those of `words`.

NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "не", "без", "бес")
_SHORTEST_ROOT = 4


def positive_forms(key: str) -> list[str]:
    """Return what a key says without a denying prefix: "legal" for "illegal"."""
    if not key.startswith(NEGATIVE_PREFIXES):
        return []
    return [
        key[len(prefix) :]
        for prefix in NEGATIVE_PREFIXES
        if key.startswith(prefix) and len(key) - len(prefix) >= _SHORTEST_ROOT
    ]


def opposed_forms(word: str) -> list[str]:
    """Return words that say the opposite of a word, one for each key: "closed" for "open"."""
    key = stem(word.lower())
    forms: dict[str, str] = {}
    for pair in pairs_in("opposites_english", "opposites_russian"):
        for ours, theirs in (pair, pair[::-1]):
            if key in map(stem, ours):
                forms.update((stem(form), form) for form in theirs if stem(form) != key)
    return list(forms.values())


@lru_cache(maxsize=1)
def opposites() -> dict[str, frozenset[str]]:
    """Return the lexicon of opposites; regular forms such as "illegal" are not in it."""
    table: dict[str, set[str]] = {}
    listed = pairs_in("opposites_english", "opposites_russian")
    for left, right in chain(listed, rivals_in("alternatives")):
        left_keys, right_keys = set(map(stem, left)), set(map(stem, right))
        for key in left_keys - right_keys:
            table.setdefault(key, set()).update(right_keys - left_keys)
        for key in right_keys - left_keys:
            table.setdefault(key, set()).update(left_keys - right_keys)
    return {key: frozenset(others) for key, others in table.items()}


# What is an attribute that is found on first use, at the least cost?
#
# `functools.cached_property` takes a lock each time before Python 3.12, which costs more than most
# of what is found here. Two threads may find the same thing twice; both find the same.

T = TypeVar("T")


class found_once(Generic[T]):  # noqa: N801 - used as `property` is
    """An attribute that replaces itself by what its function returns.

    Args:
        find: A method without arguments.
    """

    # Any: the function takes the class that it stands in, which nothing here looks into.
    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> "found_once[T]": ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> "found_once[T] | T":
        if owner is None:
            return self
        value = self._find(owner)
        owner.__dict__[self._name] = value
        return value


_ANSWERS_NO = re.compile(r"\W*(?:no|нет)\s*,", re.IGNORECASE)
_ONE = frozenset("one один одна одно".split())
_INSIDE_NAMES = frozenset("of and for the on in".split())
_SHORTEST_ACRONYM, _LONGEST_ACRONYM = 2, 6
_LONGEST_STATEMENT = 400
_LONGEST_STATEMENT_TEXT = 20_000
_MOST_KNOWN = 1 << 14
_NONE: frozenset[str] = frozenset()

# Position, key, the keys that the lexicon sets against it, and what it says without a prefix.
Opposable = tuple[int, str, frozenset[str], list[str]]


class Sentence:
    """The words of one sentence; what only some sentences need is found on first use."""

    def __init__(self, span: Span, sequence: list[Word]) -> None:
        """Hold a sentence.

        Args:
            span: Its place in the chunk.
            sequence: Its words, numbers normalised.
        """
        self.span = span
        self.sequence = sequence

    @found_once
    def marks(self) -> int:
        """The marks of all words together."""
        marks = 0
        for word in self.sequence:
            marks |= word.marks
        if marks & (DENIES | DENIES_ABROAD) and self.language not in READ_WELL:
            # "No" is "in the" in Portuguese: only the own words of a language deny.
            found = _negations(self.sequence, self.language)
            marks = marks | DENIES if found else marks & ~DENIES
        return marks

    @found_once
    def language(self) -> str:
        """The code of its language; English where it cannot be told."""
        return language_of(self.span.text) or "en"

    @property
    def small_words(self) -> frozenset[str]:
        """Keys that say nothing in its language; in English and Russian their kind says so."""
        return small_words(self.language)

    @found_once
    def keys(self) -> list[str]:
        """The key of each word."""
        return [word.key for word in self.sequence]

    @found_once
    def last(self) -> dict[str, int]:
        """The last position of each key, in words from 0; in the order of first positions."""
        keys = self.keys
        return dict(zip(keys, range(len(keys)), strict=True))

    @found_once
    def positions(self) -> dict[str, list[int]]:
        """All positions of each key, counted in words from 0."""
        positions: dict[str, list[int]] = {}
        for position, key in enumerate(self.keys):
            positions.setdefault(key, []).append(position)
        return positions

    @found_once
    def heads(self) -> dict[str, str]:
        """The keys of four letters and more by their first four."""
        return {key[:4]: key for key in self.last if len(key) >= 4}

    @found_once
    def synonyms(self) -> dict[str, frozenset[str]]:
        """The keys that have synonyms, with these; in order."""
        table = synonyms()
        return {key: table[key] for key in self.last if key in table and not key[0].isdigit()}

    @found_once
    def turned(self) -> dict[str, str]:
        """What words with a denying prefix deny, with their own keys: "legal" for "illegal"."""
        return {
            form: word.key
            for word in self.sequence
            if word.kind == "word" and word.key.startswith(NEGATIVE_PREFIXES)
            for form in positive_forms(word.key)
        }

    @found_once
    def acronyms(self) -> dict[str, str]:
        """Words in capitals with their keys: "eu"."""
        return {
            word.low: word.key
            for word in self.sequence
            if word.is_capital
            and _SHORTEST_ACRONYM <= len(word.low) <= _LONGEST_ACRONYM
            and word.surface.isupper()
        }

    @found_once
    def initials(self) -> dict[str, list[str]]:
        """First letters of names of several words, with their keys: "eu" for European Union."""
        return {
            "".join(word.low[0] for word in run): [word.key for word in run]
            for run in _capital_runs(self.sequence)
        }

    @found_once
    def names(self) -> dict[str, str]:
        """Keys of the words that look like names, with a surface of each."""
        sequence = self.sequence
        return {
            word.key: word.surface
            for position, word in enumerate(sequence)
            if word.is_capital and is_name_at(sequence, position)
        }

    @found_once
    def numbers(self) -> dict[str, str]:
        """Numbers as plain decimals, with the unit beside each ("" for none)."""
        sequence = self.sequence
        return {
            word.key: unit_at(sequence, position)
            for position, word in enumerate(sequence)
            if word.kind == "number"
        }

    @found_once
    def negations(self) -> list[int]:
        """Positions of the words that deny."""
        found = _negations(self.sequence, self.language) if self.marks & DENIES else []
        # "No, he did.": an answer to someone, not a denial of what follows.
        if found[:1] == [0] and _ANSWERS_NO.match(self.span.text):
            del found[0]
        return found

    @found_once
    def figures(self) -> list[int]:
        """Positions of the numbers and months; "one team" counts hardly more than "a team"."""
        return [
            position
            for position, word in enumerate(self.sequence)
            if (
                word.low not in _ONE
                if word.kind == "number"
                else word.key[0] == "m" and word.key[:5] == "month" and word.key[5:].isdigit()
            )
        ]

    @found_once
    def opposable(self) -> list[Opposable]:
        """Those of `first_words` that are in the lexicon or begin with a denying prefix."""
        return [first for first in self.first_words if first[2] or first[3]]

    @found_once
    def rivals(self) -> frozenset[str]:
        """All keys that may oppose a word of `opposable`."""
        return _NONE.union(*[[*first[2], *first[3]] for first in self.opposable])

    @found_once
    def first_words(self) -> list[Opposable]:
        """The first position of each key that is not a number, with its opposites."""
        firsts: dict[str, int] = {}
        for position, word in enumerate(self.sequence):
            if word.kind != "number":
                firsts.setdefault(word.key, position)
        return [(position, key, *_opposed_keys(key)) for key, position in firsts.items()]

    @found_once
    def pairs(self) -> set[tuple[str, str]]:
        """Keys of neighbouring words."""
        return set(pairwise(self.keys))


@lru_cache(maxsize=_MOST_KNOWN)
def _opposed_keys(key: str) -> tuple[frozenset[str], list[str]]:
    return opposites().get(key, _NONE), positive_forms(key)


def _capital_runs(sequence: list[Word]) -> list[list[Word]]:
    runs: list[list[Word]] = []
    run: list[Word] = []
    for word in sequence:
        if word.is_capital and (run or word.kind != "stop"):
            run.append(word)
        elif run and word.low not in _INSIDE_NAMES:
            runs.append(run)
            run = []
    return [found for found in [*runs, run] if len(found) > 1]


def _negations(sequence: list[Word], language: str) -> list[int]:
    if language not in READ_WELL:
        own = denials(language)
        return [position for position, word in enumerate(sequence) if word.low in own]
    return [
        position
        for position, word in enumerate(sequence)
        # "not only", "не только" deny nothing.
        if word.marks & DENIES
        and not (
            position + 1 < len(sequence)
            and sequence[position + 1].low in ("only", "just", "merely", "только", "лишь")
        )
    ]


def statement_sentence(text: str) -> Sentence:
    """Prepare a statement as one sentence, however many it holds."""
    # What is longer is no statement; the bound keeps the comparison's time bounded.
    sequence = words(expand_dates(text[:_LONGEST_STATEMENT_TEXT]))[:_LONGEST_STATEMENT]
    return Sentence(Span(0, len(text), text), normalise_numbers(sequence))
