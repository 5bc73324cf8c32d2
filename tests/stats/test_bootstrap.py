"""Does the BCa bootstrap agree with scipy's, and respect clusters?"""

import statistics

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import bootstrap_interval
from rag_evals.stats.bootstrap import quantile

SKEWED = [(row * 37 % 101 / 100) ** 0.3 for row in range(60)]


def test_the_mean_agrees_with_scipy() -> None:
    """On 60 skewed scores the ends agree with scipy's BCa within the noise of resampling."""
    expected = scipy_stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval

    result = bootstrap_interval(SKEWED, resamples=20_000)

    assert result.estimate == pytest.approx(statistics.fmean(SKEWED))
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=2e-3)


def test_another_statistic_agrees_with_scipy() -> None:
    """The standard deviation, given as a function, agrees with scipy's BCa too."""
    expected = scipy_stats.bootstrap(
        (SKEWED,), np.std, n_resamples=5_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval

    result = bootstrap_interval(SKEWED, statistic=statistics.pstdev, resamples=2_000)

    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_the_same_seed_gives_the_same_interval() -> None:
    """Seeds repeat exactly and differ from each other."""
    assert bootstrap_interval(SKEWED, seed=3) == bootstrap_interval(SKEWED, seed=3)
    assert bootstrap_interval(SKEWED, seed=3) != bootstrap_interval(SKEWED, seed=4)


def test_whole_clusters_are_drawn() -> None:
    """Each answer repeated five times as a cluster gives the interval of the answers alone."""
    answers = SKEWED[:20]
    clusters = [place for place in range(20) for _ in range(5)]

    repeated = bootstrap_interval([s for s in answers for _ in range(5)], clusters=clusters)

    assert repeated.low == pytest.approx(bootstrap_interval(answers).low, abs=1e-12)


def test_equal_scores_do_not_promise_certainty() -> None:
    """Where resampling sees no spread, the exact limit for equal values is given."""
    result = bootstrap_interval([1.0] * 30)

    assert result.method == "exact limit for equal values"
    assert result.low == pytest.approx(0.8843, abs=1e-4)


def test_one_cluster_is_refused() -> None:
    """One cluster cannot be resampled."""
    with pytest.raises(InvalidScoresError, match="1 cluster"):
        bootstrap_interval([0.1, 0.2], clusters=["a", "a"])


def test_no_resamples_are_refused() -> None:
    """Zero resamples raise before any work."""
    with pytest.raises(ConfigurationError, match="resamples=0"):
        bootstrap_interval([0.1, 0.2], resamples=0)


@pytest.mark.parametrize("probability", [0.0, 0.025, 0.3, 0.5, 0.999, 1.0])
def test_quantiles_are_those_of_numpy(probability: float) -> None:
    """Quantiles interpolate as numpy does by default."""
    ordered = sorted(SKEWED)

    assert quantile(ordered, probability) == pytest.approx(float(np.quantile(ordered, probability)))
    assert quantile([0.4], probability) == 0.4
