"""Which numbers may enter a statistic? Each function refuses the others before any work is done."""

import math
from collections.abc import Sequence, Sized

from rag_evals.errors import (
    ConfigurationError,
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
)


def require_fraction(name: str, value: float) -> None:
    """Refuse a coverage or probability that is not between 0 and 1, such as a percentage."""
    if not 0 < value < 1:
        raise ConfigurationError(
            f"{name}={value!r} is not between 0 and 1; 95 % is written {name}=0.95"
        )


def require_positive(name: str, value: int) -> None:
    """Refuse a count below one."""
    if value < 1:
        raise ConfigurationError(f"{name}={value!r} is too small; it must be at least 1")


def require_scores(
    name: str, values: Sequence[float], *, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> None:
    """Refuse an empty list, and any value that is not finite or out of bounds (None: no bounds).

    Raises:
        InvalidScoresError: With the position and the value of the first offender.
    """
    if not values:
        raise InvalidScoresError(f"{name} is empty; at least one number is needed")
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    for position, value in enumerate(values):
        if not (low <= value <= high and math.isfinite(value)):
            wanted = "a finite number" if bounds is None else f"a number from {low:g} to {high:g}"
            raise InvalidScoresError(f"{name}[{position}] is {value!r}; it must be {wanted}")


def require_aligned(first_name: str, first: Sized, second_name: str, second: Sized) -> None:
    """Refuse two lists of different length; the longer is never cut silently."""
    if len(first) != len(second):
        raise UnpairedScoresError(
            f"{len(first)} {first_name}, {len(second)} {second_name}; "
            "both lists need one entry for each sample, in the same order"
        )


def require_both_labels(labels: Sequence[bool]) -> None:
    """Refuse labels of which all are alike: nothing tells the two kinds apart."""
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    if all(labels) or not any(labels):
        raise TooFewLabelsError(
            f"all {len(labels)} labels are {bool(labels[0])!r}; both labels are needed"
        )
