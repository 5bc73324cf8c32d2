"""What is computed from a chunk or a statement before they are compared?

A chunk is prepared once: its sentences as words, and an index from each word key to the sentences
that hold it. Preparing costs time linear in the text; prepared chunks are kept by their text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rag_evals.embedded.opposites import NEGATIVE_PREFIXES, opposites, positive_forms
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
    may_hold_date,
    may_hold_spaced_number,
    normalise_numbers,
    small_words,
    split_sentences,
    synonyms,
    unit_at,
    words,
    words_of_pieces,
)

_ANSWERS_NO = re.compile(r"\W*(?:no|нет)\s*,", re.IGNORECASE)
_ONE = frozenset("one один одна одно".split())
_INSIDE_NAMES = frozenset("of and for the on in".split())
_SHORTEST_ACRONYM, _LONGEST_ACRONYM = 2, 6
_KEPT_CHUNKS = 256
_LONGEST_KEPT_CHUNK = 20_000
_LONGEST_SENTENCE = 120
_LONGEST_STATEMENT = 400
_LONGEST_STATEMENT_TEXT = 20_000
_NONE: frozenset[str] = frozenset()

# Position, key, the keys that the lexicon sets against it, and what it says without a prefix.
Opposable = tuple[int, str, frozenset[str], list[str]]


class Sentence:
    """The words of one sentence; what only some sentences need is found on first use."""

    __slots__ = (
        "_acronyms", "_figures", "_first_words", "_heads", "_initials", "_keys", "_language",
        "_last", "_marks",
        "_names", "_negations", "_numbers", "_opposable", "_pairs", "_positions", "_rivals",
        "_synonyms", "_turned", "sequence", "span",
    )  # fmt: skip

    def __init__(self, span: Span, sequence: list[Word]) -> None:
        """Hold a sentence.

        Args:
            span: Its place in the chunk.
            sequence: Its words, numbers normalised.
        """
        self.span = span
        self.sequence = sequence
        self._marks: int | None = None
        self._language: str | None = None
        self._keys: list[str] | None = None
        self._last: dict[str, int] | None = None
        self._positions: dict[str, list[int]] | None = None
        self._heads: dict[str, str] | None = None
        self._synonyms: dict[str, frozenset[str]] | None = None
        self._turned: dict[str, str] | None = None
        self._acronyms: dict[str, str] | None = None
        self._initials: dict[str, list[str]] | None = None
        self._names: dict[str, str] | None = None
        self._numbers: dict[str, str] | None = None
        self._negations: list[int] | None = None
        self._figures: list[int] | None = None
        self._opposable: list[Opposable] | None = None
        self._rivals: frozenset[str] | None = None
        self._first_words: list[Opposable] | None = None
        self._pairs: set[tuple[str, str]] | None = None

    @property
    def marks(self) -> int:
        """The marks of all words together."""
        if self._marks is None:
            marks = 0
            for word in self.sequence:
                marks |= word.marks
            if marks & (DENIES | DENIES_ABROAD) and self.language not in READ_WELL:
                # "No" is "in the" in Portuguese: only the own words of a language deny.
                found = _negations(self.sequence, self.language)
                marks = marks | DENIES if found else marks & ~DENIES
            self._marks = marks
        return self._marks

    @property
    def language(self) -> str:
        """The code of its language; English where it cannot be told."""
        if self._language is None:
            self._language = language_of(self.span.text) or "en"
        return self._language

    @property
    def small_words(self) -> frozenset[str]:
        """Keys that say nothing in its language; in English and Russian their kind says so."""
        return small_words(self.language)

    @property
    def keys(self) -> list[str]:
        """The key of each word."""
        if self._keys is None:
            self._keys = [word.key for word in self.sequence]
        return self._keys

    @property
    def last(self) -> dict[str, int]:
        """The last position of each key, in words from 0; in the order of first positions."""
        if self._last is None:
            keys = self.keys
            self._last = dict(zip(keys, range(len(keys)), strict=True))
        return self._last

    @property
    def positions(self) -> dict[str, list[int]]:
        """All positions of each key, counted in words from 0."""
        if self._positions is None:
            positions: dict[str, list[int]] = {}
            for position, key in enumerate(self.keys):
                positions.setdefault(key, []).append(position)
            self._positions = positions
        return self._positions

    @property
    def heads(self) -> dict[str, str]:
        """The keys of four letters and more by their first four."""
        if self._heads is None:
            self._heads = {key[:4]: key for key in self.last if len(key) >= 4}
        return self._heads

    @property
    def synonyms(self) -> dict[str, frozenset[str]]:
        """The keys that have synonyms, with these; in order."""
        if self._synonyms is None:
            table = synonyms()
            self._synonyms = {
                key: table[key] for key in self.last if key in table and not key[0].isdigit()
            }
        return self._synonyms

    @property
    def turned(self) -> dict[str, str]:
        """What words with a denying prefix deny, with their own keys: "legal" for "illegal"."""
        if self._turned is None:
            self._turned = {
                form: word.key
                for word in self.sequence
                if word.kind == "word" and word.key.startswith(NEGATIVE_PREFIXES)
                for form in positive_forms(word.key)
            }
        return self._turned

    @property
    def acronyms(self) -> dict[str, str]:
        """Words in capitals with their keys: "eu"."""
        if self._acronyms is None:
            self._acronyms = {
                word.low: word.key
                for word in self.sequence
                if word.is_capital
                and _SHORTEST_ACRONYM <= len(word.low) <= _LONGEST_ACRONYM
                and word.surface.isupper()
            }
        return self._acronyms

    @property
    def initials(self) -> dict[str, list[str]]:
        """First letters of names of several words, with their keys: "eu" for European Union."""
        if self._initials is None:
            self._initials = {
                "".join(word.low[0] for word in run): [word.key for word in run]
                for run in _capital_runs(self.sequence)
            }
        return self._initials

    @property
    def names(self) -> dict[str, str]:
        """Keys of the words that look like names, with a surface of each."""
        if self._names is None:
            sequence = self.sequence
            self._names = {
                word.key: word.surface
                for position, word in enumerate(sequence)
                if word.is_capital and is_name_at(sequence, position)
            }
        return self._names

    @property
    def numbers(self) -> dict[str, str]:
        """Numbers as plain decimals, with the unit beside each ("" for none)."""
        if self._numbers is None:
            sequence = self.sequence
            self._numbers = {
                word.key: unit_at(sequence, position)
                for position, word in enumerate(sequence)
                if word.kind == "number"
            }
        return self._numbers

    @property
    def negations(self) -> list[int]:
        """Positions of the words that deny."""
        if self._negations is None:
            found = _negations(self.sequence, self.language) if self.marks & DENIES else []
            # "No, he did.": an answer to someone, not a denial of what follows.
            if found[:1] == [0] and _ANSWERS_NO.match(self.span.text):
                del found[0]
            self._negations = found
        return self._negations

    @property
    def figures(self) -> list[int]:
        """Positions of the numbers and months; "one team" counts hardly more than "a team"."""
        if self._figures is None:
            self._figures = [
                position
                for position, word in enumerate(self.sequence)
                if (
                    word.low not in _ONE
                    if word.kind == "number"
                    else word.key[0] == "m" and word.key[:5] == "month" and word.key[5:].isdigit()
                )
            ]
        return self._figures

    @property
    def opposable(self) -> list[Opposable]:
        """Those of `first_words` that are in the lexicon or begin with a denying prefix."""
        if self._opposable is None:
            self._opposable = [first for first in self.first_words if first[2] or first[3]]
        return self._opposable

    @property
    def rivals(self) -> frozenset[str]:
        """All keys that may oppose a word of `opposable`."""
        if self._rivals is None:
            self._rivals = _NONE.union(*[[*first[2], *first[3]] for first in self.opposable])
        return self._rivals

    @property
    def first_words(self) -> list[Opposable]:
        """The first position of each key that is not a number, with its opposites."""
        if self._first_words is None:
            lexicon = opposites()
            firsts: dict[str, int] = {}
            for position, word in enumerate(self.sequence):
                if word.kind != "number":
                    firsts.setdefault(word.key, position)
            self._first_words = [
                (position, key, lexicon.get(key, _NONE), positive_forms(key))
                for key, position in firsts.items()
            ]
        return self._first_words

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Keys of neighbouring words."""
        if self._pairs is None:
            self._pairs = set(pairwise(self.keys))
        return self._pairs


