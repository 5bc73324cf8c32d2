"""What does a support mean in probabilities? A map from supports to shares, learnt from labels.

Platt's map has two numbers, which few labels can carry; isotonic regression takes any rising shape
and needs hundreds. Both keep the order of supports: they change what a number says, not who wins.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_evals.errors import InvalidScoresError, TooFewLabelsError, WeakJudgeError
from rag_evals.stats.checks import require_aligned, require_scores

ISOTONIC_FROM = 500
"""Labels from which a rising curve is learnt; below, two numbers are."""

# A support of 0 or 1 has no finite log-odds.
_SUREST = 1e-6
_ROUNDS = 100
_HALVINGS = 40
_CLOSE = 1e-10


@dataclass(frozen=True, slots=True)
class PlattMap:
    """A logistic curve over the log-odds of the support (Platt 1999).

    Attributes:
        slope: Above 0; 1 leaves the log-odds as they are, less pulls them together.
        intercept: What is added to them.
    """

    slope: float
    intercept: float

    def __call__(self, support: float) -> float:
        """Return the share of such statements that people support, 0 to 1."""
        return _probability(self.slope * _log_odds(support) + self.intercept)


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """A rising curve through points, straight between them and level outside.

    Attributes:
        supports: Of the points, rising.
        shares: What people support there, 0 to 1, rising, aligned.
    """

    supports: tuple[float, ...]
    shares: tuple[float, ...]

    def __call__(self, support: float) -> float:
        """Return the share of such statements that people support, 0 to 1."""
        place = bisect_right(self.supports, support)
        if place == 0 or place == len(self.supports):
            return self.shares[max(place - 1, 0)]
        low, high = self.supports[place - 1], self.supports[place]
        part = (support - low) / (high - low)
        return self.shares[place - 1] + part * (self.shares[place] - self.shares[place - 1])


SupportMap = PlattMap | IsotonicMap


def fit_support_map(labels: Sequence[bool], supports: Sequence[float]) -> SupportMap:
    """Learn what supports mean: Platt's map, and an isotonic one from 500 labels on.

    Args:
        labels: What people say, one per statement; both labels occur.
        supports: What the verifier says, 0 to 1, aligned.

    Raises:
        TooFewLabelsError: One of the two labels is absent.
        WeakJudgeError: What people support has no higher support than the rest.
        UnpairedScoresError: The lengths differ.
        InvalidScoresError: There are no labels, or a support is not a number from 0 to 1.
    """
    platt = fit_platt(labels, supports)
    return fit_isotonic(labels, supports) if len(labels) >= ISOTONIC_FROM else platt


def fit_platt(labels: Sequence[bool], supports: Sequence[float]) -> PlattMap:
    """Fit Platt's map by Newton's method, as Lin, Lin and Weng (2007) do.

    The targets are drawn in by one label of each kind, so that no map says 0 or 1.

    Args:
        labels: As for `fit_support_map`.
        supports: As for `fit_support_map`.

    Raises:
        TooFewLabelsError: As for `fit_support_map`, like the rest.
        WeakJudgeError: The best slope is not above 0.
        UnpairedScoresError: The lengths differ.
        InvalidScoresError: There are no labels, or a support is not a number from 0 to 1.
    """
    _require_both(labels, supports)
    positives = sum(bool(label) for label in labels)
    negatives = len(labels) - positives
    for_true, for_false = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    points = [
        (_log_odds(support), for_true if label else for_false)
        for label, support in zip(labels, supports, strict=True)
    ]
    slope, intercept = _newton(points, math.log((positives + 1) / (negatives + 1)))
    if not slope > _CLOSE:
        raise WeakJudgeError(
            f"what people support has no higher support than the rest (slope {slope:.2g} over "
            f"{len(labels)} labels); there is nothing to tune, take another judge"
        )
    return PlattMap(slope, intercept)


def fit_isotonic(labels: Sequence[bool], supports: Sequence[float]) -> IsotonicMap:
    """Fit the rising curve nearest to the labels by pooling adjacent violators (Ayer et al. 1955).

    Args:
        labels: As for `fit_support_map`.
        supports: As for `fit_support_map`.

    Raises:
        TooFewLabelsError: As for `fit_support_map`, like the rest.
        UnpairedScoresError: The lengths differ.
        InvalidScoresError: There are no labels, or a support is not a number from 0 to 1.
    """
    _require_both(labels, supports)
    pairs = sorted(zip(supports, labels, strict=True), key=lambda pair: pair[0])
    pools: list[_Pool] = []
    for support, group in groupby(pairs, key=lambda pair: pair[0]):
        of_support = [bool(label) for _, label in group]
        pools.append(_Pool(support, support, sum(of_support), len(of_support)))
        while len(pools) > 1 and pools[-2].share >= pools[-1].share:
            upper, lower = pools.pop(), pools.pop()
            pools.append(
                _Pool(lower.low, upper.high, lower.true + upper.true, lower.rows + upper.rows)
            )
    ends = [(end, pool.share) for pool in pools for end in dict.fromkeys((pool.low, pool.high))]
    # Labels that all say yes do not make sure, as in Platt's targets.
    least = 1 / (len(labels) + 2)
    shares = [min(max(share, least), 1 - least) for _, share in ends]
    return IsotonicMap(tuple(end for end, _ in ends), tuple(shares))


@dataclass(frozen=True, slots=True)
class _Pool:
    low: float
    high: float
    true: int
    rows: int

    @property
    def share(self) -> float:
        """True labels among all of the pool."""
        return self.true / self.rows


def _require_both(labels: Sequence[bool], supports: Sequence[float]) -> None:
    require_aligned("labels", labels, "supports", supports)
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled statement is needed")
    require_scores("supports", supports)
    if all(labels) or not any(labels):
        raise TooFewLabelsError(
            f"all {len(labels)} labels are {bool(labels[0])!r}; both labels are needed"
        )


def _newton(points: Sequence[tuple[float, float]], start: float) -> tuple[float, float]:
    """Find slope and intercept; each step is halved until the fit gets better."""
    slope, intercept = 0.0, start
    loss = _loss(points, slope, intercept)
    for _ in range(_ROUNDS):
        step = _newton_step(points, slope, intercept)
        size = 1.0
        for _ in range(_HALVINGS):
            tried = slope + size * step[0], intercept + size * step[1]
            new = _loss(points, *tried)
            if new < loss:
                break
            size /= 2
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
    # The ridge keeps the matrix invertible where all supports are equal.
    aa = bb = 1e-12
    ab = da = db = 0.0
    for value, target in points:
        share = _probability(slope * value + intercept)
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


def _log_odds(support: float) -> float:
    kept = min(max(support, _SUREST), 1 - _SUREST)
    return math.log(kept / (1 - kept))


def _probability(odds: float) -> float:
    if odds >= 0:
        return 1 / (1 + math.exp(-odds))
    return math.exp(odds) / (1 + math.exp(odds))
