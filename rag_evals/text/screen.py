"""Safe display of data: no control characters on a terminal, escaped HTML in a notebook."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

REPLACEMENT = "�"
"""The replacement for each unsafe character."""

# Control and format characters, surrogates and line separators can start escape sequences, reverse
# text or hide it.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Line ends, tabs, the joiners used in emoji and Persian, and the soft hyphen.
_KEPT = frozenset("\n\t\u200c\u200d\u00ad")
# A Windows line end, which is kept (any other carriage return would overwrite the line), or a
# character to check.
_SUSPECT = re.compile(r"\r\n|[^\w \n\t!-~]")
_MAX_LINE_CHARS = 1000
_END_CHARS = 300

MOST_ITEMS = 10
"""Maximum number of rows or findings that a notebook shows for one value."""

_LONGEST = 160


def is_obeyed(character: str) -> bool:
    """True if a terminal may act on a character instead of displaying it."""
    return character not in _KEPT and unicodedata.category(character) in _OBEYED


def printable(text: str) -> str:
    """Replace characters that are unsafe on a terminal."""
    return text if text.isprintable() else _SUSPECT.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    suspect = found.group()
    return REPLACEMENT if len(suspect) == 1 and is_obeyed(suspect) else suspect


def one_line(text: str) -> str:
    """Return a message as one line; shorten it to 1,000 characters by cutting out the middle."""
    line = re.sub(r"\s*\n\s*", " ", printable(text)).strip()
    if len(line) <= _MAX_LINE_CHARS:
        return line
    # A message's end is kept, because it states what was expected.
    return f"{line[: _MAX_LINE_CHARS - _END_CHARS - 3]} … {line[-_END_CHARS:]}"


def shortened(text: str, most: int = _LONGEST) -> str:
    """Return text as one safe line of at most `most` characters."""
    # Avoids processing megabytes of text for one line.
    line = " ".join(printable(text[: 4 * most]).split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return f"{line[: most - 1]}…"


def html_text(text: str, most: int = _LONGEST) -> str:
    """Shorten and escape text for use between tags or in an attribute."""
    return escape(shortened(text, most))


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", left_out: str = ""
) -> str:
    """Return an HTML table of plain text, followed by the note `left_out`."""
    titles = "".join(f"<th>{html_text(name)}</th>" for name in head)
    shown_head = f"<thead><tr>{titles}</tr></thead>" if head else ""
    named = f"<caption>{html_text(caption)}</caption>" if caption else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{named}{shown_head}<tbody>{body}</tbody></table>{html_note(left_out)}"


def html_head(name: str, rest: str = "") -> str:
    """Return an HTML heading with a name and a description."""
    return f"<div><b>{html_text(name)}</b> {html_text(rest)}</div>"


def html_note(text: str) -> str:
    """Return plain text as a line in small print, or "" if the text is empty."""
    return f"<div><small>{html_text(text)}</small></div>" if text else ""
