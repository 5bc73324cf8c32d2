"""How many rows show a difference: the inverse of the minimum detectable difference."""

import random

import pytest

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import compare_paired, minimum_detectable_difference, rows_to_detect


def test_rows_and_detectable_difference_are_inverse() -> None:
    """To see what 100 rows can see takes 100 rows; half of it takes four times as many."""
    rng = random.Random(2)
    old = [rng.random() for _ in range(100)]
    new = [min(1.0, max(0.0, score + rng.uniform(-0.3, 0.3))) for score in old]
    seen = minimum_detectable_difference(old, new)
    differences = [b - a for a, b in zip(old, new, strict=True)]

    assert seen is not None
    assert rows_to_detect(seen, differences) == pytest.approx(100, abs=1)
    assert rows_to_detect(seen / 2, differences) == pytest.approx(396, abs=6)
    assert rows_to_detect(seen, differences, power=0.9) > 120


def test_a_textbook_case() -> None:
    """Normal theory: (1.96 + 0.8416)² · 0.25 / 0.1² = 196.2 rows for differences of ±0.5."""
    assert rows_to_detect(0.1, [0.5, -0.5] * 5_000) == pytest.approx(198, abs=1)


def test_the_power_is_the_stated_one() -> None:
    """With that many rows 80 of 100 simulated comparisons find the difference."""
    rng = random.Random(4)
    pool = [rng.choice((-0.5, 0.0, 0.0, 0.5)) for _ in range(500)]
    mean = sum(pool) / 500
    rows = rows_to_detect(0.15, pool)
    found = 0
    for _ in range(60):
        drawn = [0.5 + (rng.choice(pool) - mean + 0.15) * 0.5 for _ in range(rows)]
        found += compare_paired([0.5] * rows, drawn, resamples=300).verdict == "better"

    assert 38 <= found <= 57


def test_alike_rows_need_more_of_them() -> None:
    """Rows that are equal within documents of four need four times as many."""
    rng = random.Random(1)
    documents = [rng.uniform(-0.5, 0.5) for _ in range(50)]
    differences = [change for change in documents for _ in range(4)]
    alone = rows_to_detect(0.1, documents)

    assert rows_to_detect(
        0.1, differences, clusters=[place // 4 for place in range(200)]
    ) == pytest.approx(4 * alone, rel=0.05)


def test_what_cannot_be_planned_is_refused() -> None:
    """A difference of 0 or 2, and rows without a spread, are refused."""
    for difference in (0.0, 2.0):
        with pytest.raises(ConfigurationError, match="3 points are written 0.03"):
            rows_to_detect(difference, [0.1, 0.2])
    with pytest.raises(InvalidScoresError, match="equal"):
        rows_to_detect(0.1, [0.1, 0.1])
