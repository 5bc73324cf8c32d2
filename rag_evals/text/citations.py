"""Citation marks such as `[1]` and `[Doc 2]`, and the sentences they belong to.

Recognised: `[1]`, `[2, 3]`, `[4-6]`, `【7】`, `[^1]`, `[1](address)`, `[Doc 1]` and superscripts. A
number in code, an index (`a[1]`), an interval (`x in [0, 1]`), a label (`option [1]`), a power
(`10²`), an isotope (`U²³⁵`) and a fraction (`¹⁄₂`) are not citations.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evals.text.lexicon import patterns_in
from rag_evals.text.sentences import Span, split_sentences

_LONGEST_RANGE = 20
"""Maximum number of sources in a range; "[1-300]" is a range of pages or values."""


class CitationMark(NamedTuple):
    start: int
    end: int
    numbers: tuple[int, ...]


class CitingSentence(NamedTuple):
    """A sentence in an answer, its claim without citation marks, and the numbers it cites."""

    text: str
    claim: str
    numbers: tuple[int, ...]


# "[[1]](address)": the outer brackets of a link with a mark as its text.
_OUTER = re.compile(r"\[(?P<mark>\[\d{1,3}\])\]\([^()\s]*\)")
_PATTERNS = patterns_in("citations")
_RAISED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(rf"[{_RAISED_DIGITS}]+(?:[,⁻˒–-][{_RAISED_DIGITS}]+)*")
_MOST_RAISED_DIGITS = re.compile(r"\d{3}")
# A superscript mark follows punctuation, or a word that does not end in a capital letter.
_BEFORE_RAISED = re.compile(r"(?:[^\W\d_][^\W\d_A-ZА-ЯЁ]|[.!?,;:…。\"'’”»*_)\]])\s*\Z")
_PLAIN = str.maketrans(_RAISED_DIGITS + "⁻˒–—", "0123456789-,--")
# "1, 3-5" → ("1", "") and ("3", "5").
_RANGE = re.compile(r"(\d{1,3})(?:\s*[–—-]\s*\D{0,14}(\d{1,3}))?")

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", re.DOTALL)
# Text before an index: "a[1]", "row_ids[1]", "getItem[1]", "f(x)[1]", "a[i][1]".
_BEFORE_INDEX = re.compile(
    r"(?:(?<![\w’'])[^\W\d_]|\w*_\w*|[a-z]+[A-Z]\w*|[^\W\d_]+\d\w*|\w\([^()\s]*\)|\w\[\w*\])\Z"
)
# Text after an index: "items[1] = 5", "items[0].name", "items[1](x)", "items[1]++".
_BEHIND_INDEX = re.compile(r"\s*(?:[-+*/|&<>!=]?=(?!\w*>)|\+\+|--)|\.(?=[a-z_]\w*[\s(.=\[])|\(")
# Characters allowed after a final mark: full stops, quotation marks and closing brackets.
_NO_WORDS = re.compile(r"[\s.,;!?…。\"'’”»*_)]*")
_TWO_NUMBERS = re.compile(r"\s*\d{1,3}\s*[,;]\s*\d{1,3}\s*")
# Text before a power: a digit, a closing bracket, "x", "km", "500 sq", "sin".
_BEFORE_POWER = re.compile(
    r"(?:\d|[)\]}]|(?<![^\W_])[^\W\d_]{1,2}|\d\s*[^\W\d_]{3}|\b(?:sin|cos|tan|cot|log|exp))\Z"
)

_LINE = re.compile(r"[^\n]*\n?")


def citation_marks(text: str) -> list[CitationMark]:
    """Return the citation marks in a text, in order, except those inside code."""
    code = [found.span() for found in _CODE.finditer(text)]
    marks = [*_bracketed(text), *_raised(text)]
    return sorted(
        mark for mark in marks if not any(start <= mark.start < end for start, end in code)
    )


def without_final_citations(text: str) -> str:
    """Return a sentence without the citation marks at its end or before its final full stop.

    Marks in the middle, and marks after a word such as "see", are kept.
    """
    marks: list[CitationMark] = []
    end = len(text)
    for mark in reversed(citation_marks(text)):
        before = text[max(0, mark.start - 12) : mark.start]
        if not _NO_WORDS.fullmatch(text, mark.end, end) or _PATTERNS["points"].search(before):
            break
        marks.append(mark)
        end = mark.start
    return _without(text, marks[::-1], 0, len(text))


def citing_sentences(answer: str) -> list[CitingSentence]:
    """Split an answer into sentences, each with its citation marks.

    A mark inside a sentence or after its full stop belongs to that sentence, even on a separate
    line. A mark before the first word of a line belongs to the next sentence. A list of sources at
    the end is omitted.
    """
    body = answer[: _list_of_sources(answer)]
    marks = citation_marks(body)
    blank = list(body)
    for mark in marks:
        blank[mark.start : mark.end] = " " * (mark.end - mark.start)
    spans = split_sentences("".join(blank))
    if not spans:
        return []
    cited: list[list[CitationMark]] = [[] for _ in spans]
    # Marks precede their sentences in "[1] It is tall. [2] It is old.".
    leads = bool(marks) and marks[0].end <= spans[0].start and marks[-1].end <= spans[-1].start
    starts = [span.start for span in spans]
    for mark in marks:
        last = max(0, bisect_left(starts, mark.start) - 1)
        cited[_owner(body, mark, spans, last, leads=leads)].append(mark)
    return [_citing(body, span, own) for span, own in zip(spans, cited, strict=True)]


def _numbers(inner: str) -> list[int]:
    """Parse "1, 3-5" into numbers; return [] if a range is descending or too long for sources."""
    numbers: list[int] = []
    for first, last in _RANGE.findall(inner):
        low, high = int(first), int(last or first)
        if not low <= high < low + _LONGEST_RANGE:
            return []
        numbers += range(low, high + 1)
    return numbers


def _bracketed(text: str) -> Iterator[CitationMark]:
    outer = {found.start("mark"): found.span() for found in _OUTER.finditer(text)}
    for found in _PATTERNS["brackets"].finditer(text):
        start, end = outer.get(found.start(), found.span())
        numbers = tuple(_numbers(found["inner"]))
        before, behind = text[max(0, start - 48) : start], text[found.end() : found.end() + 24]
        if not numbers or (_BEFORE_INDEX.search(before) and not found["address"]):
            continue
        if _PATTERNS["before_name"].search(before):
            continue
        # An index directly follows a name; a citation mark follows a space or a full stop.
        touches = before[-1:].isalnum() or before[-1:] == "_"
        if touches and not found["address"] and _BEHIND_INDEX.match(behind):
            continue
        if _TWO_NUMBERS.fullmatch(found["inner"]) and _PATTERNS["before_interval"].search(before):
            continue
        yield CitationMark(start, end, numbers)


def _raised(text: str) -> Iterator[CitationMark]:
    for found in _RAISED.finditer(text):
        before = text[max(0, found.start() - 24) : found.start()]
        written = found.group().translate(_PLAIN)
        if _MOST_RAISED_DIGITS.search(written):
            continue
        numbers = tuple(_numbers(written))
        behind = text[found.end() : found.end() + 1]
        # Digits before a letter are part of a word ("¹⁴C"); digits before a slash, of a fraction.
        is_glued = behind.isalnum() or behind in ("⁄", "/")
        if not numbers or is_glued or _BEFORE_POWER.search(before):
            continue
        if _BEFORE_RAISED.search(before):
            yield CitationMark(found.start(), found.end(), numbers)


def _without(text: str, marks: Sequence[CitationMark], start: int, end: int) -> str:
    kept, done = [], start
    for mark in marks:
        if mark.end > start and mark.start < end:
            kept.append(text[done : max(start, mark.start)].rstrip())
            done = max(done, mark.end)
    return "".join([*kept, text[done:end]]).strip()


def _citing(body: str, span: Span, marks: Sequence[CitationMark]) -> CitingSentence:
    claim = _without(body, marks, span.start, span.end)
    start = min([span.start, *(mark.start for mark in marks)])
    end = max([span.end, *(mark.end for mark in marks)])
    numbers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    return CitingSentence(body[start:end], claim, tuple(numbers))


def _owner(body: str, mark: CitationMark, spans: Sequence[Span], last: int, *, leads: bool) -> int:
    """Return the index of a mark's sentence; `last` is the last one that begins before the mark."""
    if mark.start < spans[last].end or last + 1 == len(spans):
        return last
    behind = body[spans[last].end : mark.start]
    # True if only list and quote markers precede the mark on its line.
    _, newline, line = behind.rpartition("\n")
    is_first = bool(newline) and not line.strip(" \t>*-+•[(")
    shares_line = "\n" not in body[mark.end : spans[last + 1].start]
    return last + 1 if shares_line and (is_first or leads) else last


