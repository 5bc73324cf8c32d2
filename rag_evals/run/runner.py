"""How is a data set graded? A limited number of gradings at a time, each stored when it ends."""

import asyncio
import time
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rag_evals.core import named_arguments
from rag_evals.dataset import Columns, Data, FileData, NumberedSample
from rag_evals.errors import TooManyFailuresError
from rag_evals.grading import Grader
from rag_evals.judge import (
    DEFAULT_MAX_WAIT_SECONDS,
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    Client,
)
from rag_evals.run.collector import settled_heap
from rag_evals.run.earlier_outcomes import read_earlier_outcomes
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Graders, Plan, make_plan
from rag_evals.run.progress import Progress, Report, reporting
from rag_evals.run.refusals import Refusals
from rag_evals.run.run import Run
from rag_evals.run.samples import StoredSample, stored_sample
from rag_evals.run.session import AsyncGradingSession, session_of
from rag_evals.run.settings import DEFAULT_CONCURRENCY, DEFAULT_MAX_FAILURES, RunOptions
from rag_evals.run.store import RunStore
from rag_evals.run.summary import Summary


@named_arguments
def evaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    model: str | None = None,
    columns: Columns = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = None,
    keep: bool = True,
    limit: int | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    rpm: float | None = None,
    tpm: float | None = None,
    max_wait: float = DEFAULT_MAX_WAIT_SECONDS,
    max_failures: int | str = DEFAULT_MAX_FAILURES,
    cache: bool | str | Path | None = None,
    restart: bool = False,
    settings: Mapping[str, Any] | None = None,
    reasks: int = DEFAULT_REASKS,
) -> Run:
    """Grade a data set and wait for it; also inside a running event loop, as in Jupyter.

    Args:
        data: A path to a file of rows, a `DataFile`, a table (pandas, polars, Arrow, Hugging Face),
            or an iterable of mappings, samples or objects with fields.
        graders: One or more graders, or names of shipped ones.
        client: A string such as `"openai/gpt-4o-mini"` or `"embedded"`, an instructor client, sync
            or async, or one of OpenAI's, Anthropic's or Google's own; None takes `RAG_EVALS_JUDGE`,
            else `"embedded"`.
        model: Model to ask; None takes the grader's, else the client's own.
        columns: Where the fields are: field and column, path or function, as in
            `{"answer": "response", "context": lambda row: row["docs"]}`; None looks for the usual
            names.
        concurrency: Gradings at a time, at most 4096.
        out: Folder to keep the run in; a run that is there is gone on with. None writes nothing.
        progress: A function that is given `Progress`; True or False; None shows it on a terminal.
        keep: Keep the outcomes in memory; False for very large data with `out`.
        limit: Grade the first rows only.
        timeout: Seconds for all calls of one row.
        rpm: Requests a minute, at most; None takes what the endpoint's headers say.
        tpm: Tokens a minute, at most; as above.
        max_wait: Seconds that the endpoint may ask to wait, for one wait.
        max_failures: A number, or a share such as `"50%"` that counts once 20 gradings have ended,
            and at the end; more failures end the run.
        cache: True keeps answers in the user's cache file, a path in that file, False nothing;
            None keeps no answers, and verdicts where the environment asks for it.
        restart: Begin anew, and move a run that is in `out` aside.
        settings: What the judge is asked with, such as `{"temperature": 0, "seed": 7}`; they come
            before those of a grader. Without any, the temperature is 0.
        reasks: How often an invalid reply is asked again.

    Returns:
        The run: each row has one outcome for each grader.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        JudgeRejectedError: The endpoint refuses key, model or schema, and answered no row yet, or
            refused ten rows in a row.
        JudgeUnreachableError: No connection, and no row was answered yet.
        TooManyFailuresError: More gradings failed than `max_failures` allows; its `run` has what
            was graded.
    """
    options = RunOptions(
        limit=limit,
        timeout=timeout,
        rpm=rpm,
        tpm=tpm,
        max_wait=max_wait,
        max_failures=max_failures,
        cache=cache,
        restart=restart,
        settings=settings,
        reasks=reasks,
    )
    plan = make_plan(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
    )
    return execute(plan, out=out, progress=progress, keep=keep)


