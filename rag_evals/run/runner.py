"""How is a data set graded? By a plan, and a loop that carries it out."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from inspect import isawaitable
from pathlib import Path
from typing import Any, Unpack

from rag_evals.core import Work, watched
from rag_evals.dataset import Data
from rag_evals.judge import Client
from rag_evals.run.asked_draw import plan_draw
from rag_evals.run.designs import choose_designs
from rag_evals.run.loop import runner_of
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Graders, Plan, folders_of
from rag_evals.run.progress import Report
from rag_evals.run.run import Run
from rag_evals.run.sampled import free_folder
from rag_evals.run.settings import RunOptions, refuse_idle

OnOutcome = Callable[[Outcome], object]
"""Is called with each outcome; what it returns is awaited where it can be."""


def evaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    on_outcome: OnOutcome | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Grade a data set and wait for it; also inside a running event loop, as in Jupyter.

    Args:
        data: A path to a file of rows, a `DataFile`, a table (pandas, polars, Arrow, Hugging Face),
            or an iterable of mappings, samples or objects with fields.
        graders: One or more graders, or names of shipped ones.
        client: A string such as `"openai/gpt-4o-mini"` or `"embedded"`, an instructor client, sync
            or async, or one of OpenAI's, Anthropic's or Google's own; None takes `RAG_EVALS_JUDGE`,
            else `"embedded"`.
        out: Folder to keep the run in; a run that is there is gone on with. None writes nothing.
        on_outcome: A function that is called with each outcome once it is kept, those of an earlier
            run among them; an exception in it ends the run.
        options: Model, columns, limits, settings of the judge and more: `RunOptions`.

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
    plan = _planned(data, graders, client, out, options)
    return execute(plan, out=out, progress=options.get("progress"), on_outcome=on_outcome)


async def aevaluate(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    on_outcome: OnOutcome | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Grade a data set in the running event loop; as `evaluate` otherwise."""
    plan = _planned(data, graders, client, out, options)
    progress = options.get("progress")
    return await aexecute(plan, out=out, progress=progress, on_outcome=on_outcome)


def _planned(
    data: Data, graders: Graders, client: Client, out: str | Path | None, options: RunOptions
) -> Plan:
    if out is None:
        refuse_idle(options, "restart", where="without out")
    return plan_draw(data, graders, client, options=options, folders=folders_of(out))


def execute(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None = None,
    on_outcome: OnOutcome | None = None,
) -> Run:
    """Carry out a plan and wait for it; arguments as for `evaluate`."""
    work = aexecute(plan, out=out, progress=progress, on_outcome=on_outcome)
    if not _loop_is_running():
        return asyncio.run(work)
    # A loop cannot be entered twice; the run gets a thread with a loop of its own.
    with ThreadPoolExecutor(1, "rag-evals") as pool:
        return pool.submit(copy_context().run, _run_alone, work).result()


def _run_alone(work: Coroutine[Any, Any, Run]) -> Run:
    return asyncio.run(work)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def aexecute(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None = None,
    on_outcome: OnOutcome | None = None,
) -> Run:
    """Carry out a plan in the running event loop; arguments as for `evaluate`.

    Args:
        plan: What is graded.
        out: As for `evaluate`.
        progress: As for `evaluate`.
        on_outcome: As for `evaluate`.
    """
    run, notes = await _carried_out(plan, out, progress, on_outcome)
    if plan.free is None:
        return run
    # Second: a judge that cannot be opened must leave no folder that refuses the right one.
    inner = None if out is None else free_folder(Path(out))
    every, _ = await _carried_out(plan.free, inner, progress, None)
    choose_designs(run.summary(), run.of_grader, None, every, notes.get("budget"))
    return run.beside(every)


async def _carried_out(
    plan: Plan,
    out: str | Path | None,
    progress: Report | bool | None,
    on_outcome: OnOutcome | None,
) -> tuple[Run, Mapping[str, Any]]:
    asked = on_outcome is not None
    opened = runner_of(plan, out=out, progress=progress, yields_earlier=asked)
    names = ", ".join(grader.name for grader in plan.graders)
    with watched(Work("run", names, plan.identity)) as work:
        async with opened as runner:
            async with aclosing(runner.outcomes()) as outcomes:
                async for outcome in outcomes:
                    if on_outcome is not None and isawaitable(said := on_outcome(outcome)):
                        await said
            work.result = runner.finished()
            notes = runner.notes
        run: Run = work.result
    return run, notes
