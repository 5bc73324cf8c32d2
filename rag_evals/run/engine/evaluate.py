"""Grading a data set, all at once or as a stream of outcomes."""

import asyncio
import gc
import signal
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field
from inspect import isawaitable
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from rag_evals.core import Work, require_known, watched
from rag_evals.dataset import Data, FileData, NumberedSample
from rag_evals.errors import (
    JudgeRejectedError,
    JudgeUnreachableError,
    PendingError,
    RunInterruptedError,
    TooManyFailuresError,
)
from rag_evals.grading import Grader
from rag_evals.judge import Client
from rag_evals.judge.pace.row_time import LoopThread
from rag_evals.run.engine.earlier import EarlierOutcomes
from rag_evals.run.engine.session import AsyncGradingSession, session_of
from rag_evals.run.plan.options import OPTIONS, RunOptions, refuse_idle, refuse_sampling
from rag_evals.run.plan.plan import Graders, Plan, folders_of, make_plan
from rag_evals.run.plan.progress import Progress, Report, reporting, silent
from rag_evals.run.plan.sampling import RunPolicy
from rag_evals.run.read.run import Run
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.samples import StoredSample
from rag_evals.run.record.store import RunStore
from rag_evals.run.record.summary import Summary

T = TypeVar("T")


async def in_flight(
    work: Iterable[T | Coroutine[Any, Any, T | None] | None], most: int
) -> AsyncGenerator[T | None]:
    """Yield results as they arrive; a slow consumer slows down the work.

    A None in `work` means to wait until a running coroutine finishes. If a coroutine raises, the
    others are cancelled before its exception propagates.
    """
    running: set[asyncio.Task[T | None]] = set()
    ended: asyncio.Queue[asyncio.Task[T | None]] = asyncio.Queue()

    async def next_ended() -> T | None:
        task = await ended.get()
        running.discard(task)
        return task.result()

    try:
        for piece in work:
            if piece is None:
                assert running, "no coroutine is running, so waiting would never end"
                yield await next_ended()
                continue
            if not asyncio.iscoroutine(piece):
                yield piece
                continue
            task = asyncio.create_task(piece)
            running.add(task)
            task.add_done_callback(ended.put_nowait)
            # Also yield results that have arrived in the meantime.
            while len(running) >= most or not ended.empty():
                yield await next_ended()
        while running:
            yield await next_ended()
    finally:
        # After an exception, calls in flight must not incur further costs.
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


_read_failure = attrgetter("error", "attempts", "usage")
REFUSALS_IN_A_ROW = 10
"""A run stops after this many consecutive rejected gradings."""


class Refusals:
    def __init__(self, earlier: EarlierOutcomes | None) -> None:
        self._earlier = earlier
        self._answered = False
        self._answered_before = earlier is not None and earlier.spent.is_answered
        self._in_a_row = 0

    def check(self, outcome: Outcome) -> None:
        """Raise an error if the outcome shows that the endpoint cannot be used."""
        if outcome.error is None:
            # An outcome that needed no call does not prove that the key works.
            if outcome.usage.calls > 0:
                self._answered = True
                self._in_a_row = 0
            return
        kind, message = outcome.error.type, outcome.error.message
        if kind == JudgeUnreachableError.__name__ and not self._answered:
            raise JudgeUnreachableError(message)
        if kind != JudgeRejectedError.__name__:
            return
        before = None if self._earlier is None else self._earlier.find(outcome)
        if before is not None and before.error is not None and before.error.type == kind:
            return
        if not (self._answered or self._answered_before):
            raise JudgeRejectedError(message)
        self._in_a_row += 1
        if self._in_a_row >= REFUSALS_IN_A_ROW:
            raise JudgeRejectedError(
                f"the endpoint rejected {self._in_a_row} gradings in a row, so the run stopped; "
                f"run it again to resume; the last error: {message}"
            )


_YOUNG_OBJECTS = 10_000

# All threads share one garbage collector: the first run freezes the heap, the last unfreezes it.
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []


@contextmanager
def settled_heap() -> Iterator[None]:
    """Freeze existing objects and collect garbage less often.

    Runs allocate so fast that scanning all loaded modules for garbage took a fifth of the CPU time.
    """
    with _lock:
        young, *older = found = gc.get_threshold()
        _thresholds.append(found)
        gc.freeze()
        # 0 means that the user has disabled garbage collection.
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
    yields_earlier: bool = False,
    holds: bool = True,
    opened: AbstractAsyncContextManager[AsyncGradingSession] | None = None,
) -> "AsyncIterator[Runner]":
    """Open a plan's session, store and progress display."""
    async with AsyncExitStack() as stack:
        # Open the session first, so that no folder is created if a judge cannot be opened.
        session = await stack.enter_async_context(opened or session_of(plan))
        store = None
        if plan.out is not None:
            store = RunStore(plan.out, plan.manifest(), restart=plan.settings.restart)
            stack.enter_context(store)
        report = stack.enter_context(reporting(plan.progress))
        stack.enter_context(settled_heap())
        if store is not None and isinstance(plan.data, FileData) and plan.data.kept_check:
            store.keep_check(plan.data.kept_check)
        yield Runner(plan, session, store, report, yields_earlier, holds)


