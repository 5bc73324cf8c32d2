"""What can be done from the command line? One file per command; this one puts them together."""

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rag_evals.cli.later import loading
from rag_evals.cli.shared.exits import exit_code_of, without_debug
from rag_evals.report.terminal.screen import echo

COMMANDS = {
    "grade": "Grade every row of a file, and keep the outcomes in a run folder.",
    "demo": "Grade 24 shipped rows with the embedded judge: no key, no network, no model file.",
    "report": "Show a run: scores with their intervals, bands, and every row with its evidence.",
    "export": "Write a run as a table: the data's own columns, scores, bands, and what is "
    "unsupported.",
    "merge": "Make one run of parts of it, so that report, compare and correct work on the whole.",
    "label": "Make a page to label a random sample of a run: a and d agree and disagree with "
    "a verdict.",
    "compare": "Compare two runs row by row: the difference, its interval, and whether it could "
    "be chance.",
    "plan": "Count the rows that a comparison or a gate needs, and what they cost.",
    "agreement": "Measure the verdicts of a run against labels from people.",
    "correct": "Correct the numbers of a run by labels of a random part of its rows.",
    "calibrate": "Grade labelled rows with a judge and a prompt, and measure its verdicts.",
    "tune": "Learn from labels what a verifier's support means, and write it for --tuned.",
    "anchors": "Keep random rows of a run with their verdicts; `grade --anchors` grades them "
    "again.",
    "graders": "List the graders: what they measure, what a row must have, and which run "
    "without a model.",
    "doctor": "Check a classifier: what it is, how it is asked, and whether it gives its "
    "makers' scores.",
    "attack": "Attack your own judge and prompt, and see how often text in the data wins.",
    "batch": "Send, watch and take the batches of a run that grade --batch began.",
    "prompts": "List, show, copy, check and compare prompts.",
    "cache": "See, thin out and clear the cache of judges' answers and of verdicts.",
}
"""What the help says of each command, in its order; the file of a command has its name."""

app = typer.Typer(
    name="rag-evals",
    cls=loading(COMMANDS),
    help="Grade RAG answers: which statements do their sources support?",
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
