"""Search for verbatim quotes in a text.

Letters, digits and case must match. Whitespace, quotation marks, dashes, Unicode forms and
invisible characters may differ, and so may markup, footnotes and line breaks.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from rag_evals.text.lexicon import words_in
from rag_evals.text.markup import Traced, traced, without_markup
from rag_evals.text.sentences import Span, split_sentences
from rag_evals.text.word_forms import DENIES, words

MIN_QUOTE_LETTERS = 8
"""Minimum number of letters and digits in a quote; nearly any text contains shorter strings."""

_MIN_PART_LETTERS = 3
_QUOTATION_MARKS = frozenset("\"'`´«»‹›“”„‟‘’‚‛′″‵‶＂＇「」『』")
# "the tower [...] was built" → "the tower", "was built"; "…" is "..." after `_fold`.
_ELLIPSIS = re.compile(r"\s*(?:\[\s*\.{3,}\s*\]|\(\s*\.{3,}\s*\)|\.{3,})\s*")


_APOSTROPHE = re.compile(r'(?<=\w)"(?=\w)')
_STOPS = (".", "!", "?", "。", "！", "？")
_ALSO_DENY = frozenset(words_in("denies_in_quotes"))
# Limits the search if every part of a quote occurs often.
_MOST_PLACES = 200


class Quotable:
    def __init__(self, text: str) -> None:
        self._source = text
        self._folded = _fold(traced(text))

    def find(self, quote: str) -> tuple[Span, ...] | None:
        """Find a quote, in which an ellipsis may replace any words except a negation.

        Returns:
            One span for each part, in order; None if a part does not occur as whole words, or if a
            negation was left out.
        """
        if found := self._find_in(self._folded, _fold(traced(quote))):
            return found
        # Most quotes are found as written; only the others need the slower search without markup.
        for reading in self._readings:
            for wanted in _readings(quote):
                if found := self._find_in(reading, wanted):
                    return found
        return None

    def denial_left_out(self, quote: str) -> str | None:
        """Return the negation hidden by an ellipsis, if it alone prevents a match."""
        for reading in (self._folded, *self._readings):
            for wanted in (_fold(traced(quote)), *_readings(quote)):
                parts = _parts(wanted.text)
                for places in _places(reading.text, parts):
                    if denial := _denial(reading.text, places, parts):
                        return denial
        return None

    def is_long_enough(self, quote: str) -> bool:
        """True if a quote is long enough to be evidence.

        A quote needs `MIN_QUOTE_LETTERS` letters and digits, a few in each part, and a content word
        ("it is not the" contains none). A quote of the whole text is always long enough.
        """
        folded, (seen, *_) = _fold(traced(quote)), _readings(quote)
        whole = {text.text.strip() for text in (self._folded, *self._readings)} - {""}
        if {folded.text.strip(), seen.text.strip()} & whole:
            return True
        parts = _parts(seen.text)
        weights = [_letters(part) for part in parts]
        if sum(weights) < MIN_QUOTE_LETTERS or min(weights) < _MIN_PART_LETTERS:
            return False
        return any(word.kind in ("word", "number") for word in words(seen.text))

    @cached_property
    def _readings(self) -> Sequence[Traced]:
        return _readings(self._source)

    def _find_in(self, reading: Traced, wanted: Traced) -> tuple[Span, ...] | None:
        whole = wanted.text.strip()
        for parts in ([whole] if whole else [], _parts(whole)):
            for places in _places(reading.text, parts):
                if not _denial(reading.text, places, parts):
                    return self._spans(reading, places, parts)
        return None

    def _spans(
        self, reading: Traced, places: Sequence[int], parts: Sequence[str]
    ) -> tuple[Span, ...]:
        spans = []
        for start, part in zip(places, parts, strict=True):
            begin, end = reading.starts[start], reading.ends[start + len(part) - 1]
            spans.append(Span(begin, end, self._source[begin:end]))
        return tuple(spans)


def _parts(quote: str) -> list[str]:
    return [part for part in _ELLIPSIS.split(quote.strip()) if part]


def _places(text: str, parts: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the positions at which the parts occur in order, earliest first, up to a limit."""
    if not parts:
        return
    tried = 0
    # Positions of the parts found so far, except the last part.
    found: list[int] = []
    position = 0
    while tried < _MOST_PLACES:
        tried += 1
        start = _next_whole(text, parts[len(found)], position)
        if start is None:
            if not found:
                return
            position = found.pop() + 1
        elif len(found) + 1 == len(parts):
            yield (*found, start)
            position = start + 1
        else:
            found.append(start)
            position = start + len(parts[len(found) - 1])