# A short run need not read its outcomes from the log again; each takes about 10 kB.
_MOST_HELD = 2_000


@dataclass(slots=True)
class Runner:
    """Grades the rows of a plan."""

    plan: Plan
    session: AsyncGradingSession
    store: RunStore | None
    report: Report
    # Whether to also yield outcomes stored earlier.
    yields_earlier: bool
    # Whether to keep the outcomes in memory.
    holds: bool
    # The policy's manifest entries.
    _notes: Mapping[str, Any] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _graded: int = 0
    _done: int = 0
    _outcomes: list[Outcome] = field(default_factory=list)
    _samples: dict[str, StoredSample] = field(default_factory=dict)
    # Outcomes that are in the summary but have not been yielded yet, by object id.
    _counted: dict[int, Outcome] = field(default_factory=dict)
    _earlier: EarlierOutcomes | None = field(init=False)
    _refusals: Refusals = field(init=False)
    _summary: Summary = field(init=False)
    _policy: RunPolicy = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        # A folder may have earlier outcomes, and each round of a batch grades failed rows again.
        self.holds &= self.store is None or (self.store.is_new and not plan.batched)
        self._earlier = None if self.store is None else EarlierOutcomes(plan, self.store)
        self._refusals = Refusals(self._earlier)
        self._summary = Summary(unfinished=True, judge=plan.identity["judge"], stages=plan.stages)
        if self._earlier is not None:
            self._earlier.fill(self._summary)
            self._done = self._earlier.done
        self._policy = plan.policy(self._summary)

    async def run(self, on_outcome: "OnOutcome | None" = None) -> Run:
        async with aclosing(self.outcomes()) as outcomes:
            async for outcome in outcomes:
                if on_outcome is not None and isawaitable(said := on_outcome(outcome)):
                    await said
        return self.finished()

    async def outcomes(self) -> AsyncGenerator[Outcome]:
        """Yield each outcome after it is stored."""
        waits = asyncio.create_task(self._tell_of_waits())
        most = self.plan.settings.session.concurrency
        if self._done:
            self._tell()
        try:
            async with aclosing(in_flight(self._work(), most)) as ended:
                async for outcome in ended:
                    if outcome is not None:
                        yield self._counted.pop(id(outcome))
            if self._summary.pending:
                if self.store is not None:
                    self.store.wait(self._summary.pending)
            else:
                self._complete()
                self._check_failures(at_the_end=True)
        except TooManyFailuresError as error:
            # Rows that finished at the same time are also part of the run.
            for outcome in self._counted.values():
                yield outcome
            error.run = self.finished()
            raise
        finally:
            self._check_data(at_the_end=True)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)

    def _complete(self) -> None:
        if isinstance(self.plan.data, FileData):
            self.plan.data.require_unchanged()
        self._summary.left_out = 0 if self._earlier is None else self._earlier.leave_out()
        self._summary.unfinished = False
        self._notes = self._policy.finish()
        if self.store is not None:
            self.store.finish(**self._notes)

    def finished(self) -> Run:
        order = {grader.name: place for place, grader in enumerate(self.plan.graders)}
        self._outcomes.sort(key=lambda outcome: (outcome.index, order[outcome.grader]))
        # Rows finish in any order, so restore the order of the graders.
        graders = self._summary.graders
        self._summary.graders = {name: graders[name] for name in order if name in graders}
        self._summary.seconds = time.monotonic() - self._began
        self._summary.lessons = self.session.judges.lessons
        untuned = {name for grader in self.plan.graders for name in grader.untuned}
        self._summary.untuned = sorted(untuned)
        if self.store is not None:
            # Includes outcomes stored earlier.
            self._summary.answered = self.store.index.answered()
            self._summary.versions = tuple(self.store.versions)
        return Run(
            folder=self.plan.out,
            manifest=self._notes,
            samples=self._samples,
            models=[grader.result_model for grader in self.plan.graders],
            outcomes=self._outcomes if self.holds else None,
            summary=self._summary,
            graded=self._graded,
        )

    def _work(self) -> Iterator[Outcome | Coroutine[Any, Any, Outcome | None] | None]:
        if self._earlier is not None and self.yields_earlier:
            # The summary already includes these.
            for outcome in self._earlier.outcomes():
                self._counted[id(outcome)] = outcome
                yield outcome
        rows = None if self._earlier is None else self._earlier.rows()
        for row in self.plan.in_turn() if rows is None else rows:
            left, taken = self._left_of(row)
            while (admission := self._policy.admits(row.position, resumed=bool(taken))) == "wait":
                yield None
            if admission == "stop":
                return
            if self._earlier is not None:
                self._earlier.keep(row)
                self._summary.changed = self._earlier.changed
            elif self.holds and (sample := StoredSample.of_row(row)) is not None:
                self._samples[row.name] = sample
            # Count all outcomes first, because the consumer may stop after any of them.
            for outcome in taken:
                self._summary.count(outcome)
                self._note(outcome)
            yield from taken
            for grader in left:
                yield self._grade(row, grader)

    def _left_of(self, row: NumberedSample) -> tuple[list[Grader[Any]], list[Outcome]]:
        if self._earlier is None:
            return list(self.plan.graders), []
        left: list[Grader[Any]] = []
        taken: list[Outcome] = []
        for grader in self.plan.graders:
            if not self._earlier.is_done(row, grader.name):
                found = self._earlier.take(row, grader.name, results=self.yields_earlier)
                left += [grader] if found is None else []
                taken += [] if found is None else [found]
        return left, taken

    async def _grade(self, row: NumberedSample, grader: Grader[Any]) -> Outcome | None:
        """Return the outcome, or None if it is pending."""
        try:
            outcome = await self.session.grade_row(row, grader)
        except PendingError:
            self._summary.pending += 1
            return None
        # Store the outcome first, so that a resumed run continues after this row.
        if self.holds:
            self._outcomes.append(outcome)
        if self.store is not None and len(self._outcomes) > _MOST_HELD:
            self.holds, self._outcomes = False, []
        before = None
        if self._earlier is not None and self.plan.batched and outcome.error is not None:
            before = self._earlier.find(outcome)
        # Each batch round grades failed rows again with the same replies.
        is_known = before is not None and _read_failure(before) == _read_failure(outcome)
        if self.store is not None and not is_known:
            self.store.append(outcome)
            if self.store.index.is_due:
                self._check_data()
                self.store.commit()
        self._refusals.check(outcome)
        self._graded += 1
        self._summary.add(outcome)
        self._note(outcome)
        self._check_failures()
        return outcome

    def _check_data(self, *, at_the_end: bool = False) -> None:
        """Forget row positions if the file was modified during the run."""
        data = self.plan.data
        if self._earlier is None or not isinstance(data, FileData) or data.kept_check is None:
            return
        if not (data.has_same_content() if at_the_end else data.looks_unchanged()):
            self._earlier.forget_positions()

    def _check_failures(self, *, at_the_end: bool = False) -> None:
        limit = self.plan.settings.max_failures
        failed = self._summary.failed
        if failed and limit.is_passed(failed, self._done, at_the_end=at_the_end):
            kept = "" if self.store is None else f"; finished gradings are in {self.plan.out}"
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
        if self.report is silent:
            return
        self.report(
            Progress(
                done=self._done,
                total=self.plan.total,
                failed=self._summary.failed,
                seconds=time.monotonic() - self._began,
                graded=self._graded,
                tokens=self._summary.usage.tokens,
                cost_usd=self._summary.cost_usd,
                waiting_seconds=self.session.judges.waiting_seconds,
            )
        )

    async def _tell_of_waits(self) -> None:
        """Report progress every second while the endpoint keeps the run waiting."""
        while not await asyncio.sleep(1, False):
            if self.session.judges.waiting_seconds >= 1:
                self._tell()


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; a signal cancels it and raises `RunInterruptedError`."""
    received = [signal.SIGINT]

    async def guarded() -> T:
        task = asyncio.ensure_future(work)

        def stop(number: signal.Signals) -> None:
            received[0] = number
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            # Event loops on Windows lack signal handlers; Ctrl-C raises KeyboardInterrupt.
            with suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await task

    try:
        return asyncio.run(guarded())
    except (asyncio.CancelledError, KeyboardInterrupt):
        error = RunInterruptedError(f"interrupted by {received[0].name}")
        error.signal_number = int(received[0])
        raise error from None


OnOutcome = Callable[[Outcome], object]
"""A function, which may be async, that receives each outcome."""


def evaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    on_outcome: OnOutcome | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Grade a data set and return the run; also works in a running event loop, as in Jupyter.

    Args:
        data: A path to a file of rows, a `DataFile`, a table (pandas, polars, Arrow, Hugging Face),
            or an iterable of mappings, samples or objects with fields.
        graders: One or more graders, or names of built-in ones.
        client: A string such as `"openai/gpt-4o-mini"` or `"embedded"`, or an instructor, OpenAI,
            Anthropic or Google client; by default `RAG_EVALS_JUDGE` or `"embedded"`.
        out: Run folder; an existing run is resumed. If None, no files are written.
        on_outcome: Called with each outcome after it is stored, including those that an earlier
            call stored; an exception stops the run.
        options: See `RunOptions`.

    Raises:
        ConfigurationError: A setting is invalid; nothing was sent.
        DataError: A row in a file cannot be graded; nothing was sent.
        JudgeRejectedError: The endpoint rejected the key, model or schema before answering any row,
            or rejected ten gradings in a row.
        JudgeUnreachableError: The endpoint cannot be reached and has not answered any row.
        TooManyFailuresError: More gradings failed than `max_failures` allows; the error's `run`
            attribute is the run so far.
    """
    return execute(_planned("evaluate", data, graders, client, out, options), on_outcome)


