"""Summary statistics of a run: means, row counts, and reasons for missing scores."""

import math
import re
import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

from rag_evals.core import Finding, Phrases, Usage, phrases
from rag_evals.core.finding import more_said
from rag_evals.core.wording import notebook_phrases
from rag_evals.embedded import evidence_words
from rag_evals.grading.guarding import DRIFT_NAMES
from rag_evals.run.record.facts import RowTable
from rag_evals.run.record.outcome import Outcome
from rag_evals.stats import (
    DEFAULT_BANDS,
    LEFT_OPEN,
    Band,
    Clusters,
    Interval,
    count_bands,
    majority,
    mean_interval,
)
from rag_evals.stats.bands import spread_of
from rag_evals.stats.tuned import SupportShift, support_shift
from rag_evals.text import html_note, html_table, shortened


def counted_words(counts: Mapping[str, int]) -> str:
    """Format counts in descending order, as in "3 empty_context, 1 JudgeOutputError"."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)


def reason_words(reasons: Mapping[str, int], say: Phrases) -> str:
    """Like `counted_words`, but with the reasons in the reader's language."""
    said: Counter[str] = Counter()
    for reason, count in reasons.items():
        said[say.reason(reason)] += count
    return counted_words(said)


def models_in(answered_by: Iterable[str]) -> tuple[str, ...]:
    """Return the sorted names of the models, without their system fingerprints."""
    return tuple(sorted({said.partition(" ")[0] for said in answered_by}))


class Design(Protocol):
    """How rows were chosen, for runs that did not grade every row in the same way."""

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Estimate the mean over all rows of the data, with its interval; None if there is none."""

    def words(self, say: Phrases) -> str:
        """Describe in one line which rows the statistics are based on."""


@dataclass(slots=True)
class RepeatNumbers:
    """Statistics of one grader's repeated gradings.

    Of the `rows` with a score, `same` have the same score each time and `compared` have at least
    two scores. `variances` and `majorities` are sums over the rows.
    """

    times: int = 0
    rows: int = 0
    same: int = 0
    compared: int = 0
    variances: float = 0.0
    majorities: float = 0.0

    def add(self, repeats: Sequence[float | None]) -> None:
        self.times = max(self.times, len(repeats))
        scores = [score for score in repeats if score is not None]
        if not scores:
            return
        self.rows += 1
        self.same += len(set(repeats)) == 1
        self.majorities += majority(scores)
        if len(scores) > 1:
            self.compared += 1
            self.variances += statistics.variance(scores)

    @property
    def within_row_variance(self) -> float | None:
        """Mean within-row variance of scores; None if no row has at least two scores."""
        return self.variances / self.compared if self.compared else None

    @property
    def majority_mean(self) -> float | None:
        """Mean of the most frequent score of each row; None if there is none."""
        return self.majorities / self.rows if self.rows else None

    def numbers(self) -> dict[str, float | int | None] | None:
        """Return the statistics by name; None if rows were graded only once."""
        if not self.times:
            return None
        return {
            "times": self.times,
            "within_row_variance": self.within_row_variance,
            "majority_mean": self.majority_mean,
            "rows": self.rows,
            "same_each_time": self.same,
        }

    def line(self, say: Phrases) -> str | None:
        """Describe the repeats in one line; None if no row has at least two scores."""
        within, most = self.within_row_variance, self.majority_mean
        if within is None or most is None:
            return None
        return say(
            "summary.repeats",
            times=self.times,
            variance=say.number(within, 4),
            spread=say.number(math.sqrt(within)),
            majority=say.number(most),
            majority_percent=say.percent(most),
            same=self.same,
            rows=self.rows,
        )


# Quotes and numbers in a warning. An apostrophe within a word does not start a quote.
_OF_A_ROW = re.compile(r"(?<!\w)'[^']*'|\"[^\"]*\"|\d+(?:[.,]\d+)*")
_MOST_WARNING_CHARS = 90

Stages = Mapping[str, Sequence[Mapping[str, Any]]]
"""Each grader's verifiers in order, as returned by `Plan.stages`."""


Shifts = Mapping[tuple[str, str], SupportShift | None]
"""Distance of the data from a verifier's labels, by grader and verifier; None if unknown."""


