"""`rag-evals batch`: watch and collect the batches of a run."""

import json
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rag_evals.cli.commands.grade import grade
from rag_evals.cli.shared.exits import NOT_DECIDED, TOO_MANY_FAILURES
from rag_evals.cli.shared.gates import grade_again
from rag_evals.cli.shared.options import Json
from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import echo, echo_json
from rag_evals.run import load_run
from rag_evals.run.engine.batches import (
    BatchSteps,
    batch_words,
    collect_results,
    open_batches,
    pending_in,
)

batch = typer.Typer(
    name="batch",
    help="Watch and collect the batches started by grade --batch.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@batch.callback()
def _batch() -> None: ...


_TOLD = ("batch", "status", "ended", "requests", "endpoint", "model")


@batch.command()
def collect(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    status: Annotated[
        bool, typer.Option("--status", help="Only show the status of the batches.")
    ] = False,
    send: Annotated[
        bool,
        typer.Option(
            "--send",
            help="Then send the outstanding calls: follow-up calls, re-asks after invalid replies, "
            "and calls that a batch lost.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also resend batches that the endpoint no longer has."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Keep sending and waiting until no row is pending.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Fetch the replies of finished batches, and grade the rows that they complete.

    Applies the gates given to `grade --batch`. The exit code is 4 while any row is pending. With
    --status, it is 3 if rows failed.

    [bold]Examples[/bold]

      rag-evals batch collect runs/batched --status
      rag-evals batch collect runs/batched
      rag-evals batch collect runs/batched --send
      rag-evals batch collect runs/batched --wait
    """
    if status:
        if send or again or wait:
            raise ConfigurationError("--status sends nothing; omit --send, --again and --wait")
        _show_states(run, json_output=json_output)
    steps = BatchSteps(send=send or again or wait, wait=wait, again=again)
    grade_again(grade, context, run, steps, json_output=json_output)
    if pending_in(run):
        raise typer.Exit(NOT_DECIDED)


def _show_states(run: Path, *, json_output: bool) -> NoReturn:
    with open_batches(run) as table:
        collect_results(table, echo, only_ask=True)
        parts = table.parts()
    pending, failed = pending_in(run), load_run(run).summary().failed
    if json_output:
        numbers = [{name: getattr(part, name) for name in _TOLD} for part in parts]
        echo_json(json.dumps({"batches": numbers, "pending": pending, "failed": failed}))
    else:
        for part in parts:
            name = part.batch or f"part {part.number}"
            echo(f"{name}: {part.status}, {part.ended} of {part.requests} requests processed")
        echo(batch_words(parts))
        echo(f"{pending} gradings pending, {failed} failed")
    if pending or parts:
        raise typer.Exit(NOT_DECIDED)
    raise typer.Exit(TOO_MANY_FAILURES if failed else 0)
