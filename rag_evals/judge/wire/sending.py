"""How is a request sent, and sent again? In one way for every SDK, whose own retries are off."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_evals.judge.pace.deadline import row_clock_stopped
from rag_evals.judge.pace.faults import DEFAULT_MAX_WAIT_SECONDS, read_fault
from rag_evals.judge.pace.retry import Tries, try_again, try_again_async
from rag_evals.judge.wire.exchange import current_exchange

if TYPE_CHECKING:
    from rag_evals.judge.pace.limits import RequestLimiter

# What an SDK takes and returns has no type here: it need not be installed.
Send = Callable[[dict[str, Any]], Any]
AsyncSend = Callable[[dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ClientUse:
    """How a client of a string is used.

    Attributes:
        asynchronous: It is awaited.
        seconds: Time-out of one try.
        limiter: What the requests of a run pass; None for a single grading.
        answer: Stands in for the network of an async client of a provider's own library; each
            request is sent once.
    """

    asynchronous: bool
    seconds: float
    limiter: "RequestLimiter | None" = None
    answer: "Answering | None" = None

    def one_try(self) -> float:
        """Return the time-out of a request; no sync one is longer than its row has left."""
        return self.seconds if self.asynchronous else seconds_for_one_try(self.seconds)

    def repeating(self, send: Send, *, teaches: bool = False) -> Callable[..., Any]:
        """Return what sends a request, again where that may help; as `repeating_async`."""
        if self.asynchronous:
            return repeating_async(send, self.limiter, teaches=teaches)
        return repeating(send)


class Answered(NamedTuple):
    """A reply that comes from elsewhere than the network.

    Attributes:
        status: Of HTTP.
        content: The body.
    """

    status: int
    content: bytes


Answering = Callable[[bytes], Awaitable[Answered]]
"""Answers the body of a request."""


def repeating(send: Send) -> Callable[..., Any]:
    """Return a function that sends a request, and sends it again where that may help.

    Args:
        send: Sends one request, given its keyword arguments.
    """

    def create(**body: Any) -> Any:
        def send_once() -> Any:
            _count_request()
            return send(body)

        return try_again(send_once, Tries(None, seconds_left=_seconds_left).after_request)

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

    async def create(**body: Any) -> Any:
        async def send_once() -> Any:
            is_retry = _count_request()
            if limiter is None:
                return await send(body)
            if limiter.is_paused:
                # The time that the endpoint asked for is not the row's.
                with row_clock_stopped():
                    await limiter.before_request(is_retry=is_retry)
            else:
                await limiter.before_request(is_retry=is_retry)
            try:
                reply = await send(body)
            except Exception as error:
                fault = read_fault(error)
                if fault.status is not None:
                    limiter.after_response(fault.status, limit_headers(fault.headers))
                raise
            if not teaches:
                limiter.after_response(200, {})
            return reply

        tries = Tries(limiter, seconds_left=_seconds_left)
        return await try_again_async(send_once, tries.after_request)

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
    left = _seconds_left()
    return min(reply_seconds, max(1.0, DEFAULT_MAX_WAIT_SECONDS if left is None else left))


def _seconds_left() -> float | None:
    exchange = current_exchange.get()
    return None if exchange is None else exchange.seconds_left


def _count_request() -> bool:
    exchange = current_exchange.get()
    return exchange is not None and exchange.count_request()