def stage_numbers(stages: Stages, shifts: Shifts) -> dict[str, list[dict[str, Any]]]:
    """Return each grader's verifiers as JSON values, in order.

    Each has a `name`; `unsure`, the range of support in which the next verifier is called; and
    `tuned`, which includes the expected error, the error bound, and how much the data differ from
    the labelled rows.
    """
    return {
        grader: [_numbers(stage, shifts.get((grader, stage["name"]))) for stage in of_grader]
        for grader, of_grader in stages.items()
    }


def _numbers(stage: Mapping[str, Any], shift: SupportShift | None) -> dict[str, Any]:
    told = {key: stage[key] for key in ("name", "unsure", "tuned") if key in stage}
    if stage["tuned"] is not None:
        hidden = ("spread", "worth", "confidence")
        tuned = {key: value for key, value in stage["tuned"].items() if key not in hidden}
        found = None if shift is None else asdict(shift) | {"is_foreign": shift.is_foreign}
        told["tuned"] = tuned | {"shift": found}
    return told


def measure_shifts(
    grader: str,
    stages: Sequence[Mapping[str, Any]],
    rows: Sequence[tuple[str, Sequence[Finding]]],
) -> Shifts:
    """Compare tuned verifiers' support values in a run with those of their labelled statements."""
    shifts: dict[tuple[str, str], SupportShift | None] = {}
    for place, stage in enumerate(stages):
        if (tuned := stage["tuned"]) is None:
            continue
        before = {one["name"] for one in stages[:place]}
        found: list[tuple[str, float]] = []
        for row, findings in rows:
            supports = [
                LEFT_OPEN if one.decided_by not in (None, stage["name"]) else one.support
                for one in findings
                if one.support is not None and one.decided_by not in before
            ]
            # A row-level label applies to the row's weakest statement.
            weakest = min(supports, default=0.0)
            chosen = supports if tuned["level"] == "statement" else [weakest][: len(supports)]
            found += [(row, support) for support in chosen]
        key, spread = (grader, stage["name"]), tuned.get("spread")
        if not spread:
            shifts[key] = None
        elif found:
            names, values = zip(*found, strict=True)
            shifts[key] = support_shift(values, names, spread, tuned["worth"])
    return shifts


def _stage_line(stage: Mapping[str, Any], say: Phrases) -> str | None:
    """Describe the labels used to tune a verifier, and the promised error of its cascade."""
    tuned = stage["tuned"]
    if tuned is None:
        if "unsure" not in stage:
            return None
        low, high = stage["unsure"]
        sides = [say("stages.above", limit=f"{high:g}")] if high < 1 else []
        sides += [say("stages.below", limit=f"{low:g}")] if low > 0 else []
        if not sides:
            return say("stages.never", name=stage["name"])
        return say("stages.alone", name=stage["name"], sides=say("stages.either").join(sides))
    names = ", ".join(tuned["labels_from"])
    by = say(
        "stages.calibrated" if tuned["level"] == "statement" else "stages.calibrated_by_rows",
        name=stage["name"],
        count=tuned["labels"],
        of=say("stages.of", names=names) if names else "",
        map=tuned["map"],
    )
    promise = tuned["promise"]
    if promise is None:
        return say("stages.threshold", by=by, threshold=f"{tuned['threshold']:.2f}")
    sides = [
        say(f"stages.{name}", limit=f"{limit:.2f}")
        for name, limit in (
            ("supported_from", promise["supported_from"]),
            ("not_supported_up_to", promise["unsupported_up_to"]),
        )
        if limit is not None
    ]
    return say(
        "stages.promise",
        by=by,
        sides=", ".join(sides),
        expected=f"{promise['expected_error']:.1%}",
        promised=f"{promise['max_error']:.1%}",
        confidence=f"{promise['confidence']:.0%}",
    )


_HEAD = (
    *("table.grader", "table.score", "table.95", "notebook.median", "notebook.spread"),
    *("notebook.lowest", "notebook.highest", "table.scored", "table.bands"),
)

MOST_ROWS_SHOWN = 5


