"""What a support means: two numbers, learnt from labels."""

import math
import random
from statistics import fmean, pstdev

import pytest

from rag_evals.errors import (
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
    WeakJudgeError,
)
from rag_evals.stats import (
    calibration_error,
    fit_logistic,
    fit_support_map,
)
from rag_evals.stats.tuned import (
    SupportMap,
    SupportShift,
    probability,
    row_likeness,
    support_shift,
)

SUPPORTS = [0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9]
LABELS = [bool(one) for one in (0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1)]


def test_platt_agrees_with_scipy() -> None:
    """Slope and intercept are those of the same loss, minimised by scipy."""
    # t = where(y, 7/8, 1/8); minimize(sum(logaddexp(0, a*x+b) - t*(a*x+b)), [0, 0],
    # method="BFGS", options={"gtol": 1e-12}).x with x the log-odds of SUPPORTS; scipy 1.16
    found = fit_support_map(LABELS, SUPPORTS)

    assert (found.slope, found.intercept) == pytest.approx((0.58966324, -0.06566387), abs=1e-7)


def test_platt_agrees_with_scipy_where_supports_are_close_together() -> None:
    """All supports lie between 0.9 and 0.99, so slope and intercept depend on each other a lot."""
    # As above, with SUPPORTS replaced by 0.9 + 0.1 * SUPPORTS.
    found = fit_support_map(LABELS, [0.9 + 0.1 * support for support in SUPPORTS])

    assert (found.slope, found.intercept) == pytest.approx((0.91057239, -2.87615149), rel=1e-6)


def test_platt_is_exact_where_a_full_step_would_overshoot() -> None:
    """32 True labels at 0.2, three at 0.8 and two False at 0, as minimised by scipy."""
    found = fit_support_map(
        [True] * 32 + [False] * 2 + [True] * 3, [0.2] * 32 + [0.0] * 2 + [0.8] * 3
    )

    # As above: t = 36/37 and 1/4, and log-odds of 1e-6 for a support of 0.
    assert (found.slope, found.intercept) == pytest.approx((0.36878373, 4.02543457), abs=1e-6)


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
    with pytest.raises(TooFewLabelsError, match="all 12 labels are True"):
        fit_logistic([[one] for one in SUPPORTS], [True] * 12)
    with pytest.raises(UnpairedScoresError, match="12 labels, 11 supports"):
        fit_support_map(LABELS, SUPPORTS[1:])
    with pytest.raises(UnpairedScoresError, match="11 rows, 12 targets"):
        fit_logistic([[one] for one in SUPPORTS[1:]], LABELS)
    with pytest.raises(UnpairedScoresError, match="12 values, 11 rows"):
        row_likeness(SUPPORTS, [None] * 11)


def test_statements_of_one_row_are_no_further_proof_of_a_shift() -> None:
    """Nine equal statements a row are as far from the labels as one, and no surer."""
    labelled = [one**2 for one in SUPPORTS] * 10
    once = support_shift(SUPPORTS, range(12), labelled, 120)
    rows = [row for row in range(12) for _ in range(9)]
    repeated = support_shift([SUPPORTS[row] for row in rows], rows, labelled, 120)

    assert (once.count, repeated.count) == (12, 108)
    assert repeated.distance == once.distance > 0.2
    assert repeated.p_value > once.p_value > 0.1


def test_a_shift_heeds_four_digits_and_no_more() -> None:
    """The last digits of a model differ between batches; a difference of 0.0002 is one."""
    labelled = [0.5] * 12

    none = support_shift([0.50004] * 12, [None] * 12, labelled, 12)
    assert (none.distance, none.p_value) == (0, 1)
    assert support_shift([0.5002] * 12, [None] * 12, labelled, 12).distance == 1


def test_a_shift_has_the_p_value_of_stephens() -> None:
    """For 12 and 40 independent rows, a quarter of which differ; by hand, with three terms."""
    found = support_shift([0.2] * 9 + [0.9] * 3, [None] * 12, [0.2] * 40, 40)

    root = math.sqrt(12 * 40 / 52)
    value = (root + 0.12 + 0.11 / root) * 0.25
    terms = [math.exp(-2 * (term * value) ** 2) for term in (1, 2, 3)]
    assert found.distance == 0.25
    assert found.p_value == pytest.approx(2 * (terms[0] - terms[1] + terms[2]), rel=1e-6)


