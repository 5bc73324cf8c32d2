# Long patterns are easier to read on one line.
# ruff: noqa: E501
"""The claims in an answer, and the reasons why other sentences contain no claim.

In languages other than English and Russian, nearly every sentence counts as a claim.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from rag_evals.embedded.sources import (
    LONGEST_MATCHED,
    absence_of,
    reads_as_sentence,
    speaks_of_sources,
    strip_lead,
)
from rag_evals.text import Span, split_sentences
from rag_evals.text.lexicon import patterns_in

_PATTERNS = patterns_in("claims")

# Parts of an answer that are not sentences: code, headings, tables and reference lists.

# Heading marks, such as "## " in "## Opening hours".
_HEADING_BEFORE = re.compile(r"^[ \t>]*#{1,6}[ \t]+$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# The line "|---|---|" below the header row of a table.
_TABLE_RULE = re.compile(r"[ \t]*\r?\n[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:|-]*)?(?:\r?\n|\Z)")
_BOLD_LINE = re.compile(r"^(?:\*\*[^*]+\*\*|__[^_]+__):?$")
_ENDS_SENTENCE = re.compile(r"[.!…。！][*_]*$")
# For a quick check: text with neither a year nor any of these strings lists no references.
_OF_ENTRIES = "http www. doi доступ referenc bibliogr cited source citation reading литератур источник ссылки [^".split()
_YEAR = re.compile(r"(?:19|20)\d\d")
_LONGEST_HEADING = 200
_LONGEST_ENTRY = 400


def reference_places(answer: str) -> list[tuple[int, int]]:
    """Return the offsets (start, end) of the entries in a reference list.

    An entry looks like a reference or is a list item below a heading such as "References:".
    """
    text = answer.lower()
    if not any(map(text.__contains__, _OF_ENTRIES)) and _YEAR.search(answer) is None:
        return []
    places, start = list[tuple[int, int]](), 0
    for line in answer.split("\n"):
        if len(line) <= _LONGEST_ENTRY and _PATTERNS["entry"].match(line):
            places.append((start, start + len(line)))
        start += len(line) + 1
    for heading in _PATTERNS["references"].finditer(answer):
        place = heading.end()
        for line in answer[place:].split("\n"):
            if line.strip() and _PATTERNS["item"].match(line).end() == 0:  # type: ignore[union-attr]  # matches ""
                break
            places.append((place, place + len(line)))
            place += len(line) + 1
        places.append(heading.span())
    return places


def is_heading(answer: str, span: Span) -> bool:
    """True if the sentence is a heading or a table header row."""
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
        # "**It opened in 1907.**" is a sentence; "**Opening hours:**" is not.
        return not _ENDS_SENTENCE.search(span.text)
    # A short line without a full stop in which every word is capitalised is a title.
    is_line = answer[span.end : span.end + 1] in ("\n", "\r")
    return (
        is_line
        and ":" not in span.text
        and len(span.text.split()) <= 4
        and span.text.istitle()
        and span.text[-1].isalpha()
    )


# Data in an answer: JSON, tables and lines such as "City: Paris" are read as key-value pairs.
#
# The sources may not contain the word that the answer uses as a key ("city").

_FENCED = re.compile(
    r"```[ \t]*(?:json[c5]?)?[ \t]*\r?\n(?P<body>.*?)```", re.DOTALL | re.IGNORECASE
)
# Matches a value with its key, such as "city": "Paris", or a list item.
_VALUE = re.compile(
    r'(?:"(?P<key>(?:[^"\\]|\\.)*)"\s*:\s*)?(?P<value>"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}\[])'
)
_LONGEST_DATA = 200_000
_ROW = re.compile(r"^[ \t]*\|?[^|\n]*\|[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:|-]*)?$")
_EMPTY_CELLS = frozenset(("", "-", "–", "—", "n/a", "null", "none", "?"))
# JSON keys for the answer's confidence and citations, whose values are not claims.
_BY_PRODUCTS = frozenset("confidence source sources citations references".split())
# Matches "City: Paris"; with a longer value, it would be a title followed by a sentence.
_PAIR = re.compile(r"(?P<key>[^\W\d_][^:.!?;\n\"]{0,39}): +(?P<value>[^:\n]{1,80})")
_MOST_KEY_WORDS, _MOST_VALUE_WORDS = 4, 8
_WORD_INSIDE = re.compile(r"(?<=[a-zа-я\d])(?=[A-ZА-Я])|[_\-]+")


class DataClaim(NamedTuple):
    """A JSON value or table row and its claim, which is "" if there is none."""

    span: Span
    claim: str


def pair_of(claim: str) -> tuple[str, str] | None:
    """Split a claim such as "city: Paris" into key and value; return None for other claims."""
    found = _PAIR.fullmatch(claim.strip().rstrip(".,;")) if ": " in claim else None
    if found is None:
        return None
    key, value = found["key"].strip(), found["value"].strip()
    is_short = len(key.split()) <= _MOST_KEY_WORDS and len(value.split()) <= _MOST_VALUE_WORDS
    return (key, value) if is_short else None


def json_claims(answer: str) -> Iterator[DataClaim]:
    """Yield the values in an answer that is JSON, or in its fenced JSON blocks."""
    bodies = [found.span("body") for found in _FENCED.finditer(answer)] if "```" in answer else []
    for start, end in bodies or [(0, len(answer))]:
        body = answer[start:end]
        if ":" not in body or body.lstrip()[:1] not in ("{", "[") or len(body) > _LONGEST_DATA:
            continue
        try:
            json.loads(body)
        except (ValueError, RecursionError):
            continue
        yield from _values(answer, start, end)


def _values(answer: str, start: int, end: int) -> Iterator[DataClaim]:
    """Yield each value with its key and, in a list of objects, the object's first string."""
    listed_under, owner = "", None
    for found in _VALUE.finditer(answer, start, end):
        key = found["key"]
        key = listed_under if key is None else _small(_WORD_INSIDE.sub(" ", json.loads(f'"{key}"')))
        if found["value"] in "{}[":
            listed_under = key
            if found["value"] != "[":
                owner = "" if answer[start : found.start()].rstrip()[-1:] in ("[", ",") else None
            continue
        value = json.loads(found["value"])
        claim = "" if value in (None, "") or key in _BY_PRODUCTS else f"{key}: {value}"
        if isinstance(value, bool):
            first, _, rest = key.partition(" ")
            denied = (
                f"{first} not {rest}" if rest and first in ("is", "are", "was") else f"not {key}"
            )
            claim = key if value else denied
        elif claim and (not key or owner):
            claim = f"{key} {value}".strip()
        yield DataClaim(
            Span(*found.span(), found[0]), f"{owner}, {claim}" if owner and claim else claim
        )
        if owner == "" and isinstance(value, str):
            owner = value


