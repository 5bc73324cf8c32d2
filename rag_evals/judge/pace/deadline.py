"""How much time does a row have left? Counted while its calls run, not while they wait.

A sync call cannot be stopped from outside: it runs in a thread, which is abandoned when its time is
up. No program waits for that thread at its end.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from rag_evals.errors import ConfigurationError, JudgeUnavailableError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rag_evals.core import Meter


DEFAULT_TIMEOUT_SECONDS = 120.0

T = TypeVar("T")


def check_timeout(seconds: float) -> None:
    """Refuse a time that no call could keep.

    Raises:
        ConfigurationError: Not above 0, or not finite.
    """
    # Written so that NaN is refused as well.
    if not 0 < seconds < math.inf:
        raise ConfigurationError(f"timeout is {seconds!r}; expected seconds, more than 0")


_row_time: "ContextVar[RowTime | None]" = ContextVar("row_time", default=None)


class RowTime:
    """Limits the awaited calls inside to the row's remaining time, and counts the time they take.

    All calls of the row together have `seconds`; its meter knows what earlier ones took.
    """

    def __init__(self, meter: "Meter", seconds: float) -> None:
        import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

        self._meter = meter
        self._seconds = seconds
        self.timeout = asyncio.timeout(seconds - meter.waited_seconds)
        self.stopped_seconds = 0.0

    async def __aenter__(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()
        await self.timeout.__aenter__()
        self._token = _row_time.set(self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the clock.

        Raises:
            JudgeUnavailableError: The time is up.
        """
        _row_time.reset(self._token)
        self._meter.waited_seconds += time.monotonic() - self._began - self.stopped_seconds
        try:
            await self.timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise _too_late(self._seconds) from None


def row_time(meter: "Meter") -> AbstractAsyncContextManager[None]:
    """Limit awaited calls to their row's remaining time; without limit where a session does it."""
    return nullcontext() if meter.row_seconds is None else RowTime(meter, meter.row_seconds)


@contextmanager
def row_clock_stopped() -> Iterator[None]:
    """Stop the clock of the row inside: the endpoint has asked to wait."""
    clock = _row_time.get()
    ends_at = None if clock is None else clock.timeout.when()
    if clock is None:
        yield
        return
    began = time.monotonic()
    clock.timeout.reschedule(None)
    try:
        yield
    finally:
        seconds = time.monotonic() - began
        clock.stopped_seconds += seconds
        if ends_at is not None:
            clock.timeout.reschedule(ends_at + seconds)


def call_in_thread(work: Callable[[], T]) -> "Future[T]":
    """Call a function in a new thread, with this context's variables.

    Returns:
        Its result to come. The thread ends with the call; a program that ends does not wait for it.
    """
    from concurrent.futures import Future  # noqa: PLC0415 - only runs and sync judges need it

    future: Future[T] = Future()
    # Nobody may cancel it any more: the thread would have nowhere to put what it gets.
    future.set_running_or_notify_cancel()

    def carry_out() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    run = copy_context().run
    threading.Thread(target=run, args=(carry_out,), name="rag-evals-call", daemon=True).start()
    return future


def call_within(meter: "Meter", work: Callable[[], T]) -> T:
    """Call a function within the time that its row has left.

    Raises:
        JudgeUnavailableError: The time is up; the call goes on in its thread, and nobody reads it.
    """
    seconds = meter.seconds_left
    if seconds is None:
        return work()
    began = time.monotonic()
    future = call_in_thread(work)
    try:
        return future.result(max(0.0, seconds))
    except TimeoutError:
        # The call itself may have raised one.
        if future.done():
            raise
        raise _too_late(meter.row_seconds) from None
    finally:
        meter.waited_seconds += time.monotonic() - began


def _too_late(seconds: float | None) -> JudgeUnavailableError:
    return JudgeUnavailableError(
        f"no valid reply within the {seconds:g} s that a row has (timeout)"
    )
