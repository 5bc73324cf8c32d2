"""How are outcomes taken one by one, while the rest is graded? By a loop over a stream."""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from rag_evals.dataset import Columns, Data
from rag_evals.judge import (
    DEFAULT_MAX_WAIT_SECONDS,
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    Client,
)
from rag_evals.run.loop import runner_of
from rag_evals.run.loop_thread import LoopThread
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Graders, Plan, folders_of, make_plan
from rag_evals.run.progress import Report
from rag_evals.run.settings import DEFAULT_CONCURRENCY, DEFAULT_MAX_FAILURES, RunOptions
from rag_evals.verify import Tuned


def stream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    model: str | None = None,
    columns: Columns = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = False,
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
    repeat: int = 1,
    tuned: Tuned = None,
) -> Generator[Outcome]:
    """Grade a data set, and yield each outcome as it ends; arguments as for `evaluate`.

    Rows end in any order; `index` is a row's place. At most `concurrency` rows are under way or
    wait to be taken: a loop that is slow slows the grading down. Nothing is graded before the first
    outcome is asked for, and nothing more once the loop is left. Nothing is kept in memory; with
    `out`, the outcomes are kept in that folder, and those of an earlier run in it are yielded too.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        RagEvalsError: From the loop, what `evaluate` raises.
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
        repeat=repeat,
        tuned=tuned,
    )
    plan = make_plan(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
        folders=folders_of(out),
    )
    return _in_a_thread(plan, out, progress)


def astream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    model: str | None = None,
    columns: Columns = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    out: str | Path | None = None,
    progress: Report | bool | None = False,
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
    repeat: int = 1,
    tuned: Tuned = None,
) -> AsyncGenerator[Outcome]:
    """Grade a data set in the running event loop, for `async for`; as `stream` otherwise.

    Leave the loop through `contextlib.aclosing` where the rest must have ended before you go on;
    else it ends a moment later.
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
        repeat=repeat,
        tuned=tuned,
    )
    plan = make_plan(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
        folders=folders_of(out),
    )
    return _outcomes(plan, out, progress)


async def _outcomes(
    plan: Plan, out: str | Path | None, progress: Report | bool | None
) -> AsyncGenerator[Outcome]:
    opened = runner_of(plan, out=out, progress=progress, yields_earlier=True, holds=False)
    async with opened as runner, aclosing(runner.outcomes()) as outcomes:
        async for outcome in outcomes:
            yield outcome


def _in_a_thread(
    plan: Plan, out: str | Path | None, progress: Report | bool | None
) -> Generator[Outcome]:
    loop = LoopThread()
    outcomes = _outcomes(plan, out, progress)
    try:
        while True:
            try:
                outcome = loop.run(_next_of(outcomes))
            except StopAsyncIteration:
                return
            yield outcome
    finally:
        loop.run(outcomes.aclose())
        loop.close()


async def _next_of(outcomes: AsyncGenerator[Outcome]) -> Outcome:
    return await anext(outcomes)
