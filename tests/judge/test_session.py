"""In a run a judge is asked through the gate, within the row's time, and never twice as often."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import instructor
import openai
import pytest

from rag_evals import errors, evaluate
from rag_evals.core import JudgeCall, JudgeReply, Message, Meter, Usage
from rag_evals.judge.pace.retry import RequestLimiter
from rag_evals.judge.pace.row_time import (
    RowTime,
    call_in_thread,
    row_clock_stopped,
    row_time,
    seconds_left,
)
from rag_evals.judge.session import JudgePipeline, SessionSettings, judge_session
from rag_evals.response_models import FaithfulnessResult
from rag_evals.testing import HttpError, JudgeRequest, Raw, Reset, Script, ScriptedJudge, Stall
from tests.conftest import ONE_SUPPORTED, statement

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]
GOOD = {"statements": [statement()]}
AGAIN = {"retry-after-ms": "1"}
ROW = [{"answer": "It stands in Paris.", "context": ["c"]}]


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list to which each pause, before it begins, adds its seconds."""
    asked: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float, result: Any = None) -> Any:
        if result is None:  # else it is the heartbeat of a run
            asked.append(seconds)
        return await sleep(seconds, result)

    monkeypatch.setattr(asyncio, "sleep", noted)
    return asked


@pytest.mark.parametrize(
    ("faults", "requests", "retries", "reasks"),
    [
        ([GOOD], 1, 0, 0),
        ([HttpError(500, headers=AGAIN), GOOD], 2, 1, 0),
        ([HttpError(429, headers=AGAIN), HttpError(503, headers=AGAIN), GOOD], 3, 2, 0),
        (["{", GOOD], 2, 0, 1),
        (["{", HttpError(500, headers=AGAIN), GOOD], 3, 1, 1),
        ([HttpError(500, headers=AGAIN), "{", HttpError(500, headers=AGAIN), GOOD], 4, 2, 1),
    ],
)
def test_every_try_is_counted_once(
    scripted: Start, faults: list[Any], requests: int, retries: int, reasks: int
) -> None:
    """Requests at the server are replies and repetitions in the accounts."""
    judge = scripted(faults)
    (outcome,) = evaluate(ROW, client="openai/m").outcomes

    assert outcome.status == "scored"
    assert len(judge.requests) == requests
    assert (outcome.usage.retries, outcome.usage.reasks) == (retries, reasks)
    assert outcome.usage.calls + outcome.usage.retries == requests


def test_the_transports_retries_are_not_multiplied(scripted: Start) -> None:
    """A server that is down gets one try and the client's four, not five times five."""
    judge = scripted(HttpError(500, headers=AGAIN))
    (outcome,) = evaluate(ROW, client="openai/m", max_failures=1).outcomes

    assert outcome.error is not None
    assert outcome.error.type == "JudgeUnavailableError"
    assert len(judge.requests) == 5


