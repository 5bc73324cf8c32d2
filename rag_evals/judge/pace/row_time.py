"""Row timeouts, and threads for sync clients and sync callers."""

import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from rag_evals.errors import ConfigurationError, JudgeUnavailableError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rag_evals.core import Meter

T = TypeVar("T")
DEFAULT_TIMEOUT_SECONDS = 120.0

_row_time: "ContextVar[RowTime | None]" = ContextVar("row_time", default=None)


class RowTime:
    """Limits a row's calls to `seconds` in total, excluding time spent waiting for the limiter."""

    def __init__(self, meter: "Meter", seconds: float) -> None:
        import asyncio  # noqa: PLC0415 - slow import

        self._meter = meter
        self._seconds = seconds
        self._began, self._allowed = time.monotonic(), seconds - meter.waited_seconds
        self.timeout = asyncio.timeout(self._allowed)
        self.stopped_seconds = 0.0

    @property
    def seconds_left(self) -> float:
        return self._allowed - (time.monotonic() - self._began - self.stopped_seconds)

    async def __aenter__(self) -> None:
        await self.timeout.__aenter__()
        self._token = _row_time.set(self)

    async def __aexit__(self, *raised: Any) -> None:
        _row_time.reset(self._token)
        self._meter.waited_seconds += time.monotonic() - self._began - self.stopped_seconds
        try:
            await self.timeout.__aexit__(*raised)
        except TimeoutError:
            fault = self._meter.last_fault
            late = JudgeUnavailableError(
                f"no valid reply within the {self._seconds:g} s allowed for a row (timeout)"
                + (f"; the last fault: {fault}" if fault else "")
            )
            late.row_is_over = True
            raise late from None


def row_time(meter: "Meter") -> AbstractAsyncContextManager[None]:
    """Limit calls to the row's remaining time, unless the session already does so."""
    return nullcontext() if meter.row_seconds is None else RowTime(meter, meter.row_seconds)


def seconds_left() -> float | None:
    """Return the current row's remaining seconds; None if there is no limit."""
    clock = _row_time.get()
    return None if clock is None else clock.seconds_left


@contextmanager
def row_clock_stopped() -> Iterator[None]:
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
    """Call a function in a daemon thread, which can be abandoned if the row times out."""
    from concurrent.futures import Future  # noqa: PLC0415 - only runs and sync judges need it

    future: Future[T] = Future()
    # The future must not be cancelled, because the thread will set its result.
    future.set_running_or_notify_cancel()

    def carry_out() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again when the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    run = copy_context().run
    threading.Thread(target=run, args=(carry_out,), name="rag-evals-call", daemon=True).start()
    return future


class LoopThread:
    """An event loop in a separate thread; any thread may submit work to it."""

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415 - slow import
        from concurrent.futures import Future  # noqa: PLC0415 - as above

        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def stay() -> None:
            end = asyncio.Event()
            started.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        # A daemon thread does not keep the program alive if `close` is never called.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(stay()), name="rag-evals-loop", daemon=True
        )
        self._thread.start()
        self._loop, self._end = started.result()
        # Coroutines submitted to a closing loop would never start.
        self._handing_over = threading.Lock()
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it; an interrupt cancels it."""
        from concurrent.futures import CancelledError  # noqa: PLC0415 - loaded by now

        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise closed_too_soon() from None
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        import asyncio  # noqa: PLC0415 - loaded by now

        with self._handing_over:
            if self._is_closed:
                work.close()
                raise ConfigurationError("the session is closed; grade inside the with block")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Stop the loop and cancel its tasks."""
        with self._handing_over:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


def closed_too_soon() -> ConfigurationError:
    return ConfigurationError(
        "the session was closed while a row was being graded; wait for all rows inside the "
        "with block"
    )