def _row(of_grader: "GraderSummary", say: Phrases) -> list[str]:
    interval, spread = of_grader.interval(), of_grader.spread()
    numbers = (spread[name] for name in ("median", "std", "min", "max"))
    mean, limits = say("summary.no_score"), ""
    if interval is not None:
        low, high = say.number(interval.low, 3), say.number(interval.high, 3)
        mean, limits = say.number(interval.estimate, 3), say("table.range", low=low, high=high)
        if (worst := of_grader.worst_mean()) is not None:
            mean += _mean(say, "summary.failed_as_zero", worst, 3)
    return [
        say.named("graders", of_grader.grader),
        mean,
        limits,
        *("" if number is None else say.number(number, 3) for number in numbers),
        say("table.of", part=of_grader.scored, whole=of_grader.total),
        ", ".join(
            say("table.count", count=count, name=label)
            for label, count in of_grader.labelled_bands(say).items()
        ),
    ]


def lowest_html(lowest: Sequence[tuple[Outcome, Sequence[str]]], count: int) -> str:
    """Render a few of the `count` failed and low-scoring outcomes as an HTML table."""
    first = [one for one in lowest if one[0].status == "failed" or one[0].score not in (None, 1.0)]
    if not first:
        return ""
    say = notebook_phrases()
    rows = [
        (
            one.sample_id,
            say.named("graders", one.grader),
            one.words(say),
            _against(one, chunks, say),
        )
        for one, chunks in first
    ]
    names = ("table.row", "table.grader", "notebook.outcome", "notebook.against")
    more = more_said("rows", count, len(first), say)
    return html_table(
        list(map(say, names)), rows, caption=say("notebook.lowest_rows"), left_out=more
    )


def _against(outcome: Outcome, chunks: Sequence[str], say: Phrases) -> str:
    return " · ".join(
        " | ".join([one.text, *evidence_words(one, chunks, say)])
        for one in outcome.findings
        if one.counts_against
    )


@dataclass(slots=True)
class GraderSummary:
    """The outcomes of one grader.

    Attributes:
        grader: The grader's name.
        scores: The score of each scored row.
        not_scorable: Number of outcomes that are not scorable, by reason.
        failed: Number of failed outcomes by error type.
        warned: Number of warnings by type.
        drift: Number of warnings that the judge's statements differ from the answer, by type.
        tallies: Other counts by name, each as a part and its total.
        further: Additional scores by name, one for each row that has the score.
        repeats: Statistics of repeated gradings.
        rows: Row metadata: shared questions and contexts, and the length of answers.
        design: How the graded rows were chosen; None if all rows were graded.
    """

    grader: str
    scores: "array[float]" = field(default_factory=lambda: array("d"))
    not_scorable: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    warned: Counter[str] = field(default_factory=Counter)
    drift: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, tuple[int, int]] = field(default_factory=dict)
    further: dict[str, "array[float]"] = field(default_factory=dict)
    repeats: RepeatNumbers = field(default_factory=RepeatNumbers)
    rows: RowTable = field(default_factory=RowTable)
    design: Design | None = None

    @property
    def scored(self) -> int:
        """Number of outcomes with a score."""
        return len(self.scores)

    @property
    def warnings(self) -> int:
        """Number of warnings."""
        return self.warned.total()

    @property
    def total(self) -> int:
        """Total number of outcomes."""
        return self.scored + self.not_scorable.total() + self.failed.total()

    def values(self, count_as: Mapping[str, float] | None = None) -> Sequence[float]:
        """Return the scores, including those assigned to unscored rows by reason.

        Args:
            count_as: Scores for reasons of `not_scorable`, such as `{"no_statements": 1.0}`.
        """
        if not count_as:
            return self.scores
        values = self.scores[:]
        for reason, value in count_as.items():
            values.extend(repeat(value, self.not_scorable[reason]))
        return values

    def mean(self, count_as: Mapping[str, float] | None = None) -> float | None:
        """Return the mean score, 0 to 1, or None without scores; `count_as` is as for `values`."""
        if self.design is not None:
            interval = self.design.interval(count_as=count_as)
            return None if interval is None else interval.estimate
        values = self.values(count_as)
        return math.fsum(values) / len(values) if values else None

    def worst_mean(self, count_as: Mapping[str, float] | None = None) -> float | None:
        """Like `mean`, with failed rows scored 0; None if no row failed or no row has a score."""
        values, failed = self.values(count_as), self.failed.total()
        return math.fsum(values) / (len(values) + failed) if values and failed else None

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return the mean score with its interval; None if there are no scores.

        Args:
            confidence: Coverage of the interval, as a fraction; rows that share a question or a
                context are clustered as in `clusters`.
            count_as: As for `values`.
        """
        if self.design is not None:
            return self.design.interval(confidence, count_as)
        values, clusters = self.values(count_as), self.clusters(count_as)
        if clusters is not None:
            return clusters.of_mean(values, confidence)
        return mean_interval(values, confidence=confidence) if values else None

    def clusters(self, count_as: Mapping[str, float] | None = None) -> Clusters | None:
        """Return the clusters of rows, aligned with `values`; None without clusters."""
        values = self.values(count_as)
        # The interval of a sample accounts for how its rows were drawn.
        found = self.rows.clusters(count_as or ()) if values and self.design is None else None
        # Scores added manually cannot be assigned to rows.
        return None if found is None or len(found.keys) != len(values) else found

    def sizes(self) -> dict[str, Interval]:
        """Return the mean number of statements and of words per row, where it is known."""
        return self.rows.sizes(drawn=self.design is not None)

    def bands(self, bands: Sequence[Band] = DEFAULT_BANDS) -> dict[str, int]:
        """Count the scores in each band, from highest to lowest."""
        return count_bands(self.scores, bands=bands)

    def labelled_bands(self, say: Phrases, bands: Sequence[Band] = DEFAULT_BANDS) -> dict[str, int]:
        """Like `bands`, but keyed by the displayed label of each band."""
        labels = {band.name: band.label(say.language, self.grader) for band in bands}
        return {labels[name]: count for name, count in self.bands(bands).items()}

    def __repr__(self) -> str:
        return f"GraderSummary({self.line()})"

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        if outcome.status != "failed":
            self.rows.add(outcome.facts, outcome.reason)
        if outcome.score is not None:
            self.scores.append(outcome.score)
        elif outcome.status == "not_scorable":
            self.not_scorable[str(outcome.reason)] += 1
        else:
            self.failed[outcome.error.type if outcome.error else "unknown"] += 1
        self.add_details(outcome)

    def add_details(self, outcome: Outcome) -> None:
        """Count an outcome's warnings, tallies, further scores and repeats."""
        self.repeats.add(outcome.repeats)
        if outcome.warnings:
            names = [warning.partition(":")[0] for warning in outcome.warnings]
            kinds = (_OF_A_ROW.sub("…", name) for name in names)
            self.warned.update(shortened(kind, _MOST_WARNING_CHARS) for kind in kinds)
            self.drift.update(name for name in names if name in DRIFT_NAMES)
        for name, (part, whole) in outcome.tallies.items():
            before = self.tallies.get(name, (0, 0))
            self.tallies[name] = (before[0] + part, before[1] + whole)
        for name, value in outcome.further_scores.items():
            self.further.setdefault(name, array("d")).append(value)

    def spread(self, count_as: Mapping[str, float] | None = None) -> dict[str, float | int | None]:
        """Return the median, standard deviation, minimum, maximum and count of the scores."""
        return spread_of(self.values(count_as))

    def line(
        self, count_as: Mapping[str, float] | None = None, *, say: Phrases | None = None
    ) -> str:
        """Summarise in one line: "faithfulness: 0.87 over 41 scored of 44 (2 not scorable: …)"."""
        say = say or phrases()
        mean, worst = self.mean(count_as), self.worst_mean(count_as)
        shown = say("summary.no_score") if mean is None else _mean(say, "summary.mean", mean)
        if worst is not None:
            shown += _mean(say, "summary.failed_as_zero", worst)
        counted_as = "".join(
            say("summary.counted_as", reason=say.named("reasons", reason), value=f"{value:g}")
            for reason, value in (count_as or {}).items()
            if self.not_scorable[reason]
        )
        line = say(
            "summary.line",
            grader=say.named("graders", self.grader),
            mean=shown,
            scored=self.scored,
            total=self.total,
            counted_as=counted_as,
        )
        more = "; ".join(self._details(say))
        return f"{line} ({more})" if more else line

    def lines(
        self, count_as: Mapping[str, float] | None = None, *, say: Phrases | None = None
    ) -> list[str]:
        """Return the mean, interval, bands, spread and sizes as lines; see `line` for arguments."""
        say = say or phrases()
        lines = [self.line(count_as, say=say), *self._spread_lines(count_as, say)]
        if sizes := [size_words(*size, say) for size in self.sizes().items()]:
            lines.append(say("summary.sizes", sizes=", ".join(sizes)))
        if repeated := self.repeats.line(say):
            lines.append(repeated)
        return lines + [
            say(
                "summary.further",
                name=say.named("numbers", name),
                mean=say.number(mean.estimate),
                low=say.number(mean.low),
                high=say.number(mean.high),
                rows=len(self.further[name]),
            )
            for name, mean in self.further_means().items()
        ]

    def further_means(self) -> dict[str, Interval]:
        """Return the mean of each additional score with its interval, by name."""
        return {name: mean_interval(values) for name, values in self.further.items()}

    def _spread_lines(self, count_as: Mapping[str, float] | None, say: Phrases) -> Iterator[str]:
        """Describe the mean's interval, the bands and, with at least two scores, the spread."""
        if (interval := self.interval(count_as=count_as)) is not None:
            clusters = self.clusters(count_as)
            yield say(
                "summary.spread",
                low=say.number(interval.low),
                high=say.number(interval.high),
                low_percent=say.percent(interval.low),
                high_percent=say.percent(interval.high),
                clusters="" if clusters is None else clusters_words(clusters, say),
                bands=", ".join(
                    say("summary.band", count=count, band=label)
                    for label, count in self.labelled_bands(say).items()
                ),
            )
        spread = self.spread(count_as)
        if spread["std"] is not None:
            names = ("median", "std", "min", "max")
            yield say("summary.range", **{name: say.number(spread[name] or 0.0) for name in names})

    def warnings_words(self, say: Phrases) -> str:
        """Count the warnings, and quote the most frequent one; empty without warnings."""
        if not self.warned:
            return ""
        (kind, _), *more = self.warned.most_common(2)
        said = say("summary.warnings", count=self.warnings)
        return say("summary.mostly", warnings=said, kind=kind) if more else f"{said}: {kind}"

    def _details(self, say: Phrases) -> Iterator[str]:
        """Describe the non-zero counts."""
        for key, section, counts in (
            ("not_scorable", "reasons", self.not_scorable),
            ("failed", "reasons", self.failed),
            ("warnings", "", self.warned),
            ("drift", "drifts", self.drift),
        ):
            if key == "warnings" and counts:
                yield self.warnings_words(say)
            elif counts:
                said = say(f"summary.{key}", count=counts.total())
                names = {say.named(section, name): count for name, count in counts.items()}
                yield f"{said}: {next(iter(names)) if len(names) == 1 else counted_words(names)}"
        for name, (part, whole) in self.tallies.items():
            yield say("summary.tally", name=say.tally(name), part=part, whole=whole)


