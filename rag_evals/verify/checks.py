"""Is a setting of a verifier, or of a cache of verdicts, a number that it can work with?"""

from numbers import Integral, Real

from rag_evals.errors import ConfigurationError


def require_fraction(name: str, value: object, *, otherwise: str = "") -> float:
    """Refuse what is no number from 0 to 1: text, True and NaN are none.

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
    """Refuse what is no whole number, or too small a one: text, True and 3.0 are none.

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
