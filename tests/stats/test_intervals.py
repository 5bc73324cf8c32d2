"""Do intervals hold what they promise, down to one row?"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_evals.errors import (
    ConfigurationError,
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
)
from rag_evals.stats import mean_interval
from rag_evals.stats.intervals import (
    Clusters,
    MeanError,
    are_clustered,
    cluster_totals,
    count_interval,
    count_units,
    equal_values,
    find_clusters,
    interval_of_sums,
    mean_error,
    no_spread_interval,
    require_both_labels,
    require_scores,
    wilson_limits,
)
from tests.late import Late

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

COUNTS = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def test_wilson_interval_worked_by_hand() -> None:
    """Nine of ten gives the interval of Wilson's formula, computed here with z = 1.96."""
    z = 1.959963984540054
    centre = (0.9 + z**2 / 20) / (1 + z**2 / 10)
    half = z / (1 + z**2 / 10) * math.sqrt(0.9 * 0.1 / 10 + z**2 / 400)

    assert wilson_limits(0.9, 10, z) == pytest.approx((centre - half, centre + half))


def test_rates_agree_with_statsmodels() -> None:
    """The interval of 41 in 50 is that which statsmodels gives."""
    # python -c "from statsmodels.stats.proportion import proportion_confint as p;
    #   print(p(41, 50, method='wilson'))"                                  statsmodels 0.15.0
    found = wilson_limits(41 / 50, 50, NormalDist().inv_cdf(0.975))

    assert found == pytest.approx((0.692039463256992, 0.902298073297658))


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_rates_agree_with_scipy(counts: tuple[int, int], confidence: float) -> None:
    """Wilson's interval agrees with scipy for every count and confidence."""
    expected = scipy_stats.binomtest(*counts).proportion_ci(confidence, method="wilson")
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    found = wilson_limits(counts[0] / counts[1], counts[1], quantile)

    assert found == pytest.approx((expected.low, expected.high), abs=1e-8)


@given(COUNTS)
def test_a_rate_interval_stays_in_range(counts: tuple[int, int]) -> None:
    """The interval stays inside 0..1 and holds its estimate."""
    rate = counts[0] / counts[1]
    low, high = wilson_limits(rate, counts[1], 1.96)

    assert 0 <= low <= rate <= high <= 1


@given(SCORES)
def test_a_mean_interval_stays_in_range(scores: list[float]) -> None:
    """The interval of a mean lies within 0..1, holds the mean and never has width 0."""
    result = mean_interval(scores)

    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert result.width > 0


@given(SCORES)
def test_more_confidence_is_wider(scores: list[float]) -> None:
    """A 99 % interval holds the 90 % interval of the same scores."""
    narrow, wide = mean_interval(scores, confidence=0.9), mean_interval(scores, confidence=0.99)

    assert wide.low <= narrow.low + 1e-12
    assert narrow.high <= wide.high + 1e-12


@given(SCORES)
def test_a_mean_interval_is_the_mirror_of_the_mirrored_scores(scores: list[float]) -> None:
    """Counting failures instead of successes mirrors the interval."""
    # At 1e-9, where a spread begins to count as one, rounding decides in each direction.
    assume(not 0 < max(scores) - min(scores) < 1e-8)
    plain, mirrored = mean_interval(scores), mean_interval([1 - score for score in scores])

    assert mirrored.low == pytest.approx(1 - plain.high, abs=1e-6)
    assert mirrored.high == pytest.approx(1 - plain.low, abs=1e-6)


def test_equal_scores_do_not_promise_certainty() -> None:
    """Thirty perfect scores leave room down to Clopper-Pearson's limit, not to 1.0."""
    result = mean_interval([1.0] * 30)

    exact = scipy_stats.binomtest(30, 30).proportion_ci(0.95, method="exact")
    assert result.low == pytest.approx(exact.low)
    assert result.high == 1


def test_one_score_says_almost_nothing() -> None:
    """A single row gives an interval of nearly the whole range."""
    result = mean_interval([0.8])

    assert result.estimate == 0.8
    # A share of 0.025 is like it; the others may all be 0, or all be 1.
    assert (result.low, result.high) == pytest.approx((0.8 * 0.025, 0.8 * 0.025 + 0.975))


def test_two_scores_worked_by_hand() -> None:
    """0.2 and 0.8 have a standard error of 0.3: 0.25 / 0.09 effective rows, and t is 12.7062."""
    rows, t = 0.25 / 0.09, 12.706204736
    half = t / (1 + t * t / rows) * math.sqrt(0.25 / rows + (t / rows) ** 2 / 4)
    result = mean_interval([0.2, 0.8])

    assert (result.estimate, result.low, result.high) == pytest.approx(
        (0.5, 0.5 - half, 0.5 + half)
    )


