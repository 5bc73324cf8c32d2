"""Are our quantiles those of scipy?"""

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_evals.stats.distributions import (
    beta_cdf,
    beta_quantile,
    quantile,
    student_t_cdf,
    student_t_quantile,
)
from tests.late import Late

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

PROBABILITIES = st.floats(1e-4, 1 - 1e-4)


def test_a_textbook_t_quantile() -> None:
    """The 97.5 % quantile with 9 degrees of freedom is the 2.262 of every printed table."""
    assert student_t_quantile(0.975, 9) == pytest.approx(2.262, abs=5e-4)


@given(PROBABILITIES, st.floats(0.5, 1e5))
def test_student_t_quantile_agrees_with_scipy(probability: float, freedom: float) -> None:
    """Student quantiles agree with scipy for whole and fractional degrees of freedom."""
    assert student_t_quantile(probability, freedom) == pytest.approx(
        float(scipy_stats.t.ppf(probability, freedom)), rel=1e-7, abs=1e-8
    )


# Of a value next to 0, many degrees of freedom leave next to nothing.
@example(1e-5, 1e6)
@given(st.floats(-50, 50), st.floats(0.5, 1e5))
def test_student_t_cdf_agrees_with_scipy(value: float, freedom: float) -> None:
    """Student tail probabilities agree with scipy on both sides."""
    assert student_t_cdf(value, freedom) == pytest.approx(
        float(scipy_stats.t.cdf(value, freedom)), abs=1e-10
    )


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.5, 5e4), st.floats(0.5, 5e4))
def test_beta_cdf_agrees_with_scipy(value: float, a: float, b: float) -> None:
    """The incomplete beta function agrees with scipy, also for the counts of large runs."""
    assert beta_cdf(value, a, b) == pytest.approx(
        float(scipy_stats.beta.cdf(value, a, b)), abs=1e-9
    )


def test_all_is_between_0_and_1() -> None:
    """Nothing is below 0, and everything below 1."""
    assert [beta_cdf(value, 2, 3) for value in (-0.5, 0.0, 1.0, 1.5)] == [0, 0, 1, 1]


@given(PROBABILITIES, st.floats(0.5, 2e4), st.floats(0.5, 2e4))
def test_beta_quantile_inverts_the_cdf(probability: float, a: float, b: float) -> None:
    """A beta quantile has the probability below it that was asked for."""
    value = beta_quantile(probability, a, b)

    assert 0 <= value <= 1
    assert beta_cdf(value, a, b) == pytest.approx(probability, abs=1e-8)


@pytest.mark.parametrize("probability", [0.0, 0.025, 0.3, 0.5, 0.999, 1.0])
def test_quantiles_are_those_of_numpy(probability: float) -> None:
    """Quantiles interpolate as numpy does by default."""
    ordered = sorted((row * 37 % 101 / 100) ** 0.3 for row in range(60))

    assert quantile(ordered, probability) == pytest.approx(float(np.quantile(ordered, probability)))
    assert quantile([0.4], probability) == 0.4
