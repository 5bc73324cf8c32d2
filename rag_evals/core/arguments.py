"""Is an argument what it must be? A known keyword, a share, a whole number."""

import difflib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

from rag_evals.errors import ConfigurationError, UnknownArgumentError


def require_known(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse keywords that a function which takes any does not know.

    Args:
        function: Its name, or that of a class.
        given: The keywords of a call.
        known: What it takes.

    Raises:
        UnknownArgumentError: For the first, with the nearest one.
    """
    for name in given:
        if name not in known:
            near = next(iter(difflib.get_close_matches(name, known, n=1)), None)
            raise UnknownArgumentError.of(function, name, near, known)


def require_fraction(name: str, value: object, *, otherwise: str = "") -> float:
    """Refuse a value that is not a number from 0 to 1, such as text, True or NaN.

    Args:
        name: What the caller calls it; it opens the message.
        value: What was given.
        otherwise: What would be right as well, for the end of the message.

    Raises:
        ConfigurationError: With the value.
    """
    if not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) <= 1:
        return float(value)
    raise ConfigurationError(f"{name} is {value!r}; expected a number from 0 to 1{otherwise}")


def require_whole(name: str, value: object, *, least: int = 1) -> int:
    """Refuse a value that is not a whole number, such as text, True or 3.0, or is too small.

    Args:
        name: What the caller calls it; it opens the message.
        value: What was given.
        least: The smallest that is right.

    Raises:
        ConfigurationError: With the value.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigurationError(f"{name} is {value!r}; expected a whole number, at least {least}")
    if int(value) < least:
        raise ConfigurationError(f"{name} is {value!r}; expected at least {least}")
    return int(value)
