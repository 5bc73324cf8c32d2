"""`rag-evals merge`: one run of parts that were graded in several places."""

from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.options import Json, Quiet
from rag_evals.report.terminal.run import show_json
from rag_evals.report.terminal.screen import echo
from rag_evals.run import merge as merged


def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(help="Run folders, or files and folders of outcome rows such as Parquet."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the run.")],
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make one run of parts of it, so that report, compare and correct work on the whole.

    All parts must have been graded by the same graders and the same judge.

    [bold]Examples[/bold]

      rag-evals merge runs/part-0 runs/part-1 --out runs/whole
    """
    whole = merged(parts, out)
    if json_output:
        show_json(whole)
    else:
        echo(whole)
    offer_next("report", out, quiet=quiet, json_output=json_output)
