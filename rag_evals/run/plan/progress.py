"""Progress display of a run."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from rag_evals.core import Phrases, phrases
from rag_evals.text import html_text

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_IN_A_NOTEBOOK = 0.2


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")  # not loaded outside notebooks
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


if TYPE_CHECKING:
    from rich.progress import TaskID


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Attributes:
        done: Finished gradings, including those of earlier starts.
        total: All gradings; None if the data has no known length.
        failed: Failed gradings.
        seconds: Seconds since this start.
        graded: Gradings finished in this start.
        tokens: Tokens sent and received, including earlier starts.
        cost_usd: List price of the tokens; None if unknown.
        waiting_seconds: Seconds until the endpoint accepts requests again.
    """

    done: int
    total: int | None
    failed: int
    seconds: float
    graded: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    waiting_seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Gradings per second in this start."""
        return self.graded / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run ends at this rate; None if unknown."""
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate

    def details(self, say: Phrases | None = None) -> str:
        """Return failures, rate, tokens and cost; in English by default."""
        say = say or phrases()
        parts = [
            say("progress.failed", count=self.failed),
            say("progress.rate", rate=say.number(self.rate, 1)),
        ]
        if self.tokens:
            parts.append(say("progress.tokens", thousands=say.number(self.tokens / 1000, 1)))
        if self.cost_usd is not None:
            parts.append(f"${say.number(self.cost_usd, 4)}")
        if self.waiting_seconds >= 1:
            parts.append(say("progress.waiting", seconds=f"{self.waiting_seconds:.0f}"))
        return ", ".join(parts)

    def line(self, say: Phrases | None = None) -> str:
        """Return the progress in one line; in English by default."""
        say = say or phrases()
        left = self.seconds_left
        return say(
            "progress.line",
            done=self.done,
            total="" if self.total is None else say("progress.total", total=self.total),
            details=self.details(say),
            left=say("progress.left", seconds=f"{left:.0f}") if left else "",
        )

    def __str__(self) -> str:
        return self.line()


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None: ...


@contextmanager
def reporting(
    progress: Report | bool | None, stream: TextIO | None = None, *, language: str = "en"
) -> Iterator[Report]:
    """Yield a function that shows progress.

    Args:
        progress: A function of the user's, or whether to show progress; None shows it on a
            terminal and in a notebook.
        stream: Standard error by default.
        language: "en" or "ru".
    """
    in_notebook = stream is None and _in_notebook()
    stream = sys.stderr if stream is None else stream
    if callable(progress):
        yield progress
    elif in_notebook and progress is not False:
        line = _NotebookLine(phrases(language))
        try:
            yield line
        finally:
            line.close()
    elif progress is False or (progress is None and not stream.isatty()):
        yield silent
    elif stream.isatty():
        with _bar(stream, phrases(language)) as report:
            yield report
    else:
        yield _Lines(stream, phrases(language))


class _Html:
    def __init__(self, html: str) -> None:
        self._html = html

    def __repr__(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return self._html


class _NotebookLine:
    """Shows a progress bar in the notebook cell, and removes it at the end."""

    def __init__(self, say: Phrases) -> None:
        self._say = say
        self._handle: Any = None
        self._shown_at = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self._shown_at < _SECONDS_IN_A_NOTEBOOK:
            return
        self._shown_at = time.monotonic()
        # Without a value the bar only shows activity.
        known = progress.total is not None
        place = f' value="{progress.done}" max="{progress.total}"' if known else ""
        text = html_text(progress.line(self._say))
        shown = _Html(f"<div><progress{place}></progress> {text}</div>")
        if self._handle is None:
            display: Any = import_module("IPython.display").display
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update(_Html(""))


class _Lines:
    def __init__(self, stream: TextIO, say: Phrases) -> None:
        self._stream = stream
        self._say = say
        self._shown_at = time.monotonic()
        self._waited = False

    def __call__(self, progress: Progress) -> None:
        is_due = time.monotonic() - self._shown_at >= _SECONDS_BETWEEN_LINES
        begins_to_wait = progress.waiting_seconds >= 1 and not self._waited
        self._waited = progress.waiting_seconds >= 1
        if is_due or begins_to_wait or progress.done == progress.total:
            self._shown_at = time.monotonic()
            self._stream.write(f"{progress.line(self._say)}\n")
            self._stream.flush()


@contextmanager
def _bar(stream: TextIO, say: Phrases) -> Iterator[Report]:
    from rich.console import Console  # noqa: PLC0415 - 0.1 s, and only on a terminal
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        RenderableColumn,
        SpinnerColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415 - as above
    from rich.table import Column  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    details = Text(no_wrap=True, overflow="ellipsis")
    # A narrow terminal may cut bar and details, but not count and remaining time.
    whole = Column(no_wrap=True)
    columns = (
        SpinnerColumn(table_column=whole),
        MofNCompleteColumn(table_column=whole),
        TimeRemainingColumn(table_column=whole),
        BarColumn(bar_width=20),
        RenderableColumn(details),
    )
    with Bar(*columns, console=Console(file=stream), transient=True) as bar:
        task: TaskID = bar.add_task("", total=None)

        def report(progress: Progress) -> None:
            details.plain = progress.details(say)
            bar.update(task, completed=progress.done, total=progress.total)

        yield report
