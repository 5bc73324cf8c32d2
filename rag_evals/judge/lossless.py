"""Which values of a reply differ from the schema, but can mean only one thing?

"0" for a number is 0, "true" for a yes or no is True: asking again would cost a call and bring
nothing. Everything else that the schema does not allow is a fault: "1.5" is not an id, and 1 for a
yes or no may be a rating out of five.
"""

import copy
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

M = TypeVar("M", bound=BaseModel)

# As many digits as a float holds: nothing is lost on the way.
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,7})\.\d{1,7}", re.ASCII)
_TRUTHS = {"true": True, "false": False}


class _Mend(NamedTuple):
    """A value to put in place of another.

    Attributes:
        path: Keys and indexes that lead to it.
        value: What it says.
    """

    path: tuple[int | str, ...]
    value: int | float | bool


def validated_json(model: type[M], text: str | bytes, options: Mapping[str, Any]) -> M:
    """Validate the JSON of a reply, lossless forms taken for what they say.

    Raises:
        ValidationError: What is wrong in any other way.
    """
    try:
        return model.model_validate_json(text, **options)
    except ValidationError as error:
        if not (mends := _mends(error)):
            raise
    # As JSON once more: what a strict model takes from JSON is not what it takes from Python.
    return model.model_validate_json(to_json(_mended(from_json(text), mends)), **options)


def validated(model: type[M], reply: Any, options: Mapping[str, Any]) -> M:
    """Validate a reply that was parsed before; as `validated_json` otherwise."""
    try:
        return model.model_validate(reply, **options)
    except ValidationError as error:
        if not (mends := _mends(error)):
            raise
    return model.model_validate(_mended(copy.deepcopy(reply), mends), **options)


def _mends(error: ValidationError) -> list[_Mend]:
    found = []
    for fault in error.errors(include_url=False, include_context=False):
        read = _READERS.get(fault["type"])
        value = None if read is None else read(fault["input"])
        if value is not None:
            found.append(_Mend(fault["loc"], value))
    return found


def _mended(reply: Any, mends: list[_Mend]) -> Any:
    for path, value in mends:
        place = reply
        # A path may go through a choice of types, which the reply does not have.
        with suppress(KeyError, IndexError, TypeError):
            for step in path[:-1]:
                place = place[step]
            _ = place[path[-1]]
            place[path[-1]] = value
    return reply


def _whole(given: object) -> int | None:
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        return int(given)
    return int(given) if isinstance(given, float) and given.is_integer() else None


def _number(given: object) -> float | None:
    whole = _whole(given)
    if whole is None and isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        return float(given)
    return whole


def _truth(given: object) -> bool | None:
    return _TRUTHS.get(given.strip().lower()) if isinstance(given, str) else None


_READERS: Mapping[str, Callable[[object], int | float | bool | None]] = {
    "int_type": _whole,
    "literal_error": _whole,
    "float_type": _number,
    "bool_type": _truth,
}
