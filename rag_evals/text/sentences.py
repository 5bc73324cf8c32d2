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

# "яблоки и т. д" before its last stop: a capital letter behind it begins a sentence.
_AND_SO_ON = re.compile(r"\bт\.\s?[дп]$")

_CLOSERS = "\"'»”’)]}›"
_OPENERS = "\"'«“‘([{‹¿¡*_`—–-"
# A mark such as " [1]" belongs to the sentence before it; "[1](address)" is a link.
_CITATIONS = r"(?:[ ]?[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】](?!\())*"
# One class of signs in front, so that the search skips all other text in C.
_STOP = re.compile(
    r"(?P<stop>[.!?…。！？｡](?:(?<=[.!?…])[.!?…]*|[。！？｡]*))"
    rf"(?P<closers>[{re.escape(_CLOSERS)}*_`]*{_CITATIONS})"
)
# Before a stop: "Ask Dr" → "Dr", "at 9 a.m" → "a.m".
_WORD_BEFORE = re.compile(r"[^\W\d_](?:[\w’'-]|\.(?=[^\W\d_]))*$")
# "- one", "2) one" and "b) one" → "one".
_LIST_MARKER = re.compile(r"[ \t>]*(?:[-*+•–—▪◦·]|\(?\d{1,3}[.)]|\(?[a-zа-яA-ZА-Я][)])[ \t]+")
# "## Opening hours" → "Opening hours".
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_MAY_BE_MARKED = re.compile(r"[ \t>]*(?:[^\w\s]|\d|[^\W\d_]\))")
_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_LINE_ENDS = (":", ".", "!", "?", "…", "。", "！", "？", ";")
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
    spans: list[Span] = []
    for start, end in _blocks(text):
        begin = start
        for stop in _STOP.finditer(text, start, end):
            behind = stop.end()
            if behind < end and not _ends_sentence(text, begin, stop, end):
                continue
            _add_trimmed(spans, text, begin, behind)
            begin = behind
        if begin < end:
            _add_trimmed(spans, text, begin, end)
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of runs of lines that may share a sentence, markers left out."""
    begin: int | None = None
    end = 0
    for line in _LINE.finditer(text):
        first, last = line.span()
        if line.group().isspace():
            continue
        marker = heading = None
        # A cheap test first: most lines begin with a letter.
        if _MAY_BE_MARKED.match(text, first, last):
            heading = _HEADING.match(text, first, last)
            marker = _LIST_MARKER.match(text, first, last) or heading
        if begin is not None and (marker or not _continues(text, begin, end, first)):
            yield begin, end
            begin = None
        if begin is None:
            begin = marker.end() if marker else first
        end = last
        if heading:
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, end


def _continues(text: str, begin: int, end: int, next_start: int) -> bool:
    """Say whether the line that starts at `next_start` goes on with the block before it."""
    if text[end - 1] in _LINE_ENDS:
        return False
    if next_start - end > 1 and len(_LINE_BREAK.findall(text, end, next_start)) > 1:
        return False
    last_line = max(begin, text.rfind("\n", begin, end) + 1)
    tail = text[last_line:end].rstrip().rstrip(_CLOSERS + "*_`")
    if tail.endswith(_LINE_ENDS):
        return False
    following = text[next_start : next_start + 80].lstrip().lstrip(_OPENERS)
    return following[:1].islower() or end - last_line >= _WRAPPED_LINE_CHARS


def _add_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if piece[0].isspace():
        start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if piece[:1].isalnum() or any(map(str.isalnum, piece)):
        spans.append(Span(start, start + len(piece), piece))


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    signs, behind = stop["stop"], stop.end()
    if signs[0] in "。！？｡":
        return True
    if not text[behind].isspace():
        return False
    following = text[behind : min(end, behind + 80)].lstrip()
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
    last = before[before.rfind(" ") + 1 :]
    if len(last) > 1 and last.isascii() and last.isalpha():
        # As below, for most stops of an English text.
        last = last.lower()
        return last in _ABBREVIATIONS and last not in _MAY_END
    if last.isdigit():
        # "1. First" at the start of a block is a list number, "in 1967. Then" is an end.
        return len(last) <= 2 and before.strip() == last
    if _AND_SO_ON.search(before):
        return False
    found = _WORD_BEFORE.search(before)
    if found is None:
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
