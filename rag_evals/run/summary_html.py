"""What a notebook shows of a run: its numbers and its lowest rows, as small tables."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from rag_evals.core import Phrases, more_said, notebook_phrases
from rag_evals.run.outcome import Outcome
from rag_evals.stats import DEFAULT_BANDS, Interval
from rag_evals.text import html_table

_HEAD = (
    *("table.grader", "table.score", "table.95", "notebook.median", "notebook.spread"),
    *("notebook.lowest", "notebook.highest", "table.scored", "table.bands"),
)

MOST_ROWS_SHOWN = 5


class Numbers(Protocol):
    """What is read of `GraderSummary`."""

    grader: str

    @property
    def scored(self) -> int:
        """Outcomes with a score."""

    @property
    def total(self) -> int:
        """All outcomes."""

    def interval(self) -> Interval | None:
        """Return the mean, and where it lies."""

    def worst_mean(self) -> float | None:
        """Return the mean with failed rows as 0."""

    def spread(self) -> dict[str, float | int | None]:
        """Return how the scores lie."""

    def bands(self) -> dict[str, int]:
        """Count the scores in each band."""


def graders_html(graders: Iterable[Numbers], caption: str = "") -> str:
    """Show the numbers of graders, a line for each."""
    say = notebook_phrases()
    rows = [_row(of_grader, say) for of_grader in graders]
    return html_table(list(map(say, _HEAD)), rows, caption=caption)


def _row(of_grader: Numbers, say: Phrases) -> list[str]:
    interval = of_grader.interval()
    spread = of_grader.spread()
    numbers = (spread[name] for name in ("median", "std", "min", "max"))
    labels = {band.name: band.label(say.language) for band in DEFAULT_BANDS}
    low_to_high = {} if interval is None else {"low": interval.low, "high": interval.high}
    written = {name: say.number(value, 3) for name, value in low_to_high.items()}
    mean = None if interval is None else say.number(interval.estimate, 3)
    return [
        say.named("graders", of_grader.grader),
        say("summary.no_score") if mean is None else f"{mean}{_worst(of_grader, say)}",
        "" if interval is None else say("table.range", **written),
        *("" if number is None else say.number(number, 3) for number in numbers),
        say("table.of", part=of_grader.scored, whole=of_grader.total),
        ", ".join(
            say("table.count", count=count, name=labels[name])
            for name, count in of_grader.bands().items()
        ),
    ]


def _worst(of_grader: Numbers, say: Phrases) -> str:
    worst = of_grader.worst_mean()
    if worst is None:
        return ""
    return say("summary.failed_as_zero", mean=say.number(worst, 3), percent=say.percent(worst))


def lowest_html(lowest: Sequence[Outcome], count: int) -> str:
    """Write the failed outcomes, then the lowest scores; a few, and how many there are more.

    Args:
        lowest: The first of them; those with the full score are left out.
        count: How many there are of these.
    """
    first = [one for one in lowest if one.status == "failed" or one.score not in (None, 1.0)]
    if not first:
        return ""
    say = notebook_phrases()
    rows = [
        (one.sample_id, say.named("graders", one.grader), one.words(say), _against(one))
        for one in first
    ]
    names = ("table.row", "table.grader", "notebook.outcome", "notebook.against")
    more = more_said("rows", count, len(first), say)
    return html_table(
        list(map(say, names)), rows, caption=say("notebook.lowest_rows"), left_out=more
    )


def _against(outcome: Outcome) -> str:
    """List what lowers the score of an outcome."""
    return " · ".join(one.text for one in outcome.findings if one.counts_against)
