"""`rag-evals calibrate`: how good is this judge with this prompt?"""

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from rag_evals.cli.choose import chosen_graders
from rag_evals.cli.options import By, Json, Threshold
from rag_evals.dataset import ColumnMap
from rag_evals.grader import default_judge
from rag_evals.quality import calibrate as measure_judge


def calibrate(
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="Labelled rows: label, or statements with labels.")
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|PROVIDER/MODEL",
            help="Who is measured. Default: $RAG_EVALS_JUDGE, else embedded.",
        ),
    ] = None,
    grader: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What to grade; may be repeated. Default: faithfulness."),
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prompt file to use instead of a shipped one."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=SOURCE", help="Where a field is; may be repeated."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the labels. Default: label and statements."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder. Default: runs/NAME-SETTINGS.")
    ] = None,
    by: By = None,
    threshold: Threshold = 1.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Grade the first rows only.")] = None,
    json_output: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
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
    )
    typer.echo(to_json(measured.agreement).decode() if json_output else str(measured))
