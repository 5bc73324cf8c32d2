"""How is a data set graded? A bounded number of gradings at a time, each kept as it ends."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evals.dataset import ColumnMap, Data, NumberedSample
from rag_evals.drive import drive, drive_async
from rag_evals.errors import ConfigurationError, JudgeRejectedError, JudgeUnreachableError
from rag_evals.grader import Grader
from rag_evals.judge import Client, Meter, async_judge_session, is_async, judge_for
from rag_evals.run.outcome import Outcome, broken, ended
from rag_evals.run.plan import DEFAULT_CONCURRENCY, Plan, make_plan
from rag_evals.run.progress import Progress, Report, reporting
from rag_evals.run.store import RunStore
from rag_evals.run.summary import Summary
from rag_evals.sample import Sample

GradeOne = Callable[[Grader[Any], Sample, Meter], Awaitable[BaseModel]]


class Run:
    """A finished run.

    Attributes:
        outcomes: In the order of the data, then of the graders; empty with `keep=False`.
        folder: Where it is kept, or None.
    """

    def __init__(self, outcomes: Sequence[Outcome], summary: Summary, folder: Path | None) -> None:
        self.outcomes = list(outcomes)
        self.folder = folder
        self._summary = summary

    def summary(self) -> Summary:
        """Return means, counts and usage."""
        return self._summary


def evaluate(
    data: Data,
    graders: Sequence[Grader[Any] | str] = ("faithfulness",),
    client: Client = None,
    *,
    model: str | None = None,
    columns: ColumnMap | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = None,
    keep: bool = True,
    limit: int | None = None,
) -> Run:
    """Grade a data set and wait for it; also inside a running event loop, as in Jupyter.

    Args:
        data: A path to JSONL, JSON or CSV (`.gz` too), or an iterable of mappings or samples.
        graders: Graders, or names of shipped ones.
        client: An instructor client, sync or async, a string such as `"openai/gpt-4o-mini"`, or
            `"embedded"`; None takes `RAG_EVALS_JUDGE`, else `"embedded"`.
        model: Model to ask; None takes the grader's, else the client's own.
        columns: Where the fields are; None looks for the usual names.
        concurrency: Gradings at a time.
        out: Folder to keep the run in; a run that is there is gone on with. None writes nothing.
        progress: A function that is given `Progress`; True or False; None shows it on a terminal.
        keep: Keep the outcomes in memory; False for very large data with `out`.
        limit: Grade the first rows only.

    Returns:
        The run: each row has one outcome for each grader.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        JudgeRejectedError: The endpoint refuses every request: key, model or schema.
        JudgeUnreachableError: No connection, and nothing was scored yet.
    """
    plan = make_plan(
        data, graders, client, model=model, columns=columns, concurrency=concurrency, limit=limit
    )
    return execute(plan, out=out, progress=progress, keep=keep)


async def aevaluate(
    data: Data,
    graders: Sequence[Grader[Any] | str] = ("faithfulness",),
    client: Client = None,
    *,
    model: str | None = None,
    columns: ColumnMap | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = None,
    keep: bool = True,
    limit: int | None = None,
) -> Run:
    """Grade a data set in the running event loop; as `evaluate` otherwise."""
    plan = make_plan(
        data, graders, client, model=model, columns=columns, concurrency=concurrency, limit=limit
    )
    return await aexecute(plan, out=out, progress=progress, keep=keep)


def execute(
    plan: Plan, *, out: str | Path | None, progress: Report | bool | None = None, keep: bool = True
) -> Run:
    """Carry out a plan and wait for it; arguments as for `evaluate`."""
    work = aexecute(plan, out=out, progress=progress, keep=keep)
    if not _loop_is_running():
        return asyncio.run(work)
    # A loop cannot be entered twice; the run gets a thread with a loop of its own.
    with ThreadPoolExecutor(1, "rag-evals") as pool:
        return pool.submit(asyncio.run, work).result()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def aexecute(
    plan: Plan, *, out: str | Path | None, progress: Report | bool | None = None, keep: bool = True
) -> Run:
    """Carry out a plan in the running event loop; arguments as for `evaluate`."""
    folder = None if out is None else Path(out)
    async with AsyncExitStack() as stack:
        store = None if folder is None else stack.enter_context(RunStore(folder, plan.manifest()))
        report = stack.enter_context(reporting(progress))
        grade_one = await stack.enter_async_context(_grading(plan))
        runner = _Runner(plan, store, report, grade_one, keep=keep)
        await runner.run()
    outcomes = sorted(
        runner.outcomes, key=lambda outcome: (outcome.index, runner.order[outcome.grader])
    )
    return Run(outcomes, runner.summary, folder)


class _Runner:
    """The state of one run while it goes on."""

    def __init__(
        self,
        plan: Plan,
        store: RunStore | None,
        report: Report,
        grade_one: GradeOne,
        *,
        keep: bool,
    ) -> None:
        self._plan = plan
        self._store = store
        self._report = report
        self._grade_one = grade_one
        self._keep = keep
        self._began = time.monotonic()
        self._done = 0
        self._earlier = _ended_earlier(plan, store, keep=keep)
        self.order = {grader.name: place for place, grader in enumerate(plan.graders)}
        self.outcomes: list[Outcome] = []
        self.summary = Summary()

    async def run(self) -> None:
        work = self._open_work()
        workers = [asyncio.create_task(self._work(work)) for _ in range(self._plan.concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            # What one worker raised ends the run; calls in flight must not go on being paid for.
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self.summary.seconds = time.monotonic() - self._began

    def _open_work(self) -> Iterator[tuple[NumberedSample, Grader[Any]]]:
        """Yield what is still to be graded; what an earlier run ended is counted on the way."""
        for row in self._plan.data:
            for grader in self._plan.graders:
                earlier = self._earlier.pop((row.sample_id or "", grader.name), None)
                if earlier is None:
                    yield row, grader
                else:
                    self._count(replace(earlier, index=row.position))

    async def _work(self, work: Iterator[tuple[NumberedSample, Grader[Any]]]) -> None:
        for row, grader in work:
            outcome = await self._grade(row, grader)
            if self._store is not None:
                self._store.append(outcome)
            self._count(outcome)

    async def _grade(self, row: NumberedSample, grader: Grader[Any]) -> Outcome:
        place = (row.position, row.sample_id or f"row-{row.position}", grader.name)
        meter = Meter()
        began = time.monotonic()
        if not isinstance(row.sample, Sample):
            return broken(place, row.sample, 0.0, meter.total)
        try:
            result = await self._grade_one(grader, row.sample, meter)
            return ended(place, result, time.monotonic() - began, meter.total)
        except Exception as error:
            if self._ends_the_run(error):
                raise
            return broken(place, error, time.monotonic() - began, meter.total)

    def _ends_the_run(self, error: Exception) -> bool:
        """Say whether every other row would fail the same way."""
        if isinstance(error, JudgeUnreachableError):
            return not any(of_grader.scored for of_grader in self.summary.graders.values())
        return isinstance(error, ConfigurationError | JudgeRejectedError)

    def _count(self, outcome: Outcome) -> None:
        self._done += 1
        self.summary.add(outcome)
        if self._keep:
            self.outcomes.append(outcome)
        seconds = time.monotonic() - self._began
        self._report(Progress(self._done, self._plan.total, self.summary.failed, seconds))


@asynccontextmanager
async def _grading(plan: Plan) -> "Any":
    """Choose how one grading is carried out: awaited, or in a thread for a sync client."""
    if plan.client is None or isinstance(plan.client, str) or is_async(plan.client):
        async with async_judge_session(plan.client, plan.model) as judge:

            async def awaited(grader: Grader[Any], sample: Sample, meter: Meter) -> BaseModel:
                return await drive_async(grader.flow(sample), judge, meter)

            yield awaited
        return
    sync_judge = judge_for(plan.client, plan.model)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(plan.concurrency, "rag-evals") as pool:

        async def in_thread(grader: Grader[Any], sample: Sample, meter: Meter) -> BaseModel:
            return await loop.run_in_executor(pool, drive, grader.flow(sample), sync_judge, meter)

        yield in_thread


def _ended_earlier(
    plan: Plan, store: RunStore | None, *, keep: bool
) -> dict[tuple[str, str], Outcome]:
    """Read what an earlier run of this folder ended; failed gradings are to be tried again."""
    if store is None:
        return {}
    models = {grader.name: grader.result_model for grader in plan.graders} if keep else {}
    latest: dict[tuple[str, str], Outcome] = {}
    for record in store.records():
        outcome = Outcome.from_record(record, models)
        latest.pop(outcome.key, None)
        if outcome.status != "failed":
            latest[outcome.key] = outcome
    return latest
