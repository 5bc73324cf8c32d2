"""Where a judge may decide alone: the error that was promised is kept, clusters included."""

import random

import pytest

from rag_evals.stats import SureSide, error_bound, sure_side
from rag_evals.stats.tuned import independent_rows, row_likeness


@pytest.mark.parametrize(("max_error", "is_enough"), [(0.0455, False), (0.0456, True)])
def test_the_bound_is_that_of_clopper_and_pearson(max_error: float, is_enough: bool) -> None:
    """One error in 120 decisions of independent statements, worked out by scipy."""
    labels = [False] + [True] * 119 + [False] * 30
    # scipy.stats.beta.ppf(0.975, 2, 119) is 0.0455555.
    found = sure_side(labels, [0.9] * 120 + [0.1] * 30, "supported", max_error=max_error)

    assert (found == SureSide(0.9, 120, 1)) is is_enough


def test_a_share_of_errors_has_an_upper_bound() -> None:
    """Independent rows have the bound of Clopper and Pearson; like ones have a higher one."""
    wrong = [True] + [False] * 119

    assert error_bound(wrong, [None] * 120, confidence=0.975) == pytest.approx(0.0455555, abs=1e-6)
    assert error_bound([True] * 10 + [False] * 110, [n // 10 for n in range(120)]) > 0.2


def test_each_side_is_asked_for_itself() -> None:
    """Sure of what is not supported, and never of what is."""
    rng = random.Random(1)
    supports = [rng.random() for _ in range(400)]
    labels = [support > 0.4 and rng.random() < 0.7 for support in supports]
    found = sure_side(labels, supports, "unsupported")

    assert sure_side(labels, supports, "supported") is None
    assert found is not None
    assert 0.25 < found.limit < 0.45


@pytest.mark.parametrize(("count", "is_enough"), [(30, False), (71, False), (72, True)])
def test_few_labels_promise_nothing(count: int, is_enough: bool) -> None:
    """72 statements without an error are the least that can show 5 % at 97.5 %."""
    labels = [True] * count + [False] * 20
    supports = [0.9] * count + [0.1] * 20

    assert (sure_side(labels, supports, "supported") is not None) is is_enough


def test_a_judge_that_says_nothing_decides_nothing() -> None:
    """No order and no second label: there is no side."""
    assert sure_side([True, False] * 60, [0.5] * 120, "supported") is None
    assert sure_side([True] * 120, [0.9] * 120, "supported") is None


def test_likeness_is_the_intraclass_correlation() -> None:
    """By hand, from mean squares; 0 where values differ as much inside of rows."""
    values = [1.0, 3.0, 5.0, 7.0]

    # Row means 2 and 6: between rows 2 * (4 + 4) / 1 = 16, within (1 + 1 + 1 + 1) / 2 = 2.
    assert row_likeness(values, ["a", "a", "b", "b"]) == pytest.approx(14 / 18)
    assert row_likeness(values, ["a", "b", "b", "a"]) == 0
    assert row_likeness(values, [None] * 4) == 0


def test_few_rows_of_like_statements_are_worth_less_than_their_number() -> None:
    """Four rows of two equal statements: four, times the squared ratio of Student's quantiles."""
    found = independent_rows([0.0, 0.0, 1.0, 1.0] * 2, [*"aabbccdd"])

    # scipy.stats.t.ppf(0.95, 7) is 1.894579, and with 3 degrees of freedom 2.353363.
    assert found == pytest.approx(4 * (1.894579 / 2.353363) ** 2, abs=1e-5)


@pytest.mark.parametrize(("alike", "rows", "least"), [(0.0, 40, 0), (0.6, 40, 0), (0.6, 120, 1)])
def test_the_promise_is_kept_with_clusters(alike: float, rows: int, least: int) -> None:
    """In seeded draws of answers with ten like statements, at most one in twenty breaks it."""
    rng = random.Random(2)
    decided = broken = 0
    for _ in range(15):
        labels, supports, groups = _answers(rng, rows, alike)
        found = sure_side(labels, supports, "supported", max_error=0.1, clusters=groups)
        if found is not None:
            decided += 1
            broken += _true_error(found.limit) > 0.1

    assert broken <= 1
    assert decided >= least


def _answers(
    rng: random.Random, rows: int, alike: float
) -> tuple[list[bool], list[float], list[int]]:
    """Draw statements that are supported as often as their support says, alike within a row."""
    labels, supports, groups = [], [], []
    for row in range(rows):
        common = rng.random()
        for _ in range(10):
            support = rng.random()
            luck = common if rng.random() < alike else rng.random()
            labels.append(luck < support)
            supports.append(support)
            groups.append(row)
    return labels, supports, groups


def _true_error(limit: float) -> float:
    return (1 - limit) / 2
