"""How do several processes grade one run? One reads, deals rows out and keeps; the others grade.

What must be one stays in the process that runs: the data, the folder, what is graded already, the
gate, the progress and the numbers. A worker gets a row when it has room for it, and sends back its
outcome. One that ends by itself is replaced, and its rows are graded again.
"""

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from rag_evals.core import Usage
from rag_evals.dataset import ColumnMap, NumberedSample, RowData
from rag_evals.errors import ConfigurationError, GradingError
from rag_evals.grading import Grader
from rag_evals.judge import LimitShare
from rag_evals.run.outcome import (
    GradingIdentity,
    Outcome,
    outcome_from_error,
    short_fingerprint,
)
from rag_evals.run.plan import Plan
from rag_evals.run.worker_messages import (
    Broken,
    Deal,
    Finish,
    FromWorker,
    Graded,
    Pause,
    Ready,
    ToWorker,
    Waiting,
    WithoutTemperature,
    packed,
    packed_plan,
)
from rag_evals.run.worker_process import WorkerProcess, start_process
from rag_evals.text import one_line

_log = logging.getLogger(__name__)
_SECONDS_TO_FINISH = 10.0
# A row that was being graded alone when its worker ended, after it was there at another end.
_ENDS_OF_A_ROW = 2


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


class WorkerPool:
    """Grades rows in other processes; what a run asks of a session, it can ask of this.

    Args:
        plan: The run.
        results: As for `row_grader_of`.
        lines: As for `row_grader_of`.
    """

    def __init__(self, plan: Plan, *, results: bool, lines: bool) -> None:
        self._fingerprints = {
            grader.name: short_fingerprint(grader.fingerprint()) for grader in plan.graders
        }
        self._numbers = count()
        self._failure: Exception | None = None
        self._waits_until = 0.0
        self._pauses: dict[str, tuple[float, Pause]] = {}
        self._without_temperature: set[str] = set()
        self._slots = [
            _Slot(self, each, packed_plan(each, results=results, lines=lines))
            for each in _plans_of_workers(plan)
        ]

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait, from now; 0 when none has."""
        return max(0.0, self._waits_until - time.monotonic())

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return sorted(self._without_temperature)

    def fingerprint(self, grader: str) -> str:
        """Return the beginning of a grader's fingerprint, as outcomes have it."""
        return self._fingerprints[grader]

    def together(self, graders: Sequence[Grader[Any]]) -> list[DealtRow]:
        """Say what the gradings of one row share: the worker, which may ask for several at once."""
        dealt = DealtRow(tuple(grader.name for grader in graders))
        return [dealt] * len(graders)

    async def grade_row(
        self, row: NumberedSample, grader: Grader[Any], together: DealtRow
    ) -> Outcome:
        """Have a worker grade a row.

        Args:
            row: The row.
            grader: The grader.
            together: From `together`.
        """
        if together.row is None:
            self._deal(together, row)
        return await together.ends[grader.name]

    def line_of(self, outcome: Outcome, together: DealtRow) -> bytes:
        """Return the line of an outcome, which its worker made; arguments as for `grade_row`."""
        return together.lines.get(outcome.grader) or outcome.to_line()

    async def open(self) -> None:
        """Start the workers, and wait until all can grade.

        Raises:
            ConfigurationError: One cannot.
        """
        await asyncio.gather(*(slot.start() for slot in self._slots))
        await asyncio.gather(*(slot.ready for slot in self._slots))

    async def close(self, *, is_finished: bool) -> None:
        """End the workers: at once, or, where all is graded, once each has closed what it holds."""
        await asyncio.gather(*(slot.close(is_finished=is_finished) for slot in self._slots))

    def _deal(self, dealt: DealtRow, row: NumberedSample) -> None:
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        # The other columns may hold anything, and no grader sees them.
        dealt.row, dealt.number = row._replace(columns={}), next(self._numbers)
        dealt.ends = {name: loop.create_future() for name in dealt.graders}
        min(self._slots, key=lambda slot: slot.load).deal(dealt)

    def take(self, message: FromWorker, slot: "_Slot") -> None:
        """Take what a worker says to all."""
        match message:
            case Pause(endpoint, seconds, _):
                self._pauses[endpoint] = (time.monotonic() + (seconds or 0.0), message)
                for other in self._slots:
                    if other is not slot:
                        other.send(message)
            case Ready():
                # One that takes the place of another must not begin in the middle of a pause.
                for until, pause in self._pauses.values():
                    if (left := until - time.monotonic()) > 0:
                        slot.send(pause._replace(seconds=left))
            case Waiting(seconds):
                self._waits_until = time.monotonic() + seconds
            case WithoutTemperature(models):
                self._without_temperature.update(models)
            case Broken(error):
                self.fail(error)

    def end(self, dealt: DealtRow, error: Exception) -> None:
        """Let the gradings of a row that have not ended fail."""
        assert dealt.row is not None, "it was dealt"
        for name in dealt.left:
            grading = GradingIdentity.of(dealt.row, name, self._fingerprints[name])
            dealt.ends[name].set_result(outcome_from_error(grading, error, 0.0, Usage()))

    def fail(self, error: Exception) -> None:
        """End the run with an error."""
        self._failure = self._failure or error
        for slot in self._slots:
            slot.fail(error)


