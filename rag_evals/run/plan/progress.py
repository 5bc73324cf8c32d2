"""Progress displays for runs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from rag_evals.core import Phrases, phrases
from rag_evals.text import html_text

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_IN_A_NOTEBOOK = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Attributes:
        done: Number of finished gradings, including those stored earlier.
        total: Total number of gradings; None if the length of the data is unknown.
        failed: Number of failed gradings.
        seconds: Seconds since the run was started or resumed.
        graded: Number of gradings finished in that time.
        tokens: Number of tokens sent and received, including those of earlier processes.
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
        """Gradings per second since the run was started or resumed."""
        return self.graded / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run finishes at this rate; None if unknown."""
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate

    def details(self, say: Phrases | None = None) -> str:
        """Return the failures, rate, tokens and cost as text, in English by default."""
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
        """Return the progress as one line of text, in English by default."""
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
    """Yield a function that shows progress on `stream`, which defaults to standard error.

    If `progress` is None, progress is shown only on a terminal or in a notebook.
    """
    say = phrases(language)
    ipython: Any = sys.modules.get("IPython")
    in_notebook = stream is None and ipython and hasattr(ipython.get_ipython(), "kernel")
    stream = sys.stderr if stream is None else stream
    if callable(progress):
        yield progress
    elif progress is False or not (progress or in_notebook or stream.isatty()):
        yield silent
    elif in_notebook:
        with _notebook_bar(say) as report:
            yield report
    elif stream.isatty():
        with _bar(stream, say) as report:
            yield report
    else:
        yield _lines(stream, say)


@contextmanager
def _notebook_bar(say: Phrases) -> Iterator[Report]:
    """Update a bar in the notebook cell a few times a second; very short runs do not show it."""
    display: Any = import_module("IPython.display")
    handle: Any = None
    shown_at = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal handle, shown_at
        if time.monotonic() - shown_at < _SECONDS_IN_A_NOTEBOOK:
            return
        shown_at = time.monotonic()
        # Without a value, the bar only indicates that the run is active.
        known = progress.total is not None
        place = f' value="{progress.done}" max="{progress.total}"' if known else ""
        text = html_text(progress.line(say))
        bar = display.HTML(f"<div><progress{place}></progress> {text}</div>")
        if handle is None:
            handle = display.display(bar, display_id=True)
        else:
            handle.update(bar)

    try:
        yield report
    finally:
        if handle is not None:
            handle.update(display.HTML(""))


def _lines(stream: TextIO, say: Phrases) -> Report:
    """Return a function that writes a line every few seconds, at the end and when a wait begins."""
    shown_at = time.monotonic()
    waited = False

    def report(progress: Progress) -> None:
        nonlocal shown_at, waited
        waits = progress.waiting_seconds >= 1
        is_due = time.monotonic() - shown_at >= _SECONDS_BETWEEN_LINES
        if is_due or waits > waited or progress.done == progress.total:
            shown_at = time.monotonic()
            print(progress.line(say), file=stream, flush=True)
        waited = waits

    return report


@contextmanager
def _bar(stream: TextIO, say: Phrases) -> Iterator[Report]:
    from rich import progress as bars  # noqa: PLC0415 - takes 0.1 s; used only on a terminal
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Column  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    details = Text(no_wrap=True, overflow="ellipsis")
    # A narrow terminal may truncate the bar and the details, but not the count and remaining time.
    whole = Column(no_wrap=True)
    columns = (
        bars.SpinnerColumn(table_column=whole),
        bars.MofNCompleteColumn(table_column=whole),
        bars.TimeRemainingColumn(table_column=whole),
        bars.BarColumn(bar_width=20),
        bars.RenderableColumn(details),
    )
    with bars.Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(progress: Progress) -> None:
            details.plain = progress.details(say)
            bar.update(task, completed=progress.done, total=progress.total)

        yield report
