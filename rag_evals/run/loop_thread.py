"""Where does async work run for a caller without an event loop? In a thread that has one."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from rag_evals.errors import ConfigurationError

T = TypeVar("T")


def closed_too_soon() -> ConfigurationError:
    """Say that a session was closed while it graded."""
    return ConfigurationError(
        "the session was closed while a row was graded; wait for all rows inside its with block"
    )


class LoopThread:
    """An event loop in a thread of its own, for any number of threads; close it at the end."""

    def __init__(self) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def stay() -> None:
            end = asyncio.Event()
            started.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        # A daemon: a program that ends without closing must not hang.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(stay()), name="rag-evals-loop", daemon=True
        )
        self._thread.start()
        self._loop, self._end = started.result()
        # Work that is handed over while the loop ends would never begin, and be waited for.
        self._handing_over = threading.Lock()
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it; an interrupt of the wait cancels it.

        Raises:
            ConfigurationError: The loop was closed.
        """
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise closed_too_soon() from None
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin a coroutine in the loop, and do not wait for it.

        Raises:
            ConfigurationError: The loop was closed.
        """
        with self._handing_over:
            if self._is_closed:
                work.close()
                raise ConfigurationError("the session is closed; grade inside its with block")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop: what still runs in it is cancelled."""
        with self._handing_over:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
