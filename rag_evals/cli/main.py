"""The command line: a table of commands, each loaded when it is called.

Loading graders, judges and statistics takes three times as long as printing the help.
"""

import io
import sys
from collections import UserDict
from collections.abc import Callable
from copy import copy
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rag_evals.cli.shared.exits import exit_code_of, without_debug
from rag_evals.report.screen import echo

COMMANDS = {
    "grade": "Grade every row of a file, and store the outcomes in a run folder.",
    "demo": "Grade 24 shipped rows with the embedded judge: no key, no network, no model file.",
    "init": "Write sample rows, a prompt file, rag-evals.toml and a GitHub workflow to start from.",
    "report": "Show a run: scores with confidence intervals, bands, and rows with their evidence.",
    "show": "Show one row of a run: the answer, and each verdict with its reason and evidence.",
    "view": "View runs in the browser: a list, scores over time, rows, comparisons and labels.",
    "export": "Export a run as a table: the data's columns, scores, bands, and unsupported parts.",
    "merge": "Merge the parts of a run, so that report, compare and correct cover the whole run.",
    "compare": "Compare two runs row by row: the difference, its confidence interval, and its "
    "significance.",
    "judge": "Measure a judge: exam, label, agreement, correct, tune, teach, attack.",
    "graders": "List the graders: what they measure, which fields they need, and which run "
    "without a model.",
    "batch": "Collect the batches started by grade --batch.",
    "prompts": "Show, copy and check prompts.",
}
"""The help line of each command, in display order."""

_COMMANDS_FOLDER = "rag_evals.cli.commands"
FILES = {
    "demo": "start",
    "init": "start",
    "show": "report",
    "view": "report",
    "export": "report",
    "merge": "report",
    "compare": "report",
    "batch": "grade",
    "graders": "prompts",
}
"""Modules of the commands whose names differ from the module's name."""


class _Commands(UserDict[str, Any]):
    """Commands by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        return _load(self.data[name])


class _LoadingGroup(TyperGroup):
    # Any: the types of the base class's arguments are not public.
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _Commands({name: name for name in COMMANDS})})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy(self)
        shown.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        TyperGroup.format_help(shown, ctx, formatter)


@cache
def _load(name: str) -> Any:
    try:
        module = import_module(f"{_COMMANDS_FOLDER}.{FILES.get(name, name)}")
    except KeyboardInterrupt:
        # typer would exit without a message.
        raise typer.Abort from None
    found: typer.Typer | Callable[..., None] = getattr(module, name)
    if isinstance(found, typer.Typer):
        return get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, cls=getattr(module, "KINDS", {}).get(name))(found)
    return get_command(alone)


app = typer.Typer(
    name="rag-evals",
    cls=_LoadingGroup,
    help="Grade RAG answers: check which statements their sources support.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,  # locals would show chunk texts and keys
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        echo(f"rag-evals {version('rag-evals')}")
        raise typer.Exit


@app.callback()
def _main(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    _debug: Annotated[
        bool,
        # Here only for the help: `run` removes it from the command line before typer sees it.
        typer.Option("--debug", help="Show the traceback of an error; accepted anywhere."),
    ] = False,
) -> None: ...


def run() -> None:
    """Run the command in `sys.argv`, and exit with its code."""
    words, debug = without_debug(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode must not abort the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(exit_code_of(lambda: app(words, standalone_mode=False), debug=debug))
