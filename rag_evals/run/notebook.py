"""How far is a run, in a notebook? One line that changes, and goes when the run ends."""

import sys
import time
from importlib import import_module
from typing import Any, Protocol

from rag_evals.text import html_text


class Stand(Protocol):
    """What is read of `Progress`."""

    @property
    def done(self) -> int:
        """Gradings that ended."""

    @property
    def total(self) -> int | None:
        """Gradings in all, where that is known."""


_SECONDS_BEFORE_FIRST = 0.2
_SECONDS_BETWEEN = 0.2


def in_notebook() -> bool:
    """Say whether the kernel of a notebook runs this program."""
    ipython: Any = sys.modules.get("IPython")  # where it is not loaded, nobody uses it
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class NotebookLine:
    """A bar with a line of text, in the output of the cell that runs."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._next = time.monotonic() + _SECONDS_BEFORE_FIRST

    def __call__(self, progress: Stand) -> None:
        """Show where the run stands; a few times a second, and never for a short run."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SECONDS_BETWEEN
        self._show(_Shown(str(progress), progress.done, progress.total))

    def close(self) -> None:
        """Take the line away."""
        if self._handle is not None:
            self._handle.update(_Shown("", 0, None))

    def _show(self, shown: "_Shown") -> None:
        if self._handle is None:
            display: Any = import_module("IPython.display").display
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


class _Shown:
    """One state of the line."""

    def __init__(self, text: str, done: int, total: int | None) -> None:
        self._text = text
        self._done = done
        self._total = total

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        if not self._text:
            return ""
        # Without a value the bar moves to and fro: nobody knows how much there is.
        place = "" if self._total is None else f' value="{self._done}" max="{self._total}"'
        return f"<div><progress{place}></progress> {html_text(self._text)}</div>"