@named_arguments
async def aevaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    model: str | None = None,
    columns: Columns = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = None,
    keep: bool = True,
    limit: int | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    rpm: float | None = None,
    tpm: float | None = None,
    max_wait: float = DEFAULT_MAX_WAIT_SECONDS,
    max_failures: int | str = DEFAULT_MAX_FAILURES,
    cache: bool | str | Path | None = None,
    restart: bool = False,
    settings: Mapping[str, Any] | None = None,
    reasks: int = DEFAULT_REASKS,
) -> Run:
    """Grade a data set in the running event loop; as `evaluate` otherwise."""
    options = RunOptions(
        limit=limit,
        timeout=timeout,
        rpm=rpm,
        tpm=tpm,
        max_wait=max_wait,
        max_failures=max_failures,
        cache=cache,
        restart=restart,
        settings=settings,
        reasks=reasks,
    )
    plan = make_plan(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
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
        return pool.submit(_run_alone, work).result()


def _run_alone(work: Coroutine[Any, Any, Run]) -> Run:
    return asyncio.run(work)


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
        # First: a judge that cannot be opened must leave no folder that refuses the right one.
        session = await stack.enter_async_context(session_of(plan))
        store = None
        if folder is not None:
            store = RunStore(folder, plan.manifest(), restart=plan.settings.restart)
            stack.enter_context(store)
        report = stack.enter_context(reporting(progress))
        stack.enter_context(settled_heap())
        runner = _Runner(plan, session, store, report, keep=keep)
        return await runner.run(folder)


class _Runner:
    """The state of one run while it goes on."""

    def __init__(
        self,
        plan: Plan,
        session: AsyncGradingSession,
        store: RunStore | None,
        report: Report,
        *,
        keep: bool,
    ) -> None:
        self._plan = plan
        self._session = session
        self._store = store
        self._report = report
        self._keep = keep
        self._began = time.monotonic()
        self._done = self._graded = 0
        self._refusals = Refusals()
        self._earlier = read_earlier_outcomes(plan, store, self._refusals, keep=keep)
        self._outcomes: list[Outcome] = []
        self._samples: dict[str, StoredSample] = {}
        self._summary = Summary(unfinished=True, judge=plan.identity["judge"])

    async def run(self, folder: Path | None) -> Run:
        work = self._open_work()
        most = self._plan.settings.session.concurrency
        count = min(most, self._plan.total or most)
        workers = [asyncio.create_task(self._work(work)) for _ in range(count)]
        waits = asyncio.create_task(self._tell_of_waits())
        try:
            await asyncio.gather(*workers)
            self._complete()
            self._check_failures(at_the_end=True)
        except TooManyFailuresError as error:
            error.run = self._finished(folder)
            raise
        finally:
            # What one worker raised ends the run; calls in flight must not go on being paid for.
            for task in (*workers, waits):
                task.cancel()
            await asyncio.gather(*workers, waits, return_exceptions=True)
        return self._finished(folder)

    def _complete(self) -> None:
        """Note that all rows were graded, once it is sure which rows the data has.

        Raises:
            DataError: The file changed while it was read.
        """
        if isinstance(self._plan.data, FileData):
            self._plan.data.require_unchanged()
        gone = self._earlier.left_out()
        self._summary.left_out = len(gone)
        self._summary.unfinished = False
        if self._store is not None:
            self._store.finish(gone)

    def _finished(self, folder: Path | None) -> Run:
        order = {grader.name: place for place, grader in enumerate(self._plan.graders)}
        self._outcomes.sort(key=lambda outcome: (outcome.index, order[outcome.grader]))
        # Outcomes end in any order; what is shown must not change with it.
        graders = self._summary.graders
        self._summary.graders = {name: graders[name] for name in order if name in graders}
        self._summary.seconds = time.monotonic() - self._began
        self._summary.presets = self._plan.presets
        self._summary.without_temperature = self._session.models_without_temperature
        outcomes = self._outcomes if self._keep else None
        return Run.fresh(outcomes, self._summary, folder, self._graded, self._samples)

    def _open_work(self) -> Iterator[tuple[NumberedSample, Grader[Any]]]:
        """Yield what is still to be graded; what an earlier run ended is counted on the way."""
        for row in self._plan.data:
            if self._store is not None:
                self._store.samples.keep(row)
            elif self._keep and (sample := stored_sample(row)) is not None:
                self._samples[row.name] = sample
            for grader in self._plan.graders:
                now = self._session.fingerprint(grader.name)
                earlier = self._earlier.take(row, grader.name, now)
                if earlier is None:
                    yield row, grader
                else:
                    self._count(earlier)
            self._summary.changed = self._earlier.changed

    async def _work(self, work: Iterator[tuple[NumberedSample, Grader[Any]]]) -> None:
        for row, grader in work:
            outcome = await self._session.grade_row(row, grader)
            # Kept first, so that the next start knows this row and gets past it.
            if self._store is not None:
                self._store.append(outcome)
            if (fatal := self._refusals.fatal(outcome)) is not None:
                raise fatal
            self._graded += 1
            self._refusals.count(outcome)
            self._count(outcome)
            self._check_failures()

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

    def _count(self, outcome: Outcome) -> None:
        self._done += 1
        self._summary.add(outcome)
        if self._keep:
            self._outcomes.append(outcome)
        self._tell()

    def _tell(self) -> None:
        self._report(
            Progress(
                done=self._done,
                total=self._plan.total,
                failed=self._summary.failed,
                seconds=time.monotonic() - self._began,
                graded=self._graded,
                tokens=self._summary.usage.tokens,
                cost_usd=self._summary.cost_usd,
                waiting_seconds=self._session.waiting_seconds,
            )
        )

    async def _tell_of_waits(self) -> None:
        """Say that the endpoint keeps the run waiting: no row ends meanwhile to say anything."""
        while not await asyncio.sleep(1, False):
            if self._session.waiting_seconds >= 1:
                self._tell()
