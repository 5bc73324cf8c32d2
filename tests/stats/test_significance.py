"""Are the p-values right, whichever way they were computed?"""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import holm_adjusted
from rag_evals.stats.paired import sign_flip_test

TENTHS = st.integers(-10, 10).map(lambda tenths: tenths / 10)


def test_sign_flips_counted_by_hand() -> None:
    """Differences 1, 1 and -0.5: four of the eight sign patterns sum to 1.5 or more either way."""
    # +-1 +-1 +-0.5: sums 2.5, 1.5, 0.5, -0.5 and their negatives; |sum| >= 1.5 in four of eight.
    result = sign_flip_test([1.0, 1.0, -0.5])

    assert result.p_value == 4 / 8
    assert result.test == "exact sign-flip"
    assert result.resamples is None


def test_five_wins_cannot_be_significant() -> None:
    """With five samples the smallest p-value is 2 / 32."""
    assert sign_flip_test([0.1, 0.2, 0.3, 0.4, 0.5]).p_value == 2 / 32


@given(st.lists(TENTHS, min_size=2, max_size=10))
def test_exact_p_agrees_with_scipy(differences: list[float]) -> None:
    """Up to ten samples the p-value is that of scipy's exhaustive permutation test."""
    # scipy counts ties with a relative tolerance that fails at a mean of 0; tenfold whole numbers
    # keep its sums exact.
    whole = np.round(np.array(differences) * 10)
    expected = scipy_stats.permutation_test(
        (whole,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue

    assert sign_flip_test(differences).p_value == pytest.approx(float(expected))


@given(st.lists(TENTHS, min_size=1, max_size=28))
def test_direction_does_not_matter(differences: list[float]) -> None:
    """Swapping baseline and candidate leaves the p-value, which lies above 0 and at most 1."""
    p_value = sign_flip_test(differences).p_value

    assert 0 < p_value <= 1
    assert sign_flip_test([-change for change in differences]).p_value == pytest.approx(p_value)


def test_random_flips_agree_with_the_exact_count() -> None:
    """Random sign patterns of 29 samples land where the exact count of 28 of them does."""
    differences = [((row * 37) % 23 - 8.5) / 20 for row in range(28)]
    exact = sign_flip_test(differences)
    drawn = sign_flip_test([*differences, 1e-7], resamples=20_000)

    assert exact.test == "exact sign-flip"
    assert drawn.test == "Monte Carlo sign-flip"
    assert drawn.resamples == 20_000
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.01)


@pytest.mark.parametrize("shift", [0.0, pytest.param(0.012, marks=pytest.mark.slow)])
def test_all_three_tests_agree_at_their_border(shift: float) -> None:
    """The random flips at 2,000 samples and the t test at 2,001 give the same p-value."""
    rng = random.Random(5)
    differences = [rng.gauss(shift, 0.25) for _ in range(2_000)]
    drawn = sign_flip_test(differences, resamples=20_000)
    analytic = sign_flip_test([*differences, 0.0])

    assert drawn.test == "Monte Carlo sign-flip"
    assert analytic.test == "cluster-robust t"
    assert analytic.p_value == pytest.approx(drawn.p_value, abs=0.01)


def test_the_t_test_agrees_with_scipy() -> None:
    """Above 2,000 samples the p-value is that of the one-sample t test."""
    differences = [((row * 37) % 101 - 49) / 100 for row in range(3_000)]
    expected = float(scipy_stats.ttest_1samp(differences, 0).pvalue)

    assert sign_flip_test(differences).p_value == pytest.approx(expected, rel=1e-6)


def test_a_cluster_flips_as_one() -> None:
    """Thirty samples in three documents have eight sign patterns, not 2**30."""
    clusters = [row // 10 for row in range(30)]

    assert sign_flip_test([0.5] * 30, clusters=clusters).p_value == 2 / 8


def test_no_difference_anywhere() -> None:
    """Identical runs have p-value 1, however many rows."""
    assert sign_flip_test([0.0] * 5).p_value == 1
    assert sign_flip_test([0.0] * 5_000).p_value == 1


def test_equal_differences_in_many_samples() -> None:
    """A difference that never varies has a tiny p-value and no division by zero."""
    assert 0 < sign_flip_test([0.5] * 5_000).p_value < 1e-100
    # Of 30 clusters only the two unanimous patterns of 2**30 are as extreme.
    clustered = sign_flip_test([0.5] * 2100, clusters=[n % 30 for n in range(2100)])
    assert clustered.p_value == 2**-29


def test_a_seed_repeats() -> None:
    """The same seed gives the same p-value."""
    differences = [((row * 37) % 21 - 9) / 20 for row in range(100)]

    assert sign_flip_test(differences, seed=2) == sign_flip_test(differences, seed=2)


def test_bad_differences_are_refused() -> None:
    """Nothing and NaN raise, and so do zero resamples."""
    with pytest.raises(InvalidScoresError, match="empty"):
        sign_flip_test([])
    with pytest.raises(InvalidScoresError, match=r"differences\[0\] is nan"):
        sign_flip_test([float("nan")])
    with pytest.raises(ConfigurationError, match="resamples=0"):
        sign_flip_test([0.1], resamples=0)


def test_holm_agrees_with_statsmodels() -> None:
    """Five p-values are adjusted as statsmodels adjusts them, in the order given."""
    # python -c "from statsmodels.stats.multitest import multipletests
    # print(multipletests([.01, .04, .03, .005, .5], method='holm')[1])"     statsmodels 0.15.0
    adjusted = holm_adjusted([0.01, 0.04, 0.03, 0.005, 0.5])

    assert adjusted == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_p_value(p_values: list[float]) -> None:
    """Adjusted p-values are no smaller, at most 1, and keep their order."""
    adjusted = holm_adjusted(p_values)

    assert all(new >= old for old, new in zip(p_values, adjusted, strict=True))
    assert max(adjusted) <= 1
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert [new for _, new in ranked] == sorted(adjusted)
