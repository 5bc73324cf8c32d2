"""When is a judge asked again? For an invalid reply; as a whole when its client never retries.

Three layers can retry: the transport (the client's SDK), the output (instructor's re-ask), and the
call. They do not multiply: what a client retries is not retried here.
"""

from collections.abc import Callable
from functools import cache
from json import JSONDecodeError
from typing import Any

from pydantic import ValidationError
from tenacity import (
    AsyncRetrying,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from rag_evals.errors import EventLoopError, JudgeUnavailableError

CALL_ATTEMPTS = 5
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0
_OK = 200
_ONCE_ONLY = frozenset({"genai", "mistral"})


def call_retrying(client: object) -> AsyncRetrying:
    """Make a controller for one call; it holds that call's state, so no two calls may share it.

    Args:
        client: An instructor client; its SDK says how often it retries.

    Returns:
        It calls again what no SDK repeats, a reply with status 200 that is none; and everything
        that may pass where the SDK never repeats anything.
    """
    return AsyncRetrying(**call_rules(client))


def call_rules(client: object) -> dict[str, Any]:
    """Return the arguments of a controller as `call_retrying` makes one."""
    never = never_repeats(client)

    def may_pass(error: BaseException) -> bool:
        if isinstance(error, JudgeUnavailableError):
            return never or error.status == _OK
        # The connection that belonged to the other loop is gone after the first try.
        return never and isinstance(error, EventLoopError)

    return {
        "stop": stop_after_attempt(CALL_ATTEMPTS),
        "wait": wait_random_exponential(multiplier=_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
        "retry": retry_if_exception(may_pass),
        "reraise": True,
    }


# Anything may stand here: a client of instructor's over any SDK.
def never_repeats(client: Any) -> bool:
    """Say whether a client's SDK sends each request once, unless told otherwise."""
    sdk, provider = getattr(client, "client", None), getattr(client, "provider", None)
    if getattr(provider, "value", None) in _ONCE_ONLY:
        return True
    # LiteLLM is a function: instructor keeps no client of it.
    return getattr(sdk, "max_retries", None) == 0 or (sdk is None and provider is not None)


def reasking(times: int, may_ask_again: Callable[[BaseException], bool]) -> Retrying:
    """Make a controller for the re-asks of one call, as instructor makes one of a number.

    Args:
        times: How often an invalid reply is asked again.
        may_ask_again: Given the error; False ends it: what came was no reply to correct.
    """
    return Retrying(**_rules(times, may_ask_again))


def async_reasking(times: int, may_ask_again: Callable[[BaseException], bool]) -> AsyncRetrying:
    """Make a controller for an async client; as `reasking`."""
    return AsyncRetrying(**_rules(times, may_ask_again))


def _rules(times: int, may_ask_again: Callable[[BaseException], bool]) -> dict[str, Any]:
    wrong = wrong_replies()
    return {
        "stop": stop_after_attempt(times + 1),
        "retry": retry_if_exception(
            lambda error: isinstance(error, wrong) and may_ask_again(error)
        ),
        "reraise": True,
    }


@cache
def wrong_replies() -> tuple[type[Exception], ...]:
    """Return the exceptions that instructor itself asks again for."""
    from instructor.core.exceptions import (  # noqa: PLC0415 - loads instructor's runtime
        AsyncValidationError,
        ResponseParsingError,
    )

    return ValidationError, JSONDecodeError, AsyncValidationError, ResponseParsingError
