"""Bands of scores (high, good, medium, low), and summaries of scores by group."""

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats.intervals import (
    Interval,
    Keys,
    equal_values,
    mean_interval,
    require_aligned,
    require_scores,
)

# Adding up 0.1 nine times gives 1e-16 less than 0.9, but belongs in the upper band.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Band:
    """A range of scores, up to the next band.

    Attributes:
        name: Stable name for code and files, such as "good".
        lower: Lowest score in the band, 0 to 1.
        labels: Displayed label, by language code.
        meanings: Meaning of a score in the band, by language code.
        about: Name prefix of the graders that labels and meanings apply to; empty for all.
        plain: Displayed label for other graders, by language code.
    """

    name: str
    lower: float
    labels: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    plain: Mapping[str, str] = field(default_factory=dict)

    def label(self, language: str = "en", grader: str | None = None) -> str:
        """Return the displayed label, such as "Хорошая достоверность", or else the band's name."""
        shown = self.labels if self.is_of(grader) else self.plain
        return shown.get(language, self.name)

    def meaning(self, language: str = "en", grader: str | None = None) -> str | None:
        """Return the meaning of a score in the band; None if there is none for this grader."""
        return self.meanings.get(language) if self.is_of(grader) else None

    def is_of(self, grader: str | None) -> bool:
        """True if labels and meanings apply to a grader."""
        return grader is None or grader.startswith(self.about)


def _band(name: str, lower: float, russian: str, meaning: str, meaning_russian: str) -> Band:
    meanings = {"en": meaning, "ru": meaning_russian}
    labels = {"en": name, "ru": f"{russian} достоверность"}
    # The meanings are about statements, so they do not apply to relevance.
    return Band(name, lower, labels, meanings, "faithfulness", {"ru": f"{russian} оценка"})


DEFAULT_BANDS: tuple[Band, ...] = (
    _band("high", 0.9, "Высокая",
          "all statements are supported", "все утверждения подтверждены"),
    _band("good", 0.7, "Хорошая",
          "most statements are supported", "большинство утверждений подтверждено"),
    _band("medium", 0.5, "Средняя",
          "some statements are not supported", "часть утверждений не подтверждена"),
    _band("low", 0.0, "Низкая", "a large part of the statements is not supported",
          "значительная часть утверждений не подтверждена"),
)  # fmt: skip


def build_bands(limits: Mapping[str, float]) -> tuple[Band, ...]:
    """Build bands, highest first, from the lowest score in each; one of these scores must be 0.

    Raises:
        ConfigurationError: A limit is repeated or not between 0 and 1, or no limit is 0.
    """
    for name, limit in limits.items():
        if not 0 <= limit <= 1:
            raise ConfigurationError(f"band {name!r} starts at {limit!r}; limits are 0 to 1")
    bands = [Band(name, limit) for name, limit in limits.items()]
    bands.sort(key=lambda band: -band.lower)
    for upper, lower in pairwise(bands):
        if upper.lower == lower.lower:
            raise ConfigurationError(
                f"bands {upper.name!r} and {lower.name!r} both start at {upper.lower!r}"
            )
    if not bands or bands[-1].lower != 0:
        raise ConfigurationError(f"no band starts at 0: {dict(limits)!r}; one must start at 0")
    return tuple(bands)


def band_of(score: float, *, bands: Sequence[Band] = DEFAULT_BANDS) -> Band:
    """Return the band that contains a score from 0 to 1."""
    require_scores("score", [score])
    return next(band for band in bands if score >= band.lower - _ROUNDING)


def count_bands(
    scores: Sequence[float], *, bands: Sequence[Band] = DEFAULT_BANDS
) -> dict[str, int]:
    """Count the scores in each band, from highest to lowest, including empty bands."""
    counts = {band.name: 0 for band in bands}
    for score, times in equal_values(scores):
        counts[band_of(score, bands=bands).name] += times
    return counts


@dataclass(frozen=True, slots=True)
class GroupScores:
    """Scores of the rows in a group; `group` is None for rows without a value."""

    group: str | None
    rows: int
    scored: int
    mean: Interval | None
    bands: Mapping[str, int]
    unscored: Mapping[str, int]


def summarize_groups(
    scores: Sequence[float | None],
    groups: Sequence[str | None],
    *,
    reasons: Sequence[str | None] | None = None,
    clusters: Keys = None,
    bands: Sequence[Band] = DEFAULT_BANDS,
) -> list[GroupScores]:
    """Summarize the scores of each group, in order of first appearance.

    A score of None is counted under its reason. Rows whose group is None form a separate group.
    Intervals are not corrected for the number of groups.
    """
    if not scores:
        raise InvalidScoresError("scores is empty; at least one row is needed")
    reasons, clusters = reasons or [None] * len(scores), clusters or [None] * len(scores)
    for name, column in (("groups", groups), ("reasons", reasons), ("clusters", clusters)):
        require_aligned("scores", scores, name, column)
    members: dict[str | None, list[tuple[float | None, str | None, Hashable]]] = {}
    for group, score, reason, key in zip(groups, scores, reasons, clusters, strict=True):
        members.setdefault(group, []).append((score, reason, key))
    table = []
    for group, rows in members.items():
        scored = [(score, cluster) for score, _, cluster in rows if score is not None]
        kept, keys = [score for score, _ in scored], [cluster for _, cluster in scored]
        mean = mean_interval(kept, clusters=keys) if kept else None
        unscored = Counter(reason or "unscored" for score, reason, _ in rows if score is None)
        counts = count_bands(kept, bands=bands)
        table.append(GroupScores(group, len(rows), len(kept), mean, counts, dict(unscored)))
    return table


def spread_of(values: Sequence[float]) -> dict[str, float | int | None]:
    std = None
    if len(values) > 1:
        mean = math.fsum(values) / len(values)
        squares = math.fsum(times * (one - mean) ** 2 for one, times in equal_values(values))
        std = math.sqrt(squares / (len(values) - 1))
    return {
        "median": statistics.median(values) if values else None,
        "std": std,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "n": len(values),
    }


def majority(scores: Sequence[float]) -> float:
    """Return the most frequent score; in a tie, the one nearest to the median."""
    require_scores("repeats", scores)
    counted, middle = Counter(scores), statistics.median(scores)
    most = max(counted.values())
    # If two scores are equally near, return the lower, more cautious one.
    return min(
        (score for score, count in counted.items() if count == most),
        key=lambda score: (abs(score - middle), score),
    )