def test_uneven_weights_leave_fewer_rows() -> None:
    """(3 + 1 + 1 + 1)**2 / (9 + 1 + 1 + 1) are three of four rows, in either way to an interval."""
    weights = [3.0, 1.0, 1.0, 1.0]
    alike = mean_interval([1.0] * 4, weights=weights)
    # Weighted mean 1/2, residuals -1, 1/3, 1/3 and 1/3: a variance of 4/3 / 3 / 4 = 1/9.
    freedom = MeanError(0.5, 1 / 3, 3 * 3 / 4, 4).wilson_interval()
    found = mean_interval([0.0, 1.0, 1.0, 1.0], weights=weights)

    assert (alike.low, alike.high) == pytest.approx((0.025 ** (1 / 3), 1))
    assert (found.low, found.high) == pytest.approx((freedom.low, freedom.high))
    assert found.estimate == pytest.approx(0.5)


def test_clusters_widen_the_interval() -> None:
    """Ten answers with five equal statements each know as little as ten rows."""
    answers = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    statements = [score for score in answers for _ in range(5)]
    clusters = [place for place in range(10) for _ in range(5)]

    clustered = mean_interval(statements, clusters=clusters)

    assert clustered.low == pytest.approx(mean_interval(answers).low)
    assert clustered.width > 1.8 * mean_interval(statements).width


def test_many_rows_give_the_textbook_interval() -> None:
    """With 4,000 rows the interval is mean +- 1.96 standard errors."""
    scores = [(row * 37 % 101) / 100 for row in range(4_000)]
    mean = math.fsum(scores) / 4_000
    error = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / 3_999 / 4_000)

    assert mean_interval(scores).width == pytest.approx(2 * 1.96 * error, rel=2e-3)


@pytest.mark.parametrize("bad", [[], [float("nan")], [0.5, 1.2], [-0.1], [float("inf")]])
def test_what_is_not_a_score_is_refused(bad: list[float]) -> None:
    """Nothing, NaN and numbers out of range raise; none is dropped or clipped."""
    with pytest.raises(InvalidScoresError):
        mean_interval(bad)


def test_a_bad_score_is_named_with_its_place() -> None:
    """The message has the position, the value and the allowed range."""
    with pytest.raises(InvalidScoresError, match=r"scores\[2\] is 1\.2; .*from 0 to 1"):
        mean_interval([1.0, 0.0, 1.2])


def test_percent_for_a_confidence_is_refused() -> None:
    """95 is answered with how to write 95 %."""
    with pytest.raises(ConfigurationError, match=r"confidence=95 .*=0\.95"):
        mean_interval([0.1, 0.2], confidence=95)
    with pytest.raises(ConfigurationError, match="confidence=1 "):
        mean_interval([0.1, 0.2], confidence=1)


def test_clusters_of_another_length_are_refused() -> None:
    """A cluster list that does not fit raises; it is never cut."""
    with pytest.raises(UnpairedScoresError, match="2 rows, 1 clusters"):
        mean_interval([0.1, 0.2], clusters=["a"])


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_every_interval_has_the_confidence_that_was_asked_for(confidence: float) -> None:
    """It is told, and the tails outside are equal: of Student, Wilson, and equal values."""
    tail = (1 - confidence) / 2
    spread = mean_interval([0.2, 0.8, 0.4], confidence=confidence)
    equal = mean_interval([1.0] * 7, confidence=confidence)
    error = MeanError(0.4, 0.1, 5.0, 6)
    student, wilson = (
        error.student_interval(-1.0, 1.0, confidence),
        error.wilson_interval(confidence),
    )
    none = MeanError(0.4, 0.0, 5.0, 6).wilson_interval(confidence)
    certain = MeanError(1.0, 0.0, 5.0, 6).wilson_interval(confidence)
    clustered = Clusters("question", ["a", "a", None]).of_mean([0.2, 0.8, 0.4], confidence)

    t = float(scipy_stats.t.ppf(1 - tail, 5))
    assert equal.low == pytest.approx(tail ** (1 / 7))
    assert (student.low, student.high) == pytest.approx((0.4 - 0.1 * t, 0.4 + 0.1 * t))
    assert (wilson.low, wilson.high) == pytest.approx(wilson_limits(0.4, 0.24 / 0.01, t))
    assert none == no_spread_interval(0.4, 6, confidence=confidence)
    assert (certain.low, certain.high) == pytest.approx(wilson_limits(1.0, 6, t))
    expected = mean_interval([0.2, 0.8, 0.4], clusters=["a", "a", None], confidence=confidence)
    assert replace(clustered, method=expected.method) == expected
    assert clustered.method == f"{expected.method}, 2 clusters by question"
    for found in (spread, equal, student, wilson, none, certain, clustered):
        assert found.confidence == confidence


