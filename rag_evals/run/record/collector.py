"""When does Python's garbage collector only cost time? Ways to pause it then."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 10_000

# Runs in several threads share one collector: the first settles the heap, the last one ends it.
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []


@contextmanager
def settled_heap() -> Iterator[None]:
    """Exclude objects that exist before a run from garbage collection.

    A run makes objects fast, so the collector runs often, each time through all modules that are
    loaded: a fifth of the run's CPU. It also runs more rarely while a run goes on: a row makes
    hundreds of objects, and next to none that only the collector can free.
    """
    with _lock:
        young, *older = found = gc.get_threshold()
        _thresholds.append(found)
        gc.freeze()
        # 0 is a user's wish to have none.
        gc.set_threshold(young and max(young, _YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            # The last one to end finds what the first one to begin has found.
            if not _thresholds:
                gc.set_threshold(*before)
                gc.unfreeze()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Stop Python's search for unreachable objects for a while.

    Reading and showing a large run makes millions of objects, none of them garbage; walking over
    them again and again takes a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
