"""How much work is a call? Counted, not timed: a busy machine changes no count."""

import sys
from collections.abc import Callable
from typing import Any

# Methods that look at all of the text or list that they are called on.
_READS_ALL = frozenset(
    "count find index lower casefold removeprefix replace split splitlines strip".split()
)


def work_of(call: Callable[[], object]) -> int:
    """Count calls, and the characters and items that methods written in C look at."""
    total = 0

    def count(_: object, event: str, called: Any) -> None:
        nonlocal total
        if event == "call":
            total += 1
        elif event == "c_call":
            owner = getattr(called, "__self__", None)
            reads = isinstance(owner, str | list | tuple) and called.__name__ in _READS_ALL
            total += len(owner) if reads else 1  # type: ignore[arg-type]  # checked by `reads`

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return total
