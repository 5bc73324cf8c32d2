"""Which gate do the options of a command set, and what is printed when it is missed?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from rag_evals.cli.shared.exits import GATE_MISSED, NOT_DECIDED
from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import echo
from rag_evals.run import (
    DEFAULT_ERROR,
    DEFAULT_MIN_SCORED,
    Gate,
    GateAt,
    GateDecision,
    Missed,
    Run,
    parse_share,
    require_counts,
    require_gate,
)

GATE_PANEL = "Gate: exit with 1 when it is missed"

GateMean = Annotated[
    float | None,
    typer.Option(
        "--gate",
        metavar="MEAN",
        help="Show that the mean of each grader is above this: passed, failed (1), or not decided "
        "(4) and how many rows would do.",
        rich_help_panel=GATE_PANEL,
    ),
]

GateError = Annotated[
    float | None,
    typer.Option(
        "--error",
        help="Chance that --gate says passed or failed wrongly. Default: 0.05.",
        rich_help_panel=GATE_PANEL,
    ),
]

FailUnder = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Least mean score of each grader.", rich_help_panel=GATE_PANEL),
]

AtOption = Annotated[
    GateAt | None,
    typer.Option(
        "--at",
        help="What --fail-under looks at: the mean (default) or the lower end of its interval.",
        rich_help_panel=GATE_PANEL,
    ),
]

MinScored = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Least share of rows with a score, as in 0.9 or 90%; failed rows have none. "
        "Default with any gate: 0.9.",
        rich_help_panel=GATE_PANEL,
    ),
]

Counts = Annotated[
    list[str] | None,
    typer.Option(
        "--count",
        metavar="REASON=VALUE",
        help="Count rows that are not scorable for this reason as a number, as in "
        "empty_context=0; may be repeated.",
        rich_help_panel=GATE_PANEL,
    ),
]


def parsed_counts(texts: Sequence[str] | None) -> dict[str, float]:
    """Read `--count` options.

    Raises:
        ConfigurationError: Not REASON=VALUE, an unknown reason, a value outside 0..1, or two
            values for one reason.
    """
    counts: dict[str, float] = {}
    for text in texts or ():
        reason, _, value = (part.strip() for part in text.partition("="))
        try:
            number = float(value)
        except ValueError:
            raise ConfigurationError(
                f"--count {text!r} is not REASON=VALUE, as in empty_context=0"
            ) from None
        if reason in counts and counts[reason] != number:
            raise ConfigurationError(
                f"--count {reason}={counts[reason]:g} and {reason}={number:g}; give one of them"
            )
        counts[reason] = number
    require_counts(counts)
    return counts


@dataclass(frozen=True, slots=True)
class AskedGates:
    """What the options of `grade` ask of a run.

    Attributes:
        rules: What `--fail-under` and `--min-scored` ask; None without them.
        mean: What `--gate` asks; None without it.
        error: Chance that it answers wrongly.
        min_scored: Least share of rows with a score.
        count: Numbers for reasons of rows without a score.
        warned: Whether to say that `--fail-under` looks at the mean.
    """

    rules: Gate | None
    mean: float | None
    error: float
    min_scored: float
    count: dict[str, float]
    warned: bool

    def __bool__(self) -> bool:
        """Whether anything is asked."""
        return self.rules is not None or self.mean is not None

    def exit_unless_passed(self, run: Run, say: Phrases) -> None:
        """Say what is missed or not decided, and exit with 1 or 4 then."""
        if self:
            exit_while_pending(run.summary().pending, say)
        if self.warned:
            echo(say("gate.mean_warning"), err=True)
        if self.rules is not None and (self.mean is None or self.rules.fail_under is not None):
            exit_when_missed(self.rules.missed(run.summary()), say)
        if self.mean is not None:
            decision = run.gate(
                self.mean, error=self.error, min_scored=self.min_scored, count=self.count
            )
            exit_as_decided(decision, say)


def asked_gates(
    gate: float | None,
    error: float | None,
    fail_under: float | None,
    at: GateAt | None,
    min_scored: str | None,
    count: dict[str, float],
) -> AskedGates:
    """Return the gates of `grade`; false where there is none.

    Raises:
        ConfigurationError: An option that would do nothing, or a number out of its range.
    """
    return AskedGates(
        asked_gate(fail_under, at, min_scored, count),
        gate,
        asked_error(gate, error),
        asked_share(min_scored),
        count,
        warned=fail_under is not None and at is None,
    )


def asked_gate(
    fail_under: float | None,
    at: GateAt | None,
    min_scored: str | None,
    count: dict[str, float],
) -> Gate | None:
    """Return the gate of `grade`; None when neither a score nor a share of rows is asked for.

    Raises:
        ConfigurationError: An option that would do nothing, or a share that is none.
    """
    if fail_under is None and at is not None:
        raise ConfigurationError(f"--at {at} does nothing without --fail-under")
    if fail_under is None and min_scored is None:
        return None
    return Gate(fail_under, at or "mean", asked_share(min_scored), count)


def asked_error(gate: float | None, error: float | None, name: str = "--gate") -> float:
    """Check `--gate` and `--error`, and return the latter.

    Raises:
        ConfigurationError: An option that would do nothing, or a number out of its range.
    """
    if gate is None and error is not None:
        raise ConfigurationError(f"--error {error:g} does nothing without {name}")
    asked = DEFAULT_ERROR if error is None else error
    if gate is not None:
        require_gate(name, gate, asked)
    return asked


def asked_share(text: str | None) -> float:
    """Read `--min-scored`.

    Raises:
        ConfigurationError: No share.
    """
    if text is None:
        return DEFAULT_MIN_SCORED
    try:
        return parse_share(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"--min-scored {error}") from None


def exit_as_decided(decision: GateDecision, say: Phrases) -> None:
    """Say what a gate decided, and exit with 1 for failed, with 4 for not decided."""
    for line in decision.lines(say):
        echo(say("gate.line", told=line), err=True)
    if decision.verdict == "failed":
        raise typer.Exit(GATE_MISSED)
    if decision.verdict == "not decided":
        raise typer.Exit(NOT_DECIDED)


def exit_while_pending(pending: int, say: Phrases) -> None:
    """Say that no gate is decided while gradings have no outcome yet, and exit with 4 then."""
    if pending:
        exit_as_decided(GateDecision((), pending), say)


def exit_when_missed(missed: Sequence[Missed], say: Phrases) -> None:
    """Say each rule that was missed, and exit with 1 when there is one."""
    for each in missed:
        echo(say("gate.missed", told=each.line(say)), err=True)
    if missed:
        raise typer.Exit(GATE_MISSED)