def _next_whole(text: str, part: str, position: int) -> int | None:
    """Return the next position at which the part does not begin or end inside a word or number."""
    while (start := text.find(part, position)) >= 0:
        end = start + len(part)
        if not _cuts(text, start) and not _cuts(text, end):
            return start
        position = start + 1
    return None


def _denial(text: str, places: Sequence[int], parts: Sequence[str]) -> str | None:
    """Return a negation left out between two parts, in the same sentence as either part."""
    for start, part, following in zip(places, parts, places[1:], strict=False):
        end = start + len(part)
        gap = text[end:following]
        pieces = [span.text for span in split_sentences(gap)]
        # A negation in a separate sentence between the parts does not affect them.
        goes_on = not (text[:end].endswith(_STOPS) or gap.lstrip().startswith(_STOPS))
        leads_in = not gap.rstrip().endswith(_STOPS)
        left_out = " ".join(pieces[:1] * goes_on + pieces[-1:] * leads_in)
        # "isn"t": apostrophes have been folded into quotation marks.
        for word in words(_APOSTROPHE.sub("'", left_out)):
            if word.marks & DENIES or word.low in _ALSO_DENY:
                return word.surface
    return None


def _readings(text: str) -> tuple[Traced, ...]:
    return tuple(_fold(reading) for reading in without_markup(traced(text)))


def _cuts(text: str, place: int) -> bool:
    before, after = text[max(0, place - 1) : place], text[place : place + 1]
    if not before or not after:
        return False
    if "^" in (before, after):
        return before.isdigit() or after.isdigit()
    if before.isalnum() and after.isalnum():
        return not (_is_unspaced(before) or _is_unspaced(after))
    following = text[place + 1 : place + 2]
    preceding = text[max(0, place - 2) : max(0, place - 1)]
    # "It cost 3" is not in "It cost 3.14", nor "5 degrees" in "-5 degrees".
    if before.isdigit() and after in ".,:" and following.isdigit():
        return True
    if after.isdigit() and before == "-":
        return not preceding.strip()
    return after.isdigit() and before in ".,:" and preceding.isdigit()


def _letters(text: str) -> int:
    return sum(2 if _is_unspaced(c) else 1 for c in text if c.isalnum())


@cache
def _is_unspaced(character: str) -> bool:
    """True if the character's script is written without spaces between words."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))


def _fold(source: Traced) -> Traced:
    """Decompose compatibility forms, and normalise spaces, quotation marks and dashes.

    “Red”  –  ﬁne… → "Red" - fine...
    """
    letters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    text = source.text
    for start, end in _clusters(text):
        for character in _decomposed(text[start:end], letters[-1:]):
            folded = _fold_character(character)
            if not folded or (folded == " " and letters[-1:] == [" "]):
                continue
            letters.append(folded)
            starts.append(source.starts[start])
            ends.append(source.ends[end - 1])
    return Traced("".join(letters), starts, ends)


def _decomposed(cluster: str, before: list[str]) -> str:
    """Return a character's compatibility form; "10²" becomes "10^2", not "102"."""
    plain = unicodedata.normalize("NFKD", cluster)
    raised = before and before[0].isdigit() and unicodedata.category(cluster[0]) == "No"
    return f"^{plain}" if raised and "⁄" not in plain else plain


def _clusters(text: str) -> list[tuple[int, int]]:
    """Split before each character that does not combine with the previous one."""
    cuts = [i for i, c in enumerate(text) if i == 0 or not unicodedata.combining(c)]
    if not cuts:
        return []
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
    # Soft hyphens, zero-width and direction marks are invisible.
    return "" if category in ("Cf", "Cc") else character
