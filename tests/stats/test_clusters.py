"""Is the standard error right when rows are not independent?"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.intervals import (
    count_interval,
    effective_rows,
    interval_of_sums,
    mean_error,
)

SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=8)


def test_independent_rows_give_the_textbook_error() -> None:
    """Without clusters the error of 1, 2, 3, 4 is s / sqrt(n) with n - 1 degrees of freedom."""
    result = mean_error([1.0, 2.0, 3.0, 4.0])

    assert result.mean == 2.5
    assert result.standard_error == pytest.approx(math.sqrt(5 / 3 / 4))
    assert result.degrees_of_freedom == pytest.approx(3)


def test_equal_clusters_agree_with_statsmodels() -> None:
    """Ten clusters of four rows have the clustered error that statsmodels reports."""
    # python -c "import numpy as np, statsmodels.api as sm
    # x = [(i * 37 % 101) / 100 for i in range(40)]
    # print(sm.OLS(x, np.ones(40)).fit(cov_type='cluster',
    #       cov_kwds={'groups': np.arange(40) // 4}).bse)"                  statsmodels 0.15.0
    values = [(row * 37 % 101) / 100 for row in range(40)]

    result = mean_error(values, clusters=[row // 4 for row in range(40)])

    assert result.standard_error == pytest.approx(0.033131052906098045)
    assert result.degrees_of_freedom == pytest.approx(9)
    assert result.units == 10


@given(SIZES)
def test_unequal_clusters_agree_with_the_matrix_formula(sizes: list[int]) -> None:
    """Error and degrees of freedom are those of Bell and McCaffrey's matrices."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.array([(row * 37 % 101) / 100 for row in range(len(clusters))])
    error, freedom = _by_matrices(values, clusters)

    result = mean_error(values.tolist(), clusters=clusters.tolist())

    assert result.standard_error == pytest.approx(error, abs=1e-12)
    assert result.degrees_of_freedom == pytest.approx(freedom, rel=1e-6)


def _by_matrices(values: "np.ndarray", clusters: "np.ndarray") -> tuple[float, float]:
    rows = len(values)
    annihilator = np.eye(rows) - np.ones((rows, rows)) / rows
    variance, columns = 0.0, []
    for cluster in np.unique(clusters):
        inside = clusters == cluster
        roots, axes = np.linalg.eigh(annihilator[np.ix_(inside, inside)])
        adjustment = axes @ np.diag(roots**-0.5) @ axes.T
        pull = np.ones(inside.sum()) @ adjustment / rows
        variance += float(pull @ (values - values.mean())[inside]) ** 2
        columns.append(annihilator[:, inside] @ pull)
    directions = np.array(columns).T
    freedoms = []
    for working in (np.eye(rows), (clusters[:, None] == clusters[None]).astype(float)):
        weights = np.linalg.eigvalsh(directions.T @ working @ directions)
        freedoms.append(float(weights.sum() ** 2 / (weights**2).sum()))
    return math.sqrt(variance), min(freedoms)


def test_a_row_without_cluster_stands_alone() -> None:
    """None among the clusters is a cluster of one row, not a common one."""
    alone = mean_error([0.1, 0.5, 0.9], clusters=[None, None, None])

    independent = mean_error([0.1, 0.5, 0.9])
    assert alone.standard_error == pytest.approx(independent.standard_error)
    assert alone.degrees_of_freedom == pytest.approx(independent.degrees_of_freedom)
    assert alone.units == independent.units


def test_one_cluster_is_refused() -> None:
    """All rows in one cluster show no spread between clusters, so there is no error to give."""
    with pytest.raises(InvalidScoresError, match=r"3 value.* in 1 cluster"):
        mean_error([0.1, 0.5, 0.9], clusters=["a", "a", "a"])


def test_identical_statements_count_once() -> None:
    """Twenty answers of five equal verdicts are worth twenty rows, not a hundred."""
    matches = [place % 4 != 0 for place in range(20) for _ in range(5)]
    clusters = [place for place in range(20) for _ in range(5)]

    assert effective_rows(matches, clusters=clusters) == pytest.approx(20, rel=1e-9)
    assert effective_rows(matches) == 100


def test_effective_rows_by_hand() -> None:
    """Variance of one yes/no row / variance of the mean, plus 1; of clusters, and of weights."""
    # Residual sums 1, 0, -1 and 0 of pairs: (1 + 1) / (1 - 2/8) / 8**2 = 1/24, and 1/4 / (1/24).
    matches = [True, True, True, False, False, False, True, False]
    assert effective_rows(matches, clusters=[*"aabbccdd"]) == pytest.approx(6 + 1)
    # Two clusters, residual sums 1/2 and -1/2: (1/4 + 1/4) / (1 - 2/4) / 4**2 = 1/16.
    assert effective_rows([True, True, True, False], clusters=[*"aabb"]) == pytest.approx(3 + 1)
    # Weighted mean 1/2, residuals -1, 1/3, 1/3 and 1/3: 4/3 / 3 / 4 = 1/9, and 1/4 / (1/9).
    found = effective_rows([False, True, True, True], weights=[3.0, 1.0, 1.0, 1.0])
    assert found == pytest.approx(2.25 + 1)
    assert effective_rows([True]) == effective_rows([True, False], clusters=["a", "a"]) == 1
    # All alike: four rows times (3 + 1 + 1 + 1)**2 / (9 + 1 + 1 + 1) / 4.
    assert effective_rows([True] * 4, weights=[3.0, 1.0, 1.0, 1.0]) == pytest.approx(3)
    # One cluster is one row, however uneven its weights are.
    assert effective_rows([True, False], clusters=["a", "a"], weights=[3.0, 1.0]) == 1


def test_without_disagreement_only_clusters_count() -> None:
    """When all rows are equal, their likeness cannot be seen and each cluster counts once."""
    assert effective_rows([True] * 12, clusters=[row // 3 for row in range(12)]) == 4


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_sums_give_the_same_interval_as_the_counts(counts: list[int]) -> None:
    """An index of a run adds counts up; the interval of their mean needs no more."""
    squares = sum(count * count for count in counts)
    found = interval_of_sums(len(counts), sum(counts), squares)
    expected = count_interval(counts, lowest=0.0)

    assert found.method == expected.method
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )
