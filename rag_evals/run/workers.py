"""How do several processes grade one run? One reads, deals rows out and keeps; the others grade.

What must be one stays in the process that runs: the data, the folder, what is graded already, the
gate, the progress and the numbers. A worker gets a row when it has room for it, and sends back its
outcome. One that ends by itself is replaced, and its rows are graded again.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from rag_evals.core import Usage
from rag_evals.dataset import ColumnMap, NumberedSample, RowData
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader
from rag_evals.judge import LimitShare
from rag_evals.run.outcome import (
    GradingIdentity,
    Outcome,
    outcome_from_error,
)
from rag_evals.run.plan import Plan
from rag_evals.run.worker_beats import beat_seconds
from rag_evals.run.worker_messages import (
    Broken,
    FromWorker,
    Pause,
    Ready,
    Waiting,
    WithoutTemperature,
    packed_plan,
)
from rag_evals.run.worker_slot import DealtRow, WorkerSlot


class WorkerPool:
    """Grades rows in other processes; what a run asks of a session, it can ask of this.

    Args:
        plan: The run.
        results: As for `row_grader_of`.
        lines: As for `row_grader_of`.
    """

    def __init__(self, plan: Plan, *, results: bool, lines: bool) -> None:
        self._fingerprints = plan.fingerprints
        self._numbers = count()
        self._failure: Exception | None = None
        self._waits_until = 0.0
        self._pauses: dict[str, tuple[float, Pause]] = {}
        self._without_temperature: set[str] = set()
        self._looks: asyncio.Task[None] | None = None
        self._look_seconds = beat_seconds()
        self._slots = [
            WorkerSlot(self, each, packed_plan(each, results=results, lines=lines))
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
        self._looks = asyncio.create_task(self._look())
        await asyncio.gather(*(slot.ready for slot in self._slots))

    async def close(self, *, is_finished: bool) -> None:
        """End the workers: at once, or, where all is graded, once each has closed what it holds."""
        if self._looks is not None:
            self._looks.cancel()
        await asyncio.gather(*(slot.close(is_finished=is_finished) for slot in self._slots))

    async def _look(self) -> None:
        while not await asyncio.sleep(self._look_seconds, False):
            for slot in self._slots:
                slot.look()

    def _deal(self, dealt: DealtRow, row: NumberedSample) -> None:
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        # The other columns may hold anything, and no grader sees them.
        dealt.row, dealt.number = row._replace(columns={}), next(self._numbers)
        dealt.ends = {name: loop.create_future() for name in dealt.graders}
        min(self._slots, key=lambda slot: slot.load).deal(dealt)

    def take(self, message: FromWorker, slot: WorkerSlot) -> None:
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
