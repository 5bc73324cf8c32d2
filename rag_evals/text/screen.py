"""How is data shown safely? On a terminal without what it would obey; in a notebook as small HTML.

The HTML is escaped, cut, and readable in any theme.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

REPLACEMENT = "�"
"""What stands for each character that is not shown."""

# Control and format characters, halves of pairs, line separators: escape sequences, text that runs
# backwards, text that nobody sees.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Line ends and tabs; the joiners of emoji and of Persian; the hyphen that shows only at a line end.
_KEPT = frozenset("\n\t\u200c\u200d\u00ad")
# A Windows line end, which stays (any other carriage return would go back over what is shown), or
# a character to look at.
_SUSPECT = re.compile(r"\r\n|[^\w \n\t!-~]")
_MAX_LINE_CHARS = 1000
_END_CHARS = 300

MOST_ITEMS = 10
"""Rows or findings that a notebook shows of one value; the rest is counted."""

_LONGEST = 160


def is_obeyed(character: str) -> bool:
    """Say whether a terminal does something with a character besides showing it."""
    return character not in _KEPT and unicodedata.category(character) in _OBEYED


def printable(text: str) -> str:
    """Return a text as a screen may show it: nothing in it moves, colours, hides or reverses."""
    return text if text.isprintable() else _SUSPECT.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    suspect = found.group()
    return REPLACEMENT if len(suspect) == 1 and is_obeyed(suspect) else suspect


def one_line(text: str) -> str:
    """Return a message as one line of at most 1,000 characters; what a long one loses is inside."""
    line = re.sub(r"\s*\n\s*", " ", printable(text)).strip()
    if len(line) <= _MAX_LINE_CHARS:
        return line
    # What would be right comes at the end of a message.
    return f"{line[: _MAX_LINE_CHARS - _END_CHARS - 3]} … {line[-_END_CHARS:]}"


def shortened(text: str, most: int = _LONGEST) -> str:
    """Return a text as one line of at most so many characters that a screen shows safely."""
    # A text of megabytes is not read to its end for its beginning.
    line = " ".join(printable(text[: 4 * most]).split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return f"{line[: most - 1]}…"


def html_text(text: str, most: int = _LONGEST) -> str:
    """Return a text shortened and escaped, for a place between tags or in an attribute."""
    return escape(shortened(text, most))


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", left_out: str = ""
) -> str:
    """Write a table of plain texts; `left_out` says below it what is not shown."""
    titles = "".join(f"<th>{html_text(name)}</th>" for name in head)
    shown_head = f"<thead><tr>{titles}</tr></thead>" if head else ""
    named = f"<caption>{html_text(caption)}</caption>" if caption else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{named}{shown_head}<tbody>{body}</tbody></table>{html_note(left_out)}"


def html_head(name: str, rest: str = "") -> str:
    """Write the first line of a value: its name, and what there is to say."""
    return f"<div><b>{html_text(name)}</b> {html_text(rest)}</div>"


def html_note(text: str) -> str:
    """Write a small line of plain text; nothing for none."""
    return f"<div><small>{html_text(text)}</small></div>" if text else ""
