"""`rag-evals grade`: grade every row of a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.catalog import grader_from_file, grader_named
from rag_evals.cli.show import announce_columns, show_json, show_run
from rag_evals.dataset import ColumnMap
from rag_evals.grader import Grader, default_judge
from rag_evals.run import Run, execute, make_plan

_ROWS_SHOWN = 20
BELOW_THRESHOLD = 1


def grade(
    data: Annotated[Path, typer.Argument(help="JSONL, JSON or CSV file, also with .gz.")],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|PROVIDER/MODEL",
            help="Who decides. Default: $RAG_EVALS_JUDGE, else embedded.",
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
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder. Default: runs/NAME-SETTINGS.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Grade the first rows only.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Gradings at a time.")] = 16,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Exit with 1 when a mean score is below this."),
    ] = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of the table.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Grade every row of a file, and keep the outcomes in a run folder.

    An interrupted run goes on where it stopped when the same command is given again.

    [bold]Examples[/bold]

      rag-evals grade answers.jsonl
      rag-evals grade answers.csv --judge openai/gpt-4o-mini --column answer=response
      rag-evals grade answers.jsonl --judge openai/gpt-4o-mini --prompt my_strict.jinja
      rag-evals grade answers.jsonl --fail-under 0.9 --json
    """
    plan = make_plan(
        data,
        _graders(grader or [], prompt),
        judge or default_judge(),
        columns=ColumnMap.parse(column or []),
        concurrency=concurrency,
        limit=limit,
    )
    if plan.checked is not None and not quiet:
        announce_columns(dict(plan.checked.taken), data)
    run = execute(plan, out=out or plan.default_folder(), progress=not quiet)
    if json_output:
        show_json(run)
    else:
        show_run(run, rows=_ROWS_SHOWN)
    _check_threshold(run, fail_under)


def _graders(names: list[str], prompt: Path | None) -> list[Grader[Any]]:
    if prompt is None:
        return [grader_named(name) for name in names or ["faithfulness"]]
    if len(names) > 1:
        raise typer.BadParameter("one prompt file makes one grader; give --grader at most once")
    return [grader_from_file(prompt, fallback=names[0] if names else None)]


def _check_threshold(run: Run, fail_under: float | None) -> None:
    if fail_under is None:
        return
    for name, of_grader in run.summary().graders.items():
        mean = of_grader.mean()
        if mean is None or mean < fail_under:
            shown = "no score" if mean is None else f"{mean:.4f}"
            typer.echo(f"{name}: {shown}, below --fail-under {fail_under}", err=True)
            raise typer.Exit(BELOW_THRESHOLD)
