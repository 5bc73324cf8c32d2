"""`rag-evals tune`: what do labels say of a judge's support?"""

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from rag_evals.analysis import tune as tune_run
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import Json, LabelColumn, Labels, OneGrader, Quiet, RunFolder
from rag_evals.report.terminal.screen import echo, echo_json


def tune(
    run: RunFolder,
    labels: Labels = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it, for --tuned."),
    ] = None,
    grader: OneGrader = None,
    stage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Verifier to tune. Default: the only one of the run."),
    ] = None,
    max_error: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of wrong verdicts where a cascade relies on it alone."
        ),
    ] = 0.05,
    label_column: LabelColumn = "label",
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from labels what a verifier's support means, and write it for --tuned.

    Calibrates the support, chooses the threshold, and finds where a cascade may rely on this
    verifier alone. Needs 30 labels; 200 are better.

    [bold]Examples[/bold]

      rag-evals tune runs/embedded labels.jsonl -o judge.json
      rag-evals grade answers.jsonl --tuned judge.json
    """
    tuning = tune_run(
        opened_run(run),
        labels or [],
        grader=grader,
        stage=stage,
        column=label_column,
        max_error=max_error,
    )
    if json_output:
        echo_json(to_json(tuning).decode())
    else:
        echo(tuning)
    if out is not None:
        tuning.write(out)
        echo(f"written: {out}", err=True)
        offer_next("grade", "DATA", "--tuned", out, quiet=quiet, json_output=json_output)
