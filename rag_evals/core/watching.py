"""Who watches the work? Functions that are given each piece when it begins, and see it end."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Work:
    """A piece of work.

    Attributes:
        kind: A whole run, the grading of one row by one grader, or one call of a judge.
        name: Of the graders; empty for a call.
        subject: The identity of a run, the row as it was read, or the call.
        by: The judge of a call; None for others.
        result: The run, the outcome or the reply; None until it is there, or where it failed.
    """

    kind: Literal["run", "row", "call"]
    name: str
    subject: Any
    by: Any = None
    result: Any = None


Watcher = Callable[[Work], AbstractContextManager[object]]
"""Is entered when a piece of work begins, and left when it ended; an exception passes through."""

_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> Callable[[], None]:
    """Let a function watch all work of this process from now on.

    Args:
        watcher: Called with each piece of work; what it returns is entered, and left at the end.

    Returns:
        A function that ends it.
    """
    _watchers.append(watcher)

    def stop() -> None:
        if watcher in _watchers:
            _watchers.remove(watcher)

    return stop


@contextmanager
def watched(work: Work) -> Iterator[Work]:
    """Do a piece of work inside; the caller sets its result."""
    with ExitStack() as stack:
        for watcher in tuple(_watchers):
            stack.enter_context(watcher(work))
        yield work


async def watching(work: Work, doing: Coroutine[Any, Any, T]) -> T:
    """Do a piece of work that is awaited, and return its result."""
    if not _watchers:
        return await doing
    with watched(work):
        result = await doing
        work.result = result
        return result
