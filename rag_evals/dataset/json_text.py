"""What does a JSON text hold? Read fast, and only as deep and long as Python can handle."""

import json
import re
import sys
from typing import Any

from pydantic_core import from_json

# What the fast parser allows; deeper values would exhaust the stack where they are written again.
_MAX_LEVELS = 200
_MAX_DIGITS = 4300
_LONG_NUMBER = re.compile(f"[0-9]{{{_MAX_DIGITS + 1}}}")


class UnusableJsonError(ValueError):
    """Sound JSON that no row needs: nested too deeply, or with a number of thousands of digits."""


def loaded_json(text: bytes) -> Any:
    """Read JSON.

    Args:
        text: UTF-8, without a byte order mark.

    Raises:
        UnusableJsonError: It is too much.
        UnicodeDecodeError: It is not UTF-8.
        json.JSONDecodeError: It is broken.
    """
    try:
        loaded = from_json(text)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep() from error
        # The standard parser is slower, takes what the fast one refuses (a lone surrogate, which
        # the sample then reports with its field), and says more about what is wrong.
        return _loaded_slowly(text.decode("utf-8"))
    if len(text) > _MAX_DIGITS and _LONG_NUMBER.search(text.decode("utf-8")):
        _loaded_slowly(text.decode("utf-8"))
    return loaded


def _loaded_slowly(text: str) -> Any:
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        digits = sys.get_int_max_str_digits()
        raise UnusableJsonError(f"a number has more than {digits} digits; write it as text") from (
            error
        )
    if _is_deep(loaded, _MAX_LEVELS):
        raise _too_deep()
    return loaded


def _is_deep(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deep(one, levels - 1) for one in inner)


def _too_deep() -> UnusableJsonError:
    return UnusableJsonError(f"JSON nested too deeply; {_MAX_LEVELS} levels can be read")
