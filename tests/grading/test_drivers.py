"""Both drivers carry out any flow: one call, dependent calls, local work, failures."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from rag_evals.core import Claim, Flow, JudgeCall, JudgeReply, Meter, Usage, Verdict, VerifyCall
from rag_evals.errors import ConfigurationError, GradingError, JudgeOutputError, VerifierError
from rag_evals.grading.grader import drive, drive_async


class Number(BaseModel):
    """The smallest reply."""

    value: int


class Doubler:
    """A judge that answers with twice the number it reads; 13 it cannot answer."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        number = int(call.messages[0]["content"])
        self.asked.append(number)
        meter.add(Usage(calls=1))
        if number == 13:
            raise JudgeOutputError("unlucky")
        return JudgeReply(Number(value=2 * number), Usage(calls=1))


class AsyncDoubler(Doubler):
    """The same, awaited."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:  # type: ignore[override]  # async twin
        await asyncio.sleep(0)
        return super().ask(call, meter)


def asking(number: int) -> JudgeCall[Number]:
    """Ask for twice a number."""
    return JudgeCall(({"role": "user", "content": str(number)},), Number)


def once(number: int) -> Flow[int]:
    """One call."""
    call = asking(number)
    (reply,) = yield [call]
    return call.read(reply).value


def twice(number: int) -> Flow[int]:
    """Two calls, the second made from the first's reply."""
    first = yield from once(number)
    second = yield from once(first)
    return second


def side_by_side(numbers: Sequence[int]) -> Flow[list[int]]:
    """Several calls in one round."""
    calls = [asking(number) for number in numbers]
    replies = yield calls
    return [call.read(reply).value for call, reply in zip(calls, replies, strict=True)]


def forgiving(number: int) -> Flow[int]:
    """A flow that goes on after a failed step."""
    try:
        return (yield from once(number))
    except GradingError:
        return (yield from once(1))


class Agreeing:
    """A local verifier that supports everything."""

    def verify(self, claims: Sequence[Claim], chunks: Sequence[str]) -> list[Verdict]:
        return [Verdict(1.0, True, (0,), "so it is") for _ in claims]


class Lazy:
    """A local verifier that loses a statement."""

    def verify(self, claims: Sequence[Claim], chunks: Sequence[str]) -> list[Verdict]:
        return []


def locally(verifier: Any) -> Flow[bool]:
    """One local step."""
    call = VerifyCall(verifier, [Claim("a")], ["b"])
    (reply,) = yield [call]
    return call.read(reply)[0].is_supported


Driver = Callable[[Flow[Any]], Any]


def sync_driver(flow: Flow[Any]) -> Any:
    """Drive with the sync driver."""
    return drive(flow, Doubler(), Meter())


def async_driver(flow: Flow[Any]) -> Any:
    """Drive with the async driver."""
    return asyncio.run(drive_async(flow, AsyncDoubler(), Meter()))


@pytest.fixture(params=[sync_driver, async_driver])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Both drivers, one after the other."""
    chosen: Driver = request.param
    return chosen


def test_flows_of_any_shape_return_their_result(driver: Driver) -> None:
    """One call, two dependent calls, a round of calls, local work: the same flow for both."""
    assert driver(once(3)) == 6
    assert driver(twice(3)) == 12
    assert driver(side_by_side([1, 2, 3])) == [2, 4, 6]
    assert driver(locally(Agreeing())) is True


def test_a_failed_step_is_thrown_into_the_flow(driver: Driver) -> None:
    """A flow may handle the error; one that does not, fails with it."""
    assert driver(forgiving(13)) == 2
    with pytest.raises(JudgeOutputError, match="unlucky"):
        driver(side_by_side([1, 13]))


def test_after_a_failure_nothing_else_is_paid() -> None:
    """The calls that run side by side with the one that failed are cancelled."""
    ended: list[str] = []

    class Waiting(AsyncDoubler):
        """Answers 13 with an error, and everything else never."""

        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:  # type: ignore[override]  # async twin
            if call.messages[0]["content"] == "13":
                return await super().ask(call, meter)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(call.messages[0]["content"])
            raise AssertionError

    async def graded() -> list[str]:
        with pytest.raises(JudgeOutputError):
            await drive_async(side_by_side([1, 13, 2]), Waiting(), Meter())
        await asyncio.sleep(0)
        # Before the loop ends, which would cancel them anyway.
        return list(ended)

    assert asyncio.run(graded()) == ["1", "2"]


def test_a_lost_verdict_is_never_counted(driver: Driver) -> None:
    """A verifier that returns too few verdicts is an error, not support."""
    with pytest.raises(VerifierError, match="0 verdicts for 1 statements"):
        driver(locally(Lazy()))


def test_a_flow_that_asks_needs_a_judge() -> None:
    """Without a judge the error says what to pass."""
    with pytest.raises(ConfigurationError, match="pass client="):
        drive(once(1), None, Meter())
    with pytest.raises(ConfigurationError, match="pass client="):
        asyncio.run(drive_async(once(1), None, Meter()))


def test_a_reply_to_another_call_is_refused() -> None:
    """Steps and replies cannot be mixed up silently."""
    with pytest.raises(TypeError, match="expected a reply of Number"):
        asking(1).read("nothing")
