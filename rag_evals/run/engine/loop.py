"""The loop of a run, which grades rows concurrently and stores each outcome."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any, TypeVar

from rag_evals.dataset import FileData, NumberedSample
from rag_evals.errors import (
    GradingError,
    JudgeRejectedError,
    JudgeUnreachableError,
    PendingError,
    TooManyFailuresError,
)
from rag_evals.grading import Grader
from rag_evals.run.engine.earlier import EarlierOutcomes
from rag_evals.run.engine.session import AsyncGradingSession, session_of
from rag_evals.run.plan.plan import EveryRow, Plan
from rag_evals.run.plan.progress import Progress, Report, reporting, silent
from rag_evals.run.read.run import Run
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.samples import StoredSample, stored_sample
from rag_evals.run.record.store import RunStore
from rag_evals.run.record.summary import Summary

T = TypeVar("T")


class UntilOneEnded:
    """Tells `in_flight` to wait for a running task before it asks for more work."""


async def in_flight(
    work: Iterable[T | Coroutine[Any, Any, T] | UntilOneEnded], most: int
) -> AsyncGenerator[T]:
    """Yield results as they arrive; a slow consumer slows down the work.

    When a coroutine raises, the others are cancelled before its exception propagates.
    """
    running: set[asyncio.Task[T]] = set()
    ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()
    try:
        for piece in work:
            if isinstance(piece, UntilOneEnded):
                assert running, "nothing is under way that could end"
                yield _taken(await ended.get(), running)
                continue
            if not asyncio.iscoroutine(piece):
                yield piece
                continue
            task = asyncio.create_task(piece)
            running.add(task)
            task.add_done_callback(ended.put_nowait)
            # Also drain results that have arrived in the meantime.
            while len(running) >= most or not ended.empty():
                yield _taken(await ended.get(), running)
        while running:
            yield _taken(await ended.get(), running)
    finally:
        # After an exception, calls in flight must not go on costing money.
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _taken(task: asyncio.Task[T], running: set[asyncio.Task[T]]) -> T:
    running.discard(task)
    return task.result()


REFUSALS_IN_A_ROW = 10
"""This many refused gradings without a success between them end a run."""


class Refusals:
    def __init__(self, earlier: EarlierOutcomes | None) -> None:
        self._earlier = earlier
        self._answered = False
        self._answered_before = earlier is not None and earlier.spent.is_answered
        self._in_a_row = 0

    @property
    def has_answered(self) -> bool:
        return self._answered or self._answered_before

    def count(self, outcome: Outcome) -> None:
        # An outcome without a call does not prove that the key works.
        if outcome.status != "failed" and outcome.usage.calls > 0:
            self._answered = True
            self._in_a_row = 0

    def fatal(self, outcome: Outcome) -> GradingError | None:
        """Return an error if the outcome must end the run."""
        if outcome.error is None:
            return None
        kind, message = outcome.error.type, outcome.error.message
        if kind == JudgeUnreachableError.__name__:
            return None if self._answered else JudgeUnreachableError(message)
        if kind != JudgeRejectedError.__name__:
            return None
        if self._earlier is not None and self._earlier.was_refused(outcome):
            return None
        if not self.has_answered:
            return JudgeRejectedError(message)
        self._in_a_row += 1
        if self._in_a_row < REFUSALS_IN_A_ROW:
            return None
        return JudgeRejectedError(
            f"{self._in_a_row} gradings in a row were refused, so the run ends here; "
            f"the same call continues it; the last refusal: {message}"
        )


_YOUNG_OBJECTS = 10_000

# Threads share the collector, so the first run freezes the heap and the last one unfreezes it.
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []


@contextmanager
def settled_heap() -> Iterator[None]:
    """Freeze existing objects and collect garbage less often.

    A run allocates so fast that collections over all loaded modules took a fifth of the CPU.
    """
    with _lock:
        young, *older = found = gc.get_threshold()
        _thresholds.append(found)
        gc.freeze()
        # 0 means that the user has switched collection off.
        gc.set_threshold(young and max(young, _YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds.pop()
            if not _thresholds:
                gc.set_threshold(*before)
                gc.unfreeze()


@asynccontextmanager
async def runner_of(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None,
    yields_earlier: bool = False,
    holds: bool = True,
    opened: AbstractAsyncContextManager[AsyncGradingSession] | None = None,
) -> "AsyncIterator[Runner]":
    """Open session, store and progress display; arguments as for `evaluate`."""
    folder = None if out is None else Path(out)
    async with AsyncExitStack() as stack:
        # First, so that a judge that cannot be opened leaves no folder behind.
        session = await stack.enter_async_context(opened or session_of(plan, folder=folder))
        store = None
        if folder is not None:
            store = RunStore(folder, plan.manifest(), restart=plan.settings.restart)
            stack.enter_context(store)
        report = stack.enter_context(reporting(progress))
        stack.enter_context(settled_heap())
        if store is not None and isinstance(plan.data, FileData) and plan.data.kept_check:
            store.keep_check(plan.data.kept_check)
        holds = holds and folder is None
        yield Runner(plan, session, store, report, yields_earlier=yields_earlier, holds=holds)


class Runner:
    def __init__(
        self,
        plan: Plan,
        session: AsyncGradingSession,
        store: RunStore | None,
        report: Report,
        *,
        yields_earlier: bool,
        holds: bool,
    ) -> None:
        self._plan = plan
        self._session = session
        self._store = store
        self._report = report
        self._yields_earlier = yields_earlier
        self._holds = holds
        self._began = time.monotonic()
        self._graded = 0
        self._earlier = None if store is None else EarlierOutcomes(plan, store)
        self._refusals = Refusals(self._earlier)
        self._outcomes: list[Outcome] = []
        self._samples: dict[str, StoredSample] = {}
        # Counted in the summary but not yet yielded.
        self._counted: dict[int, Outcome] = {}
        self._summary = Summary(unfinished=True, judge=plan.identity["judge"], stages=plan.stages)
        lost = 0.0 if self._earlier is None else self._earlier.spent.lost_usd
        self._policy = EveryRow() if plan.policy is None else plan.policy(plan, lost)
        # Manifest entries from the policy.
        self.notes: Mapping[str, Any] = {}
        self._done = 0
        if self._earlier is not None:
            self._earlier.fill(self._summary)
            self._done = self._earlier.done

    async def outcomes(self) -> AsyncGenerator[Outcome]:
        """Yield each outcome after it is stored.

        Raises:
            TooManyFailuresError: Its `run` is the run so far.
        """
        waits = asyncio.create_task(self._tell_of_waits())
        most = self._plan.settings.session.concurrency
        try:
            async with aclosing(in_flight(self._work(), most)) as ended:
                async for outcome in ended:
                    if outcome is not None:
                        yield self._counted.pop(id(outcome))
            if self._summary.pending:
                if self._store is not None:
                    self._store.wait(self._summary.pending)
            else:
                self._complete()
                self._check_failures(at_the_end=True)
        except TooManyFailuresError as error:
            # Rows that ended at the same time belong to that run too.
            for outcome in self._counted.values():
                yield outcome
            error.run = self.finished()
            raise
        finally:
            self._check_data(at_the_end=True)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)

    def _complete(self) -> None:
        if isinstance(self._plan.data, FileData):
            self._plan.data.require_unchanged()
        self._summary.left_out = 0 if self._earlier is None else self._earlier.leave_out()
        self._summary.unfinished = False
        self.notes = self._policy.finish(self._summary)
        if self._store is not None:
            self._store.finish(**self.notes)

    def finished(self) -> Run:
        folder = None if self._store is None else self._store.folder
        order = {grader.name: place for place, grader in enumerate(self._plan.graders)}
        self._outcomes.sort(key=lambda outcome: (outcome.index, order[outcome.grader]))
        # Rows end in random order, so restore the order of the graders.
        graders = self._summary.graders
        self._summary.graders = {name: graders[name] for name in order if name in graders}
        self._summary.seconds = time.monotonic() - self._began
        self._summary.lessons = self._session.judges.lessons
        self._summary.untuned = self._plan.untuned
        if self._store is not None:
            # With the outcomes of earlier starts.
            self._summary.answered = self._store.index.answered()
            self._summary.versions = tuple(self._store.versions)
        models = [grader.result_model for grader in self._plan.graders]
        outcomes = self._outcomes if self._holds else None
        run = Run.fresh(self._summary, folder, self._graded, models, outcomes, self._samples)
        run.index = None if self._store is None else self._store.index
        return run

    def _work(
        self,
    ) -> Iterator[Outcome | Coroutine[Any, Any, Outcome | None] | UntilOneEnded | None]:
        yield from self._done_before()
        rows = None if self._earlier is None else self._earlier.rows()
        for row in self._plan.in_turn() if rows is None else rows:
            left, taken = self._left_of(row)
            while (admission := self._policy.admits(row.position, resumed=bool(taken))) == "wait":
                yield UntilOneEnded()
            if admission == "stop":
                return
            if self._earlier is not None:
                self._earlier.keep(row)
                self._summary.changed = self._earlier.changed
            elif self._holds and (sample := stored_sample(row)) is not None:
                self._samples[row.name] = sample
            # Count all first: the consumer may stop after any one.
            for outcome in taken:
                self._summary.count(outcome)
                self._note(outcome)
            yield from taken
            for grader in left:
                yield self._grade(row, grader)

    def _done_before(self) -> Iterator[Outcome]:
        """Yield earlier outcomes that the summary already includes."""
        if self._earlier is not None and self._yields_earlier:
            for outcome in self._earlier.outcomes():
                self._counted[id(outcome)] = outcome
                yield outcome
        if self._done:
            self._tell()

    def _left_of(self, row: NumberedSample) -> tuple[list[Grader[Any]], list[Outcome]]:
        if self._earlier is None:
            return list(self._plan.graders), []
        left: list[Grader[Any]] = []
        taken: list[Outcome] = []
        for grader in self._plan.graders:
            if not self._earlier.is_done(row, grader.name):
                found = self._earlier.take(row, grader.name, results=self._yields_earlier)
                left += [grader] if found is None else []
                taken += [] if found is None else [found]
        return left, taken

    async def _grade(self, row: NumberedSample, grader: Grader[Any]) -> Outcome | None:
        """Return the outcome; None if it is pending."""
        try:
            outcome = await self._session.grade_row(row, grader)
        except PendingError:
            self._summary.pending += 1
            return None
        # First, so that a resumed run continues after this row.
        self._write(outcome)
        if (fatal := self._refusals.fatal(outcome)) is not None:
            raise fatal
        self._graded += 1
        self._refusals.count(outcome)
        self._summary.add(outcome)
        self._note(outcome)
        self._check_failures()
        return outcome

    def _write(self, outcome: Outcome) -> None:
        if self._holds:
            self._outcomes.append(outcome)
        if self._store is None:
            return
        if self._earlier is not None and self._earlier.is_known_failure(outcome):
            return
        self._store.append(outcome)
        if self._store.is_due:
            self._check_data()
            self._store.commit()

    def _check_data(self, *, at_the_end: bool = False) -> None:
        """Forget row positions if the file was modified during the run."""
        data = self._plan.data
        if self._earlier is None or not isinstance(data, FileData) or data.kept_check is None:
            return
        if not (data.has_same_content() if at_the_end else data.looks_unchanged()):
            self._earlier.forget_positions()

    def _check_failures(self, *, at_the_end: bool = False) -> None:
        limit = self._plan.settings.max_failures
        failed = self._summary.failed
        if failed and limit.is_passed(failed, self._done, at_the_end=at_the_end):
            kept = (
                "" if self._store is None else f"; what was graded is kept in {self._store.folder}"
            )
            raise TooManyFailuresError(
                f"{failed} of {self._done} gradings failed, more than {limit} "
                f"({self._summary.failures()}; the first: {self._summary.first_failure}){kept}"
            )

    def _note(self, outcome: Outcome) -> None:
        self._done += 1
        self._counted[id(outcome)] = outcome
        self._policy.ended(outcome)
        self._tell()

    def _tell(self) -> None:
        if self._report is silent:
            return
        self._report(
            Progress(
                done=self._done,
                total=self._plan.total,
                failed=self._summary.failed,
                seconds=time.monotonic() - self._began,
                graded=self._graded,
                tokens=self._summary.usage.tokens,
                cost_usd=self._summary.cost_usd,
                waiting_seconds=self._session.judges.waiting_seconds,
            )
        )

    async def _tell_of_waits(self) -> None:
        """Report progress every second while the endpoint keeps the run waiting."""
        while not await asyncio.sleep(1, False):
            if self._session.judges.waiting_seconds >= 1:
                self._tell()
