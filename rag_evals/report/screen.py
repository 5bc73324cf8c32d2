"""How does a command print? In one place, so that no data moves or colours a terminal."""

import json
import os
import sys
from typing import TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_evals.text import one_line
from rag_evals.text.screen import is_obeyed, printable

_WIDTH_OF_A_PIPE = 120


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, to standard error on demand.

    A reader that has gone (`| head`) ends neither the command nor its exit code.
    """
    try:
        typer.echo(printable(str(text)), err=err, nl=nl)
    except OSError as error:
        # Where errors cannot be said, the exit code still can.
        if not (err or isinstance(error, BrokenPipeError)):
            raise
        _send_nowhere(sys.stderr if err else sys.stdout)


def echo_error(message: object) -> None:
    """Say on standard error, in one line, what went wrong."""
    echo(f"Error: {one_line(str(message))}", err=True)


def drop_what_cannot_be_written() -> None:
    """Empty the buffer of standard output, or Python complains at its end and changes the code."""
    try:
        sys.stdout.flush()
    except AttributeError:
        return  # Closed before the program began: there is none.
    except (OSError, ValueError):
        _send_nowhere(sys.stdout)


def echo_json(text: str) -> None:
    """Print JSON for other programs; what a terminal would obey is written as an escape."""
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    if not (text.isprintable() and (utf8 or text.isascii())):
        text = "".join(
            json.dumps(c)[1:-1] if is_obeyed(c) or not (utf8 or c.isascii()) else c for c in text
        )
    echo(text)


def cell(value: object, *, max_chars: int | None = None, style: str = "") -> Text:
    """Return a text for a table, shown without markup.

    Args:
        value: What to show.
        max_chars: Where to cut it off; None shows all.
        style: Of the whole cell.
    """
    shown = printable(str(value))
    if max_chars is not None and len(shown) > max_chars:
        shown = shown[: max_chars - 1] + "…"
    return Text(shown, style=style)


def show_table(table: Table, *, err: bool = False) -> None:
    """Print a table: with lines on a terminal, plain where a file or a program reads it."""
    console = _Screen(stderr=err, soft_wrap=False)
    if not console.is_terminal:
        console = _Screen(stderr=err, width=_WIDTH_OF_A_PIPE)
        table.box, table.pad_edge = None, False
    console.print(table)


def show_text(text: Text) -> None:
    """Print a text in its colours, where a terminal shows them; its parts are printable."""
    _Screen().print(text, soft_wrap=True)


class _Screen(Console):
    """A console whose reader may go."""

    def on_broken_pipe(self) -> None:
        """Continue without the reader; the exit code stays the same."""
        _send_nowhere(sys.stderr if self.stderr else sys.stdout)


def _send_nowhere(stream: TextIO) -> None:
    # What is still in the stream's buffer goes there as well, or Python complains at its end.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
