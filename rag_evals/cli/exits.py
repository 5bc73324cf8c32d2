"""How does a command end? The exit codes, and one line on standard error for what went wrong."""

import os
import sys
import traceback
from collections.abc import Callable

import typer

from rag_evals.errors import GradingError, RagEvalsError

DONE = 0
GATE_MISSED = 1
USAGE_ERROR = 2
TOO_MANY_FAILURES = 3
# As sysexits.h has it: an error inside the program. 4 is kept for a gate that is not decided.
CRASH = 70

_DEBUG = "--debug"
_MAX_MESSAGE_CHARS = 300


def without_debug(words: list[str]) -> tuple[list[str], bool]:
    """Take `--debug` out of a command line, wherever it stands before a bare `--`.

    Args:
        words: The command line without the program's name.

    Returns:
        The other words, and whether `--debug` was among them.
    """
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != _DEBUG]
    return [*options, *words[end:]], len(options) < end


def exit_code_of(command: Callable[[], object], *, debug: bool = False) -> int:
    """Carry out a command and say how it ended; no error leaves a traceback by itself.

    Args:
        command: What to do; its own `SystemExit` passes through.
        debug: Whether to show the traceback of an error as well.

    Returns:
        The exit code, 0 when nothing was raised.
    """
    try:
        command()
    except BrokenPipeError:
        # The reader (`| head`) has gone; anything flushed at exit would raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # noqa: BLE001 - the last resort: each error ends in one line
        if debug:
            traceback.print_exception(error)
        line, code = _last_words(error)
        typer.echo(line, err=True)
        return code
    return DONE


def _last_words(error: Exception) -> tuple[str, int]:
    if isinstance(error, RagEvalsError):
        kind = f"{type(error).__name__}: " if isinstance(error, GradingError) else ""
        return f"Error: {kind}{error}", USAGE_ERROR
    message = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if len(message) > _MAX_MESSAGE_CHARS:
        message = message[: _MAX_MESSAGE_CHARS - 1] + "…"
    return (
        f"Error: this is a bug in rag_evals: {message}; run again with {_DEBUG} for the traceback",
        CRASH,
    )
