"""What do data in an answer claim? JSON, tables and lines such as "City: Paris" as pairs.

A key is a person's own word for the kind of its value ("city"), which the sources need not use.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evals.text import Span

_FENCED = re.compile(
    r"```[ \t]*(?:json[c5]?)?[ \t]*\r?\n(?P<body>.*?)```", re.DOTALL | re.IGNORECASE
)
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}\[\]:,]', re.DOTALL
)
_LONGEST_DATA = 200_000
_ROW = re.compile(r"^[ \t]*\|?[^|\n]*\|[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:|-]*)?$")
_FILE = re.compile(r"(?:https?://)?\S+\.\w{2,4}(?:/\S*)?")
_EMPTY_CELLS = frozenset(("", "-", "–", "—", "n/a", "null", "none", "?"))
# "City: Paris"; a value of many words is a sentence with a title before it.
_PAIR = re.compile(r"(?P<key>[^\W\d_][^:.!?;\n\"]{0,39}): +(?P<value>[^:\n]{1,80})")
_MOST_KEY_WORDS, _MOST_VALUE_WORDS = 4, 8
_WORD_INSIDE = re.compile(r"(?<=[a-zа-я\d])(?=[A-ZА-Я])|[_\-]+")


class DataClaim(NamedTuple):
    """One pair of data, or one row: its place in the answer and what it claims ("" for nothing)."""

    span: Span
    claim: str


class Pair(NamedTuple):
    """A claim that a key has a value."""

    key: str
    value: str


def pair_of(claim: str) -> Pair | None:
    """Read a claim such as "city: Paris"; None for any other."""
    found = _PAIR.fullmatch(claim.strip().rstrip(".,;"))
    if found is None:
        return None
    key, value = found["key"].strip(), found["value"].strip()
    if len(key.split()) > _MOST_KEY_WORDS or len(value.split()) > _MOST_VALUE_WORDS:
        return None
    return Pair(key, value)


def claim_of_pair(text: str) -> str:
    """Write the key of "City: Paris" small: at its place a capital would make it a name."""
    pair = None if text.endswith(".") else pair_of(text)
    return text if pair is None else f"{_small(pair.key)}: {pair.value}"


def json_claims(answer: str) -> list[DataClaim]:
    """Return the pairs of an answer that is JSON, and of fenced blocks that are.

    Args:
        answer: Any text.

    Returns:
        One entry for each value, in order; empty where there is no JSON.
    """
    if "```" in answer:
        bodies = [found.span("body") for found in _FENCED.finditer(answer)]
    elif answer.lstrip()[:1] in ("{", "["):
        bodies = [(0, len(answer))]
    else:
        return []
    return [
        claim for start, end in bodies if _is_json(answer[start:end])
        for claim in _pairs(answer, start, end)
    ]  # fmt: skip


def _is_json(text: str) -> bool:
    if len(text) > _LONGEST_DATA or ":" not in text or text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _pairs(answer: str, start: int, end: int) -> Iterator[DataClaim]:
    """Yield the values of valid JSON, each with its key."""
    key, begins = "", start
    # For each open bracket: whether it is an object in a list, its subject, and the key before it.
    subjects: list[tuple[str, str | None]] = []
    tokens = list(_TOKEN.finditer(answer, start, end))
    for place, token in enumerate(tokens):
        text = token[0]
        if text in "{[":
            is_member = bool(subjects) and subjects[-1][1] is None and text == "{"
            # None marks a list, "" an object of one whose subject is not known yet.
            subjects.append((key, None if text == "[" else "" if is_member else "\0"))
        elif text in "}]":
            key = subjects.pop()[0]
        elif text not in ":,":
            is_key = place + 1 < len(tokens) and tokens[place + 1][0] == ":"
            if is_key:
                key, begins = _words(str(json.loads(text))), token.start()
                continue
            is_listed = bool(subjects) and subjects[-1][1] is None
            first = token.start() if is_listed else begins
            value = json.loads(text)
            span = Span(first, token.end(), answer[first : token.end()])
            owner = subjects[-1][1] if subjects else None
            yield DataClaim(span, _claim(key, value, owner or ""))
            if owner == "" and isinstance(value, str):
                subjects[-1] = (subjects[-1][0], value)


def _claim(key: str, value: object, owner: str) -> str:
    """Write a pair as a claim: "city: Paris", "is open", "Mars, moons 2"."""
    subject = f"{owner}, " if owner.strip("\0") else ""
    if value is None or value == "" or _is_by_product(key, value):
        return ""
    if isinstance(value, bool):
        return f"{subject}{key if value else _denied(key)}"
    if not key:
        return f"{subject}{value}"
    return f"{subject}{key} {value}" if subject else f"{key}: {value}"


def _is_by_product(key: str, value: object) -> bool:
    """Say whether a pair tells of the answer itself: how sure it is, and what it cites."""
    if key not in ("confidence", "source", "sources", "citations", "references"):
        return False
    return isinstance(value, int | float) or _FILE.fullmatch(str(value)) is not None


def _denied(key: str) -> str:
    first, _, rest = key.partition(" ")
    if rest and first in ("is", "are", "was", "can", "has"):
        return f"{first} {'no' if first == 'has' else 'not'} {rest}"
    return f"not {key}"


def _words(key: str) -> str:
    """Take a key of JSON apart: "openingHours" and "opening_hours" are opening hours."""
    return _small(_WORD_INSIDE.sub(" ", key).strip())


def _small(key: str) -> str:
    return " ".join(
        word if word.isupper() and len(word) > 1 else word.lower() for word in key.split()
    )


def table_claims(answer: str) -> list[DataClaim]:
    """Return the rows of the tables of an answer, each read with the head of its table.

    Args:
        answer: Any text.

    Returns:
        One entry for each row, in order; heads and rules are left out.
    """
    if "|" not in answer or "--" not in answer:
        return []
    found: list[DataClaim] = []
    head: Sequence[str] | None = None
    before: re.Match[str] | None = None
    for line in _ROW.finditer(answer):
        follows = before is not None and answer[before.end() : line.start()] in ("\n", "\r\n")
        if _RULE.match(line[0].rstrip()):
            head = _cells(before[0]) if follows and before is not None else None
        elif head is not None and follows:
            text = line[0].strip()
            first = line.start() + line[0].index(text)
            found.append(DataClaim(Span(first, first + len(text), text), _row(head, line[0])))
        else:
            head = None
        before = line
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t*_`") for cell in line.strip().strip("|").split("|")]


def _row(head: Sequence[str], line: str) -> str:
    cells = _cells(line)
    names = [*map(_small, head), *[""] * len(cells)]
    told = [
        f"{name} {cell}".strip()
        for name, cell in zip(names[1:], cells[1:], strict=False)
        if cell.lower() not in _EMPTY_CELLS
    ]
    first = [cells[0]] if cells[0].lower() not in _EMPTY_CELLS else []
    return ", ".join([*first, *told])
