"""Calibration of a judge's support with labels, and limits beyond which it can decide alone.

Platt's map has only two parameters, so a few labels are enough; it preserves the order of supports.

The limits for deciding alone are found by "learn then test" (Angelopoulos et al. 2021): limits are
tried from the strictest to the most lenient, each with an exact test of the errors on the labels,
and the last limit before the first failure is used. The test is the Clopper-Pearson test with the
effective number of independent rows (Kish 1965; Korn and Graubard 1998).
"""

import math
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

from rag_evals.errors import TooFewLabelsError, WeakJudgeError
from rag_evals.stats.distributions import beta_cdf, beta_quantile, student_t_quantile
from rag_evals.stats.intervals import (
    Keys,
    cluster_totals,
    require_aligned,
    require_both_labels,
    require_fraction,
    require_scores,
)

# A support of 0 or 1 would have infinite log-odds.
_SUREST = 1e-6
_ROUNDS = 100
_HALVINGS = 40
_CLOSE = 1e-10
_SWEEPS = 200
_SMALL_STEP = 1e-3
_RIDGE = 5.0

Side = Literal["supported", "unsupported"]
"""The verdict that a judge can return on its own beyond a limit."""

_MOST_LIMITS = 60

_SURE = 0.01
LEFT_OPEN = -1.0
"""Placeholder for a support that is missing because another verifier judged the statement."""
LEAST_SHIFT = 0.1
"""Smallest distance at which data count as different from the labelled data."""


@dataclass(frozen=True, slots=True)
class SupportMap:
    """A logistic curve over the log-odds of supports (Platt 1999); `slope` is above 0."""

    slope: float
    intercept: float

    def __call__(self, support: float) -> float:
        return probability(self.slope * log_odds(support) + self.intercept)


def fit_support_map(labels: Sequence[bool], supports: Sequence[float]) -> SupportMap:
    """Fit a map of supports (0 to 1) by Newton's method, as in Lin, Lin and Weng (2007).

    Targets are smoothed by one extra label of each value, so mapped supports are never 0 or 1.

    Raises:
        TooFewLabelsError: All labels are the same.
        WeakJudgeError: Support is not higher for statements that people labelled as supported.
    """
    require_aligned("labels", labels, "supports", supports)
    require_both_labels(labels)
    require_scores("supports", supports)
    positives = sum(bool(label) for label in labels)
    negatives = len(labels) - positives
    targets = {True: (positives + 1) / (positives + 2), False: 1 / (negatives + 2)}
    pairs = zip(labels, supports, strict=True)
    points = [(log_odds(support), targets[bool(label)]) for label, support in pairs]
    slope, intercept = _newton(points, math.log((positives + 1) / (negatives + 1)))
    if not slope > _CLOSE:
        raise WeakJudgeError(
            "support is not higher for statements that people labelled as supported (slope "
            f"{slope:.2g} over {len(labels)} labels), so there is nothing to tune; use a "
            "different judge"
        )
    return SupportMap(slope, intercept)


def _newton(points: Sequence[tuple[float, float]], start: float) -> tuple[float, float]:
    """Return the slope and intercept; each step is halved until the fit improves."""
    slope, intercept = 0.0, start
    loss = _loss(points, slope, intercept)
    for _ in range(_ROUNDS):
        step = _newton_step(points, slope, intercept)
        for halvings in range(_HALVINGS):
            size = 0.5**halvings
            tried = slope + size * step[0], intercept + size * step[1]
            new = _loss(points, *tried)
            if new < loss:
                break
        else:
            break
        gained, loss = loss - new, new
        slope, intercept = tried
        if gained < _CLOSE:
            break
    return slope, intercept


def _newton_step(
    points: Sequence[tuple[float, float]], slope: float, intercept: float
) -> tuple[float, float]:
    # A ridge penalty keeps the matrix invertible if all supports are equal.
    aa = bb = 1e-12
    ab = da = db = 0.0
    for value, target in points:
        share = probability(slope * value + intercept)
        weight, off = share * (1 - share), share - target
        aa += value * value * weight
        ab += value * weight
        bb += weight
        da += value * off
        db += off
    determinant = aa * bb - ab * ab
    return (ab * db - bb * da) / determinant, (ab * da - aa * db) / determinant


