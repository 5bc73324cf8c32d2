"""From which support on may a cheap judge decide alone? As far as its error stays below a bound.

Learn then test (Angelopoulos et al. 2021): limits are tried from the strictest to the mildest, each
with an exact test of the errors that people's labels show, and the last one that passes before the
first that fails is taken. The test is Clopper and Pearson's for as many independent rows as the
statements are worth (Kish 1965; Korn and Graubard 1998).
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evals.errors import TooFewLabelsError, WeakJudgeError
from rag_evals.stats.checks import require_aligned, require_fraction
from rag_evals.stats.clusters import cluster_rows
from rag_evals.stats.distributions import beta_cdf, beta_quantile, student_t_quantile
from rag_evals.stats.support_maps import fit_platt

Side = Literal["supported", "unsupported"]
"""What a judge decides there without asking another."""

_MOST_LIMITS = 60


@dataclass(frozen=True, slots=True)
class SureSide:
    """One side on which a judge may decide alone.

    Attributes:
        limit: Support from which (supported) or up to which (unsupported) it decides, 0 to 1.
        decided: Labelled statements there.
        errors: Those of them that it decides wrong.
        bound: Upper confidence bound of its error there, 0 to 1.
    """

    limit: float
    decided: int
    errors: int
    bound: float


def sure_side(
    labels: Sequence[bool],
    supports: Sequence[float],
    side: Side,
    *,
    max_error: float = 0.05,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.975,
) -> SureSide | None:
    """Find how far a judge may decide alone on one side.

    Args:
        labels: What people say, one per statement.
        supports: What the judge says, 0 to 1, aligned.
        side: Whether it decides "supported" from a limit up, or "unsupported" from a limit down.
        max_error: Share of its decisions on this side that may be wrong.
        clusters: The row of each statement, aligned; None means independent.
        confidence: How often the promise holds. Two sides at 0.975 hold together at 0.95.

    Returns:
        The mildest limit that keeps the promise; None where none does.

    Raises:
        UnpairedScoresError: A list has another length than `labels`.
        InvalidScoresError: There are no labels, or a support is not a number from 0 to 1.
        ConfigurationError: `max_error` or `confidence` is not a fraction.
    """
    require_fraction("max_error", max_error)
    require_fraction("confidence", confidence)
    rows = list(range(len(labels))) if clusters is None else list(clusters)
    try:
        platt = fit_platt(labels, supports)
    except (WeakJudgeError, TooFewLabelsError):
        return None
    off = [float(label) - platt(one) for label, one in zip(labels, supports, strict=True)]
    likeness = row_likeness(off, rows)
    sign = 1 if side == "supported" else -1
    order = sorted(range(len(labels)), key=lambda place: -sign * supports[place])
    ordered = [supports[place] for place in order]
    found, errors, before = None, 0, 0
    for count in _counts(ordered):
        # Labels are True or False, and may come as numbers.
        errors += sum(bool(labels[place]) is (sign < 0) for place in order[before:count])
        before = count
        worth = _independent_rows([rows[place] for place in order[:count]], likeness, confidence)
        # Few statements cannot pass without any error; leaving them out looks at no label.
        if found is None and (1 - max_error) ** worth > 1 - confidence:
            continue
        share = errors / count
        if share >= max_error or _p_value(share, worth, max_error) > 1 - confidence:
            break
        bound = beta_quantile(confidence, share * worth + 1, (1 - share) * worth)
        found = SureSide(ordered[count - 1], count, errors, bound)
    return found


def row_likeness(values: Sequence[float], rows: Sequence[Hashable | None]) -> float:
    """Measure how alike the values of one row are: the intraclass correlation, by ANOVA.

    Args:
        values: One per statement.
        rows: The row of each, aligned; None stands alone.

    Returns:
        0 (no more alike than any two) to 1 (the same).

    Raises:
        UnpairedScoresError: The lengths differ.
    """
    require_aligned("values", values, "rows", rows)
    groups = [
        [values[place] for place in group] for group in cluster_rows(len(rows), clusters=rows)
    ]
    count, groups_count = len(values), len(groups)
    if not 1 < groups_count < count:
        return 0.0
    means = [math.fsum(group) / len(group) for group in groups]
    mean = math.fsum(values) / count
    between = math.fsum(
        len(group) * (own - mean) ** 2 for group, own in zip(groups, means, strict=True)
    )
    within = math.fsum(
        (value - own) ** 2 for group, own in zip(groups, means, strict=True) for value in group
    )
    size = (count - sum(len(group) ** 2 for group in groups) / count) / (groups_count - 1)
    between /= groups_count - 1
    within /= count - groups_count
    whole = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole > 0 else 0.0


def _independent_rows(rows: Sequence[Hashable | None], likeness: float, confidence: float) -> float:
    """Say how many independent rows statements are worth.

    Rows that share nothing count in full. Otherwise the statements are divided by Kish's design
    effect, and Student's quantile stands for the few rows that show how alike they are.
    """
    count = len(rows)
    sizes = Counter(row for row in rows if row is not None)
    alone = count - sizes.total()
    units = len(sizes) + alone
    if units == count or units < 2:
        return float(units)
    size = (sum(each * each for each in sizes.values()) + alone) / count
    worth = count / (1 + (size - 1) * likeness)
    plain, few = (student_t_quantile(confidence, free) for free in (count - 1, units - 1))
    return worth * (plain / few) ** 2


def _counts(ordered: Sequence[float]) -> list[int]:
    """List how many statements each limit decides, the strictest first; equal ones go together."""
    step = max(1, len(ordered) // _MOST_LIMITS)
    ends = [*range(step, len(ordered), step), len(ordered)]
    return [end for end in ends if end == len(ordered) or ordered[end] != ordered[end - 1]]


def _p_value(share: float, worth: float, max_error: float) -> float:
    """Return how likely so few errors are where the true share is `max_error`."""
    return 1 - beta_cdf(max_error, share * worth + 1, (1 - share) * worth)
