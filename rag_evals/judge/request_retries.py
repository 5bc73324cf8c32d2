"""Is a failed request sent again, and after how long? For the clients that we build."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rag_evals.errors import JudgeUnavailableError, RagEvalsError
from rag_evals.judge.sdk_errors import SdkFault, distrusts, read_fault

if TYPE_CHECKING:
    from rag_evals.judge.limits import RequestLimiter

TRANSPORT_RETRIES = 4

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0
_RETRIED = frozenset({408, 409, 429})
_OK = 200
_NOT_IMPLEMENTED = 501
# What no second try can heal: the request itself cannot be sent like this.
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "RuntimeError"})


class RequestRetries:
    """Counts the tries of one request.

    Args:
        limiter: What the requests of a run pass: it keeps the waits that the endpoint asks for, and
            knows whether the endpoint answers others. None for a single grading, which waits by
            itself.
        retries: How often a request that failed is sent again.
        most_wait: Says how many seconds the endpoint may ask to wait, for one wait.
    """

    def __init__(
        self, limiter: "RequestLimiter | None", *, retries: int, most_wait: Callable[[], float]
    ) -> None:
        self._limiter = limiter
        self._left = self._retries = retries
        self._most_wait = most_wait
        self._answered = 0 if limiter is None else limiter.answered

    def seconds_before_next(self, error: Exception) -> float:
        """Return how long to wait before the next try.

        Raises:
            Exception: The same error, when there is no next try.
            JudgeUnavailableError: The endpoint asks to wait longer than is waited for.
        """
        fault = read_fault(error)
        status, asked = fault.status, fault.wait_seconds
        if not may_pass(error, fault) or not self._has_another(status):
            raise error
        if asked is None:
            import random  # noqa: PLC0415 - only after a failure

            longest: float = _FIRST_WAIT_SECONDS * 2 ** (self._retries - self._left - 1)
            return min(longest, _LONGEST_WAIT_SECONDS) * random.uniform(0.75, 1.0)
        if asked > (most := self._most_wait()):
            raise self._too_long(status, asked, most)
        # The limiter keeps the whole run waiting, this request among it.
        return asked if self._limiter is None else 0.0

    def _has_another(self, status: int | None) -> bool:
        answered = 0 if self._limiter is None else self._limiter.answered
        # Refused for the rate while others are answered: that is a queue, not a fault.
        if status == 429 and answered > self._answered:
            self._answered = answered
            return True
        self._left -= 1
        return self._left >= 0

    def _too_long(self, status: int | None, asked: float, most: float) -> JudgeUnavailableError:
        limit = (
            "time that the row has left (timeout)" if self._limiter is None else "limit (max_wait)"
        )
        error = JudgeUnavailableError(
            f"the endpoint asks to wait {asked:.0f} s (HTTP {status}), and the {limit} is "
            f"{max(0.0, most):.0f} s"
        )
        error.status, error.retry_after_seconds = status, asked
        return error


def may_pass(error: Exception, fault: SdkFault) -> bool:
    """Say whether the same request may be answered the next time."""
    status = fault.status
    told = fault.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    if status is None:
        hopeless = _is_hopeless(error) or _is_hopeless(error.__cause__) or distrusts(error)
        return fault.not_connected and not hopeless
    if status == 429 and "insufficient_quota" in fault.code + fault.message:
        return False
    if status == _NOT_IMPLEMENTED:
        # No server learns to do it in a few seconds.
        return False
    return status in _RETRIED or status >= 500 or status == _OK


def _is_hopeless(cause: BaseException | None) -> bool:
    return isinstance(cause, RagEvalsError) or type(cause).__name__ in _HOPELESS
