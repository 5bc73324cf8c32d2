"""How many gradings go on at a time? As many as are allowed; one that was taken makes room."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class UntilOneEnded:
    """A piece of work that is none: the next one is to be asked for when another has ended."""


async def in_flight(
    work: Iterable[T | Coroutine[Any, Any, T] | UntilOneEnded], most: int
) -> AsyncGenerator[T]:
    """Yield results as they come; what is slow to take them slows the work down.

    Args:
        work: Coroutines, and results that are there already; read as there is room.
        most: At most so many are under way, or ended and not yet taken.

    Raises:
        Exception: What a coroutine raised; the others are cancelled, and have ended.
    """
    running: set[asyncio.Task[T]] = set()
    ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()
    try:
        for piece in work:
            if isinstance(piece, UntilOneEnded):
                assert running, "nothing is under way that could end"
                yield _taken(await ended.get(), running)
                continue
            if not asyncio.iscoroutine(piece):
                yield piece
                continue
            task = asyncio.create_task(piece)
            running.add(task)
            task.add_done_callback(ended.put_nowait)
            # What has ended in the meantime is handed on at once.
            while len(running) >= most or not ended.empty():
                yield _taken(await ended.get(), running)
        while running:
            yield _taken(await ended.get(), running)
    finally:
        # What one raised ends all: calls in flight must not go on being paid for.
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _taken(task: asyncio.Task[T], running: set[asyncio.Task[T]]) -> T:
    running.discard(task)
    return task.result()
