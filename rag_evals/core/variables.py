"""What does an environment variable say where it stands for a number?"""

import math
import os
from collections.abc import Callable

from rag_evals.errors import ConfigurationError


def number_in_variable(
    name: str, default: float, fits: Callable[[float], bool], wanted: str
) -> float:
    """Read a number from an environment variable.

    Args:
        name: Of the variable.
        default: What holds where it is not set, or empty.
        fits: Says whether a number can be used; NaN, which stands for what is no number, must not.
        wanted: What would be right, for the message.

    Raises:
        ConfigurationError: It is no number, or none that can be used.
    """
    written = os.environ.get(name)
    if not written:
        return default
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not fits(number):
        raise ConfigurationError(f"{name} is {written!r}; expected {wanted}")
    return number
