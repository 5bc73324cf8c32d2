"""A mean difference over all rows, from a sample of them and a free judge of all."""

import random
from dataclasses import replace

import pytest

from rag_evals.errors import UnpairedScoresError
from rag_evals.stats import SampledDifference, compare_paired, sampled_difference

Rows = tuple[list[float], list[float], list[int]]


def rows_of(seed: int, *, documents: int = 200, agreement: float = 0.8) -> Rows:
    """Draw rows in documents: what the dear judge sees change, what the free one sees, documents.

    A quarter of the rows change; two of three of the changes are for the better.
    """
    rng = random.Random(seed)
    dear, free, places = [], [], []
    for document in range(documents):
        change = rng.choice((1.0, 1.0, -1.0)) if rng.random() < 0.25 else 0.0
        for _ in range(3):
            own = change if rng.random() < 0.7 else rng.choice((0.0, 0.0, 0.0, 1.0, 1.0, -1.0))
            dear.append(own)
            free.append(own if rng.random() < agreement else rng.choice((0.0, 0.5, -0.5)))
            places.append(document)
    return dear, free, places


def sampled(rows: Rows, size: int, seed: int) -> SampledDifference | None:
    """Let the dear judge grade a sample."""
    dear, free, documents = rows
    chosen = set(random.Random(seed).sample(range(len(dear)), size))
    others = [n for n in range(len(dear)) if n not in chosen]
    inside = sorted(chosen)
    return sampled_difference(
        [dear[n] for n in inside],
        [free[n] for n in inside],
        [free[n] for n in others],
        clusters=[documents[n] for n in inside],
        other_clusters=[documents[n] for n in others],
    )


def test_the_interval_covers_as_often_as_it_says() -> None:
    """95 % of 300 draws hold the true difference, clusters included, and are narrower."""
    truth = 0.7 * 0.25 / 3 + 0.3 / 6
    covered, narrower = 0, 0
    for seed in range(300):
        rows = rows_of(seed)
        found = sampled(rows, 120, seed)
        assert found is not None
        covered += found.difference.contains(truth)
        narrower += found.effective_rows > 1.3 * found.sampled

    # Four standard errors below 95 %.
    assert covered >= 300 * 0.90
    assert narrower >= 295


def test_interval_and_test_say_the_same() -> None:
    """0 lies outside exactly where the p-value is at most 0.05."""
    found = [each for seed in range(40) if (each := sampled(rows_of(seed), 120, seed))]

    assert {each.significance.p_value <= 0.05 for each in found} == {True, False}
    assert all(
        (each.significance.p_value <= 0.05) is not each.difference.contains(0.0) for each in found
    )


def test_worked_by_hand() -> None:
    """20 rows of which half gain 1, seen by the free judge; of 40 others a quarter gains."""
    dear = [1.0, 0.0] * 10
    found = sampled_difference(dear, dear, [1.0, 0.0, 0.0, 0.0] * 10)

    assert found is not None
    # Covariance 5/19, spread of all 60 guesses (20 - 400/60)/59, and 1 + 20/40.
    assert found.power == pytest.approx((5 / 19) / (1.5 * (20 - 400 / 60) / 59))
    assert found.difference.estimate == pytest.approx(0.5 + found.power * (0.25 - 0.5))
    # The parts of the rows: what the free judge leaves, 60/20 times, and what it sees, 60/40 times.
    left, seen = 3 * 0.5 * (1 - found.power), 1.5 * found.power
    squares = 20 * left**2 + 10 * (0.75 * seen) ** 2 + 30 * (0.25 * seen) ** 2
    # Student's quantile with 20 - 2 degrees of freedom: one for the mean, one for the power.
    reach = 2.100922 * (squares / (60 * 59)) ** 0.5
    assert found.difference.width == pytest.approx(2 * reach, rel=1e-4)


@pytest.mark.parametrize(
    ("dear", "free", "others"),
    [
        ([1.0] * 19, [1.0] * 19, [0.0] * 100),  # too few rows
        # Too few that differ.
        ([0.0] * 191 + [1.0] * 9, [0.0] * 191 + [1.0] * 9, [0.0] * 764 + [1.0] * 36),
        ([1.0, 0.0] * 20, [0.0] * 40, [0.0] * 100),  # a free judge that sees nothing
        ([1.0, 0.0] * 20, [0.0, 1.0] * 20, [1.0, 0.0] * 50),  # one that sees the opposite
        ([1.0, 0.0] * 20, [1.0, 0.0] * 20, [0.0] * 5),  # nothing left to see
    ],
)
def test_where_the_free_judge_says_nothing_there_is_none(
    dear: list[float], free: list[float], others: list[float]
) -> None:
    """The comparison is then that of the sample."""
    assert sampled_difference(dear, free, others) is None


def test_a_comparison_takes_it_over() -> None:
    """Difference, p-value and detectable effect change together; a weak judge changes nothing."""
    rows = rows_of(3)
    found = sampled(rows, 120, 3)
    plain = compare_paired([0.0, 0.5] * 60, [0.5, 0.0] * 60)

    assert found is not None
    assert plain.over_all_rows(None) is plain
    taken = plain.over_all_rows(found)
    assert (taken.difference, taken.significance) == (found.difference, found.significance)
    assert taken.detectable is not None
    assert plain.detectable is not None
    assert taken.detectable < plain.detectable
    for worth, is_taken in ((1.09, False), (1.11, True)):
        weak = replace(found, effective_rows=worth * found.sampled)
        assert (plain.over_all_rows(weak) is not plain) == is_taken
    with pytest.raises(UnpairedScoresError):
        sampled_difference([1.0], [], [])