@dataclass(slots=True)
class Summary:
    """Summary statistics of a run.

    Attributes:
        graders: The graders by name, in the order given.
        usage: Total usage, including failed calls and usage before the run was resumed.
        cost_usd: List price of the usage in US dollars, where prices are known; None if no price
            is known.
        failed: Number of failed outcomes, over all graders.
        seconds: Duration of the run.
        changed: Number of rows graded again because they changed.
        left_out: Number of previously graded rows excluded because they are no longer in the data.
        unfinished: True if the run ended before all of its data was graded.
        pending: Number of gradings waiting for replies from a batch.
        judge: The judge; None if a stored run does not record it.
        stages: Each grader's verifiers and their labels, as in `Plan.stages`.
        first_failure: Message of the first failed outcome.
        lessons: Models that rejected a temperature of 0, and models called in JSON mode; available
            only right after grading.
        untuned: Verifiers without a fitted threshold; available only right after grading.
        answered: Number of outcomes by answering models, for each grader; empty if the same models
            answered every time.
        versions: The versions of rag_evals that graded rows.
        overlaps: Number of gradings that occur in several merged parts.
        shifts: Distance of the data from the labels of each tuned verifier.
    """

    graders: dict[str, GraderSummary] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    failed: int = 0
    seconds: float = 0.0
    changed: int = 0
    left_out: int = 0
    unfinished: bool = False
    pending: int = 0
    judge: str | None = None
    stages: Stages = field(default_factory=dict)
    first_failure: str = ""
    lessons: dict[str, list[str]] = field(default_factory=dict)
    untuned: list[str] = field(default_factory=list)
    answered: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    overlaps: int = 0
    shifts: Shifts | None = None

    def add(self, outcome: Outcome) -> None:
        """Add one outcome, including its usage and cost."""
        self.usage = self.usage + outcome.usage
        if outcome.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + outcome.cost_usd
        self.count(outcome)

    def count(self, outcome: Outcome) -> None:
        """Add one outcome, excluding its usage and cost."""
        of_grader = self.graders.get(outcome.grader)
        if of_grader is None:
            of_grader = self.graders[outcome.grader] = GraderSummary(outcome.grader)
        of_grader.add(outcome)
        if outcome.answered_by:
            models = models_in(outcome.answered_by)
            self.answered.setdefault(outcome.grader, Counter())[models] += 1
        if outcome.status == "failed":
            self.first_failure = self.first_failure or str(outcome.error and outcome.error.message)
        self.failed += outcome.status == "failed"

    def failures(self) -> str:
        """List the error types of failed outcomes, most frequent first."""
        kinds: Counter[str] = Counter()
        for of_grader in self.graders.values():
            kinds += of_grader.failed
        return counted_words(kinds)

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Return the notes needed to interpret the statistics."""
        say = say or phrases()
        untuned = ", ".join(self.untuned)
        noted = {
            say("summary.pending", count=self.pending): self.pending,
            say("summary.unfinished"): self.unfinished and not self.pending,
            say("summary.changed", count=self.changed): self.changed,
            **{
                say(f"summary.{what}", models=", ".join(models)): models
                for what, models in self.lessons.items()
            },
            say("summary.untuned", names=untuned): untuned,
            say("summary.left_out", count=self.left_out): self.left_out,
            say("summary.versions", versions=", ".join(self.versions)): len(self.versions) > 1,
            say("summary.overlaps", count=self.overlaps): self.overlaps,
        }
        chosen = [
            f"{say.named('graders', name)}: {each.design.words(say)}"
            for name, each in self.graders.items()
            if each.design is not None
        ]
        stages = (stage for of_grader in self.stages.values() for stage in of_grader)
        tuned = dict.fromkeys(line for stage in stages if (line := _stage_line(stage, say)))
        told = [*tuned, *(note for note, holds in noted.items() if holds)]
        return [*chosen, *self._swapped(say), *told, *self.shift_lines(say)]

    def shift_lines(self, say: Phrases, *, only_foreign: bool = False) -> list[str]:
        """Report data that differ from, or cannot be compared with, a tuned verifier's labels."""
        lines = []
        for (_, name), shift in (self.shifts or {}).items():
            if shift is None and not only_foreign:
                lines.append(say("stages.no_spread", name=name))
            elif shift is not None and shift.is_foreign:
                share = f"{shift.distance:.0%}"
                p_value = f"{max(shift.p_value, 0.0001):.4f}"
                lines.append(say("stages.foreign", name=name, share=share, p=p_value))
        return list(dict.fromkeys(lines))

    def _swapped(self, say: Phrases) -> Iterator[str]:
        """Report graders that got replies from more models than a single row calls."""
        for grader, rows in self.answered.items():
            counts: Counter[str] = Counter()
            asked: Counter[int] = Counter()
            for models, count in rows.items():
                asked[len(models)] += count
                counts.update(dict.fromkeys(models, count))
            # A row may call several judges; a cascade calls its last judge only for some rows.
            stages = sum(not stage["has_support"] for stage in self.stages.get(grader, ()))
            if len(counts) > max(stages, asked.most_common(1)[0][0]):
                said = ", ".join(f"{name!r} {count}" for name, count in sorted(counts.items()))
                yield say("summary.swapped", grader=say.named("graders", grader), models=said)

    def account(self, *, say: Phrases | None = None, timed: bool = True) -> str:
        """Describe usage and cost in one line; empty if no judge was called.

        Args:
            say: Phrases in the reader's language; None means English.
            timed: Whether to include the duration, which is not available for a stored run.
        """
        usage, say = self.usage, say or phrases()
        if not (usage.calls or usage.cache_hits):
            return ""
        parts = [say("summary.calls", count=usage.calls)]
        counted = {
            "asked_again": usage.reasks,
            "sent_again": usage.retries,
            "from_the_cache": usage.cache_hits,
        }
        parts += [say(f"summary.{name}", count=count) for name, count in counted.items() if count]
        if usage.uncounted < usage.calls or not usage.calls:
            cached = usage.cached_tokens
            parts.append(say("summary.tokens_sent", count=usage.prompt_tokens, cached=cached))
            parts.append(say("summary.tokens_received", count=usage.completion_tokens))
        if usage.uncounted:
            parts.append(say("summary.tokens_unknown", count=usage.uncounted))
        if self.cost_usd is not None:
            parts.append(f"${say.number(self.cost_usd, 4)}")
        spent = say("summary.spent", parts=", ".join(parts))
        if not timed or not self.seconds:
            return spent
        return spent + say("summary.seconds", seconds=say.number(self.seconds, 1))

    def lines(
        self, count_as: Mapping[str, float] | None = None, *, say: Phrases | None = None
    ) -> str:
        """Return the judge, followed by each grader's mean, interval, bands and spread.

        Args:
            count_as: Scores for reasons of `not_scorable`, such as `{"no_statements": 1.0}`.
            say: Phrases in the reader's language; None means English.
        """
        say = say or phrases()
        lines = (line for each in self.graders.values() for line in each.lines(count_as, say=say))
        judge = None if self.judge is None else say("summary.judge", judge=self.judge)
        return "\n".join(line for line in [judge, *lines, *self.notes(say=say)] if line is not None)

    def __str__(self) -> str:
        """Return `lines` with its defaults, followed by usage and cost."""
        return "\n".join(said for said in (self.lines(), self.account(timed=False)) if said)

    def __repr__(self) -> str:
        """Return the judge, each grader, usage and cost in one line."""
        judged = None if self.judge is None else f"judge: {self.judge}"
        graders = (each.line() for each in self.graders.values())
        parts = filter(None, (judged, *graders, self.account(timed=False)))
        return f"Summary({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return summary_html(self, None)