def _list_of_sources(answer: str) -> int:
    """Return the offset of the list of sources, or the answer's length if there is none."""
    lines = [found for found in _LINE.finditer(answer) if found.group().strip()]
    first = len(lines)
    while first and _PATTERNS["list_line"].match(lines[first - 1].group()):
        first -= 1
    if 0 < first < len(lines) and _PATTERNS["list_heading"].fullmatch(
        lines[first - 1].group().rstrip()
    ):
        return lines[first - 1].start()
    if lines and _PATTERNS["list_in_line"].match(lines[-1].group()):
        return lines[-1].start()
    # Without a heading, numbered lines are a source list if the text cites any of their numbers.
    named: set[int] = set()
    first = len(lines)
    while first and (numbers := _numbers_in_front(lines[first - 1].group())):
        named.update(numbers)
        first -= 1
    if first == len(lines):
        return len(answer)
    begin = lines[first].start()
    if all(_PATTERNS["definition"].match(line.group()) for line in lines[first:]):
        return begin
    cited = {n for mark in citation_marks(answer[:begin]) for n in mark.numbers}
    return begin if named & cited else len(answer)


def _numbers_in_front(line: str) -> list[int]:
    """Parse the mark at the start of a line; return [] if the line contains nothing else."""
    line = line.lstrip(" \t-*+•")
    found = _PATTERNS["brackets"].match(line)
    if found is None or not line[found.end() :].strip(" .:\n"):
        return []
    return _numbers(found["inner"])
