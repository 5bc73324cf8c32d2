"""Which rows does `grade` grade, where not all of them? Options that draw rows, and their plan."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from rag_evals.cli.shared.gates import AskedGates
from rag_evals.errors import ConfigurationError
from rag_evals.report.terminal.screen import echo
from rag_evals.run import Plan, StopRule, rows_for_budget, sample_of, until_decided
from rag_evals.verify import EMBEDDED

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
        help="The same, with as many rows as this pays for by list price, as in 5usd.",
        rich_help_panel=DRAW_PANEL,
    ),
]

_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?) ?(?:usd)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class AskedDraw:
    """What the options ask, checked as far as can be without the data.

    Attributes:
        stop: The gate that ends the run; None for none.
        sample: Rows of the sample; None for none.
        budget: US dollars for it; None for none.
    """

    stop: StopRule | None
    sample: int | None
    budget: float | None

    @property
    def drawn(self) -> bool:
        """Whether not all rows are graded alike."""
        return not (self.stop is None and self.sample is None and self.budget is None)

    def planned(self, plan: Plan, free: Callable[[str], Plan]) -> tuple[Plan, Plan | None]:
        """Return the plan of the rows that are drawn, and that of the free judge if there is one.

        Args:
            plan: The plan of all rows.
            free: Makes the same plan for another judge.

        Raises:
            ConfigurationError: The data, the judge or its price does not allow it.
        """
        if self.stop is not None:
            return until_decided(plan, self.stop), None
        rows = self.sample
        if self.budget is not None:
            rows = rows_for_budget(plan, self.budget)
            echo(f"--budget ${self.budget:g} pays for {rows} rows by list price", err=True)
        if rows is None:
            return plan, None
        drawn = sample_of(plan, rows)
        if drawn is plan:
            return plan, None
        every = free(EMBEDDED)
        if asked := [name for grader in every.graders for name in grader.endpoints]:
            raise ConfigurationError(
                f"{asked[0]!r} would be asked about every row; a sample needs graders that the "
                "embedded judge can decide alone"
            )
        return drawn, every


def asked_draw(
    stop_early: bool,
    sample: int | None,
    budget: str | None,
    gates: AskedGates,
) -> AskedDraw:
    """Check the options that draw rows.

    Raises:
        ConfigurationError: Two that cannot be together, or one that cannot be read.
    """
    given = [("--stop-early", stop_early), ("--sample", sample), ("--budget", budget)]
    named = [name for name, value in given if value]
    if len(named) > 1:
        raise ConfigurationError(f"{named[0]} and {named[1]} both choose the rows; give one")
    if stop_early and gates.mean is None:
        raise ConfigurationError("--stop-early does nothing without --gate")
    if sample is not None and sample < 1:
        raise ConfigurationError(f"--sample {sample} is no number of rows; it must be at least 20")
    stop = None
    if stop_early and gates.mean is not None:
        stop = StopRule(gates.mean, gates.error, gates.count)
    return AskedDraw(stop, sample, None if budget is None else parsed_money(budget))


def parsed_money(text: str) -> float:
    """Read `5usd`, `$5` or `5`.

    Raises:
        ConfigurationError: None of them, or nothing at all.
    """
    found = _MONEY.fullmatch(text.strip())
    dollars = float(found[1]) if found else 0.0
    if dollars <= 0:
        raise ConfigurationError(f"--budget {text!r} is no sum of US dollars above 0, as in 5usd")
    return dollars
