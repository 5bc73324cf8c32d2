"""Which cases of a long table run with the quick tests."""

from collections.abc import Sequence
from typing import Any

import pytest


def some_slow(cases: Sequence[Any], every: int) -> list[Any]:
    """Mark all cases but each `every`-th as slow: the quick tests see what breaks them all."""
    slow = [pytest.mark.slow]
    return [
        case if place % every == 0 else pytest.param(case, marks=slow)
        for place, case in enumerate(cases)
    ]
