"""Where do the sentences of a text begin and end?

A stop ends a sentence unless it belongs to an abbreviation, an initial, a number or a list marker.
A line ends one where the text is a list, a heading, or was not wrapped by hand.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a text, with `source[start:end] == text`."""

    start: int
    end: int
    text: str


# Words before a full stop that do not end a sentence; compared without the stop, in lower case.
_ABBREVIATIONS = frozenset(
    # English: titles, Latin, references, months, companies
    "mr mrs ms dr prof sr jr st mt rev hon gen col lt sgt capt gov sen rep pres "
    "vs cf al viz approx ca no nos vol vols fig figs eq sec ch pp ed eds est dept univ inc ltd co "
    "corp bros jan feb mar apr jun jul aug sept sep oct nov dec e.g i.e a.k.a u.s u.k u.n d.c "
    # Russian: years, addresses, sizes, titles, references
    "г гг в вв т.е т.к т.н др ул им см рис табл стр с тыс млн млрд трлн руб коп проф акад доц "
    "о оз р пос обл просп пр д кв стр н.э до.н.э напр англ лат рус нем фр итал род ум ок св мин "
    "сек час чел экз гр тов г-н г-жа".split()
)
# These end a sentence when a capital letter follows, as any word would.
_MAY_END = frozenset("etc т.д т.п др н.э руб млн млрд тыс inc ltd co corp u.s u.k d.c".split())
# After a number these are years and centuries ("в 1961 г. Затем"), else places ("в г. Москве").
_YEARS = frozenset("г гг в вв".split())

_AND_SO_ON = re.compile(r"\bт\.\s?[дп]$")

_CLOSERS = "\"'»”’)]}›"
_OPENERS = "\"'«“‘([{‹¿¡*_`—–-"
# A mark such as " [1]" belongs to the sentence before it; "[1](address)" is a link.
_CITATIONS = r"(?:[ ]?[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】](?!\())*"
_STOP = re.compile(
    rf"(?P<stop>[.!?…]+|[。！？｡]+)(?P<closers>[{re.escape(_CLOSERS)}*_`]*{_CITATIONS})"
)
_WORD_BEFORE = re.compile(r"[^\W\d_](?:[\w’'-]|\.(?=[^\W\d_]))*$")
_LIST_MARKER = re.compile(r"[ \t>]*(?:[-*+•–—▪◦·]|\(?\d{1,3}[.)]|\(?[a-zа-яA-ZА-Я][)])[ \t]+")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
# A line at least this long, without a stop, was probably wrapped by hand or by a mail program.
_WRAPPED_LINE_CHARS = 60


def split_sentences(text: str) -> list[Span]:
    """Split a text into sentences, list items and headings.

    Args:
        text: English, Russian, or any text with European or Chinese/Japanese stops.

    Returns:
        Spans in order, not overlapping, none empty, without the white space around them and
        without list markers and heading signs.
    """
    return [span for start, end in _blocks(text) for span in _sentences_of_block(text, start, end)]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of runs of lines that may share a sentence, markers left out."""
    begin: int | None = None
    end = 0
    for line in _LINE.finditer(text):
        if not line.group().strip():
            continue
        marker = _LIST_MARKER.match(text, line.start(), line.end()) or _HEADING.match(
            text, line.start(), line.end()
        )
        if begin is not None and (marker or not _continues(text, begin, end, line.start())):
            yield begin, end
            begin = None
        if begin is None:
            begin = marker.end() if marker else line.start()
        end = line.end()
        if _HEADING.match(text, line.start(), line.end()):
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, end


def _continues(text: str, begin: int, end: int, next_start: int) -> bool:
    """Say whether the line that starts at `next_start` goes on with the block before it."""
    if len(re.findall(r"\r\n|[\n\r\u2028\u2029]", text[end:next_start])) > 1:
        return False
    last_line = max(begin, text.rfind("\n", begin, end) + 1)
    tail = text[last_line:end].rstrip().rstrip(_CLOSERS + "*_`")
    following = text[next_start : next_start + 80].lstrip().lstrip(_OPENERS)
    if tail.endswith((":", ".", "!", "?", "…", "。", "！", "？", ";")):
        return False
    return following[:1].islower() or end - last_line >= _WRAPPED_LINE_CHARS


def _sentences_of_block(text: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    for stop in _STOP.finditer(text, start, end):
        if stop.start() < begin or not _ends_sentence(text, begin, stop, end):
            continue
        yield from _trimmed(text, begin, stop.end())
        begin = stop.end()
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if any(character.isalnum() for character in piece):
        yield Span(start, start + len(piece), piece)


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    signs = stop["stop"]
    if signs[0] in "。！？｡":
        return True
    if stop.end() < end and not text[stop.end()].isspace():
        return False
    following = text[stop.end() : min(end, stop.end() + 80)].lstrip()
    opened = following.lstrip(_OPENERS)
    if not following or not opened:
        return True
    if opened[0].islower():
        # "Yahoo! said", "3 p.m. on Monday", "и т. д. и т. п." go on; a quoted sentence ends.
        return False
    if signs != ".":
        return True
    return not _is_abbreviation(text[max(begin, stop.start() - 24) : stop.start()])


def _is_abbreviation(before: str) -> bool:
    """Say whether the stop after `before` belongs to its last word; a capital letter follows."""
    if _AND_SO_ON.search(before):
        return False
    found = _WORD_BEFORE.search(before)
    if found is None:
        # "1. First" at the start of a block is a list number, "in 1967. Then" is an end.
        return before.strip().isdigit() and len(before.strip()) <= 2
    word = found.group()
    if len(word) == 1 and word.isupper():
        # An initial ("J. Smith", "А. С. Пушкин"), but "vitamin C. It" ends: initials follow
        # nothing, a stop, or a capitalised word.
        return _is_initial(before[: found.start()])
    lowered = word.lower()
    if lowered in _YEARS:
        return re.search(r"[\dIVXХ]\s*$", before[: found.start()]) is None
    return lowered in _ABBREVIATIONS and lowered not in _MAY_END


def _is_initial(before: str) -> bool:
    previous = before.rstrip()
    if not previous or previous[-1] in '.,;(«"“—–-':
        return True
    word = re.search(r"[\w’'-]+$", previous)
    return word is not None and word.group()[:1].isupper()
