"""Which numbers are on top of a report? Each grader's score, its row counts, and its groups."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag_evals.core import Phrases, phrases
from rag_evals.run import (
    Design,
    Record,
    RepeatNumbers,
    Run,
    SampledMean,
    reason_of,
    worst_mean,
)
from rag_evals.stats import (
    DEFAULT_BANDS,
    Band,
    GroupScores,
    Interval,
    count_bands,
    mean_interval,
    summarize_groups,
)


@dataclass(frozen=True, slots=True)
class View:
    """How a run is to be shown.

    Attributes:
        by: Column to group by, or None.
        cluster: Column that rows which are not independent share, or None.
        bands: From highest to lowest.
        language: Of all that is shown: "en" or "ru".
    """

    by: str | None = None
    cluster: str | None = None
    bands: Sequence[Band] = DEFAULT_BANDS
    language: str = "en"

    @property
    def say(self) -> Phrases:
        """What is shown, in the view's language."""
        return phrases(self.language)

    def number(self, value: float, digits: int = 3) -> str:
        """Write a number as its reader does."""
        return self.say.number(value, digits)


@dataclass(frozen=True, slots=True)
class GraderNumbers:
    """One grader's numbers.

    Attributes:
        grader: Its name.
        mean: Mean score and its interval; None when nothing has a score.
        worst_mean: Mean score if each failed row had 0; None where none failed or none has a score.
        scores: Every score, in the order of the data.
        total: Outcomes, scored or not.
        unscored: Outcomes without a score, by reason or error.
        bands: Label of each band and the scores in it, from highest to lowest.
        warnings: Oddities in results.
        groups: One line for each group, in order of first appearance.
        repeats: What repeats of the grader came to.
    """

    grader: str
    mean: Interval | None
    worst_mean: float | None
    scores: tuple[float, ...]
    total: int
    unscored: Mapping[str, int]
    bands: Mapping[str, int]
    warnings: int
    groups: tuple[GroupScores, ...]
    repeats: RepeatNumbers = field(default_factory=RepeatNumbers)


def grader_numbers(run: Run, view: View) -> list[GraderNumbers]:
    """Count and estimate, for each grader of a run.

    Raises:
        DataError: A column of the view is not in the data.
    """
    groups = None if view.by is None else run.column(view.by)
    clusters = None if view.cluster is None else run.column(view.cluster)
    return [
        _numbers(grader, run, view, groups, clusters)
        for grader in run.graders
        if run.of_grader(grader)
    ]


def usage_of(run: Run) -> dict[str, float]:
    """Add up the usage of a run: calls, tokens and other counts of its outcomes; seconds last."""
    total: defaultdict[str, float] = defaultdict(float)
    for record in run.records:
        usage: Mapping[str, Any] = record.get("usage") or {}
        for name, value in usage.items():
            if value:
                total[name] += value
        if record.get("cost_usd") is not None:
            total["cost_usd"] += record["cost_usd"]
    seconds = sum(record.get("seconds", 0.0) for record in run.records)
    return {**total, "seconds": round(seconds, 1)}


def _numbers(
    grader: str,
    run: Run,
    view: View,
    groups: Mapping[str, str | None] | None,
    clusters: Mapping[str, str | None] | None,
) -> GraderNumbers:
    records, design = run.of_grader(grader), run.summary().designs.get(grader)
    scored = [record for record in records if record["score"] is not None]
    scores = tuple(float(record["score"]) for record in scored)
    of_rows = None if clusters is None else [clusters.get(r["sample_id"]) for r in scored]
    labels = {band.name: band.label(view.language) for band in view.bands}
    counts = count_bands(scores, bands=view.bands)
    return GraderNumbers(
        grader,
        _mean(scores, of_rows, design),
        worst_mean(scores, sum(record["status"] == "failed" for record in records)),
        scores,
        len(records),
        dict(Counter(reason for record in records if (reason := reason_of(record)))),
        {labels[name]: count for name, count in counts.items()},
        sum(len(record.get("warnings", ())) for record in records),
        () if groups is None else tuple(_groups(records, view, groups, clusters, design)),
        _repeats(records),
    )


def _repeats(records: Sequence[Record]) -> RepeatNumbers:
    repeats = RepeatNumbers()
    for record in records:
        repeats.add(record.get("repeats") or ())
    return repeats


def _groups(
    records: Sequence[Record],
    view: View,
    groups: Mapping[str, str | None],
    clusters: Mapping[str, str | None] | None,
    design: Design | None,
) -> list[GroupScores]:
    ids = [record["sample_id"] for record in records]
    found = summarize_groups(
        [record["score"] for record in records],
        [groups.get(sample_id) for sample_id in ids],
        reasons=[reason_of(record) for record in records],
        clusters=None if clusters is None else [clusters.get(sample_id) for sample_id in ids],
        bands=view.bands,
    )
    if not isinstance(design, SampledMean):
        return found
    # The free judge's rows say something of a group as well.
    members: defaultdict[str | None, set[str]] = defaultdict(set)
    for row, group in groups.items():
        members[group].add(row)
    return [replace(group, mean=design.of_rows(members[group.group]).interval()) for group in found]


def _mean(
    scores: Sequence[float], clusters: Sequence[str | None] | None, design: Design | None
) -> Interval | None:
    if not scores:
        return None
    # The interval of chosen rows knows how they were chosen, and no clusters.
    return mean_interval(scores, clusters=clusters) if design is None else design.interval()
