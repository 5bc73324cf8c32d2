"""What a support means: two numbers, learnt from labels."""

import random

import pytest

from rag_evals.errors import TooFewLabelsError, WeakJudgeError
from rag_evals.stats import (
    calibration_error,
    fit_support_map,
)
from rag_evals.stats.tuned import support_shift

SUPPORTS = [0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9]
LABELS = [bool(one) for one in (0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1)]


def test_platt_agrees_with_scipy() -> None:
    """Slope and intercept are those of the same loss, minimised by scipy."""
    # t = where(y, 7/8, 1/8); minimize(sum(logaddexp(0, a*x+b) - t*(a*x+b)), [0, 0],
    # method="BFGS", options={"gtol": 1e-12}).x with x the log-odds of SUPPORTS; scipy 1.16
    found = fit_support_map(LABELS, SUPPORTS)

    assert (found.slope, found.intercept) == pytest.approx((0.58966324, -0.06566387), abs=1e-7)


def test_a_map_brings_supports_to_what_they_say() -> None:
    """Supports that are far too low are right on other rows after tuning, in order as before."""
    rng = random.Random(3)
    chances = [rng.betavariate(2, 1) for _ in range(3_000)]
    supports = [chance**3 for chance in chances]
    truth = [rng.random() < chance for chance in chances]
    found = fit_support_map(truth[:200], supports[:200])
    after = [found(one) for one in supports[1_000:]]

    assert calibration_error(truth[1_000:], supports[1_000:]) > 0.2
    assert calibration_error(truth[1_000:], after) < 0.1
    assert sorted(after) == [found(one) for one in sorted(supports[1_000:])]


def test_ends_are_no_certainty() -> None:
    """A support of 0 or 1 stays a number between; hard supports have a map too."""
    found = fit_support_map([True] * 30 + [False] * 30 + [True], [1.0] * 30 + [0.0] * 31)

    assert 0 < found(0.0) < 0.1
    assert 0.9 < found(1.0) < 1


def test_what_cannot_be_learnt_is_refused() -> None:
    """One class only, and a support that says the opposite."""
    with pytest.raises(TooFewLabelsError, match="all 12 labels are True"):
        fit_support_map([True] * 12, SUPPORTS)
    with pytest.raises(WeakJudgeError, match="support is not higher for statements"):
        fit_support_map([not label for label in LABELS], SUPPORTS)


def test_statements_of_one_row_are_no_further_proof_of_a_shift() -> None:
    """Nine equal statements a row are as far from the labels as one, and no surer."""
    labelled = [one**2 for one in SUPPORTS] * 10
    once = support_shift(SUPPORTS, range(12), labelled, 120)
    rows = [row for row in range(12) for _ in range(9)]
    repeated = support_shift([SUPPORTS[row] for row in rows], rows, labelled, 120)

    assert (once.count, repeated.count) == (12, 108)
    assert repeated.distance == once.distance > 0.2
    assert repeated.p_value > once.p_value > 0.1
