"""Which gate do the options of a command set, and what is printed when it is missed?"""

from collections.abc import Sequence
from typing import Annotated

import typer

from rag_evals.cli.shared.exits import GATE_MISSED
from rag_evals.errors import ConfigurationError
from rag_evals.report.terminal.screen import echo
from rag_evals.run import DEFAULT_MIN_SCORED, Gate, GateAt, Missed, parse_share, require_counts

GATE_PANEL = "Gate: exit with 1 when it is missed"

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


def exit_when_missed(missed: Sequence[Missed]) -> None:
    """Say each rule that was missed, and exit with 1 when there is one."""
    for each in missed:
        echo(f"gate missed: {each}", err=True)
    if missed:
        raise typer.Exit(GATE_MISSED)
