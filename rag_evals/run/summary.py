"""What are the numbers of a run? Means, their row counts, and why other rows have no score."""

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_evals.core import Usage
from rag_evals.response_models import DRIFT_NAMES
from rag_evals.run.outcome import Outcome
from rag_evals.stats import DEFAULT_BANDS, Band, Interval, count_bands, mean_interval
from rag_evals.text import html_note, html_table

_HEAD = ("grader", "score", "95 %", "median", "spread", "lowest", "highest", "scored", "bands")


@dataclass(slots=True)
class GraderSummary:
    """The outcomes of one grader.

    Attributes:
        grader: Its name.
        scores: Every score, 8 bytes each.
        not_scorable: Outcomes without one, counted by reason.
        failed: Outcomes that failed, counted by error type.
        warnings: Oddities in results.
        drift: Those where a judge's statements differ from the answer, counted by name.
        tallies: Parts of wholes that results count beside the score, by name.
    """

    grader: str
    scores: "array[float]" = field(default_factory=lambda: array("d"))
    not_scorable: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    warnings: int = 0
    drift: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def scored(self) -> int:
        """Outcomes with a score."""
        return len(self.scores)

    @property
    def total(self) -> int:
        """All outcomes."""
        return self.scored + self.not_scorable.total() + self.failed.total()

    def values(self, count_as: Mapping[str, float] | None = None) -> "array[float]":
        """Return the scores, and a number for each row whose reason counts as one.

        Args:
            count_as: Numbers for reasons of `not_scorable`, such as `{"no_statements": 1.0}`.
        """
        values = self.scores[:]
        for reason, value in (count_as or {}).items():
            values.extend([value] * self.not_scorable[reason])
        return values

    def mean(self, count_as: Mapping[str, float] | None = None) -> float | None:
        """Return the mean score, 0 to 1; None when nothing has a score.

        Args:
            count_as: As for `values`.
        """
        values = self.values(count_as)
        return math.fsum(values) / len(values) if values else None

    def worst_mean(self, count_as: Mapping[str, float] | None = None) -> float | None:
        """Return the mean score if each failed row had 0; None where none failed or none has one.

        Args:
            count_as: As for `values`.
        """
        return worst_mean(self.values(count_as), self.failed.total())

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return the mean score and where the mean over all such rows lies; None without a score.

        Args:
            confidence: Coverage of the interval, as a fraction; rows count as independent.
            count_as: As for `values`.
        """
        values = self.values(count_as)
        return mean_interval(values, confidence=confidence) if values else None

    def bands(self, bands: Sequence[Band] = DEFAULT_BANDS) -> dict[str, int]:
        """Count the scores in each band, from highest to lowest."""
        return count_bands(self.scores, bands=bands)

    def __repr__(self) -> str:
        """One line."""
        return f"GraderSummary({self.line()})"

    def _repr_html_(self) -> str:
        return html_table(_HEAD, [_html_row(self)])

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        if outcome.score is not None:
            self.scores.append(outcome.score)
        elif outcome.status == "not_scorable":
            self.not_scorable[str(outcome.reason)] += 1
        else:
            self.failed[outcome.error.type if outcome.error else "unknown"] += 1
        self.warnings += len(outcome.warnings)
        names = (warning.partition(":")[0] for warning in outcome.warnings)
        self.drift.update(name for name in names if name in DRIFT_NAMES)
        for name, (part, whole) in outcome.tallies.items():
            before = self.tallies.get(name, (0, 0))
            self.tallies[name] = (before[0] + part, before[1] + whole)

    def spread(self, count_as: Mapping[str, float] | None = None) -> dict[str, float | int | None]:
        """Return how the scores lie: median, standard deviation, lowest, highest and count.

        Args:
            count_as: As for `values`.
        """
        values = self.values(count_as)
        return {
            "median": statistics.median(values) if values else None,
            "std": statistics.stdev(values) if len(values) > 1 else None,
            "min": min(values, default=None),
            "max": max(values, default=None),
            "n": len(values),
        }

    def line(self, count_as: Mapping[str, float] | None = None) -> str:
        """Say it in one line: "faithfulness: 0.87 over 41 scored of 44 (2 not scorable: …)"."""
        mean, worst = self.mean(count_as), self.worst_mean(count_as)
        shown = "no score" if mean is None else f"{mean:.2f}"
        if worst is not None:
            shown += f" ({worst:.2f} with failed rows as 0)"
        rest = [_counted("not scorable", self.not_scorable), _counted("failed", self.failed)]
        if self.warnings:
            rest.append(f"{self.warnings} warnings")
        rest.append(_counted("drift", self.drift))
        rest += [f"{name} {part} of {whole}" for name, (part, whole) in self.tallies.items()]
        more = "; ".join(part for part in rest if part)
        counted = "".join(
            f", {reason} as {value:g}"
            for reason, value in (count_as or {}).items()
            if self.not_scorable[reason]
        )
        return f"{self.grader}: {shown} over {self.scored} scored of {self.total}{counted}" + (
            f" ({more})" if more else ""
        )

    def lines(self, count_as: Mapping[str, float] | None = None) -> list[str]:
        """Say it in lines: the mean, how sure it is, and how the scores lie.

        Args:
            count_as: As for `values`.
        """
        lines = [self.line(count_as), self.spread_line(count_as), self.range_line(count_as)]
        return [line for line in lines if line is not None]

    def range_line(self, count_as: Mapping[str, float] | None = None) -> str | None:
        """Say how the scores lie, in one line; None for fewer than two."""
        spread = self.spread(count_as)
        if spread["std"] is None:
            return None
        return (
            f"  median {spread['median']:.2f}, standard deviation {spread['std']:.2f}, "
            f"lowest {spread['min']:.2f}, highest {spread['max']:.2f}"
        )

    def spread_line(self, count_as: Mapping[str, float] | None = None) -> str | None:
        """Say how sure the mean is, and the bands, in one line; None without a score."""
        interval = self.interval(count_as=count_as)
        if interval is None:
            return None
        bands = ", ".join(f"{count} {name}" for name, count in self.bands().items())
        return f"  95 % interval {interval.low:.2f} to {interval.high:.2f}; bands: {bands}"


@dataclass(slots=True)
class Summary:
    """The numbers of a run.

    Attributes:
        graders: By name, in the order given.
        usage: What was spent, calls that failed included.
        cost_usd: List price of the usage in US dollars, as far as prices are known; None when no
            price is.
        failed: Outcomes that failed, over all graders.
        seconds: Time the run took.
        changed: Rows that were graded again because they are not what they were.
        left_out: Rows that were graded earlier and are not counted: the data has them no more.
        unfinished: The run ended before all of its data was graded.
        judge: Who graded; None where a stored run does not say.
        presets: Tools by whose column names the data was read.
        first_failure: What the first failed outcome said.
        without_temperature: Models that refused a temperature of 0, known in a run of now.
        untuned: Verifiers whose threshold nobody has fitted, known in a run of now.
    """

    graders: dict[str, GraderSummary] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    failed: int = 0
    seconds: float = 0.0
    changed: int = 0
    left_out: int = 0
    unfinished: bool = False
    judge: str | None = None
    presets: tuple[str, ...] = ()
    first_failure: str = ""
    without_temperature: list[str] = field(default_factory=list)
    untuned: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        of_grader = self.graders.setdefault(outcome.grader, GraderSummary(outcome.grader))
        of_grader.add(outcome)
        if outcome.status == "failed":
            self.first_failure = self.first_failure or str(outcome.error and outcome.error.message)
        self.usage = self.usage + outcome.usage
        if outcome.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + outcome.cost_usd
        self.failed += outcome.status == "failed"

    def failures(self) -> str:
        """Name the kinds of failures, the most frequent first."""
        kinds: Counter[str] = Counter()
        for of_grader in self.graders.values():
            kinds += of_grader.failed
        return counted_words(kinds)

    def notes(self) -> list[str]:
        """Say in lines what a reader must know beside the numbers; mostly nothing."""
        notes = []
        if self.unfinished:
            notes.append(
                "not finished: rows of the data may be missing; the same command continues"
            )
        if self.changed:
            since = "it was" if self.changed == 1 else "they were"
            notes.append(f"{_rows(self.changed)} changed since {since} graded: graded again")
        if self.without_temperature:
            models = ", ".join(self.without_temperature)
            notes.append(f"{models} takes no temperature of 0, and was asked at its own")
        if self.untuned:
            names = ", ".join(self.untuned)
            notes.append(f"{names} is not tuned: the threshold of 0.5 was not fitted to labels")
        if self.left_out:
            notes.append(
                f"{_rows(self.left_out)} graded earlier and not counted: the data has no such row "
                "now"
            )
        return notes

    def account(self) -> str:
        """Say what was spent, in one line; empty when no judge was asked."""
        usage = self.usage
        if not (usage.calls or usage.cache_hits):
            return ""
        parts = [f"{usage.calls} calls"]
        repeated = [(usage.reasks, "asked again"), (usage.retries, "sent again")]
        parts += [f"{count} {what}" for count, what in repeated if count]
        if usage.cache_hits:
            parts.append(f"{usage.cache_hits} from the cache")
        if usage.uncounted < usage.calls or not usage.calls:
            parts.append(f"{usage.prompt_tokens} tokens sent ({usage.cached_tokens} cached)")
            parts.append(f"{usage.completion_tokens} received")
        if usage.uncounted:
            parts.append(
                f"tokens of {usage.uncounted} replies unknown: the endpoint sends no count"
            )
        if self.cost_usd is not None:
            parts.append(f"${self.cost_usd:.4f}")
        return f"spent: {', '.join(parts)}; {self.seconds:.1f} s"

    def lines(self, count_as: Mapping[str, float] | None = None) -> str:
        """Say who graded, then of each grader the mean, how sure it is, and how the scores lie.

        Args:
            count_as: Numbers for reasons of `not_scorable`, such as `{"no_statements": 1.0}`.
        """
        lines = (line for of_grader in self.graders.values() for line in of_grader.lines(count_as))
        judge = None if self.judge is None else f"judge: {self.judge}"
        if judge is not None and self.presets:
            judge += f"; columns as {' and '.join(self.presets)} names them"
        return "\n".join(line for line in [judge, *lines, *self.notes()] if line is not None)

    def __str__(self) -> str:
        """What `lines` says when no reason counts as a number."""
        return self.lines()

    def __repr__(self) -> str:
        """One line: who graded, then each grader."""
        judged = [] if self.judge is None else [f"judge: {self.judge}"]
        parts = [*judged, *(each.line() for each in self.graders.values())]
        return f"Summary({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return summary_html(self, None)


def worst_mean(scores: Sequence[float], failed: int) -> float | None:
    """Return the mean score if each failed row had 0; None where none failed or none has a score.

    Args:
        scores: Of the rows that have one, 0 to 1.
        failed: Rows that failed.
    """
    return math.fsum(scores) / (len(scores) + failed) if scores and failed else None


def summary_html(summary: Summary, folder: Path | None) -> str:
    """Show a run in a notebook: one small table, everything escaped."""
    rows = [_html_row(of_grader) for of_grader in summary.graders.values()]
    judge = "" if summary.judge is None else f"judge: {summary.judge}"
    kept = [] if folder is None else [f"run folder: {folder}"]
    notes = "".join(html_note(line) for line in [*summary.notes(), *kept])
    return f"{html_table(_HEAD, rows, caption=judge)}{notes}"


def _html_row(of_grader: GraderSummary) -> list[str]:
    interval = of_grader.interval()
    spread = of_grader.spread()
    numbers = (spread[name] for name in ("median", "std", "min", "max"))
    return [
        of_grader.grader,
        "no score" if interval is None else f"{interval.estimate:.3f}{_html_worst(of_grader)}",
        "" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}",
        *("" if number is None else f"{number:.3f}" for number in numbers),
        f"{of_grader.scored} of {of_grader.total}",
        ", ".join(f"{count} {name}" for name, count in of_grader.bands().items()),
    ]


def _html_worst(of_grader: GraderSummary) -> str:
    worst = of_grader.worst_mean()
    return "" if worst is None else f" ({worst:.3f} with failed rows as 0)"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _counted(label: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    if len(counts) == 1:
        return f"{counts.total()} {label}: {next(iter(counts))}"
    return f"{counts.total()} {label}: {counted_words(counts)}"


def counted_words(counts: Mapping[str, int]) -> str:
    """List what was counted: "3 empty_context, 1 JudgeOutputError".

    By count, then by name: outcomes end in any order, what is shown must not change.
    """
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)
