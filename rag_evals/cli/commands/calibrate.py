"""`rag-evals calibrate`: how good is this judge with this prompt?"""

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from rag_evals.analysis import calibrate as measure_judge
from rag_evals.cli.shared.complete import judges
from rag_evals.cli.shared.graders import chosen_graders
from rag_evals.cli.shared.options import (
    By,
    ColumnOption,
    GraderNames,
    Json,
    Limit,
    OutFolder,
    PromptFile,
    Quiet,
    Reasks,
    Settings,
    Threshold,
)
from rag_evals.core import parse_settings
from rag_evals.dataset import ColumnMap
from rag_evals.grading import default_judge
from rag_evals.judge import DEFAULT_REASKS
from rag_evals.report.terminal.screen import echo, echo_json


def calibrate(
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="Labelled rows: label, or statements with labels.")
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|PROVIDER/MODEL",
            help="Judge to measure. Default: $RAG_EVALS_JUDGE, else embedded.",
            autocompletion=judges,
        ),
    ] = None,
    grader: GraderNames = None,
    prompt: PromptFile = None,
    setting: Settings = None,
    column: ColumnOption = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the labels. Default: label and statements."
        ),
    ] = None,
    out: OutFolder = None,
    by: By = None,
    threshold: Threshold = 1.0,
    limit: Limit = None,
    json_output: Json = False,
    quiet: Quiet = False,
    reasks: Reasks = DEFAULT_REASKS,
) -> None:
    """Grade labelled rows with a judge and a prompt, and measure its verdicts.

    [bold]Examples[/bold]

      rag-evals calibrate --data labelled.jsonl
      rag-evals calibrate --data labelled.jsonl --judge openai/gpt-4o-mini --prompt my_strict.jinja
    """
    measured = measure_judge(
        data,
        chosen_graders(grader or [], prompt),
        judge or default_judge(),
        out=out,
        columns=ColumnMap.parse(column or []),
        label_column=label_column,
        by=by,
        threshold=threshold,
        limit=limit,
        progress=not quiet,
        settings=parse_settings(setting),
        reasks=reasks,
    )
    if json_output:
        echo_json(to_json(measured.agreement).decode())
    else:
        echo(measured)
