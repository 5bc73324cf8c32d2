"""Who runs a flow? One driver for sync clients, one for async ones; graders know neither."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from rag_evals.core import (
    Flow,
    JudgeReply,
    LocalCall,
    Meter,
    Step,
    VerifyCall,
    Work,
    watched,
    watching,
)
from rag_evals.errors import ConfigurationError, GradingError
from rag_evals.judge import AsyncJudge, Judge, async_judge_for, judge_for

R = TypeVar("R")

NamedJudge = Callable[[str], Awaitable[AsyncJudge]]
"""Finds the judge that a call names, such as `openai/gpt-4o`."""


def drive(
    flow: Flow[R], judge: Judge | None, meter: Meter, *, named: Callable[[str], Judge] = judge_for
) -> R:
    """Carry out a flow, one step after the other.

    Args:
        flow: A grader's or a verifier's flow, not yet started.
        judge: Who answers judge calls; None where the flow makes none.
        meter: Counts what was asked, also when the flow fails.
        named: Finds the judge of calls that name their own endpoint.

    Raises:
        GradingError: A step failed and the flow did not handle it.
        NotScorableError: There is nothing to grade.
    """
    try:
        steps = next(flow)
        while True:
            try:
                replies = [_do(step, judge, meter, named) for step in steps]
            except GradingError as error:
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        result: R = stop.value
        return result


async def drive_async(
    flow: Flow[R], judge: AsyncJudge | None, meter: Meter, *, named: NamedJudge = async_judge_for
) -> R:
    """Carry out a flow, the steps of one round side by side; as `drive` otherwise.

    Args:
        flow: As for `drive`.
        judge: As for `drive`.
        meter: As for `drive`.
        named: Finds the judge of calls that name their own endpoint.
    """
    try:
        steps = next(flow)
        while True:
            try:
                replies = await _do_all(steps, judge, meter, named)
            except GradingError as error:
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        result: R = stop.value
        return result


def _do(step: Step, judge: Judge | None, meter: Meter, named: Callable[[str], Judge]) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        return step.run(_identity(judge))
    if step.endpoint is not None:
        judge = named(step.endpoint)
    if judge is None:
        raise _no_judge()
    with watched(Work("call", "", step, judge)) as work:
        work.result = judge.ask(step, meter)
        reply: JudgeReply = work.result
    return reply


async def _do_all(
    steps: Sequence[Step], judge: AsyncJudge | None, meter: Meter, named: NamedJudge
) -> list[Any]:
    if len(steps) == 1:
        return [await _do_async(steps[0], judge, meter, named)]
    # Importing the package has a budget, and this would be a tenth of it.
    import asyncio  # noqa: PLC0415

    tasks = [asyncio.ensure_future(_do_async(step, judge, meter, named)) for step in steps]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # After one failure the others would go on being paid for.
        for task in tasks:
            task.cancel()


async def _do_async(step: Step, judge: AsyncJudge | None, meter: Meter, named: NamedJudge) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        import asyncio  # noqa: PLC0415 - as above

        return await asyncio.to_thread(step.run, _identity(judge))
    if step.endpoint is not None:
        judge = await named(step.endpoint)
    if judge is None:
        raise _no_judge()
    return await watching(Work("call", "", step, judge), judge.ask(step, meter))


def _identity(judge: Judge | AsyncJudge | None) -> str | None:
    """Name who is asked; a judge that does not say so must not share verdicts with another."""
    return getattr(judge, "identity", None)


def _no_judge() -> ConfigurationError:
    return ConfigurationError("this grader asks a judge, and none was given; pass client=")
