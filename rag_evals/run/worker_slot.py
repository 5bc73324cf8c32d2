"""Which rows has a worker, and what becomes of them when its process ends or hangs?"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from rag_evals.dataset import NumberedSample
from rag_evals.errors import ConfigurationError, GradingError
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.worker_messages import (
    Beat,
    Deal,
    Finish,
    FromWorker,
    Graded,
    Ready,
    ToWorker,
    packed,
)
from rag_evals.run.worker_process import WorkerProcess, start_process
from rag_evals.text import one_line

_log = logging.getLogger(__name__)
_SECONDS_TO_FINISH = 10.0
# A row that was being graded alone when its worker ended, after it was there at another end.
_ENDS_OF_A_ROW = 2
# So often a worker may end without having graded a row since the end before.
_FRUITLESS_ENDS = 5


@dataclass(slots=True, eq=False)
class DealtRow:
    """A row that one worker grades with some graders.

    Attributes:
        graders: Which.
        row: The row; None until it is dealt.
        number: Of the row among all that were dealt.
        ends: For each grader, how the grading ended.
        lines: For each grader that ended, the line of its outcome, if it was asked for.
        deaths: How many workers ended by themselves while they graded it.
    """

    graders: tuple[str, ...]
    row: NumberedSample | None = None
    number: int = 0
    ends: dict[str, "asyncio.Future[Outcome]"] = field(default_factory=dict)
    lines: dict[str, bytes] = field(default_factory=dict)
    deaths: int = 0

    @property
    def left(self) -> tuple[str, ...]:
        """The graders that have not ended."""
        return tuple(name for name, end in self.ends.items() if not end.done())


class SlotOwner(Protocol):
    """What a worker's place tells all others."""

    def take(self, message: FromWorker, slot: "WorkerSlot") -> None:
        """Take what a worker says to all."""

    def end(self, dealt: DealtRow, error: Exception) -> None:
        """Let the gradings of a row that have not ended fail."""

    def fail(self, error: Exception) -> None:
        """End the run with an error."""


class WorkerSlot:
    """The place of one worker: its rows, and its process, which may be replaced.

    Args:
        pool: Whose place it is.
        plan: What the worker grades with.
        begin: The first message to it.

    Attributes:
        ready: Done when the first process can grade.
    """

    def __init__(self, pool: SlotOwner, plan: Plan, begin: bytes) -> None:
        self._pool = pool
        self._places = plan.settings.session.concurrency
        self._number = plan.settings.session.share.place + 1
        self._begin = begin
        self._process: WorkerProcess | None = None
        self._sent: dict[int, DealtRow] = {}
        self._left: deque[DealtRow] = deque()
        self._closing = False
        self._is_ready = False
        self._fruitless_ends = 0
        self._starting: asyncio.Task[None] | None = None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def load(self) -> float:
        """How much of what it can do at a time it has to do."""
        return (len(self._sent) + len(self._left)) / self._places

    async def start(self) -> None:
        """Start a process; once it is ready, it gets the rows that are there."""
        process = await start_process(self._take, self._ended)
        self._process = process
        process.send(self._begin)

    def deal(self, row: DealtRow) -> None:
        """Give it a row, together with others that it is given now."""
        self._left.append(row)
        if len(self._left) == 1:
            asyncio.get_running_loop().call_soon(self._send_rows)

    def send(self, message: ToWorker) -> None:
        """Send a message to its process, if there is one that can take it."""
        if self._process is not None and self._is_ready:
            self._process.send(packed(message))

    def fail(self, error: Exception) -> None:
        """End all that waits for it with an error."""
        ends = [end for row in (*self._sent.values(), *self._left) for end in row.ends.values()]
        waiting: list[asyncio.Future[Any]] = [self.ready, *ends]
        for end in waiting:
            if not end.done():
                end.set_exception(error)
                # One error ends the run; nobody waits for most of the others.
                end.exception()

    async def close(self, *, is_finished: bool) -> None:
        """End its process."""
        self._closing = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if (process := self._process) is None:
            return
        if is_finished:
            self.send(Finish())
            await asyncio.wait([process.ended], timeout=_SECONDS_TO_FINISH)
        process.end()
        await process.ended

    def look(self) -> None:
        """End a process that has said nothing for too long."""
        if self._process is not None:
            self._process.look()

    def _send_rows(self) -> None:
        if self._process is None or not self._is_ready:
            return
        data = []
        while self._left and self._may_send(self._left[0]):
            row = self._left.popleft()
            assert row.row is not None, "it was dealt"
            try:
                data.append(packed(Deal(row.number, row.row, row.left)))
            except Exception as error:  # noqa: BLE001 - whatever is in the user's metadata
                why = f"the row cannot be given to a worker: {one_line(str(error))}"
                self._pool.end(row, GradingError(why))
                continue
            self._sent[row.number] = row
        if data:
            self._process.send(b"".join(data))

    def _may_send(self, row: DealtRow) -> bool:
        # After an end nobody knows which row it was: they go one at a time.
        return not self._sent or not (row.deaths or self._is_wary)

    @property
    def _is_wary(self) -> bool:
        return any(row.deaths for row in self._sent.values())

    def _take(self, message: FromWorker) -> None:
        match message:
            case Graded(number, outcome, line):
                row = self._sent[number]
                self._fruitless_ends = 0
                end = row.ends[outcome.grader]
                if line is not None:
                    row.lines[outcome.grader] = line
                if not end.done():
                    end.set_result(outcome)
                if not row.left:
                    del self._sent[number]
                    self._send_rows()
            case Ready():
                self._is_ready = True
                if not self.ready.done():
                    self.ready.set_result(None)
                self._pool.take(message, self)
                self._send_rows()
            case Beat():
                pass
            case _:
                self._pool.take(message, self)

    def _ended(self, process: WorkerProcess) -> None:
        self._process = None
        if self._closing:
            return
        how = f"worker {self._number} {process.how_it_ended()}"
        self._is_ready = False
        if not self.ready.done():
            error = ConfigurationError(f"{how}, before it could grade; grade without workers")
            self._pool.fail(error)
            return
        again = self._rows_to_grade_again(how, is_crash=process.silent_seconds is None)
        if self._fruitless_ends >= _FRUITLESS_ENDS:
            ends = f"worker {self._number} ended {_FRUITLESS_ENDS} times and graded no row between"
            last = process.how_it_ended()
            self._pool.fail(GradingError(f"{ends}; the last one {last}; grade without workers"))
            return
        _log.warning("%s; another takes its place, %d rows are graded again", how, len(again))
        self._left.extendleft(reversed(again))
        self._sent.clear()
        self._starting = asyncio.ensure_future(self._start_again())

    def _rows_to_grade_again(self, how: str, *, is_crash: bool) -> list[DealtRow]:
        self._fruitless_ends += 1
        rows = list(self._sent.values())
        for row in rows:
            row.deaths += 1
        if len(rows) == 1 and rows[0].deaths >= _ENDS_OF_A_ROW:
            self._pool.end(rows[0], GradingError(f"{how} while it graded this row, and no other"))
            # Rows that crash it are soon found, one by one; silence takes a minute each time.
            self._fruitless_ends -= is_crash
        return [row for row in rows if row.left]

    async def _start_again(self) -> None:
        try:
            await self.start()
        except OSError as error:
            self._pool.fail(error)
