"""Exit codes, and one-line error messages on standard error."""

import traceback
from collections.abc import Callable
from typing import Any

import typer

from rag_evals.errors import GradingError, RagEvalsError, TooManyFailuresError
from rag_evals.report.screen import drop_what_cannot_be_written, echo_error

DONE = 0
GATE_MISSED = 1
USAGE_ERROR = 2
TOO_MANY_FAILURES = 3
NOT_DECIDED = 4
# EX_SOFTWARE in sysexits.h: an internal error.
CRASH = 70
# By shell convention, the exit code is 128 plus the signal number.
INTERRUPTED = 130

_DEBUG = "--debug"
_MAX_MESSAGE_CHARS = 300
# The base class of typer's usage errors, which has no public name.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]
_OTHER_TOOLS = {
    "--model": "--judge",
    "--metric": "--grader",
    "--metrics": "--grader",
    "--threshold": "--fail-under",
    "--output": "--out",
    "--temperature": "--set temperature=0",
    "--llm": "--judge",
    "--cost": "--dry-run",
    **dict.fromkeys(("metrics", "list"), "graders"),
    **dict.fromkeys(("evaluate", "eval", "run"), "grade"),
}
"""Options and commands of similar tools, and what they are called here."""


def without_debug(words: list[str]) -> tuple[list[str], bool]:
    """Remove `--debug` from a command line, anywhere before a bare `--`."""
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != _DEBUG]
    return [*options, *words[end:]], len(options) < end


def exit_code_of(command: Callable[[], object], *, debug: bool = False) -> int:
    """Run a command and return its exit code; print any error on one line."""
    try:
        code = command()
    except SystemExit as stop:
        # rich exits with 1 if it writes the help to a closed pipe (`| head`).
        if isinstance(stop.__context__, BrokenPipeError):
            return DONE
        raise
    except (KeyboardInterrupt, typer.Abort):
        echo_error("interrupted by SIGINT")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - last resort: report every error on one line
        if debug:
            traceback.print_exception(error)
        message, code = _last_words(error)
        drop_what_cannot_be_written()
        # Without a command, typer shows its help, and the error has no message.
        if message:
            echo_error(message)
        return code
    return code if isinstance(code, int) else DONE


def _last_words(error: Exception) -> tuple[str, int]:
    if isinstance(error, RagEvalsError):
        kind = f"{type(error).__name__}: " if isinstance(error, GradingError) else ""
        hopeless = isinstance(error, TooManyFailuresError)
        return f"{kind}{error}", TOO_MANY_FAILURES if hopeless else USAGE_ERROR
    if isinstance(error, _UsageError):
        return _usage_words(error), USAGE_ERROR
    if isinstance(error, OSError):
        # A problem with the machine, such as a full disk.
        place = "" if error.filename is None else f"{str(error.filename)!r}: "
        return f"{place}{error.strerror or error}", USAGE_ERROR
    if isinstance(error, MemoryError):
        return "out of memory; grade fewer or shorter rows at a time", USAGE_ERROR
    message = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if len(message) > _MAX_MESSAGE_CHARS:
        message = message[: _MAX_MESSAGE_CHARS - 1] + "…"
    return (
        f"this is a bug in rag_evals: {message}; run again with {_DEBUG} for the traceback",
        CRASH,
    )


# Any: the error's class has no public name.
def _usage_words(error: Any) -> str:
    said = error.message.rstrip(".")
    meant = _OTHER_TOOLS.get(said.rpartition(" ")[2].strip("'"))
    if meant is not None and said.startswith("No such "):
        offered = {option for one in error.cmd.params for option in one.opts}
        if meant.split()[0] in offered.union(getattr(error.cmd, "commands", ())):
            return f"{said}. Did you mean {meant!r}?"
    if said.endswith((" --resume", " --continue")):
        return f"{said}. To resume a run, run the same command again"
    return str(error.format_message())