@pytest.mark.parametrize(
    ("estimate", "units", "bounds", "low", "high"),
    [
        (0.5, 1, (0.0, 1.0), 0.0125, 0.9875),
        (0.5, 2, (0.0, 1.0), 0.5 * 0.025**0.5, 1 - 0.5 * 0.025**0.5),
        (0.25, 2, (-1.0, 1.0), 1.25 * 0.025**0.5 - 1, 1 - 0.75 * 0.025**0.5),
        (0.0, 3, (0.0, 1.0), 0.0, 1 - 0.025 ** (1 / 3)),
        (1.0, 3, (0.0, 1.0), 0.025 ** (1 / 3), 1.0),
    ],
)
def test_equal_values_leave_a_share_for_other_ones(
    estimate: float, units: int, bounds: tuple[float, float], low: float, high: float
) -> None:
    """A share of 0.025 ** (1 / n) is like them, and the rest may be at either bound."""
    found = no_spread_interval(estimate, units, bounds=bounds)

    assert (found.estimate, found.low, found.high) == pytest.approx((estimate, low, high))
    assert (found.confidence, found.method) == (0.95, "exact limit for equal values")


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_rounding_moves_no_limit_past_its_estimate(value: float, units: int) -> None:
    """Neither of equal values nor of Wilson's limits."""
    found = no_spread_interval(value, units, confidence=1e-9)
    low, high = wilson_limits(value, units, 1e-9)

    assert found.low <= value <= found.high
    assert 0 <= low <= value <= high <= 1


def test_equal_scores_count_once_a_cluster() -> None:
    """Six equal rows of two documents and one alone are three units; uneven weights leave fewer."""
    clusters = ["a", "a", "a", "b", "b", None]
    three = mean_interval([0.5] * 6, clusters=clusters)
    # (3 * 1 + 3 * 3) ** 2 / (3 * 1 + 3 * 9) / 6 of the units is 0.8: 2.4 of them, which are 2.
    weighted = mean_interval([0.5] * 6, clusters=clusters, weights=[1.0, 3.0] * 3)
    # One cluster is one unit, whatever its rows say; so is a weight that stands for all.
    one = mean_interval([0.2, 0.8], clusters=["a", "a"])
    heavy = mean_interval([0.5, 0.5], weights=[1e6, 1.0])

    assert three == no_spread_interval(0.5, 3)
    assert weighted == no_spread_interval(0.5, 2)
    assert one == heavy == no_spread_interval(0.5, 1)
    # A difference of rounding is none; a larger one is.
    assert mean_interval([0.3, 0.1 + 0.2]).method == "exact limit for equal values"
    assert mean_interval([0.3, 0.3 + 1e-8]).method != "exact limit for equal values"


def test_weighted_clusters_are_those_of_weighted_values() -> None:
    """By hand: values moved by weight * (value - mean), and fewer degrees of freedom."""
    scores, weights = [0.0, 1.0, 1.0, 0.5], [2.0, 1.0, 1.0, 4.0]
    clusters = ["a", "a", "b", None]
    found = mean_interval(scores, clusters=clusters, weights=weights, confidence=0.9)
    moved = [0.5 + w * 4 / 8 * (one - 0.5) for one, w in zip(scores, weights, strict=True)]
    error = mean_error(moved, clusters=clusters)
    evenness = 8 * 8 / (4 + 1 + 1 + 16) / 4

    assert found == replace(
        error, degrees_of_freedom=error.degrees_of_freedom * evenness
    ).wilson_interval(0.9)


@pytest.mark.parametrize(
    ("rows", "within", "repeated", "is_clustered"),
    [
        (100, 6, 3, True), (100, 5, 1, False), (40, 2, 1, False), (40, 3, 1, True),
        (10, 10, 1, False), (10, 10, 2, True), (10, 9, 1, True), (2, 0, 0, False),
    ],
)  # fmt: skip
def test_rows_are_clustered_by_what_more_than_one_in_twenty_share(
    rows: int, within: int, repeated: int, is_clustered: bool
) -> None:
    """Unless they would all be one cluster."""
    assert are_clustered(rows, within, repeated) is is_clustered
    # Those values are 1 to `repeated`, of about as many rows each; the others are alone.
    keys = [1 + place % max(1, repeated) for place in range(within)]
    keys += [100 + place for place in range(rows - within)]
    found = find_clusters({"question": keys})
    assert (found is not None) is is_clustered
    if found is not None:
        assert (found.by, found.units) == ("question", rows - within + repeated)
        assert [key is None for key in found.keys] == [place >= within for place in range(rows)]


