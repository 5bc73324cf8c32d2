"""Where a judge may decide alone: the error that was promised is kept, clusters included."""

import random
from typing import Any

import pytest

from rag_evals.errors import ConfigurationError
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
    # Four rows of two equal verdicts, of which one is wrong, are worth four times the squared ratio
    # of scipy.stats.t.ppf(0.975, 7), 2.364624, and with 3 degrees of freedom, 3.182446: 2.208317.
    # scipy.stats.beta.ppf(0.975, 2.208317 / 4 + 1, 2.208317 * 3 / 4)
    few = error_bound([True] * 2 + [False] * 6, [*"aabbccdd"], confidence=0.975)
    assert few == pytest.approx(0.924225, abs=1e-6)
    # All wrong, and none of 20: 1 - 0.05 ** (1 / 20).
    assert error_bound([True] * 5, [None] * 5) == 1
    assert error_bound([False] * 20, [None] * 20) == pytest.approx(0.139108, abs=1e-6)


def test_the_last_limit_is_the_support_next_to_a_wrong_one() -> None:
    """Of 240 supports the first 100 are right: limits are tried by fours, and 104 fail.

    With eight equal supports across the border, the last limit is the one before them.
    """
    supports = [1 - place / 240 for place in range(240)]
    labels = [place < 100 for place in range(240)]
    equal = [supports[99] if 95 <= place <= 102 else one for place, one in enumerate(supports)]
    one_wrong = [place != 90 and label for place, label in enumerate(labels)]

    assert sure_side(labels, supports, "supported") == SureSide(supports[99], 100, 0)
    assert sure_side(labels, supports, "unsupported") == SureSide(supports[100], 140, 0)
    assert sure_side(labels, equal, "supported") == SureSide(supports[91], 92, 0)
    assert sure_side(one_wrong, supports, "supported", max_error=0.06) == SureSide(
        supports[99], 100, 1
    )


def test_no_limit_is_tried_beyond_one_that_failed() -> None:
    """78 rows suffice; the next 30 statements are of one row, and 300 rows beyond do not help."""
    supports = [1 - place / 820 for place in range(820)]
    labels = [place < 410 for place in range(820)]
    rows = ["big" if 80 <= place < 110 else place for place in range(820)]

    # Limits are tried by 13: six errors in 416 pass, 19 in 429 do not.
    assert sure_side(labels, supports, "supported") == SureSide(supports[415], 416, 6)
    assert sure_side(labels, supports, "supported", clusters=rows) == SureSide(supports[77], 78, 0)


def test_rows_whose_errors_are_unlike_count_in_full() -> None:
    """Each row has one support near 0.7 and one near 1, or near 0 and 0.3: its errors differ."""
    supports = [base + 0.3 * place / 119 for base in (0.7, 0.0) for place in range(120)]
    labels = [True] * 120 + [False] * 120
    rows = [f"{side}{min(place, 119 - place)}" for side in "ab" for place in range(120)]
    alike = [f"{side}{place // 2}" for side in "ab" for place in range(120)]

    assert sure_side(labels, supports, "supported", clusters=rows) == SureSide(0.7, 120, 0)
    assert sure_side(labels, supports, "supported", clusters=alike) is None


def test_percent_for_a_share_is_refused() -> None:
    """5 is answered with how to write 5 %."""
    with pytest.raises(ConfigurationError, match="max_error=5 is not between 0 and 1"):
        sure_side([True, False], [0.9, 0.1], "supported", max_error=5)
    with pytest.raises(ConfigurationError, match="confidence=95 is not between 0 and 1"):
        sure_side([True, False], [0.9, 0.1], "supported", confidence=95)


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
    # One row only, or no difference at all: nothing is seen.
    assert row_likeness(values, ["a"] * 4) == 0
    assert row_likeness([0.5] * 4, ["a", "a", "b", "b"]) == 0
    # All differences are between rows.
    assert row_likeness([1.0, 1.0, 3.0, 3.0], ["a", "a", "b", "b"]) == 1
    # Rows of 3, 2 and 1 with means 2, 5 and 8, and 4 in all: between (3*4 + 2 + 16) / 2 = 15,
    # within (2 + 2) / 3, and a size of (6 - 14 / 6) / 2 = 11 / 6.
    found = row_likeness([1.0, 2.0, 3.0, 4.0, 6.0, 8.0], ["a", "a", "a", "b", "b", None])
    assert found == pytest.approx((15 - 4 / 3) / (15 + 5 / 6 * 4 / 3))


def test_few_rows_of_like_statements_are_worth_less_than_their_number() -> None:
    """Four rows of two equal statements: four, times the squared ratio of Student's quantiles."""
    found = independent_rows([0.0, 0.0, 1.0, 1.0] * 2, [*"aabbccdd"])

    # scipy.stats.t.ppf(0.95, 7) is 1.894579, and with 3 degrees of freedom 2.353363.
    assert found == pytest.approx(4 * (1.894579 / 2.353363) ** 2, abs=1e-5)
    # With 3 degrees of freedom and 1, whose quantile is 6.313752: two rows of two equal values.
    two = independent_rows([0.0, 0.0, 1.0, 1.0], [*"aabb"])
    assert two == pytest.approx(2 * (2.353363 / 6.313752) ** 2, abs=1e-5)
    assert independent_rows([0.0, 1.0, 1.0], [*"aaa"]) == 1
    assert independent_rows([0.0, 1.0, 1.0], [*"abc"]) == 3


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


def test_numbers_are_labels_as_well() -> None:
    """Labels of 0 and 1 from a file count as False and True do, on either side."""
    labels = [False, False] + [True] * 150 + [False] * 100
    supports = [0.95] * 2 + [0.9] * 150 + [0.1] * 100
    numbers: list[Any] = [int(label) for label in labels]
    for each in (labels, numbers):
        assert sure_side(each, supports, "supported") == SureSide(0.9, 152, 2)
        assert sure_side(each, supports, "unsupported") == SureSide(0.1, 100, 0)


@pytest.mark.parametrize(("confidence", "count"), [(0.9, 45), (0.975, 72), (0.99, 90)])
def test_a_surer_limit_needs_more_labels(confidence: float, count: int) -> None:
    """0.95 ** n must be at most the rest: of 45, 72 and 90 statements without an error."""
    for labels, found in ((count - 1, None), (count, SureSide(0.9, count, 0))):
        said = [True] * labels + [False] * 20
        supports = [0.9] * labels + [0.1] * 20
        assert sure_side(said, supports, "supported", confidence=confidence) == found


def test_rows_of_their_own_are_each_one() -> None:
    """Two rows without a name are no group beside two of one name."""
    values = [1.0, 3.0, 5.0, 9.0]

    # Groups of 2, 1 and 1 with means 2, 5 and 9, and 4.5 in all: between (2 * 6.25 + 0.25 + 20.25)
    # / 2 = 16.5, within (1 + 1) / 1, and a size of (4 - 6 / 4) / 2 = 1.25.
    found = row_likeness(values, ["a", "a", None, None])
    assert found == pytest.approx((16.5 - 2) / (16.5 + 0.25 * 2))
    assert independent_rows(values, [None] * 4) == 4
    # Two rows of 3 and 1: Kish's size is 10 / 4.
    alike = row_likeness(values, ["a", "a", "a", "b"])
    worth = 4 / (1 + 1.5 * alike) * (2.353363 / 6.313752) ** 2
    assert independent_rows(values, ["a", "a", "a", "b"]) == pytest.approx(worth, rel=1e-5)
    assert independent_rows(values, ["a"] * 4) == 1
