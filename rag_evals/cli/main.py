"""What can be done from the command line? One file per command; this one puts them together."""

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rag_evals.cli.commands.agreement import agreement
from rag_evals.cli.commands.anchors import anchors
from rag_evals.cli.commands.attack import attack
from rag_evals.cli.commands.cache import cache
from rag_evals.cli.commands.calibrate import calibrate
from rag_evals.cli.commands.compare import OptionalMargin, compare
from rag_evals.cli.commands.correct import correct
from rag_evals.cli.commands.demo import demo
from rag_evals.cli.commands.doctor import doctor
from rag_evals.cli.commands.export import export
from rag_evals.cli.commands.grade import grade
from rag_evals.cli.commands.graders import graders
from rag_evals.cli.commands.label import label
from rag_evals.cli.commands.merge import merge
from rag_evals.cli.commands.plan import plan
from rag_evals.cli.commands.prompts import prompts
from rag_evals.cli.commands.report import report
from rag_evals.cli.commands.tune import tune
from rag_evals.cli.shared.exits import exit_code_of, without_debug
from rag_evals.report.terminal.screen import echo

app = typer.Typer(
    name="rag-evals",
    help="Grade RAG answers: which statements do their sources support?",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,  # locals would show chunk texts and keys
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(grade)
app.command()(demo)
app.command()(report)
app.command()(export)
app.command()(merge)
app.command()(label)
app.command(cls=OptionalMargin)(compare)
app.command()(plan)
app.command()(agreement)
app.command()(correct)
app.command()(calibrate)
app.command()(tune)
app.command()(anchors)
app.command()(graders)
app.command()(doctor)
app.command()(attack)
app.add_typer(prompts, name="prompts")
app.add_typer(cache, name="cache")


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
        # `run` takes it out of the command line before; here it is for the help.
        typer.Option("--debug", help="Show the traceback of an error; allowed anywhere."),
    ] = False,
) -> None:
    """Grade RAG answers: which statements do their sources support?"""


def run() -> None:
    """Run the command of `sys.argv`; every way to end has its exit code, and at most one line."""
    words, debug = without_debug(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows no such letter must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(exit_code_of(lambda: app(words, standalone_mode=False), debug=debug))
