"""What must be known of a chunk or a statement before they can be compared?

A chunk is prepared once: its sentences as words, and an index from each word key to the sentences
that hold it. Preparing costs time linear in the text; prepared chunks are kept by their text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rag_evals.text._marks import DENIES
from rag_evals.text.numbers import expand_dates, may_hold_date, normalise_numbers, unit_at
from rag_evals.text.polarity import NEGATIVE_PREFIXES, opposites, positive_forms
from rag_evals.text.sentences import Span, split_sentences
from rag_evals.text.words import Word, is_name_at, words

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
        "_acronyms", "_figures", "_heads", "_initials", "_marks", "_names", "_negations",
        "_numbers", "_opposable", "_pairs",
        "_positions", "_turned", "sequence", "span",
    )  # fmt: skip

    def __init__(self, span: Span, sequence: list[Word]) -> None:
        """Hold a sentence.

        Args:
            span: Its place in the chunk.
            sequence: Its words, numbers normalised.
        """
        self.span = span
        self.sequence = sequence
        self._names: dict[str, str] | None = None
        self._numbers: dict[str, str] | None = None
        self._negations: list[int] | None = None
        self._positions: dict[str, list[int]] | None = None
        self._heads: dict[str, str] | None = None
        self._marks: int | None = None
        self._turned: dict[str, str] | None = None
        self._figures: list[int] | None = None
        self._opposable: list[Opposable] | None = None
        self._pairs: set[tuple[str, str]] | None = None
        self._acronyms: dict[str, str] | None = None
        self._initials: dict[str, list[str]] | None = None

    @property
    def marks(self) -> int:
        """The marks of all words together."""
        if self._marks is None:
            marks = 0
            for word in self.sequence:
                marks |= word[5]
            self._marks = marks
        return self._marks

    @property
    def heads(self) -> dict[str, str]:
        """The keys of four letters and more by their first four."""
        if self._heads is None:
            self._heads = {key[:4]: key for key in self.positions if len(key) >= 4}
        return self._heads

    @property
    def turned(self) -> dict[str, str]:
        """What words with a denying prefix deny, with their own keys: "legal" for "illegal"."""
        if self._turned is None:
            self._turned = {
                form: word[1]
                for word in self.sequence
                if word[2] == "word" and word[1].startswith(NEGATIVE_PREFIXES)
                for form in positive_forms(word[1])
            }
        return self._turned

    @property
    def acronyms(self) -> dict[str, str]:
        """Words in capitals with their keys: "eu"."""
        if self._acronyms is None:
            self._acronyms = {
                word[4]: word[1]
                for word in self.sequence
                if word[3]
                and _SHORTEST_ACRONYM <= len(word[4]) <= _LONGEST_ACRONYM
                and word[0].isupper()
            }
        return self._acronyms

    @property
    def initials(self) -> dict[str, list[str]]:
        """First letters of names of several words, with their keys: "eu" for European Union."""
        if self._initials is None:
            self._initials = {
                "".join(word[4][0] for word in run): [word[1] for word in run]
                for run in _capital_runs(self.sequence)
            }
        return self._initials

    @property
    def positions(self) -> dict[str, list[int]]:
        """Where each key stands, counted in words from 0."""
        if self._positions is None:
            positions: dict[str, list[int]] = {}
            for position, word in enumerate(self.sequence):
                key = word[1]
                if key in positions:
                    positions[key].append(position)
                else:
                    positions[key] = [position]
            self._positions = positions
        return self._positions

    @property
    def names(self) -> dict[str, str]:
        """Keys of the words that look like names, with a surface of each."""
        if self._names is None:
            sequence = self.sequence
            self._names = {
                word[1]: word[0]
                for position, word in enumerate(sequence)
                if word[3] and is_name_at(sequence, position)
            }
        return self._names

    @property
    def numbers(self) -> dict[str, str]:
        """Numbers as plain decimals, with the unit beside each ("" for none)."""
        if self._numbers is None:
            sequence = self.sequence
            self._numbers = {
                word[1]: unit_at(sequence, position)
                for position, word in enumerate(sequence)
                if word[2] == "number"
            }
        return self._numbers

    @property
    def negations(self) -> list[int]:
        """Positions of the words that deny."""
        if self._negations is None:
            found = _negations(self.sequence) if self.marks & DENIES else []
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
                if (word[2] == "number" and word[4] not in _ONE)
                or (word[1][:5] == "month" and word[1][5:].isdigit())
            ]
        return self._figures

    @property
    def opposable(self) -> list[Opposable]:
        """Those of `first_words` that are in the lexicon or begin with a denying prefix."""
        if self._opposable is None:
            self._opposable = [first for first in self.first_words() if first[2] or first[3]]
        return self._opposable

    def first_words(self) -> list[Opposable]:
        """Return each key that is no number where it stands first, with its opposites."""
        lexicon = opposites()
        firsts: dict[str, int] = {}
        for position, word in enumerate(self.sequence):
            if word[2] != "number":
                firsts.setdefault(word[1], position)
        return [
            (position, key, lexicon.get(key, _NONE), positive_forms(key))
            for key, position in firsts.items()
        ]

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Keys of words that stand side by side."""
        if self._pairs is None:
            self._pairs = set(pairwise([word[1] for word in self.sequence]))
        return self._pairs


class Passage:
    """A prepared chunk."""

    __slots__ = ("index", "sentences", "text")

    def __init__(self, text: str) -> None:
        """Prepare a chunk.

        Args:
            text: The chunk; may be empty.
        """
        self.text = text
        self.sentences = _sentences(text)
        index: dict[str, Sequence[int]] = {}
        self.index = index
        for number, sentence in enumerate(self.sentences):
            # Most words stand in one sentence only: these share one tuple.
            alone = (number,)
            for word in sentence.sequence:
                if word[2] == "stop":
                    continue
                holders = index.get(word[1])
                if holders is None:
                    index[word[1]] = alone
                elif holders[-1] != number:
                    if isinstance(holders, list):
                        holders.append(number)
                    else:
                        index[word[1]] = [*holders, number]


def _capital_runs(sequence: list[Word]) -> list[list[Word]]:
    runs: list[list[Word]] = []
    run: list[Word] = []
    for word in sequence:
        if word[3] and (run or word[2] != "stop"):
            run.append(word)
        elif run and word[4] not in _INSIDE_NAMES:
            runs.append(run)
            run = []
    return [found for found in [*runs, run] if len(found) > 1]


def _negations(sequence: list[Word]) -> list[int]:
    return [
        position
        for position, word in enumerate(sequence)
        # "not only", "не только" deny nothing.
        if word[5] & DENIES
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


def _sentences(text: str) -> list[Sentence]:
    sentences: list[Sentence] = []
    has_dates = may_hold_date(text)
    for span in split_sentences(text):
        spelled = expand_dates(span.text) if has_dates else span.text
        sequence = normalise_numbers(words(spelled))
        if len(sequence) <= _LONGEST_SENTENCE:
            sentences.append(Sentence(span, sequence))
        else:
            sentences.extend(_pieces(text, span))
    return sentences


def _pieces(text: str, span: Span) -> list[Sentence]:
    # A text without stops (a transcript, a table) is read in pieces: evidence must stay quotable.
    pieces: list[Sentence] = []
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
            piece = Span(first, first + len(stripped), stripped)
            pieces.append(Sentence(piece, normalise_numbers(words(expand_dates(stripped)))))
        start = end
    return pieces
