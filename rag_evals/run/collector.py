"""When does Python's garbage collector only cost time? Ways to pause it then."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settled_heap() -> Iterator[None]:
    """Exclude objects that exist before a run from garbage collection.

    A run makes objects fast, so the collector runs often, each time through all modules that are
    loaded: a fifth of the run's CPU.
    """
    gc.freeze()
    try:
        yield
    finally:
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
