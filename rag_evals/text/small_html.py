"""How is a value shown in a notebook? Small HTML: escaped, cut, and readable in any theme."""

from collections.abc import Iterable, Sequence
from html import escape

from rag_evals.text.screen import printable

MOST_ITEMS = 10
"""Rows or findings that a notebook shows of one value; the rest is counted."""

_LONGEST = 160


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
    """Write a table.

    Args:
        head: Names of the columns; none for a table without them.
        rows: Their cells, as plain text.
        caption: Plain text above it.
        left_out: Plain text below it that says what is not shown.
    """
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


def and_more(total: int, shown: int, noun: str) -> str:
    """Say what is not shown: "and 13 more findings"; nothing where all is."""
    return f"and {total - shown:,} more {noun}" if total > shown else ""
