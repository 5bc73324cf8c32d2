"""Do intervals hold what they promise, down to one row?"""

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, InvalidScoresError, UnpairedScoresError
from rag_evals.stats import mean_interval
from rag_evals.stats.intervals import MeanError, wilson_limits
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