def _loss(points: Sequence[tuple[float, float]], slope: float, intercept: float) -> float:
    total = 0.0
    for value, target in points:
        odds = slope * value + intercept
        # log(1 + e^odds) without overflow.
        total += max(odds, 0.0) + math.log1p(math.exp(-abs(odds))) - target * odds
    return total


def log_odds(support: float) -> float:
    kept = min(max(support, _SUREST), 1 - _SUREST)
    return math.log(kept / (1 - kept))


def probability(odds: float) -> float:
    if odds >= 0:
        return 1 / (1 + math.exp(-odds))
    return math.exp(odds) / (1 + math.exp(odds))


@dataclass(frozen=True, slots=True)
class SureSide:
    """The range of supports beyond `limit`, in which a judge can decide alone.

    Attributes:
        decided: Number of labelled statements in the range.
        errors: Number of wrong verdicts on these statements.
    """

    limit: float
    decided: int
    errors: int


def sure_side(
    labels: Sequence[bool],
    supports: Sequence[float],
    side: Side,
    *,
    max_error: float = 0.05,
    clusters: Keys = None,
    confidence: float = 0.975,
) -> SureSide | None:
    """Find the most lenient limit beyond which a judge can decide alone; None if there is none.

    Beyond the limit, at most a share `max_error` of the verdicts is wrong. If each side's limit has
    a confidence of 0.975, both limits hold with a confidence of 0.95.
    """
    require_fraction("max_error", max_error)
    require_fraction("confidence", confidence)
    rows = list(range(len(labels))) if clusters is None else list(clusters)
    try:
        platt = fit_support_map(labels, supports)
    except (WeakJudgeError, TooFewLabelsError):
        return None
    off = [float(label) - platt(one) for label, one in zip(labels, supports, strict=True)]
    likeness = row_likeness(off, rows)
    sign = 1 if side == "supported" else -1
    order = sorted(range(len(labels)), key=lambda place: -sign * supports[place])
    ordered = [supports[place] for place in order]
    found, errors, before = None, 0, 0
    step = max(1, len(ordered) // _MOST_LIMITS)
    for count in (*range(step, len(ordered), step), len(ordered)):
        # A limit cannot separate equal supports.
        if count < len(ordered) and ordered[count] == ordered[count - 1]:
            continue
        # Labels may be numbers instead of booleans.
        errors += sum(bool(labels[place]) is (sign < 0) for place in order[before:count])
        before = count
        worth = _independent_rows([rows[place] for place in order[:count]], likeness, confidence)
        # Too few statements cannot pass even without errors; skip them without testing.
        if found is None and (1 - max_error) ** worth > 1 - confidence:
            continue
        share = errors / count
        if share >= max_error:
            break
        # The probability of this few errors if the true share is `max_error`.
        if 1 - beta_cdf(max_error, share * worth + 1, (1 - share) * worth) > 1 - confidence:
            break
        found = SureSide(ordered[count - 1], count, errors)
    return found


def fit_logistic(
    rows: Sequence[Sequence[float]], targets: Sequence[bool]
) -> tuple[list[float], float]:
    """Fit a logistic regression; return a weight in log-odds for each feature, and the intercept.

    The ridge penalises the weights of standardised features, so that a few labels are enough.
    """
    require_aligned("rows", rows, "targets", targets)
    require_both_labels(targets)
    columns = list(zip(*rows, strict=True))
    means = [math.fsum(column) / len(rows) for column in columns]
    known, spreads = [[1.0] * len(rows)], []
    for column, mean in zip(columns, means, strict=True):
        spread = math.dist(column, [mean] * len(rows)) / math.sqrt(len(rows))
        # The weight of a constant feature stays 0.
        spreads.append(spread if spread > _CLOSE else math.inf)
        known.append([(one - mean) / spreads[-1] for one in column])
    share = sum(targets) / len(targets)
    weights = [math.log(share / (1 - share))] + [0.0] * len(columns)
    odds = [weights[0]] * len(rows)
    for _ in range(_SWEEPS):
        largest = 0.0
        for place, feature in enumerate(known):
            slope = math.fsum(
                (target - probability(one)) * value
                for target, one, value in zip(targets, odds, feature, strict=True)
            )
            penalty = _RIDGE if place else 0.0
            # The curvature per row is at most a quarter, so steps are never too large.
            step = (slope - penalty * weights[place]) / (len(rows) / 4 + penalty)
            weights[place] += step
            odds = [one + step * value for one, value in zip(odds, feature, strict=True)]
            largest = max(largest, abs(step))
        if largest < _SMALL_STEP:
            break
    scaled = [weight / spread for weight, spread in zip(weights[1:], spreads, strict=True)]
    return scaled, weights[0] - math.fsum(map(math.prod, zip(scaled, means, strict=True)))


def error_bound(
    wrong: Sequence[bool], rows: Sequence[Hashable | None], *, confidence: float = 0.95
) -> float:
    """Return an upper confidence bound on the share of errors in clustered rows."""
    share, worth = sum(wrong) / len(wrong), independent_rows(wrong, rows, confidence)
    return beta_quantile(confidence, share * worth + 1, (1 - share) * worth) if share < 1 else 1.0


def row_likeness(values: Sequence[float], rows: Sequence[Hashable | None]) -> float:
    """Return the intraclass correlation of values within a row, 0 to 1, by ANOVA."""
    require_aligned("values", values, "rows", rows)
    members: dict[Hashable, list[float]] = {}
    for place, (value, row) in enumerate(zip(values, rows, strict=True)):
        members.setdefault((row, place if row is None else None), []).append(value)
    groups, count = list(members.values()), len(values)
    if not 1 < len(groups) < count:
        return 0.0
    means = [math.fsum(group) / len(group) for group in groups]
    mean = math.fsum(values) / count
    pairs = list(zip(groups, means, strict=True))
    between = math.fsum(len(group) * (own - mean) ** 2 for group, own in pairs) / (len(groups) - 1)
    within = math.fsum((value - own) ** 2 for group, own in pairs for value in group)
    within /= count - len(groups)
    size = (count - sum(len(group) ** 2 for group in groups) / count) / (len(groups) - 1)
    whole = between + (size - 1) * within
    return max(0.0, (between - within) / whole) if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SupportShift:
    """How far support scores differ from those of the labelled statements.

    Attributes:
        distance: Kolmogorov-Smirnov distance, 0 to 1.
        p_value: Probability of a distance this large if both have the same distribution.
        count: Number of compared statements or rows.
    """

    distance: float
    p_value: float
    count: int

    @property
    def is_foreign(self) -> bool:
        return self.p_value < _SURE and self.distance >= LEAST_SHIFT


def support_shift(
    supports: Sequence[float],
    rows: Sequence[Hashable | None],
    labelled: Sequence[float],
    worth: float,
) -> SupportShift:
    """Compare supports with those of labelled statements by the Kolmogorov-Smirnov test.

    `labelled` may contain quantiles; `worth` is the effective number of labelled rows, as returned
    by `independent_rows`.
    """
    # The last digits of a model's output differ between batches.
    ours, theirs = (sorted(round(one, 4) for one in each) for each in (supports, labelled))
    distance = max(
        abs(bisect_right(ours, at) / len(ours) - bisect_right(theirs, at) / len(theirs))
        for at in {*ours, *theirs}
    )
    own = independent_rows(supports, rows)
    root = math.sqrt(own * worth / (own + worth))
    # Stephens (1970) adapts the limiting distribution to small samples.
    value = (root + 0.12 + 0.11 / root) * distance
    terms = ((-1) ** (term - 1) * math.exp(-2 * (term * value) ** 2) for term in range(1, _ROUNDS))
    return SupportShift(distance, min(1.0, max(0.0, 2 * math.fsum(terms))), len(ours))


def independent_rows(
    values: Sequence[float], rows: Sequence[Hashable | None], confidence: float = 0.95
) -> float:
    """Return the effective number of independent rows for values that are similar within a row."""
    return _independent_rows(rows, row_likeness(values, rows), confidence)


def _independent_rows(rows: Sequence[Hashable | None], likeness: float, confidence: float) -> float:
    """Return the number of statements divided by Kish's design effect.

    The Student quantile accounts for the small number of rows behind the estimated `likeness`.
    """
    count, sizes = len(rows), cluster_totals(repeat(0.0, len(rows)), clusters=rows)[1]
    units = len(sizes)
    if units == count or units < 2:
        return float(units)
    size = sum(each * each for each in sizes) / count
    worth = count / (1 + (size - 1) * likeness)
    plain, few = (student_t_quantile(confidence, free) for free in (count - 1, units - 1))
    return worth * (plain / few) ** 2
