"""When does Python's garbage collector only cost time? Ways to pause it then."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 10_000


@contextmanager
def settled_heap() -> Iterator[None]:
    """Exclude objects that exist before a run from garbage collection.

    A run makes objects fast, so the collector runs often, each time through all modules that are
    loaded: a fifth of the run's CPU. It also runs more rarely while a run goes on: a row makes
    hundreds of objects, and next to none that only the collector can free.
    """
    young, *older = gc.get_threshold()
    gc.freeze()
    # 0 is a user's wish to have none.
    gc.set_threshold(young and max(young, _YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
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