@pytest.mark.parametrize(
    ("distance", "p_value", "is_foreign"),
    [(0.1, 0.0099, True), (0.0999, 0.0001, False), (0.5, 0.01, False)],
)
def test_data_are_foreign_if_far_and_surely_so(
    distance: float, p_value: float, is_foreign: bool
) -> None:
    """From a distance of 0.1 on, and below a p-value of 0.01."""
    assert SupportShift(distance, p_value, 50).is_foreign is is_foreign


def test_a_logistic_regression_solves_the_equations_of_its_penalty() -> None:
    """The residuals add up to 0, and times a standardised feature to five times its weight."""
    rng = random.Random(3)
    rows = [[rng.gauss(3, 0.5), rng.gauss(-40, 20), 7.0] for _ in range(80)]
    targets = [one + other / 40 + rng.gauss(0, 0.5) > 2.2 for one, other, _ in rows]
    weights, intercept = fit_logistic(rows, targets)
    off = [
        target - probability(intercept + sum(w * x for w, x in zip(weights, row, strict=True)))
        for row, target in zip(rows, targets, strict=True)
    ]

    assert 20 < sum(targets) < 60
    assert sum(off) == pytest.approx(0, abs=0.03)
    for weight, column in zip(weights[:2], [[row[n] for row in rows] for n in (0, 1)], strict=True):
        mean, spread = fmean(column), pstdev(column)
        pull = sum(one * (x - mean) / spread for one, x in zip(off, column, strict=True))
        assert pull > 3
        assert pull == pytest.approx(5 * weight * spread, abs=0.03)
    # A feature that is always the same says nothing.
    assert weights[2] == 0
    opposite, other = fit_logistic(rows, [not target for target in targets])
    assert (*opposite, other) == pytest.approx([-one for one in (*weights, intercept)], abs=1e-9)


@pytest.mark.parametrize(("ours", "theirs", "distance"), [
    ([0.1] * 12, [0.9] * 12, 1.0), ([0.9] * 12, [0.1] * 12, 1.0),
    ([0.1] * 6 + [0.9] * 6, [0.5] * 12, 0.5), ([0.5] * 12, [0.1] * 9 + [0.9] * 3, 0.75),
    ([0.1, 0.5] * 6, [0.1, 0.5, 0.1, 0.5, 0.9] * 4, 0.2), ([0.3] * 5, [0.3] * 40, 0.0),
])  # fmt: skip
def test_the_distance_is_the_largest_gap_at_any_support(
    ours: list[float], theirs: list[float], distance: float
) -> None:
    """Also at one that only one of both has; the count is of the compared supports."""
    found = support_shift(ours, [None] * len(ours), theirs, len(theirs))

    assert found.distance == pytest.approx(distance)
    assert found.count == len(ours)
    assert 0 <= found.p_value <= 1
    # Statements of one row are one row, and of as few rows as in the labels nothing is sure.
    assert support_shift(ours, ["a"] * len(ours), theirs, 1.0).p_value > 0.2


def test_a_map_is_a_logistic_curve_over_log_odds() -> None:
    """Nothing is surer than one in a million; the intercept is added."""
    found = SupportMap(2.0, -0.5)

    assert found(0.5) == pytest.approx(1 / (1 + math.exp(0.5)))
    assert found(0.8) == pytest.approx(1 / (1 + math.exp(0.5 - 2 * math.log(4))))
    assert found(0.0) == found(1e-6) < found(2e-6)
    assert found(1.0) == found(1 - 1e-6) > found(1 - 2e-6)
    assert SupportMap(100, 0)(0.0) == pytest.approx(0, abs=1e-300)
    with pytest.raises(InvalidScoresError, match=r"supports\[1\] is 1.5"):
        fit_support_map([True, False], [0.5, 1.5])


def test_a_flat_feature_changes_nothing_of_the_others() -> None:
    """Its weight is 0, and the intercept that of the others alone; few of one kind are learnt."""
    rng = random.Random(5)
    rows = [[rng.gauss(1, 2)] for _ in range(60)]
    targets = [one > 3 + rng.gauss(0, 0.5) for (one,) in rows]
    (weight,), intercept = fit_logistic(rows, targets)
    both, same = fit_logistic([[7.0, one] for (one,) in rows], targets)

    assert 4 < sum(targets) < 20
    assert weight > 0.3
    assert (*both, same) == pytest.approx((0, weight, intercept), abs=1e-9)
    none, odds = fit_logistic([[2.0]] * 8, [True] * 6 + [False] * 2)
    assert (*none, odds) == pytest.approx((0, math.log(3)))
