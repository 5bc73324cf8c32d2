"""The retry policy, and the request limiter, which adapts to the endpoint's replies.

The policy covers direct requests, calls through a user's own client, and batch requests. A call is
not retried if the client's SDK already retries requests, because the retries would multiply.
"""

import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rag_evals.errors import EventLoopError, JudgeUnavailableError, RagEvalsError

T = TypeVar("T")
DEFAULT_MAX_WAIT_SECONDS = 600.0
"""The longest single wait that an endpoint may request."""


# Class names instead of classes, because most SDKs are optional.
_TIMED_OUT = frozenset(
    "APITimeoutError TimeoutException ReadTimeoutError ConnectTimeoutError TimeoutError".split()
)
_NOT_CONNECTED = frozenset(
    "APIConnectionError TransportError HTTPClientError ClientConnectionError NoResponseError "
    "OSError EndpointConnectionError ClientPayloadError".split()
)


@dataclass(frozen=True, slots=True)
class SdkFault:
    """The details of an SDK's exception.

    Attributes:
        status: HTTP status; None if there was no reply.
        code: The provider's code, such as `insufficient_quota`; may be empty.
        wait_seconds: The wait requested by the endpoint, if any.
        headers: The reply's headers, with lowercase names.
    """

    status: int | None
    message: str
    code: str
    parameter: str
    wait_seconds: float | None
    headers: Mapping[str, str]
    timed_out: bool
    not_connected: bool


def beneath_litellm(error: BaseException) -> BaseException:
    """Return the connection error that LiteLLM reports as status 500, or else the error itself."""
    below: BaseException | None = error
    while below is not None and type(below).__module__.startswith("litellm."):
        below = below.__cause__ or below.__context__
    if below is None or below is error:
        return error
    names = {kind.__name__ for kind in type(below).__mro__}
    if not names & (_NOT_CONNECTED | _TIMED_OUT):
        return error
    # Unlike the context, the cause survives if the error is raised again elsewhere.
    error.__cause__ = below
    return below


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def distrusts(error: BaseException | None) -> bool:
    """True if the endpoint's certificate is not trusted."""
    # Every library quotes OpenSSL's error.
    return any("CERTIFICATE_VERIFY_FAILED" in str(one) for one in chain(error))


