"""The request limiter, which adapts to the endpoint's replies."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from rag_evals.judge.pace import retry
from rag_evals.judge.pace.retry import (
    DEFAULT_MAX_WAIT_SECONDS,
    parse_duration,
    read_number,
    retry_after_seconds,
)

# A smaller limit is probably per second or per day.
_LEAST_LEARNT_PER_MINUTE = 10
_ROUNDING = 1e-9


class RateBudget:
    """A token bucket for one second's units, which may be overdrawn; None means no limit."""

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

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Callable[[int], None]]:
        """Hold a slot; yield a function to call with the number of tokens actually used."""
        # The lock serves callers in order of arrival.
        async with self._turn:
            await self._wait(tokens)
            self._in_flight += 1
            self._requests.spend(1)
            self._tokens.spend(tokens)
        try:
            yield lambda used: self._tokens.spend(used - tokens)
        finally:
            self._in_flight -= 1
            self._freed.set()

    async def before_request(self, *, is_retry: bool) -> None:
        if is_retry:
            self._requests.spend(1)
        while (left := self._paused_until - self._clock()) > 0:
            await asyncio.sleep(left)

    def after_response(self, status: int, headers: Mapping[str, str]) -> None:
        asked = retry_after_seconds(headers)
        if status == 429:
            self.slow_down(asked)
            return
        if status >= 500 and asked is not None:
            self._pause_all(asked)
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
        self._pause_all(retry.WAITS.pause if seconds is None else seconds)

    def _pause_all(self, seconds: float) -> None:
        # For a longer wait, nothing pauses: the row that received the 429 fails.
        until = self._clock() + (seconds if seconds <= self.max_wait_seconds else 0.0)
        self._paused_until = max(self._paused_until, until)

    async def _wait(self, tokens: int) -> None:
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
                    self._pause_all(min(reset, self.max_wait_seconds))
