"""Prints command output so that data cannot control or colour the terminal."""

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
    """Print text, optionally to standard error.

    A closed pipe (`| head`) neither stops the command nor changes its exit code.
    """
    try:
        typer.echo(printable(str(text)), err=err, nl=nl)
    except OSError as error:
        # The exit code reports the error even if its message cannot be printed.
        if not (err or isinstance(error, BrokenPipeError)):
            raise
        _send_nowhere(sys.stderr if err else sys.stdout)


def echo_error(message: object) -> None:
    echo(f"Error: {one_line(str(message))}", err=True)


def drop_what_cannot_be_written() -> None:
    """Flush standard output now, because an error at exit would change the exit code."""
    try:
        sys.stdout.flush()
    except AttributeError:
        return  # Closed before the program started.
    except (OSError, ValueError):
        _send_nowhere(sys.stdout)


def echo_json(text: str) -> None:
    """Print JSON with control characters escaped."""
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    if not (text.isprintable() and (utf8 or text.isascii())):
        text = "".join(
            json.dumps(c)[1:-1] if is_obeyed(c) or not (utf8 or c.isascii()) else c for c in text
        )
    echo(text)


def cell(value: object, *, max_chars: int | None = None, style: str = "") -> Text:
    shown = printable(str(value))
    if max_chars is not None and len(shown) > max_chars:
        shown = shown[: max_chars - 1] + "…"
    return Text(shown, style=style)


def show_table(table: Table, *, err: bool = False) -> None:
    console = _Screen(stderr=err, soft_wrap=False)
    if not console.is_terminal:
        console = _Screen(stderr=err, width=_WIDTH_OF_A_PIPE)
        table.box, table.pad_edge = None, False
    console.print(table)


def show_text(text: Text) -> None:
    """Print coloured text, which must contain only printable characters."""
    _Screen().print(text, soft_wrap=True)


class _Screen(Console):
    """A console that tolerates a closed pipe."""

    def on_broken_pipe(self) -> None:
        _send_nowhere(sys.stderr if self.stderr else sys.stdout)


def _send_nowhere(stream: TextIO) -> None:
    # Discard the stream's buffer too, or Python fails at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
