"""What happens on Ctrl-C? The run is cancelled, finished rows are kept, and the error says so."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from rag_evals.errors import RunInterruptedError

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new loop until it ends, or SIGINT or SIGTERM comes.

    Raises:
        RunInterruptedError: A signal came; the coroutine was cancelled and has ended.
    """
    received: list[int] = []

    async def guarded() -> T:
        task = asyncio.ensure_future(work)

        def stop(number: int) -> None:
            received.append(number)
            task.cancel()

        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            # Not on Windows, where KeyboardInterrupt comes by itself.
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, stop, number)
        return await task

    try:
        return asyncio.run(guarded())
    except (asyncio.CancelledError, KeyboardInterrupt):
        number = received[0] if received else signal.SIGINT
        error = RunInterruptedError(f"ended by {signal.Signals(number).name}")
        error.signal_number = int(number)
        raise error from None
