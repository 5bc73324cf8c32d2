# Patterns read better unbroken.
# ruff: noqa: E501
"""Which parts of an answer are no sentences: code, headings, tables, lists of references?"""

import re
from collections.abc import Sequence

from rag_evals.text import Span

# The signs in front of a heading: "## " of "## Opening hours".
_HEADING_BEFORE = re.compile(r"^[ \t>]*#{1,6}[ \t]+$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# Behind the head of a table: the line "|---|---|" after "| year | seats |".
_TABLE_RULE = re.compile(r"[ \t]*\r?\n[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:|-]*)?(?:\r?\n|\Z)")
_BOLD_LINE = re.compile(r"^(?:\*\*[^*]+\*\*|__[^_]+__):?$")
_ENDS_SENTENCE = re.compile(r"[.!…。！][*_]*$")
# "References:", "**Sources**", "Список литературы"
_REFERENCES = re.compile(
    r"^[ \t>#*_]*(?:references?|bibliography|works cited|sources?|citations?|further reading|литература|список литературы|"
    r"источники|ссылки|библиография)[ \t*_:]*$",
    re.IGNORECASE | re.MULTILINE,
)
_MARKER = r"[ \t>]*(?:(?:[-*+•]|\(?\d{1,3}[.)])[ \t]+)?(?:\[\^?\d{1,3}\]:?[ \t]*)?"
# An entry of such a list wherever it stands: an address, or author, year in brackets and title.
_ENTRY = re.compile(
    rf"^{_MARKER}(?:(?:<?https?://|www\.)\S+[ \t]*$|(?:retrieved|accessed|available|доступно|режим доступа)(?:[ \t]+\w+)?:?[ \t]+(?:from[ \t]+)?(?:https?://|www\.)\S+[ \t]*$"
    r"|\[\^\w{1,10}\]:[ \t][^\n]*$"
    r"|[*_]{0,2}(?:sources?|источники?):[*_]{0,2}[ \t][^\n]{0,80}\.(?:pdf|docx?|md|html?|txt)\b[^\n]{0,40}$"
    r"|doi:?[ \t]*10\.\S+[ \t]*$"
    r"|[^\W\d_][\w'’-]{1,30},[ \t][^\W\d_]\.[^\n]{0,200}?\((?:19|20)\d\d[a-z]?\)\.[^\n]*$"
    r"|[^\W\d_][\w'’-]{1,30}[ \t][^\W\d_]\.[ \t]?[^\W\d_]\.[^\n]{3,200}(?://|[:,.][ \t][^\n]{0,60}(?:19|20)\d\d)[^\n]*$"
    r"|[^\n]{3,120}(?:19|20)\d\d[^\n]{0,40}(?:https?://|www\.)\S+[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
# As in `sources`: without these, and without a year, there is no entry.
_OF_ENTRIES = "http www. doi доступ referenc bibliogr cited source citation reading литератур источник ссылки [^".split()
_YEAR = re.compile(r"(?:19|20)\d\d")
_ITEM = re.compile(rf"{_MARKER}(?=\S)")
_LONGEST_HEADING = 200
_LONGEST_ENTRY = 400


def code_places(answer: str) -> list[tuple[int, int]]:
    """Return the places (start, end) of fenced blocks."""
    return [match.span() for match in _FENCE.finditer(answer)] if "```" in answer else []


def reference_places(answer: str) -> list[tuple[int, int]]:
    """Return the places (start, end) of the entries of a list of references.

    An entry is a line that looks like one, or a marked line under a heading such as "References:".
    """
    text = answer.lower()
    if not any(map(text.__contains__, _OF_ENTRIES)) and _YEAR.search(answer) is None:
        return []
    places = [match.span() for match in _ENTRY.finditer(answer) if len(match[0]) <= _LONGEST_ENTRY]
    for heading in _REFERENCES.finditer(answer):
        place = heading.end()
        for line in answer[place:].split("\n"):
            if line.strip() and _ITEM.match(line).end() == 0:  # type: ignore[union-attr]  # matches ""
                break
            places.append((place, place + len(line)))
            place += len(line) + 1
        places.append(heading.span())
    return places


def is_within(start: int, places: Sequence[tuple[int, int]]) -> bool:
    """Say whether a place of the answer is within one of several."""
    return any(first <= start < end for first, end in places)


def is_heading(answer: str, span: Span) -> bool:
    """Say whether a sentence is a heading, or the head of a table."""
    if len(span.text) > _LONGEST_HEADING:
        return False
    line_start = max(answer.rfind("\n", 0, span.start), answer.rfind("\r", 0, span.start)) + 1
    before = answer[line_start : span.start][-_LONGEST_HEADING:]
    if _HEADING_BEFORE.match(before):
        return True
    if "|" in span.text and _TABLE_RULE.match(answer, span.end):
        return True
    is_item = bool(before.strip())
    if is_item:
        return False
    if _BOLD_LINE.match(span.text):
        # "**It opened in 1907.**" is a sentence, "**Opening hours:**" is none.
        return not _ENDS_SENTENCE.search(span.text)
    # A line of its own, short, without a stop and in capitals, is a title.
    is_line = answer[span.end : span.end + 1] in ("\n", "\r")
    return (
        is_line
        and ":" not in span.text
        and len(span.text.split()) <= 4
        and span.text.istitle()
        and span.text[-1].isalpha()
    )