async def aevaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    on_outcome: OnOutcome | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Grade a data set in the running event loop; otherwise the same as `evaluate`."""
    return await aexecute(_planned("aevaluate", data, graders, client, out, options), on_outcome)


def _planned(
    caller: Literal["evaluate", "aevaluate", "stream"],
    data: Data,
    graders: Graders,
    client: Client,
    out: str | Path | None,
    options: RunOptions,
) -> Plan:
    require_known(caller, options, ["data", "graders", "client", "out", "on_outcome", *OPTIONS])
    if out is None:
        refuse_idle(options, "restart", "keep_replies", where="without out")
    if caller == "stream":
        refuse_sampling(options, "a stream")
    plan = make_plan(data, graders, client, options=options, folders=folders_of(out))
    return plan.into(out, progress=options.get("progress", False if caller == "stream" else None))


def execute(plan: Plan, on_outcome: OnOutcome | None = None) -> Run:
    """Execute a plan; see `evaluate` for `on_outcome`."""
    work = aexecute(plan, on_outcome)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A running event loop cannot be entered again, so start another one in a thread.
    with closing(LoopThread()) as loop:
        return loop.run(work)


async def aexecute(plan: Plan, on_outcome: OnOutcome | None = None, *, holds: bool = True) -> Run:
    """Execute a plan in the running event loop; `holds` keeps the outcomes of a short run."""
    run = await _carried_out(plan, on_outcome, holds=holds)
    if plan.free is not None:
        # This runs second, so that no folder is created if the main judge cannot be opened.
        run.beside(await _carried_out(plan.free, None, holds=holds))
    return run


async def _carried_out(plan: Plan, on_outcome: OnOutcome | None, *, holds: bool) -> Run:
    names = ", ".join(grader.name for grader in plan.graders)
    with watched(Work("run", names, plan.identity)) as work:
        yields_earlier = on_outcome is not None
        async with runner_of(plan, yields_earlier=yields_earlier, holds=holds) as runner:
            run = work.result = await runner.run(on_outcome)
    return run


def stream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Generator[Outcome]:
    """Grade a data set and yield outcomes as they arrive; otherwise the same as `evaluate`.

    Outcomes arrive in any order; `index` is the row's position. They are not kept in memory, and a
    slow consumer slows down grading. Grading starts with the first `next` and stops when you leave
    the loop. With `out`, outcomes stored earlier are also yielded. Progress is shown only if
    `progress` is true.
    """
    return _in_a_thread(_outcomes(_planned("stream", data, graders, client, out, options)))


def astream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> AsyncGenerator[Outcome]:
    """Grade a data set in the running event loop; otherwise the same as `stream`.

    Use `contextlib.aclosing` to stop all grading as soon as you leave the loop.
    """
    return _outcomes(_planned("stream", data, graders, client, out, options))


async def _outcomes(plan: Plan) -> AsyncGenerator[Outcome]:
    opened = runner_of(plan, yields_earlier=True, holds=False)
    async with opened as runner, aclosing(runner.outcomes()) as outcomes:
        async for outcome in outcomes:
            yield outcome


def _in_a_thread(outcomes: AsyncGenerator[Outcome]) -> Generator[Outcome]:
    async def following() -> Outcome | None:
        return await anext(outcomes, None)

    with closing(LoopThread()) as loop:
        try:
            while (outcome := loop.run(following())) is not None:
                yield outcome
        finally:
            loop.run(outcomes.aclose())
