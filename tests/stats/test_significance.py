"""Are the p-values right, whichever way they were computed?"""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import InvalidScoresError
from rag_evals.stats import compare_paired, holm_adjusted
from rag_evals.stats.paired import sign_flip_test
from tests.late import Late

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

TENTHS = st.integers(-10, 10).map(lambda tenths: tenths / 10)


def flip_p(differences: Sequence[float], clusters: Sequence[int] | None = None) -> float:
    """Return the p-value of the sign flips."""
    found = sign_flip_test(differences, clusters=clusters)
    assert found is not None
    return found.p_value


def test_sign_flips_counted_by_hand() -> None:
    """Differences 1, 1 and -0.5: four of the eight sign patterns sum to 1.5 or more either way."""
    # +-1 +-1 +-0.5: sums 2.5, 1.5, 0.5, -0.5 and their negatives; |sum| >= 1.5 in four of eight.
    assert flip_p([1.0, 1.0, -0.5]) == 4 / 8


def test_five_wins_cannot_be_significant() -> None:
    """With five samples the smallest p-value is 2 / 32."""
    assert flip_p([0.1, 0.2, 0.3, 0.4, 0.5]) == 2 / 32


def test_no_p_value_of_random_flips_is_zero() -> None:
    """None of 10,000 patterns is as extreme as forty wins; the one that was seen counts too."""
    assert flip_p([0.5] * 40) == pytest.approx(1 / 10_001)


@pytest.mark.parametrize("wins", [20, 23, 25, 28])
def test_random_flips_count_ties_as_extreme(wins: int) -> None:
    """Differences of one size are a sign test, in which most extreme patterns are ties."""
    drawn = sign_flip_test([0.1] * wins + [-0.1] * (40 - wins))
    expected = float(scipy_stats.binomtest(wins, 40).pvalue)

    assert drawn is not None
    assert drawn.test == "Monte Carlo sign-flip"
    # The standard error of a share of 10,000 patterns is at most 0.005.
    assert drawn.p_value == pytest.approx(expected, abs=0.015)


@given(st.lists(TENTHS, min_size=2, max_size=10))
def test_exact_p_agrees_with_scipy(differences: list[float]) -> None:
    """Up to ten samples the p-value is that of scipy's exhaustive permutation test."""
    # scipy counts ties with a relative tolerance that fails at a mean of 0; tenfold whole numbers
    # keep its sums exact.
    whole = np.round(np.array(differences) * 10)
    expected = scipy_stats.permutation_test(
        (whole,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue

    assert flip_p(differences) == pytest.approx(float(expected))


@given(st.lists(TENTHS, min_size=1, max_size=28))
def test_direction_does_not_matter(differences: list[float]) -> None:
    """Swapping baseline and candidate leaves the p-value, which lies above 0 and at most 1."""
    p_value = flip_p(differences)

    assert 0 < p_value <= 1
    assert flip_p([-change for change in differences]) == pytest.approx(p_value)


def test_a_cluster_flips_as_one() -> None:
    """Thirty samples in three documents have eight sign patterns, not 2**30."""
    clusters = [row // 10 for row in range(30)]

    assert flip_p([0.5] * 30, clusters=clusters) == 2 / 8


def test_random_flips_agree_with_the_exact_count() -> None:
    """Random sign patterns of 29 samples land where the exact count of 28 of them does."""
    differences = [((row * 37) % 23 - 8.5) / 20 for row in range(28)]
    exact, drawn = sign_flip_test(differences), sign_flip_test([*differences, 1e-7])

    assert exact is not None
    assert drawn is not None
    assert (exact.test, drawn.test) == ("exact sign-flip", "Monte Carlo sign-flip")
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    assert drawn == sign_flip_test([*differences, 1e-7])


def test_the_t_test_takes_over_above_2000_rows() -> None:
    """The random flips at 2,000 samples and the t test at 2,001 give the same p-value."""
    rng = random.Random(5)
    scores = [0.5 + rng.uniform(-0.4, 0.41) for _ in range(2_001)]
    differences = [score - 0.5 for score in scores]
    compared = compare_paired([0.5] * 2_001, scores)

    assert sign_flip_test(differences) is None
    assert compared.significance.test == "cluster-robust t"
    assert flip_p(differences[:2_000]) == pytest.approx(compared.significance.p_value, abs=0.02)
    expected = float(scipy_stats.ttest_1samp(differences, 0).pvalue)
    assert compared.significance.p_value == pytest.approx(expected, rel=1e-6)


def test_no_difference_anywhere() -> None:
    """Identical runs have p-value 1, however many rows."""
    assert flip_p([0.0] * 5) == 1
    assert flip_p([0.0] * 5_000) == 1


def test_bad_differences_are_refused() -> None:
    """Nothing and NaN raise."""
    with pytest.raises(InvalidScoresError, match="empty"):
        sign_flip_test([])
    with pytest.raises(InvalidScoresError, match=r"differences\[0\] is nan"):
        sign_flip_test([float("nan")])


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
