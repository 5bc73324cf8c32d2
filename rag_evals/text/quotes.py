"""Does a text contain a quote, word for word, and where?

Different spellings of the same words are equal: white space, quotation marks, dashes, Unicode forms
and invisible characters do not count. Letters, digits and their case do.
"""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from rag_evals.text.sentences import Span

MIN_QUOTE_LETTERS = 8
"""Letters and digits that a quote needs; a shorter one stands in nearly every text."""

_MIN_PART_LETTERS = 3
_QUOTATION_MARKS = frozenset("\"'`´«»‹›“”„‟‘’‚‛′″‵‶＂＇「」『』")
# "the tower [...] was built" → "the tower", "was built"; "…" is "..." after `_fold`.
_ELLIPSIS = re.compile(r"\s*(?:\[\s*\.{3,}\s*\]|\(\s*\.{3,}\s*\)|\.{3,})\s*")


class _Folded(NamedTuple):
    """A text in one writing, and where each of its characters came from."""

    text: str
    starts: list[int]
    ends: list[int]


class Quotable:
    """A text in which quotes are looked for; prepared once for any number of quotes."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._folded = _fold(text)

    def find(self, quote: str) -> tuple[Span, ...] | None:
        """Find a quote.

        Args:
            quote: Words of the text; an ellipsis (`...`, `…`, `[...]`) stands for words left out.

        Returns:
            One span for each part, in order, with `text[start:end] == span.text`; None when a part
            does not occur, occurs only before an earlier part, or cuts a word or a number in two.
        """
        wanted = _fold(quote).text.strip()
        for parts in ([wanted], _ELLIPSIS.split(wanted)):
            found = self._find_in_order([part for part in parts if part])
            if found:
                return found
        return None

    def is_long_enough(self, quote: str) -> bool:
        """Say whether a quote is long enough to be evidence.

        It needs `MIN_QUOTE_LETTERS` letters and digits, each part of it a few; the whole text is
        always enough. Chinese and Japanese characters count twice: they say as much as two letters.
        """
        wanted = _fold(quote).text.strip()
        if wanted and wanted == self._folded.text.strip():
            return True
        parts = [part for part in _ELLIPSIS.split(wanted) if part]
        weights = [_letters(part) for part in parts]
        return sum(weights) >= MIN_QUOTE_LETTERS and min(weights) >= _MIN_PART_LETTERS

    def _find_in_order(self, parts: list[str]) -> tuple[Span, ...] | None:
        spans = []
        position = 0
        for part in parts:
            start = self._next_whole(part, position)
            if start is None:
                return None
            position = start + len(part)
            begin, end = self._folded.starts[start], self._folded.ends[position - 1]
            spans.append(Span(begin, end, self._source[begin:end]))
        return tuple(spans) or None

    def _next_whole(self, part: str, position: int) -> int | None:
        """Return where the part next stands without cutting a word or a number."""
        text = self._folded.text
        while (start := text.find(part, position)) >= 0:
            end = start + len(part)
            if not _cuts(text, start) and not _cuts(text, end):
                return start
            position = start + 1
        return None


def _cuts(text: str, place: int) -> bool:
    """Say whether a border at `place` would run through a word or a number."""
    before, after = text[max(0, place - 1) : place], text[place : place + 1]
    if not before or not after:
        return False
    if before.isalnum() and after.isalnum():
        return not (_is_unspaced(before) or _is_unspaced(after))
    following = text[place + 1 : place + 2]
    preceding = text[max(0, place - 2) : max(0, place - 1)]
    # "It cost 3" does not stand in "It cost 3.14", nor "5 degrees" in "-5 degrees".
    if before.isdigit() and after in ".,:" and following.isdigit():
        return True
    if after.isdigit() and before == "-":
        return not preceding.strip()
    return after.isdigit() and before in ".,:" and preceding.isdigit()


def _letters(text: str) -> int:
    return sum(2 if _is_unspaced(c) else 1 for c in text if c.isalnum())


@cache
def _is_unspaced(character: str) -> bool:
    """Say whether the character belongs to a script without spaces between words."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))


def _fold(text: str) -> _Folded:
    """Write a text in one way: compatible forms decomposed, one kind of space, quote and dash.

    “Red”  –  ﬁne… → "Red" - fine...
    """
    letters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        for character in unicodedata.normalize("NFKD", text[start:end]):
            folded = _fold_character(character)
            if not folded or (folded == " " and letters[-1:] == [" "]):
                continue
            letters.append(folded)
            starts.append(start)
            ends.append(end)
    return _Folded("".join(letters), starts, ends)


def _clusters(text: str) -> list[tuple[int, int]]:
    """Cut before each character that does not combine with the one before it."""
    cuts = [i for i, c in enumerate(text) if i == 0 or not unicodedata.combining(c)]
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


@cache
def _fold_character(character: str) -> str:
    if character in _QUOTATION_MARKS:
        return '"'
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category == "Pd" or character == "−":
        return "-"
    # Soft hyphens, zero-width and direction marks, which nobody sees.
    return "" if category in ("Cf", "Cc") else character
