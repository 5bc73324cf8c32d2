"""How fast may a judge be asked? All gradings of a process pass one limiter, which learns.

It holds three things: a pause that a 429 asked for, two budgets (requests and tokens a minute), and
the number of calls in flight, which is halved by a 429 and raised again while replies succeed.
"""

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

_TOO_MANY_REQUESTS = 429
# A smaller limit is more likely one of a second or a day; refusals tell which.
_LEAST_LEARNT_PER_MINUTE = 10
_ROUNDING = 1e-9


class RateBudget:
    """So many units a minute, spent as they come; a debt is waited off. None is no limit."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.per_minute = per_minute
        # One second's worth at once, so that the first minute does not get two minutes' worth.
        self._left = max(1.0, (per_minute or 0) / 60)
        self._refilled_at = clock()

    def seconds_until(self, units: float) -> float:
        """Return how long to wait before `units` may be spent; 0 when they may be now."""
        if self.per_minute is None:
            return 0.0
        rate = self.per_minute / 60
        now = self._clock()
        most = max(1.0, rate)
        self._left = min(most, self._left + (now - self._refilled_at) * rate)
        self._refilled_at = now
        # More than the budget ever holds cannot be waited for: it goes through, and leaves a debt.
        missing = min(units, most) - self._left
        # A rest of rounding would be waited for again and again.
        return missing / rate if missing > _ROUNDING else 0.0

    def spend(self, units: float) -> None:
        """Take units, below zero if need be; a negative number gives some back."""
        self._left -= units


class RequestLimiter:
    """What all calls of a run pass.

    Args:
        concurrency: The most calls in flight.
        requests_per_minute: None learns it from the endpoint's headers, where it sends any.
        tokens_per_minute: As above.
        max_wait_seconds: The longest single wait that the endpoint may ask for.
        clock: Seconds, from any start; tests bring their own.

    Attributes:
        answered: Requests that succeeded.
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
        """Calls that may be in flight now, at least 1."""
        return max(1, int(self._allowed))

    @property
    def is_paused(self) -> bool:
        """True while the endpoint has asked to wait."""
        return self._paused_until > self._clock()

    @property
    def waiting_seconds(self) -> float:
        """How long nobody will be let through, from now; 0 when somebody may be."""
        return max(0.0, max(self._paused_until, self._spent_until) - self._clock())

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Callable[[int], None]]:
        """Wait for a place, and hold it; `tokens` are an estimate, prompt and reply.

        Yields:
            A function to call with the tokens that were used in the end.
        """
        # In order of arrival: only the first in line looks at the budgets.
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
        """Let one HTTP request go when the endpoint has not asked for a pause."""
        if is_retry:
            self._requests.spend(1)
        while (left := self._paused_until - self._clock()) > 0:
            await asyncio.sleep(left)

    def after_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Learn from a reply: its status, `Retry-After`, and `x-ratelimit-*`."""
        asked = retry_after_seconds(headers)
        if status == _TOO_MANY_REQUESTS:
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
        """Pause all calls and halve those in flight; once for a burst of refusals.

        `seconds` is what the endpoint asked for; None when it did not say.
        """
        if self._clock() >= self._paused_until:
            self._allowed = max(1.0, self._allowed / 2)
        # Without a word too: else one burst of refusals would be counted many times.
        self._pause_all(retry.WAITS.pause if seconds is None else seconds)

    def _pause_all(self, seconds: float) -> None:
        # Longer than that is not waited for: the row fails, and says how long it was asked to wait.
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
