"""Grading of a data set, as a whole or as a stream of outcomes."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import aclosing, closing, suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from rag_evals.core import Work, require_known, watched
from rag_evals.dataset import Data
from rag_evals.errors import RunInterruptedError
from rag_evals.judge import Client
from rag_evals.judge.pace.row_time import LoopThread
from rag_evals.run.engine.loop import runner_of
from rag_evals.run.plan.options import OPTIONS, RunOptions, refuse_idle, refuse_sampling
from rag_evals.run.plan.plan import Graders, Plan, folders_of
from rag_evals.run.plan.progress import Report
from rag_evals.run.plan.sampling import FREE_FOLDER, choose_designs, plan_draw
from rag_evals.run.read.run import Run
from rag_evals.run.record.outcome import Outcome

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop; cancel it on SIGINT or SIGTERM.

    Raises:
        RunInterruptedError: A signal cancelled the coroutine.
    """
    received: list[int] = []

    async def guarded() -> T:
        task = asyncio.ensure_future(work)

        def stop(number: int) -> None:
            received.append(number)
            task.cancel()

        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            # Windows has no signal handlers; it raises KeyboardInterrupt.
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, stop, number)
        return await task

    try:
        return asyncio.run(guarded())
    except (asyncio.CancelledError, KeyboardInterrupt):
        number = received[0] if received else signal.SIGINT
        error = RunInterruptedError(f"ended by {signal.Signals(number).name}")
        error.signal_number = int(number)
        raise error from None


OnOutcome = Callable[[Outcome], object]
"""Receives each outcome; may be an async function."""


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
        out: Folder of the run; a run that is there is resumed. None writes nothing.
        on_outcome: A function to call with each outcome after it is stored, also with those of
            earlier starts; its exception ends the run.
        options: Model, columns, limits, settings of the judge and more: `RunOptions`.

    Returns:
        The run: each row has one outcome for each grader.

    Raises:
        ConfigurationError: A setting is invalid; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        JudgeRejectedError: The endpoint refuses key, model or schema, and answered no row yet, or
            refused ten rows in a row.
        JudgeUnreachableError: No connection, and no row was answered yet.
        TooManyFailuresError: More gradings failed than `max_failures` allows; its `run` has what
            was graded.
    """
    plan = _planned("evaluate", data, graders, client, out, options)
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
    """Grade a data set in the running event loop; otherwise as `evaluate`."""
    plan = _planned("aevaluate", data, graders, client, out, options)
    progress = options.get("progress")
    return await aexecute(plan, out=out, progress=progress, on_outcome=on_outcome)


def _planned(
    caller: Literal["evaluate", "aevaluate", "stream"],
    data: Data,
    graders: Graders,
    client: Client,
    out: str | Path | None,
    options: RunOptions,
) -> Plan:
    require_known(caller, options, list(OPTIONS))
    if out is None:
        refuse_idle(options, "restart", "keep_replies", where="without out")
    if caller == "stream":
        refuse_sampling(options, "a stream")
    return plan_draw(data, graders, client, options=options, folders=folders_of(out))


def execute(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None = None,
    on_outcome: OnOutcome | None = None,
) -> Run:
    """Carry out a plan; arguments as for `evaluate`."""
    work = aexecute(plan, out=out, progress=progress, on_outcome=on_outcome)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A running event loop cannot be entered again, so the run gets its own.
    with closing(LoopThread()) as loop:
        return loop.run(work)


async def aexecute(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None = None,
    on_outcome: OnOutcome | None = None,
) -> Run:
    run, notes = await _carried_out(plan, out, progress, on_outcome)
    if plan.free is None:
        return run
    # Only now, so that no folder is left behind if the main judge cannot be opened.
    inner = None if out is None else Path(out) / FREE_FOLDER
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


def stream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Generator[Outcome]:
    """Grade a data set, and yield each outcome as it ends; arguments as for `evaluate`.

    Rows end in any order; `index` is a row's position. At most `concurrency` rows are in flight or
    wait for the loop, so a slow loop slows down the grading. Grading starts with the first `next`
    and ends when the loop is left. Nothing is kept in memory; with `out`, outcomes are stored in
    that folder, and those of earlier starts are yielded too. Progress is shown only on request.

    Raises:
        ConfigurationError: A setting is invalid; nothing was sent.
        DataError: A row of a file cannot be graded; nothing was sent.
        RagEvalsError: In the loop, as `evaluate` raises.
    """
    plan = _planned("stream", data, graders, client, out, options)
    return _in_a_thread(plan, out, options.get("progress", False))


def astream(
    data: Data,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> AsyncGenerator[Outcome]:
    """Grade a data set in the running event loop, for `async for`; otherwise as `stream`.

    With `contextlib.aclosing`, all grading has ended when you leave the loop; else it ends a
    moment later.
    """
    plan = _planned("stream", data, graders, client, out, options)
    return _outcomes(plan, out, options.get("progress", False))


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
    outcomes = _outcomes(plan, out, progress)

    async def following() -> Outcome | None:
        return await anext(outcomes, None)

    with closing(LoopThread()) as loop:
        try:
            while (outcome := loop.run(following())) is not None:
                yield outcome
        finally:
            loop.run(outcomes.aclose())
