"""Which rows does `grade` grade, where not all of them? Options that draw rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.gates import AskedGates
from rag_evals.dataset import ColumnMap
from rag_evals.report.screen import echo
from rag_evals.run import Plan, RunOptions, default_folders, plan_draw

DRAW_PANEL = "Not every row: grade fewer of them"

StopEarly = Annotated[
    bool,
    typer.Option(
        "--stop-early",
        help="Grade rows in random order, and stop when --gate is decided for all rows.",
        rich_help_panel=DRAW_PANEL,
    ),
]

SampleRows = Annotated[
    int | None,
    typer.Option(
        "--sample",
        metavar="ROWS",
        help="Let the judge grade a random sample, and the embedded one every row; the mean is "
        "that of all rows.",
        rich_help_panel=DRAW_PANEL,
    ),
]

BudgetText = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="MONEY",
        help="The same, with as many rows as this pays for by list price, as in 5usd; when it "
        "is spent, nothing more is asked.",
        rich_help_panel=DRAW_PANEL,
    ),
]


def draw_options(
    stop_early: bool, sample: int | None, budget: str | None, gates: AskedGates
) -> RunOptions:
    """Return the options of a run that draw rows; `--gate` alone draws none."""
    options: RunOptions = {
        "stop_early": stop_early,
        "sample": sample,
        "budget": budget,
        "error": gates.error,
        "count": gates.count,
    }
    return {**options, "gate": gates.mean} if stop_early else options


def planned_draws(
    columns: ColumnMap, concurrency: int, out: Path | None, data: str
) -> Callable[..., Plan]:
    """Return what plans a run of the rows that options draw, as `plan_draw`.

    Args:
        columns: Where the fields are.
        concurrency: Gradings at a time.
        out: The run folder; None for one whose name follows from the data.
        data: The file of rows.
    """
    # A run that is there may know the file already.
    folders = default_folders(Path(data)) if out is None else [out]
    return partial(
        plan_draw, columns=columns, concurrency=concurrency, named=option_name, folders=folders
    )


def option_name(name: str) -> str:
    """Return what the command line calls an option of a run."""
    return f"--{name.replace('_', '-')}"


def announce_draw(plan: Plan) -> None:
    """Say on standard error what a budget pays for."""
    if plan.budget is not None:
        echo(f"--budget ${plan.budget:g} pays for {plan.drawn} rows by list price", err=True)