def test_a_client_that_never_retries_is_helped(
    scripted: Start, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `max_retries=0` the whole call is made again, as often as a request of ours."""
    judge = scripted([Reset(), HttpError(500), GOOD])
    (outcome,) = evaluate(ROW, client=client_of(judge, retries=0), model="m").outcomes

    assert outcome.status == "scored"
    assert len(judge.requests) == 3


def test_a_row_has_so_much_time_and_no_more(scripted: Start) -> None:
    """A silent endpoint costs one row its time, whatever the client's own time-out is."""
    judge = scripted(lambda request: Stall(30) if "silent" in str(request.answer) else GOOD)
    rows = [{"answer": "silent", "context": ["c"]}, *ROW]
    run = evaluate(rows, client="openai/m", timeout=1)

    assert [o.status for o in run.outcomes] == ["failed", "scored"]
    assert run.outcomes[0].error is not None
    assert "within the" in run.outcomes[0].error.message
    assert len(judge.requests) >= 2


def test_waiting_at_the_gate_is_not_the_rows_time(scripted: Start, sleeps: list[float]) -> None:
    """With two requests a second, the last of six rows waits longer than its time, and scores."""
    scripted(GOOD)
    rows = [{"answer": f"It stands in Paris {n}.", "context": ["c"]} for n in range(6)]
    run = evaluate(rows, client="openai/m", rpm=120, timeout=1.2)

    assert [o.status for o in run.outcomes] == ["scored"] * 6
    assert sum(sleeps) > 1.2


def test_a_429_holds_all_workers_back(scripted: Start, sleeps: list[float]) -> None:
    """After a refusal nobody asks before the time that the endpoint named."""
    waits: list[int] = []

    def script(request: JudgeRequest) -> Any:
        waits.append(sum(seconds > 0.3 for seconds in sleeps))
        return HttpError(429, headers={"retry-after": "0.4"}) if request.number == 2 else GOOD

    scripted(script)
    rows = [{"answer": f"It stands in Paris {n}.", "context": ["c"]} for n in range(12)]
    run = evaluate(rows, client="openai/m", concurrency=1)

    assert run.summary().graders["faithfulness"].scored == 12
    assert waits == [0] * 3 + [1] * 10


def test_a_users_own_client_teaches_by_its_errors(
    scripted: Start, client_of: ClientOf, sleeps: list[float]
) -> None:
    """A 429 that the client lets through pauses the run as well."""
    judge = scripted([HttpError(429, headers={"retry-after": "0.3"}), GOOD])
    run = evaluate(ROW, client=client_of(judge, retries=0), model="m")

    assert run.outcomes[0].status == "scored"
    assert max(sleeps) > 0.2


def test_an_async_client_is_used_as_it_is(scripted: Start) -> None:
    """Its mode and its transport are the user's."""
    judge = scripted(GOOD)

    async def ask() -> Any:
        async with openai.AsyncOpenAI() as sdk:
            client = instructor.from_openai(sdk)
            async with judge_session(client, "m", SessionSettings()) as session:
                assert session is not None
                return session

    assert asyncio.run(ask()) is not None
    assert judge.requests == []


def test_a_host_that_leaves_fields_out_is_read(scripted: Start) -> None:
    """A reply without the fields that OpenAI always sends is taken for what it has."""
    message = {"role": "assistant", "content": json.dumps(ONE_SUPPORTED)}
    scripted(Raw({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))

    assert evaluate(ROW, client="openai/m").outcomes[0].score == 1.0


class Counting:
    """A judge that counts what it is asked, and fails the first so many calls."""

    identity = None
    lessons: Mapping[str, Sequence[str]] = {}

    def __init__(self, failing: int = 0) -> None:
        self.failing, self.asked = failing, 0

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Accept all."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Reply with nothing, after a while."""
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0)
        if number <= self.failing:
            raise errors.JudgeOutputError("wrong")
        used = Usage(calls=1, prompt_tokens=10)
        meter.add(used)
        return JudgeReply(FaithfulnessResult(statements=[]), used)


def asked_for(*calls: JudgeCall[Any], failing: int = 0) -> tuple[int, list[int]]:
    """Return how often the judge is asked for calls at one time, and what each row is charged."""
    judge, meters = Counting(failing), [Meter() for _ in calls]
    pipeline = JudgePipeline(judge)

    async def ask() -> None:
        work = [pipeline.ask(call, meter) for call, meter in zip(calls, meters, strict=True)]
        await asyncio.gather(*work, return_exceptions=True)

    asyncio.run(ask())
    return judge.asked, [meter.total.prompt_tokens for meter in meters]


def test_calls_that_graders_share_are_made_once() -> None:
    """Whatever changes a reply makes another call; the order of settings does not."""
    message: Message = {"role": "user", "content": "Judge."}
    settings = {"seed": 1, "temperature": 0.5}
    call = JudgeCall((message,), FaithfulnessResult, settings=settings, is_shared=True)
    turned = replace(call, settings=dict(reversed(settings.items())))
    others = [
        replace(call, settings={"seed": 2, "temperature": 0.5}),
        replace(call, settings={}),
        replace(call, model="m"),
        replace(call, endpoint="openai/m"),
        replace(call, sample_index=1),
        replace(call, messages=(message, message)),
        replace(call, is_shared=False),
    ]

    assert asked_for(call, turned, call) == (1, [10, 0, 0])
    assert asked_for(call, *others) == (8, [10] * 8)


def test_a_shared_call_that_failed_is_made_again() -> None:
    """Each row then gets its own try, and is charged for it."""
    call = JudgeCall((), FaithfulnessResult, is_shared=True)

    assert asked_for(call, call, failing=1) == (2, [0, 10])


def test_a_shared_call_that_was_cancelled_is_made_again() -> None:
    """A row that ends, for its time or by the user, takes no other row's reply with it."""
    judge, call = Counting(), JudgeCall((), FaithfulnessResult, is_shared=True)
    pipeline = JudgePipeline(judge)

    async def ask() -> JudgeReply:
        first, second = (asyncio.create_task(pipeline.ask(call, Meter())) for _ in range(2))
        while not judge.asked:
            await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(ask()).usage.calls == 1
    assert judge.asked == 2


def test_a_pipeline_waits_as_long_as_its_limiter() -> None:
    """Without one it never does."""
    limiter = RequestLimiter(4, clock=lambda: 100.0)
    limiter.pause(7)

    assert JudgePipeline(Counting()).waiting_seconds == 0.0
    assert JudgePipeline(Counting(), limiter=limiter).waiting_seconds == 7.0


def test_a_stop_of_the_rows_clock_moves_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By exactly as long; where no row has a time, there is nothing to stop."""
    now = SimpleNamespace(value=100.0)
    clock = SimpleNamespace(monotonic=lambda: now.value)
    monkeypatch.setattr("rag_evals.judge.pace.row_time.time", clock)
    meter = Meter()
    meter.waited_seconds = 1.0

    async def stop() -> float:
        with row_clock_stopped():
            now.value += 1
        row = RowTime(meter, 60.0)
        async with row:
            now.value += 2
            before = row.timeout.when()
            with row_clock_stopped():
                assert row.timeout.when() is None
                now.value += 30
            assert row.seconds_left == seconds_left() == 60 - 1 - 2
            after = row.timeout.when()
        assert before is not None
        assert after is not None
        return after - before

    assert asyncio.run(stop()) == pytest.approx(30)
    assert meter.waited_seconds == 1 + 2
    assert seconds_left() is None


@pytest.mark.parametrize(
    ("fault", "told"), [("", ""), ("HTTP 500: oops", "; the last fault: HTTP 500: oops")]
)
def test_a_time_that_ends_says_the_last_fault(fault: str, told: str) -> None:
    """If there was one."""
    meter = Meter(row_seconds=0.0)
    meter.last_fault = fault

    async def wait() -> None:
        async with row_time(meter):
            await asyncio.Event().wait()

    with pytest.raises(errors.JudgeUnavailableError) as caught:
        asyncio.run(wait())
    assert str(caught.value) == (f"no valid reply within the 0 s allowed for a row (timeout){told}")
    assert caught.value.row_is_over


def test_errors_carry_what_the_endpoint_asked_for(scripted: Start, client_of: ClientOf) -> None:
    """Status and Retry-After are there for whoever catches the error."""
    from rag_evals import Faithfulness

    judge = scripted(HttpError(429, headers={"retry-after": "0"}))
    with pytest.raises(errors.JudgeUnavailableError) as caught:
        Faithfulness.grade(answer="a", context=["c"], client=client_of(judge, retries=0), model="m")

    assert (caught.value.status, caught.value.retry_after_seconds) == (429, 0.0)


def test_a_call_in_a_thread_that_nobody_awaits_any_more_ends_quietly() -> None:
    """A run that ends cancels its calls; the thread's late result or error goes nowhere."""
    go_on = threading.Event()
    call = call_in_thread(lambda: go_on.wait(10))
    call.cancel()
    go_on.set()

    assert call.result(10) is True


def test_every_stop_of_the_rows_clock_counts() -> None:
    """Twice a fifth of a second at the gate takes nothing from the row."""

    async def wait() -> float | None:
        async with row_time(Meter(row_seconds=5.0)):
            for _ in range(2):
                with row_clock_stopped():
                    time.sleep(0.2)
            return seconds_left()

    left = asyncio.run(wait())
    assert left is not None
    assert left > 4.9


def test_the_time_of_each_call_of_a_row_is_added() -> None:
    """A third call has what the first two left, not what the second left."""

    async def call(meter: Meter) -> None:
        async with row_time(meter):
            pass

    meter = Meter(row_seconds=5.0)
    meter.waited_seconds = 3.0
    asyncio.run(call(meter))

    assert 3.0 <= meter.waited_seconds < 5.0
