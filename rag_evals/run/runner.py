"""How is a data set graded? By a plan, and a loop that carries it out."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from inspect import isawaitable
from pathlib import Path
from typing import Any

from rag_evals.core import Work, watched
from rag_evals.dataset import Columns, Data
from rag_evals.judge import (
    DEFAULT_MAX_WAIT_SECONDS,
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    Client,
)
from rag_evals.run.asked_draw import plan_draw
from rag_evals.run.decision import DEFAULT_ERROR
from rag_evals.run.designs import choose_designs
from rag_evals.run.loop import runner_of
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Graders, Plan, folders_of
from rag_evals.run.progress import Report
from rag_evals.run.run import Run
from rag_evals.run.sampled import free_folder
from rag_evals.run.settings import DEFAULT_CONCURRENCY, DEFAULT_MAX_FAILURES, RunOptions
from rag_evals.verify import Tuned

OnOutcome = Callable[[Outcome], object]
"""Is called with each outcome; what it returns is awaited where it can be."""


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
    stop_early: bool = False,
    gate: float | None = None,
    error: float = DEFAULT_ERROR,
    count: Mapping[str, float] | None = None,
    sample: int | None = None,
    budget: float | str | None = None,
    on_outcome: OnOutcome | None = None,
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
        progress: A function that is given `Progress`; True or False; None shows it on a terminal
            and in a notebook.
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
        repeat: How often each row is graded; a result is then a `RepeatedResult`.
        tuned: Files of `rag-evals judge tune`, or what `tune` returned: one for each verifier.
        stop_early: Grade rows in random order, and stop when `gate` is decided for all of them.
        gate: The mean that `stop_early` asks for, 0 to 1; without it `run.gate(0.85)` says it.
        error: Chance that the gate is decided wrongly.
        count: Numbers for reasons of rows without a score, for the gate.
        sample: Let the judge grade so many rows, drawn at random, and the embedded one all; mean
            and interval are those of all rows.
        budget: The same, with as many rows as these US dollars pay for, such as `"5usd"` or 5.0;
            when they are spent, nothing more is asked.
        on_outcome: A function that is called with each outcome once it is kept, those of an earlier
            run among them; an exception in it ends the run.

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
        repeat=repeat,
        tuned=tuned,
        stop_early=stop_early,
        gate=gate,
        error=error,
        count=count,
        sample=sample,
        budget=budget,
    )
    plan = plan_draw(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
        folders=folders_of(out),
    )
    return execute(plan, out=out, progress=progress, on_outcome=on_outcome)


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
    stop_early: bool = False,
    gate: float | None = None,
    error: float = DEFAULT_ERROR,
    count: Mapping[str, float] | None = None,
    sample: int | None = None,
    budget: float | str | None = None,
    on_outcome: OnOutcome | None = None,
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
        repeat=repeat,
        tuned=tuned,
        stop_early=stop_early,
        gate=gate,
        error=error,
        count=count,
        sample=sample,
        budget=budget,
    )
    plan = plan_draw(
        data,
        graders,
        client,
        model=model,
        columns=columns,
        concurrency=concurrency,
        options=options,
        folders=folders_of(out),
    )
    return await aexecute(plan, out=out, progress=progress, on_outcome=on_outcome)


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