class Passage:
    """A prepared chunk."""

    __slots__ = ("_known", "_sequences", "_spans", "index", "text")

    def __init__(self, text: str) -> None:
        """Prepare a chunk.

        Args:
            text: The chunk; may be empty.
        """
        self.text = text
        # Two lists, not pairs: the fewer objects, the less the collector has to visit.
        self._spans, self._sequences = _sentences(text)
        self._known: dict[int, Sentence] = {}
        index: dict[str, Sequence[int]] = {}
        self.index = index
        for number, sequence in enumerate(self._sequences):
            # Most words stand in one sentence only: these share one tuple.
            alone = (number,)
            for word in sequence:
                if word.kind == "stop":
                    continue
                key = word.key
                if key not in index:
                    index[key] = alone
                    continue
                holders = index[key]
                if holders[-1] != number:
                    if isinstance(holders, list):
                        holders.append(number)
                    else:
                        index[key] = [*holders, number]

    def sentence(self, number: int) -> Sentence:
        """Return a sentence; one that is never evidence need not be more than its words."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = Sentence(self._spans[number], self._sequences[number])
        return known


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


def prepare(text: str) -> Passage:
    """Prepare a chunk, or return the one prepared before for the same text."""
    if len(text) > _LONGEST_KEPT_CHUNK:
        return Passage(text)
    return _kept(text)


@lru_cache(maxsize=_KEPT_CHUNKS)
def _kept(text: str) -> Passage:
    return Passage(text)


def statement_sentence(text: str) -> Sentence:
    """Prepare a statement as one sentence, however many it holds."""
    # What is longer is no statement; the bound keeps the comparison's time bounded.
    sequence = words(expand_dates(text[:_LONGEST_STATEMENT_TEXT]))[:_LONGEST_STATEMENT]
    return Sentence(Span(0, len(text), text), normalise_numbers(sequence))


def _sentences(text: str) -> tuple[list[Span], list[list[Word]]]:
    """Return the sentences of a chunk and, in the same order, their words."""
    # What a chunk does not hold need not be looked for in each sentence.
    is_plain = not (may_hold_date(text) or may_hold_spaced_number(text))
    spans: list[Span] = []
    sequences: list[list[Word]] = []
    for span in split_sentences(text):
        found = words_of_pieces(span.text) if is_plain else words(expand_dates(span.text))
        sequence = normalise_numbers(found)
        if len(sequence) <= _LONGEST_SENTENCE:
            spans.append(span)
            sequences.append(sequence)
            continue
        for piece in _pieces(text, span):
            spans.append(piece)
            sequences.append(normalise_numbers(words(expand_dates(piece.text))))
    return spans, sequences


def _pieces(text: str, span: Span) -> list[Span]:
    # A text without stops (a transcript, a table) is read in pieces: evidence must stay quotable.
    pieces: list[Span] = []
    start = span.start
    while start < span.end:
        end = min(start + 400, span.end)
        if end < span.end:
            space = text.rfind(" ", start + 200, end)
            end = space if space > 0 else end
        body = text[start:end]
        stripped = body.strip()
        if stripped:
            first = start + len(body) - len(body.lstrip())
            pieces.append(Span(first, first + len(stripped), stripped))
        start = end
    return pieces