def summary_html(summary: Summary, folder: Path | None) -> str:
    say = notebook_phrases()
    judge = "" if summary.judge is None else say("summary.judge", judge=summary.judge)
    kept = [] if folder is None else [say("terminal.folder", folder=folder)]
    notes = "".join(html_note(line) for line in [*summary.notes(say=say), *kept])
    rows = [_row(of_grader, say) for of_grader in summary.graders.values()]
    return f"{html_table(list(map(say, _HEAD)), rows, caption=judge)}{notes}"


def clusters_words(clusters: Clusters, say: Phrases) -> str:
    """Describe clusters, as in ", clustered by question (40 clusters in 120 rows)"."""
    by = say.named("shared", clusters.by)
    return say("summary.clusters", by=by, units=clusters.units, rows=len(clusters.keys))


def size_words(name: str, mean: Interval, say: Phrases) -> str:
    """Format a mean answer size, as in "words 126.0 [118.2, 133.8]"."""
    return f"{say.named('sizes', name)} {size_interval_words(mean, say)}"


def size_interval_words(mean: Interval, say: Phrases, sign: str = "") -> str:
    """Format a mean count with its interval, if any, as in "5.20 [4.91, 5.49]"."""
    limits = f" [{mean.low:{sign}.2f}, {mean.high:{sign}.2f}]" if mean.width else ""
    return say.written(f"{mean.estimate:{sign}.2f}{limits}")


def _mean(say: Phrases, key: str, mean: float, digits: int = 2) -> str:
    return say(key, mean=say.number(mean, digits), percent=say.percent(mean))
