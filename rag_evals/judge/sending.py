"""How is a request sent, and sent again? In one way for every SDK, whose own retries are off."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from rag_evals.judge.deadline import row_clock_stopped
from rag_evals.judge.exchange import current_exchange
from rag_evals.judge.request_retries import TRANSPORT_RETRIES, RequestRetries
from rag_evals.judge.sdk_errors import read_fault
from rag_evals.judge.wait_headers import DEFAULT_MAX_WAIT_SECONDS

if TYPE_CHECKING:
    from rag_evals.judge.limits import RequestLimiter

# What an SDK takes and returns has no type here: it need not be installed.
Send = Callable[[dict[str, Any]], Any]
AsyncSend = Callable[[dict[str, Any]], Awaitable[Any]]


def repeating(send: Send) -> Callable[..., Any]:
    """Return a function that sends a request, and sends it again where that may help.

    Args:
        send: Sends one request, given its keyword arguments.
    """

    def create(**body: Any) -> Any:
        retries = _retries_of(None)
        while True:
            _count_request()
            try:
                return send(body)
            except Exception as error:  # noqa: BLE001 - raised again where there is no next try
                time.sleep(retries.seconds_before_next(error))

    return create


def repeating_async(
    send: AsyncSend, limiter: "RequestLimiter | None", *, teaches: bool = False
) -> Callable[..., Awaitable[Any]]:
    """Return a function that awaits a request; as `repeating` otherwise.

    Args:
        send: As for `repeating`.
        limiter: What each request passes and each failure teaches; None for a single grading.
        teaches: `send` tells the limiter of each reply; else this function does.
    """
    import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

    async def create(**body: Any) -> Any:
        retries = _retries_of(limiter)
        while True:
            await _pass(limiter, is_retry=_count_request())
            try:
                reply = await send(body)
            except Exception as error:  # noqa: BLE001 - raised again where there is no next try
                fault = read_fault(error)
                if limiter is not None and fault.status is not None:
                    limiter.after_response(fault.status, limit_headers(fault.headers))
                await asyncio.sleep(retries.seconds_before_next(error))
            else:
                if limiter is not None and not teaches:
                    limiter.after_response(200, {})
                return reply

    return create


def limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Pick the headers that a limiter reads, from names in lower case."""
    return {
        name: value
        for name, value in headers.items()
        if name.startswith(("x-ratelimit-", "retry-after"))
    }


def seconds_for_one_try(reply_seconds: float) -> float:
    """Return the time-out of a sync request: no longer than its row has left."""
    return min(reply_seconds, max(1.0, _seconds_left()))


def _retries_of(limiter: "RequestLimiter | None") -> RequestRetries:
    most_wait = _seconds_left if limiter is None else lambda: limiter.max_wait_seconds
    return RequestRetries(limiter, retries=TRANSPORT_RETRIES, most_wait=most_wait)


def _seconds_left() -> float:
    exchange = current_exchange.get()
    left = None if exchange is None else exchange.seconds_left
    return DEFAULT_MAX_WAIT_SECONDS if left is None else left


def _count_request() -> bool:
    exchange = current_exchange.get()
    return exchange is not None and exchange.count_request()


async def _pass(limiter: "RequestLimiter | None", *, is_retry: bool) -> None:
    """Let one request go; the time that the endpoint asked for is not the row's."""
    if limiter is None:
        return
    if limiter.is_paused:
        with row_clock_stopped():
            await limiter.before_request(is_retry=is_retry)
    else:
        await limiter.before_request(is_retry=is_retry)