def read_fault(error: Any) -> SdkFault:
    error = beneath_litellm(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    response = getattr(error, "response", None)
    # botocore's response is a dictionary.
    kept = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    statuses = (
        getattr(error, "status_code", None),
        getattr(error, "status", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        kept.get("HTTPStatusCode"),
    )
    status = next((value for value in statuses if isinstance(value, int) and value > 0), None)
    found = (
        getattr(response, "headers", None)
        or getattr(error, "headers", None)
        or kept.get("HTTPHeaders")
        or getattr(error, "litellm_response_headers", None)
        or {}
    )
    headers = {str(name).lower(): str(value) for name, value in found.items()}
    inner = _inner(error, response)
    wait = retry_after_seconds(headers)
    timed_out = status is None and bool(names & _TIMED_OUT)
    return SdkFault(
        status=status,
        message=_message(error, inner),
        code=_code(error, inner),
        parameter=str(getattr(error, "param", None) or inner.get("param") or ""),
        wait_seconds=_google_delay(inner) if wait is None else wait,
        headers=headers,
        timed_out=timed_out,
        not_connected=timed_out or (status is None and bool(names & _NOT_CONNECTED)),
    )


def _inner(error: Any, response: Any) -> dict[str, Any]:
    own = response if isinstance(response, dict) else None
    for body in (getattr(error, "body", None), getattr(error, "details", None), own):
        if isinstance(body, str | bytes):
            try:
                body = json.loads(body)
            except ValueError:
                continue
        if isinstance(body, dict):
            inner = body.get("error", body.get("Error", body))
            return inner if isinstance(inner, dict) else {"message": inner}
    return {}


def _message(error: Any, inner: Mapping[str, Any]) -> str:
    for name in ("message", "Message", "detail"):
        if isinstance(inner.get(name), str) and inner[name]:
            return str(inner[name])
    return str(getattr(error, "message", None) or error)


def _code(error: Any, inner: Mapping[str, Any]) -> str:
    found = (getattr(error, "code", None), inner.get("code"), inner.get("Code"))
    words = (getattr(error, "status", None), inner.get("status"), inner.get("type"))
    return next((word for word in (*found, *words) if isinstance(word, str) and word), "")


def _google_delay(inner: Mapping[str, Any]) -> float | None:
    """Return Gemini's `retryDelay`, which is in the body rather than in a header."""
    details = inner.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return parse_duration(detail["retryDelay"])
    return None


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
# Unlike `float`, this pattern rejects "nan", "1_000" and non-ASCII digits.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in `retry-after-ms` or `retry-after`; None if neither can be parsed."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        number = read_number(headers.get(name, ""))
        if number is not None:
            return max(0.0, number * unit)
    return _seconds_until(headers.get("retry-after", ""))


def parse_duration(text: str) -> float | None:
    """Parse a duration such as "20ms", "6m0s" or "90" into seconds; None for anything else."""
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        return seconds if math.isfinite(seconds) else None
    number = read_number(text)
    return None if number is None or number < 0 else number


def read_number(text: str) -> float | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    if not date:
        return None
    from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415 - slow import

    try:
        parsed = parsedate_tz(date)
        return None if parsed is None else max(0.0, mktime_tz(parsed) - time.time())
    except (TypeError, ValueError, OverflowError, IndexError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class Waits:
    """The number of retries, and the waits between them in seconds.

    Attributes:
        first: Wait before the second try; each later wait is twice as long as the one before.
        least_share: Each wait is a random share of its full length; this is the smallest share.
        pause: How long the whole run pauses after a 429 without `Retry-After`.
        first_poll: Wait before a batch's status is requested a second time.
    """

    retries: int = 4
    first: float = 0.5
    longest: float = 8.0
    least_share: float = 0.75
    pause: float = 1.0
    first_poll: float = 0.2
    poll_factor: float = 1.5
    longest_poll: float = 60.0

    def before_try(self, number: int) -> float:
        """Return the seconds to wait before a try; `number` is 2 for the second try."""
        import random  # noqa: PLC0415 - only after a failure

        longest: float = min(self.first * 2 ** (number - 2), self.longest)
        return longest * random.uniform(self.least_share, 1.0)


WAITS = Waits()
"""The waits used in this process; tests replace them (see `tests/conftest.py`)."""


def seconds_before_poll(number: int) -> float:
    """Return the seconds to wait before polling a batch again; `number` starts at 1."""
    longest: float = WAITS.first_poll * WAITS.poll_factor ** min(number - 1, 100)
    return min(longest, WAITS.longest_poll)


_RETRIED = frozenset({408, 409, 429})
# The request cannot be sent, so a retry would not help.
_HOPELESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "RuntimeError"})
_ONCE_ONLY = frozenset({"genai", "mistral"})


class Tries:
    """The attempts at a single request or call.

    Args:
        gate: The run's limiter; None for a single grading, which does not share a limiter.
        seconds_left: Returns the row's remaining seconds, or None if there is no limit.
    """

    def __init__(
        self,
        gate: "RequestLimiter | None",
        *,
        seconds_left: Callable[[], float | None] | None = None,
    ) -> None:
        self._gate = gate
        self._seconds_left = seconds_left
        self._number = 1
        self._answered = 0 if gate is None else gate.answered

    def after_request(self, error: Exception) -> float:
        """Return the seconds to wait before a retry; raise the error if it must not be retried."""
        fault = read_fault(error)
        if not may_pass(error, fault):
            raise error
        return self._wait(error, fault.status, fault.wait_seconds)

    def after_call(self, error: Exception, client: object) -> float:
        """Return the seconds to wait after a failed call; raise errors as `after_request` does."""
        never = never_repeats(client)
        status = getattr(error, "status", None)
        # Runs, unlike SDKs, retry a response that has status 200 but no reply. A connection that
        # belongs to another event loop is discarded after it fails once.
        is_ours = never or (status == 200 and self._gate is not None)
        passes = is_ours and isinstance(error, JudgeUnavailableError) and not error.row_is_over
        if not passes and not (never and isinstance(error, EventLoopError)):
            raise error
        seconds = self._wait(error, status, getattr(error, "retry_after_seconds", None))
        left = None if self._seconds_left is None else self._seconds_left()
        if left is not None and seconds >= left:
            raise error
        return seconds

    def _wait(self, error: Exception, status: int | None, asked: float | None) -> float:
        if not self._has_another(status):
            raise error
        if asked is None:
            seconds = WAITS.before_try(self._number)
            if self._gate is None or status != 429:
                return seconds
            # Unlike a sleep here, a pause of the run does not count toward the row's timeout.
            self._gate.pause(seconds)
            return 0.0
        left = None if self._seconds_left is None else self._seconds_left()
        limit, most = "row's remaining time (timeout)", left
        if self._gate is not None:
            limit, most = "limit (max_wait)", self._gate.max_wait_seconds
        if most is None:
            most = DEFAULT_MAX_WAIT_SECONDS
        if asked > most:
            longer = JudgeUnavailableError(
                f"the endpoint asks for a wait of {asked:.0f} s (HTTP {status}), but the {limit} "
                f"is {max(0.0, most):.0f} s"
            )
            longer.status, longer.retry_after_seconds = status, asked
            raise longer
        # In a run, this call does not sleep: the limiter pauses all calls, including this one.
        return asked if self._gate is None else 0.0

    def _has_another(self, status: int | None) -> bool:
        # If other requests succeed, a 429 only means that this request has to wait its turn.
        if self._gate is not None and status == 429 and self._gate.answered > self._answered:
            self._answered = self._gate.answered
            return True
        self._number += 1
        return self._number <= WAITS.retries + 1


def try_again(work: Callable[[], T], wait: Callable[[Exception], float]) -> T:
    """Call `work` until it succeeds; `wait` returns the seconds to sleep, or raises the error."""
    while True:
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - raised again if there is no retry
            time.sleep(wait(error))


async def try_again_async(
    work: Callable[[], Awaitable[T]], wait: Callable[[Exception], float]
) -> T:
    import asyncio  # noqa: PLC0415 - slow import

    while True:
        try:
            return await work()
        except Exception as error:  # noqa: BLE001 - as above
            await asyncio.sleep(wait(error))


def may_pass(error: Exception, fault: SdkFault) -> bool:
    """True if the request may succeed when it is sent again."""
    status = fault.status
    told = fault.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    if status is None:
        hopeless = _is_hopeless(error) or _is_hopeless(error.__cause__) or distrusts(error)
        return fault.not_connected and not hopeless
    if status == 429 and "insufficient_quota" in fault.code + fault.message:
        return False
    if status == 501:
        return False
    # In a response with status 200, the error is in the body.
    return status in _RETRIED or status >= 500 or status == 200


def _is_hopeless(cause: BaseException | None) -> bool:
    return isinstance(cause, RagEvalsError) or type(cause).__name__ in _HOPELESS


def never_repeats(client: Any) -> bool:
    sdk, provider = getattr(client, "client", None), getattr(client, "provider", None)
    if getattr(provider, "value", None) in _ONCE_ONLY:
        return True
    # LiteLLM is a function, so there is no SDK client.
    return getattr(sdk, "max_retries", None) == 0 or (sdk is None and provider is not None)


# A smaller limit is probably per second or per day, not per minute.
_LEAST_LEARNT_PER_MINUTE = 10
_ROUNDING = 1e-9


class RateBudget:
    """A token bucket of one second's units, which may be overdrawn; unlimited if given None."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.per_minute = per_minute
        # Starting with a full minute's units would double the rate in the first minute.
        self._left = max(1.0, (per_minute or 0) / 60)
        self._refilled_at = clock()

    def seconds_until(self, units: float) -> float:
        if self.per_minute is None:
            return 0.0
        rate = self.per_minute / 60
        now = self._clock()
        most = max(1.0, rate)
        self._left = min(most, self._left + (now - self._refilled_at) * rate)
        self._refilled_at = now
        # A request for more units than the bucket holds overdraws it instead of waiting forever.
        missing = min(units, most) - self._left
        # Do not wait merely because of a rounding error.
        return missing / rate if missing > _ROUNDING else 0.0

    def spend(self, units: float) -> None:
        self._left -= units


class RequestLimiter:
    """Limits calls in flight, requests per minute and tokens per minute.

    A 429 pauses all calls and halves the number allowed in flight; each success raises it again.
    Limits that are None are taken from the endpoint's headers.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_wait_seconds: float = DEFAULT_MAX_WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        import asyncio  # noqa: PLC0415 - slow import

        self._clock = clock
        self._most = concurrency
        self._allowed = float(concurrency)
        self._in_flight = 0
        self._paused_until = self._spent_until = 0.0
        self.max_wait_seconds = max_wait_seconds
        self.answered = 0
        self._learns = (requests_per_minute is None, tokens_per_minute is None)
        self._requests = RateBudget(requests_per_minute, clock)
        self._tokens = RateBudget(tokens_per_minute, clock)
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def allowed(self) -> int:
        return max(1, int(self._allowed))

    @property
    def is_paused(self) -> bool:
        return self._paused_until > self._clock()

    @property
    def waiting_seconds(self) -> float:
        return max(0.0, max(self._paused_until, self._spent_until) - self._clock())

    async def take_slot(self, tokens: int) -> None:
        """Wait for a slot and the tokens; the caller must return the slot with `free_slot`."""
        # The lock serves callers in order of arrival.
        async with self._turn:
            await self._wait(tokens)
            self._in_flight += 1
            self._requests.spend(1)
            self._tokens.spend(tokens)

    def free_slot(self, tokens: int = 0) -> None:
        """Return a slot, and spend further tokens; a negative number returns some."""
        self._tokens.spend(tokens)
        self._in_flight -= 1
        self._freed.set()

    async def before_request(self, *, is_retry: bool) -> None:
        if is_retry:
            self._requests.spend(1)
        import asyncio  # noqa: PLC0415 - as above

        while (left := self._paused_until - self._clock()) > 0:
            await asyncio.sleep(left)

    def after_response(self, status: int, headers: Mapping[str, str]) -> None:
        asked = retry_after_seconds(headers) if headers else None
        if status == 429:
            self.slow_down(asked)
            return
        if status >= 500 and asked is not None:
            self.pause(asked)
        if status < 400:
            self.answered += 1
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        if headers:
            self._learn(headers)

    def slow_down(self, seconds: float | None) -> None:
        """Pause all calls; a burst of 429s halves the number allowed in flight only once."""
        if self._clock() >= self._paused_until:
            self._allowed = max(1.0, self._allowed / 2)
        # Pause even if no time is given, so that a burst of 429s is recognised.
        self.pause(WAITS.pause if seconds is None else seconds)

    def pause(self, seconds: float) -> None:
        # A longer wait pauses nothing: instead, the row that received the 429 fails.
        until = self._clock() + (seconds if seconds <= self.max_wait_seconds else 0.0)
        self._paused_until = max(self._paused_until, until)

    async def _wait(self, tokens: int) -> None:
        import asyncio  # noqa: PLC0415 - as above

        while True:
            delay = max(
                self._paused_until - self._clock(),
                self._requests.seconds_until(1),
                self._tokens.seconds_until(tokens),
            )
            if delay > 0:
                self._spent_until = self._clock() + delay
                await asyncio.sleep(delay)
            elif self._in_flight >= self.allowed:
                self._freed.clear()
                await self._freed.wait()
            else:
                return

    def _learn(self, headers: Mapping[str, str]) -> None:
        for kind, budget, learns in zip(
            ("requests", "tokens"), (self._requests, self._tokens), self._learns, strict=True
        ):
            limit = read_number(headers.get(f"x-ratelimit-limit-{kind}", ""))
            if limit is not None and learns and limit >= _LEAST_LEARNT_PER_MINUTE:
                budget.per_minute = limit
            if read_number(headers.get(f"x-ratelimit-remaining-{kind}", "")) == 0:
                reset = parse_duration(headers.get(f"x-ratelimit-reset-{kind}", ""))
                if reset is not None:
                    self.pause(min(reset, self.max_wait_seconds))
