"""`rag-evals batch`: send, watch and take the batches of a run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.commands.grade import grade
from rag_evals.cli.shared.batching import grade_again
from rag_evals.cli.shared.options import Json
from rag_evals.report.terminal.screen import echo, echo_json
from rag_evals.run import BatchSteps, ask_states, batch_words, open_batches, pending_in

batch = typer.Typer(
    name="batch",
    help="Send, watch and take the batches of a run that grade --batch began.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

BatchedRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]


@batch.command()
def submit(
    context: typer.Context,
    run: BatchedRun,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Send again what stands in batches that the endpoint has no more."
        ),
    ] = False,
    json_output: Json = False,
) -> None:
    """Send what is missing: calls that follow from replies, wrong replies, what a batch lost.

    [bold]Examples[/bold]

      rag-evals batch submit runs/batched
    """
    steps = BatchSteps(take=again, again=again)
    grade_again(grade, context, run, steps, json_output=json_output)


@batch.command()
def status(run: BatchedRun, json_output: Json = False) -> None:
    """Ask the provider where the batches of a run stand.

    [bold]Examples[/bold]

      rag-evals batch status runs/batched
    """
    with open_batches(run) as table:
        parts = ask_states(table)
    if json_output:
        numbers = [
            {"batch": one.batch, "status": one.status, "ended": one.ended, "requests": one.requests}
            for one in parts
        ]
        echo_json(json.dumps({"batches": numbers, "pending": pending_in(run)}))
        return
    for part in parts:
        name = part.batch or f"part {part.number}"
        echo(f"{name}: {part.status}, {part.ended} of {part.requests} requests worked off")
    echo(batch_words(parts))
    echo(f"{pending_in(run)} gradings pending")


@batch.command()
def collect(
    context: typer.Context,
    run: BatchedRun,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait and send until no row is pending.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Take the replies of batches that have ended, and grade the rows that they complete.

    Where more is to be sent then, `rag-evals batch submit` sends it. Gates are asked as `grade`
    was told to; while a row is pending, the exit code is 4.

    [bold]Examples[/bold]

      rag-evals batch collect runs/batched
      rag-evals batch collect runs/batched --wait
    """
    grade_again(grade, context, run, BatchSteps(send=wait, wait=wait), json_output=json_output)