class _Slot:
    """The place of one worker: its rows, and its process, which may be replaced."""

    def __init__(self, pool: WorkerPool, plan: Plan, begin: bytes) -> None:
        self._pool = pool
        self._places = plan.settings.session.concurrency
        self._number = plan.settings.session.share.place + 1
        self._begin = begin
        self._process: WorkerProcess | None = None
        self._sent: dict[int, DealtRow] = {}
        self._left: deque[DealtRow] = deque()
        self._closing = False
        self._is_ready = False
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
            case _:
                self._pool.take(message, self)

    def _ended(self, process: WorkerProcess) -> None:
        self._process = None
        if self._closing:
            return
        how = f"worker {self._number} {process.how_it_ended()}"
        was_ready, self._is_ready = self._is_ready, False
        if not was_ready:
            error = ConfigurationError(f"{how}, before it could grade; grade without workers")
            self._pool.fail(error)
            return
        rows = list(self._sent.values())
        for row in rows:
            row.deaths += 1
        if len(rows) == 1 and rows[0].deaths >= _ENDS_OF_A_ROW:
            self._pool.end(rows[0], GradingError(f"{how} while it graded this row, and no other"))
        again = [row for row in rows if row.left]
        _log.warning("%s; another takes its place, %d rows are graded again", how, len(again))
        self._left.extendleft(reversed(again))
        self._sent.clear()
        self._starting = asyncio.ensure_future(self._start_again())

    async def _start_again(self) -> None:
        try:
            await self.start()
        except OSError as error:
            self._pool.fail(error)


@asynccontextmanager
async def workers_of(plan: Plan, *, results: bool, lines: bool) -> AsyncIterator[WorkerPool]:
    """Start the workers of a plan, and end them behind it; arguments as for `row_grader_of`.

    Raises:
        ConfigurationError: Part of the plan cannot be given to a worker, or one cannot start.
    """
    if sys.platform == "win32":
        raise ConfigurationError("workers need Linux or macOS; grade without them on Windows")
    pool = WorkerPool(plan, results=results, lines=lines)
    is_finished = False
    try:
        await pool.open()
        yield pool
        is_finished = True
    finally:
        await pool.close(is_finished=is_finished)


def _plans_of_workers(plan: Plan) -> list[Plan]:
    """Share a plan out: the same graders, a part of what may go on at a time, and no data."""
    workers, session = plan.settings.workers, plan.settings.session
    some, more = divmod(session.concurrency, workers)
    return [
        replace(
            plan,
            data=RowData((), ColumnMap.of(None), frozenset()),
            checked=None,
            settings=replace(
                plan.settings,
                workers=1,
                session=replace(
                    session,
                    concurrency=some + (place < more),
                    share=LimitShare(place, workers),
                ),
            ),
        )
        for place in range(workers)
    ]