def _small(key: str) -> str:
    return " ".join(
        word if word.isupper() and len(word) > 1 else word.lower() for word in key.split()
    )


def table_claims(answer: str) -> Iterator[DataClaim]:
    """Yield table rows with the column names."""
    head: list[str] | None = None
    before: re.Match[str] | None = None
    for line in _ROW.finditer(answer) if "|" in answer and "--" in answer else ():
        follows = before is not None and answer[before.end() : line.start()] in ("\n", "\r\n")
        if _RULE.match(line[0].rstrip()):
            head = _cells(before[0]) if follows and before is not None else None
        elif head is not None and follows:
            text = line[0].strip()
            first = line.start() + line[0].index(text)
            names = ["", *map(_small, head[1:])]
            told = [
                f"{name} {cell}".strip()
                for name, cell in zip_longest(names, _cells(text), fillvalue="")
                if cell.lower() not in _EMPTY_CELLS
            ]
            yield DataClaim(Span(first, first + len(text), text), ", ".join(told))
        else:
            head = None
        before = line


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t*_`") for cell in line.strip().strip("|").split("|")]


# These match prose inside a fenced block, and signs of an entry in a list of sources.
_IN_WORDS = re.compile(r"[A-ZА-ЯЁ][^{}=<>$#|;\\()\n]*")
_OF_SOURCE = re.compile(
    r"https?://|www\.|\bdoi\b|\.(?:pdf|docx?|md|html?|txt)\b|//|\(\d{4}\)", re.IGNORECASE
)
_QUESTION = re.compile(r"[?？][\"'»”*_)]*$")
_HAS_WORD = re.compile(r"[^\W\d_]{2,}|\d")
_LONGEST_HEAD_WORDS = 12


NoClaim = Literal[
    "question", "heading", "about_sources", "talk", "announcement", "references", "code", "no_words"
]
"""Why a sentence contains no claim. "about_sources" is only about the passages ("See passage 2."),
"talk" is a polite phrase or advice to consult someone, "announcement" introduces a list or a step,
"heading" is a title or a table header, "references" is an entry in a list of sources, and "code" is
inside a fenced block."""


class PreparedStatement(NamedTuple):
    """A sentence in an answer, ready to be verified.

    Attributes:
        start: Index of the first character in the answer.
        end: Index after the last character; `answer[start:end] == text`.
        text: The sentence as written in the answer.
        claim: The text without lead-in, emphasis and citation marks.
        no_claim: Why the sentence contains no claim; None if it contains one.
    """

    start: int
    end: int
    text: str
    claim: str
    no_claim: NoClaim | None = None


def prepare_answer(answer: str) -> list[PreparedStatement]:
    """Split an answer into sentences, list items and headings with their claims."""
    data = [*json_claims(answer), *table_claims(answer)]
    prepared = [
        PreparedStatement(*span, strip_lead(claim), None if claim else "no_words")
        for span, claim in data
    ]
    fences = [match.span() for match in _FENCE.finditer(answer)] if "```" in answer else []
    references = reference_places(answer)
    for span in split_sentences(answer):
        if any(one.start < span.end and span.start < one.end for one, _ in data):
            continue
        claim = strip_lead(span.text)
        reason: NoClaim | None = None
        if _is_within(span.start, fences):
            reason = None if _IN_WORDS.fullmatch(claim) and reads_as_sentence(claim) else "code"
        elif _is_within(span.start, references):
            reason = None if _is_said(claim) else "references"
        elif is_heading(answer, span) and not _is_said(claim):
            reason = "heading"
        reason = reason or no_claim_reason(claim)
        if not claim.endswith(".") and (pair := pair_of(claim)):
            # A capital letter would make the key in "City: Paris" look like a name.
            claim = f"{_small(pair[0])}: {pair[1]}"
        prepared.append(PreparedStatement(*span, claim, reason))
    if len(prepared) == 1 and prepared[0].no_claim == "heading" and answer.lstrip()[0] in "*_":
        # A lone "**No**" is an answer, not a heading.
        return [prepared[0]._replace(no_claim=None)]
    return sorted(prepared) if data else prepared


def _is_said(claim: str) -> bool:
    """True if a supposed title or list entry is in fact a sentence."""
    return "|" not in claim and not _OF_SOURCE.search(claim) and reads_as_sentence(claim)


def _is_within(start: int, places: Sequence[tuple[int, int]]) -> bool:
    return any(first <= start < end for first, end in places)


def no_claim_reason(claim: str) -> NoClaim | None:
    text = claim.strip()
    head = text[:LONGEST_MATCHED].replace("’", "'")
    if not _HAS_WORD.search(head):
        return "no_words"
    if _QUESTION.search(text):
        return "question"
    if _PATTERNS["step"].match(head) or _announces(text, head):
        return "announcement"
    if absence_of(head) is None and speaks_of_sources(head):
        return "about_sources"
    if _PATTERNS["talk"].match(head) or _PATTERNS["sorry"].match(head):
        return "talk"
    return None


def _announces(text: str, head: str) -> bool:
    if not text.endswith((":", "：", ":**", ":__")):
        return False
    is_short = len(text.split()) <= _LONGEST_HEAD_WORDS
    return is_short or bool(
        _PATTERNS["announces"].match(head) or _PATTERNS["announces_at_end"].search(text[-300:])
    )
