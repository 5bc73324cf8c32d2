"""How are outcomes taken one by one, while the rest is graded? By a loop over a stream."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from pathlib import Path
from typing import Unpack

from rag_evals.dataset import Data
from rag_evals.judge import Client
from rag_evals.run.loop import runner_of
from rag_evals.run.loop_thread import LoopThread
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Graders, Plan, folders_of, make_plan
from rag_evals.run.progress import Report
from rag_evals.run.settings import RunOptions, refuse_idle, refuse_sampling


def stream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Generator[Outcome]:
    """Grade a data set, and yield each outcome as it ends; arguments as for `evaluate`.

    Rows end in any order; `index` is a row's place. At most `concurrency` rows are under way or
    wait to be taken: a loop that is slow slows the grading down. Nothing is graded before the first
    outcome is asked for, and nothing more once the loop is left. Nothing is kept in memory; with
    `out`, the outcomes are kept in that folder, and those of an earlier run in it are yielded too.
    No progress is shown unless it is asked for.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        RagEvalsError: From the loop, what `evaluate` raises.
    """
    plan = _planned(data, graders, client, out, options)
    return _in_a_thread(plan, out, options.get("progress", False))


def astream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> AsyncGenerator[Outcome]:
    """Grade a data set in the running event loop, for `async for`; as `stream` otherwise.

    Leave the loop through `contextlib.aclosing` where the rest must have ended before you go on;
    else it ends a moment later.
    """
    plan = _planned(data, graders, client, out, options)
    return _outcomes(plan, out, options.get("progress", False))


def _planned(
    data: Data, graders: Graders, client: Client, out: str | Path | None, options: RunOptions
) -> Plan:
    refuse_sampling(options, "a stream")
    if out is None:
        refuse_idle(options, "restart", where="without out")
    return make_plan(data, graders, client, options=options, folders=folders_of(out))


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
