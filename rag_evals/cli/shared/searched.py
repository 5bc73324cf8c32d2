"""Which entries of a list have the words that a reader looks for?"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Column, Table

from rag_evals.errors import UnknownNameError
from rag_evals.report.terminal.screen import cell, echo_json, show_table

SearchWords = Annotated[
    list[str] | None,
    typer.Argument(metavar="WORD", help="Only those in which every word occurs."),
]

Entry = Mapping[str, str | bool | Sequence[str]]
"""What is listed: its cells, by the title of their column; the name comes first."""


def show_list(
    kind: str, entries: Sequence[Entry], words: Sequence[str], *, as_json: bool
) -> list[str]:
    """Print the entries that have all words, in a table or as JSON.

    Args:
        kind: What an entry is; the title of the first column.
        entries: All that there is, each with the same titles.
        words: What is looked for in any cell, in capitals or not; none lists everything.
        as_json: Whether other programs read it.

    Returns:
        The names of those that were printed.

    Raises:
        UnknownNameError: No entry has all words.
    """
    found = [one for one in entries if _has(one, words)]
    if not found:
        names = [str(one[kind]) for one in entries]
        raise UnknownNameError.of(f"{kind} about", " ".join(words), names)
    if as_json:
        echo_json(json.dumps(found, ensure_ascii=False))
    else:
        titles = [title for title in found[0] if title != kind]
        table = Table(Column(kind, no_wrap=True), *titles, header_style="bold")
        for one in found:
            table.add_row(*(cell(_text(value)) for value in one.values()))
        show_table(table)
    return [str(one[kind]) for one in found]


def _has(entry: Entry, words: Sequence[str]) -> bool:
    text = " ".join(map(_text, entry.values())).casefold()
    return all(word.casefold() in text for word in words)


def _text(value: str | bool | Sequence[str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else ", ".join(value)
