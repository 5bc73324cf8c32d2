"""Which argument did a caller mean? An unknown keyword is refused, and the right one suggested.

Python refuses it too, but cannot know that other tools' `llm=` is `client=` here.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from types import CodeType
from typing import Any, ParamSpec, TypeVar, cast

from rag_evals.errors import ConfigurationError, UnknownArgumentError

P = ParamSpec("P")
T = TypeVar("T")

ELSEWHERE: Mapping[str, str] = {
    "judge": "client",
    "llm": "client",
    "evaluator": "client",
    "evaluator_llm": "client",
    "metrics": "graders",
    "metric": "graders",
    "dataset": "data",
    "rows": "data",
    "limits": "limit",
    "max_rows": "limit",
    "column_map": "columns",
    "output": "out",
    "output_dir": "out",
    "query": "question",
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "context",
    "documents": "context",
    "ground_truth": "reference",
    "expected_output": "reference",
    "instructions": "prompt",
    "schema": "response_model",
}
"""What other tools and the command line call an argument, and what it is called here."""

_IS_COROUTINE = 0x80


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function refuse keywords that it does not take, with the one that was meant.

    Raises:
        UnknownArgumentError: From the function, when it is called; a `TypeError` too.
    """
    # Not by `inspect`, which costs more to import than the rest of this file.
    code: CodeType = cast("Any", function).__code__
    names = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    known = [name for name in names if name != "self"]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        require_known(function.__name__, kwargs, known)
        return function(*args, **kwargs)

    @wraps(function)
    async def checked_async(*args: P.args, **kwargs: P.kwargs) -> Any:
        require_known(function.__name__, kwargs, known)
        # Only a coroutine function comes here.
        return await cast("Any", function)(*args, **kwargs)

    if code.co_flags & _IS_COROUTINE:
        return cast("Callable[P, T]", checked_async)
    return checked


def require_known(function: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse keywords that a function does not take.

    Args:
        function: Its name, or that of a class.
        given: The keywords of a call.
        known: What it takes.

    Raises:
        UnknownArgumentError: For the first, with the one that was meant.
    """
    for name in given:
        if name not in known:
            raise UnknownArgumentError.of(function.strip("_"), name, _meant(name, known), known)


def _meant(name: str, known: Sequence[str]) -> str | None:
    elsewhere = ELSEWHERE.get(name.lower())
    if elsewhere in known:
        return elsewhere
    nearest = difflib.get_close_matches(name, known, n=1)
    return nearest[0] if nearest else None


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