def test_the_first_field_that_rows_share_clusters_them() -> None:
    """A row without a value, whose hash is 0, shares none; questions come before contexts."""
    alone = [*range(1, 20), 0]
    pairs = [1 + n // 2 for n in range(20)]
    both = find_clusters({"question": pairs, "context": [1] * 18 + [2, 2]})
    context = find_clusters({"question": alone, "context": [*pairs[:4], *[0] * 16]})

    assert find_clusters({"question": [0] * 20, "context": alone}) is None
    assert both is not None
    assert (both.by, both.keys, both.units) == ("question", pairs, 10)
    assert context is not None
    assert (context.by, context.units) == ("context", 2 + 16)
    assert context.keys == [1, 1, 2, 2, *[None] * 16]


def test_many_distinct_values_are_not_counted() -> None:
    """2,000 distinct ones are, in any number of blocks; of more, each comes with a count of 1."""
    few = [n % 2_000 / 7 for n in range(5_000)]
    many = [n % 2_001 / 7 for n in range(5_000)]

    assert dict(equal_values(few)) == Counter(few)
    assert list(equal_values(many)) == [(one, 1) for one in many]
    assert dict(equal_values([0.5, 0.25, 0.5])) == {0.5: 2, 0.25: 1}
    # A last block of one value counts too.
    assert dict(equal_values([0.5] * 4_001)) == {0.5: 4_001}


def test_counts_have_an_interval_of_their_mean() -> None:
    """2, 4 and 9 words: s / sqrt(3) is 2.0817, and t with 2 degrees of freedom 4.3027."""
    found = count_interval([2, 4, 9])
    reach = 4.302653 * 13**0.5 / 3**0.5

    assert (found.estimate, found.low, found.high) == pytest.approx((5, 5 - reach, 5 + reach))
    assert count_interval([2, 4, 9], lowest=0.0).low == 0
    sums = interval_of_sums(3, 15, 101)
    assert (sums.low, sums.high) == pytest.approx((0, 5 + reach))
    two = interval_of_sums(2, 10, 52)
    assert two.high == pytest.approx(5 + 12.706205)
    single = interval_of_sums(1, 7, 49)
    assert (single.estimate, single.low, single.high) == (7, 7, 7)
    one = count_interval([2, 4], clusters=["a", "a"])
    assert (one.low, one.high, one.method) == (3, 3, "no spread was seen")
    assert count_interval([2, 4, 9], clusters=["a", "a", "b"]).width > found.width


@pytest.mark.parametrize(
    ("clusters", "units"),
    [
        (None, 5), ([None] * 5, 5), (["a"] * 5, 1), (["a", "a", "b", "b", "b"], 2),
        (["a", None, "a", None, "b"], 4), ([0, 0, 1, None, None], 4), (["", "", None, 0, 0], 3),
    ],
)  # fmt: skip
def test_a_unit_is_a_cluster_or_a_row_without_one(
    clusters: Sequence[Hashable | None] | None, units: int
) -> None:
    """A cluster may be named 0 or be an empty text."""
    assert count_units(5, clusters) == units
    totals, sizes = cluster_totals([1.0, 2.0, 4.0, 8.0, 16.0], clusters=clusters)
    assert (len(totals), sum(totals), sum(sizes)) == (units, 31, 5)
    if clusters is None or units == 5:
        assert (list(totals), list(sizes)) == ([1, 2, 4, 8, 16], [1] * 5)


def test_labels_must_be_of_both_kinds() -> None:
    """The message tells which are missing, and how many there are."""
    require_both_labels([True, False])
    for labels, told in (([True] * 3, "all 3 labels are True"), ([False], "all 1 labels are Fals")):
        with pytest.raises(TooFewLabelsError, match=told):
            require_both_labels(labels)
    with pytest.raises(InvalidScoresError, match="labels is empty"):
        require_both_labels([])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite_even_without_bounds(bad: float) -> None:
    """The place and the value are told; a number of any size is one."""
    require_scores("x", [-1e300, 5.0], bounds=None)
    with pytest.raises(InvalidScoresError, match=rf"x\[1\] is {bad!r}; it must be a finite number"):
        require_scores("x", [1.0, bad], bounds=None)
    with pytest.raises(
        InvalidScoresError, match=r"x\[0\] is -0.5; it must be a number from 0 to 2"
    ):
        require_scores("x", [-0.5, 3.0], bounds=(0, 2))
    with pytest.raises(InvalidScoresError, match=r"x\[1\] is 3.0"):
        require_scores("x", [2.0, 3.0], bounds=(0, 2))
