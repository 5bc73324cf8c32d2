"""In a run a judge is asked through the gate, within the row's time, and never twice as often."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import instructor
import openai
import pytest
from pydantic import BaseModel

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


class OneWord(BaseModel):
    """Another reply than that of a faithfulness call."""

    word: str = ""


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
    call: JudgeCall[Any] = JudgeCall(
        (message,), FaithfulnessResult, settings=settings, is_shared=True
    )
    turned = replace(call, settings=dict(reversed(settings.items())))
    others = [
        replace(call, settings={"seed": 2, "temperature": 0.5}),
        replace(call, settings={}),
        replace(call, model="m"),
        replace(call, endpoint="openai/m"),
        replace(call, sample_index=1),
        replace(call, messages=(message, message)),
        replace(call, reply_model=OneWord),
        replace(call, is_shared=False),
    ]

    assert asked_for(call, turned, call) == (1, [10, 0, 0])
    assert asked_for(call, *others) == (9, [10] * 9)


def test_a_shared_call_that_failed_is_made_again() -> None:
    """Each row then gets its own try, and is charged for it."""
    call = JudgeCall((), FaithfulnessResult, is_shared=True)

    assert asked_for(call, call, failing=1) == (2, [0, 10])


def test_the_reply_to_the_call_that_was_made_again_is_shared() -> None:
    """Whoever comes after a failure and a success finds the success."""
    judge, meters = Counting(failing=1), [Meter() for _ in range(4)]
    pipeline = JudgePipeline(judge)
    call = JudgeCall((), FaithfulnessResult, is_shared=True)

    async def ask() -> None:
        with pytest.raises(errors.JudgeOutputError):
            await pipeline.ask(call, meters[0])
        for meter in meters[1:]:
            await pipeline.ask(call, meter)

    asyncio.run(ask())
    assert judge.asked == 2
    assert [meter.total.prompt_tokens for meter in meters] == [0, 10, 0, 0]


def test_replies_to_the_last_thousand_shared_calls_are_kept() -> None:
    """The oldest is forgotten first, and asked for anew."""
    judge = Counting()
    pipeline = JudgePipeline(judge)

    async def ask(*numbers: int) -> int:
        for number in numbers:
            call = JudgeCall((), FaithfulnessResult, sample_index=number, is_shared=True)
            await pipeline.ask(call, Meter())
        return judge.asked

    async def ask_all() -> list[int]:
        return [await ask(*range(1001)), await ask(1, 1000), await ask(0), await ask(1)]

    assert asyncio.run(ask_all()) == [1001, 1001, 1002, 1003]


class Kept:
    """A store that holds the replies to calls of some models."""

    def __init__(self, *models: str) -> None:
        self.replies: dict[str | None, JudgeReply] = {
            model: JudgeReply(FaithfulnessResult(statements=[]), Usage(cache_hits=1))
            for model in models
        }
        self.kept: list[str | None] = []

    def find(self, call: JudgeCall[Any]) -> JudgeReply | None:
        """Look by the model."""
        return self.replies.get(call.model)

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        """Note the model of a reply that is kept."""
        self.replies[call.model] = reply
        self.kept.append(call.model)


class Replay:
    """Replies of batches: to calls of some models."""

    def __init__(self, *models: str) -> None:
        self.answers, self.models = self, models
        self.asked: list[str | None] = []
        self.noted: list[errors.PendingError] = []

    def note(self, missing: errors.PendingError) -> None:
        """Note what is missing."""
        self.noted.append(missing)

    async def ask(self, host: Any, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Reply, or raise what a later batch will answer."""
        self.asked.append(call.model)
        if call.model not in self.models:
            raise errors.PendingError("not yet")
        used = Usage(calls=1)
        meter.add(used, endpoint=call.endpoint, model=call.model)
        return JudgeReply(FaithfulnessResult(statements=[]), used)


def test_a_stored_reply_is_a_hit_of_the_judge_that_gave_it() -> None:
    """What was asked is kept; what is found is not asked, and counts by endpoint and model."""
    judge, store, meter = Counting(), Kept("a"), Meter()
    pipeline = JudgePipeline(judge, store)
    calls = [JudgeCall((), FaithfulnessResult, model=model, endpoint="openai/x") for model in "abb"]

    async def ask() -> None:
        for call in calls:
            await pipeline.ask(call, meter)

    asyncio.run(ask())
    assert (judge.asked, store.kept) == (1, ["b"])
    assert meter.by_judge == {
        ("openai/x", "a"): Usage(cache_hits=1),
        (None, None): Usage(calls=1, prompt_tokens=10),
        ("openai/x", "b"): Usage(calls=1, prompt_tokens=10),
    }


@pytest.mark.parametrize(
    ("in_batch", "in_store", "found", "noted", "kept"),
    [
        ("m", "m", Usage(calls=1), 0, ["m", "m"]),
        ("m", "", Usage(calls=1), 0, ["m", "m"]),
        ("", "m", Usage(cache_hits=1), 0, []),
        ("", "", None, 2, []),
    ],
)
def test_replies_of_a_batch_come_before_stored_ones(
    in_batch: str, in_store: str, found: Usage | None, noted: int, kept: list[str]
) -> None:
    """A row counts what it has paid for; every call asks, also one that graders share."""
    replay: Any = Replay(in_batch)
    store, meters = Kept(in_store), [Meter(), Meter()]
    judge = Counting()
    pipeline = JudgePipeline(judge, store, replay=replay)
    call = JudgeCall((), FaithfulnessResult, model="m", is_shared=True)

    async def ask() -> list[Any]:
        work = [pipeline.ask(call, meter) for meter in meters]
        return await asyncio.gather(*work, return_exceptions=True)

    replies = asyncio.run(ask())
    assert (replay.asked, judge.asked, store.kept) == (["m", "m"], 0, kept)
    assert len(replay.noted) == noted
    if found is None:
        assert replies == replay.noted
    else:
        assert [reply.usage for reply in replies] == [found] * 2
        assert [meter.by_judge for meter in meters] == [{(None, "m"): found}] * 2


@pytest.mark.parametrize(("own", "answered", "allowed"), [(object(), 5, 5), (None, 0, 4)])
def test_a_reply_of_ones_own_client_is_reported_to_the_limiter(
    own: object, answered: int, allowed: int
) -> None:
    """A place is won back by five; what sends requests itself has reported them."""
    limiter = RequestLimiter(8, clock=lambda: 100.0)
    limiter.slow_down(0.0)
    assert (limiter.answered, limiter.allowed) == (0, 4)
    judge = JudgePipeline(Counting(), limiter=limiter, own_client=own)

    async def ask() -> None:
        for _ in range(5):
            await judge.ask(JudgeCall((), FaithfulnessResult), Meter())

    asyncio.run(ask())
    assert (limiter.answered, limiter.allowed) == (answered, allowed)


@pytest.mark.parametrize(("status", "asked"), [(200, 2), (500, 1), (429, 1), (None, 1)])
def test_a_run_asks_again_where_a_client_took_no_reply_for_one(
    status: int | None, asked: int
) -> None:
    """Whatever else there is to try again its SDK has tried."""

    class Empty(Counting):
        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
            if not self.asked:
                self.asked = 1
                error = errors.JudgeUnavailableError("no choices")
                error.status = status
                raise error
            return await super().ask(call, meter)

    judge, own = Empty(), SimpleNamespace(client=SimpleNamespace(max_retries=2), provider=None)
    pipeline = JudgePipeline(judge, limiter=RequestLimiter(8), own_client=own)
    fails = pytest.raises(errors.JudgeUnavailableError) if asked == 1 else nullcontext()
    with fails:
        asyncio.run(pipeline.ask(JudgeCall((), FaithfulnessResult), Meter()))
    assert judge.asked == asked


def test_a_call_has_the_rows_time_and_not_the_usual_one() -> None:
    """What it took is taken from the row's later calls."""
    left: list[float | None] = []

    class Timed(Counting):
        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
            left.append(seconds_left())
            return await super().ask(call, meter)

    pipeline = JudgePipeline(Timed(), limiter=RequestLimiter(8), row_seconds=7.0)
    meter = Meter()
    for waited in (0.0, 4.0):
        meter.waited_seconds = waited
        asyncio.run(pipeline.ask(JudgeCall((), FaithfulnessResult), meter))

    assert left == [pytest.approx(7.0, abs=0.5), pytest.approx(3.0, abs=0.5)]
    assert 4.0 <= meter.waited_seconds < 4.5


def test_what_sends_requests_reports_to_the_limiter_of_its_run(scripted: Start) -> None:
    """Both how many were answered, and what the headers say."""
    limits = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "7s"}
    message = {"role": "assistant", "content": json.dumps(GOOD)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    scripted(Raw(json.dumps({"choices": [choice]}), 200, headers=limits))
    call = JudgeCall((), FaithfulnessResult, {"chunk_count": 1})

    async def ask() -> tuple[int, float]:
        async with judge_session("openai/m", None, SessionSettings()) as pipeline:
            assert pipeline.limiter is not None
            await pipeline.ask(call, Meter())
            return pipeline.limiter.answered, pipeline.waiting_seconds

    answered, waits = asyncio.run(ask())
    assert answered == 1
    assert waits == pytest.approx(7.0, abs=0.5)


class SleptError(Exception):
    """A limiter would have slept."""


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({}, 0.0),
        ({"requests_per_minute": 60}, 1.0),
        ({"tokens_per_minute": 600}, 10.0),
        ({"requests_per_minute": 60, "tokens_per_minute": 6000}, 1.0),
    ],
)
def test_the_limits_of_a_run_reach_its_limiter(
    limits: dict[str, Any], seconds: float, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call of 100 tokens waits for what the first has used, whichever the client."""
    slept = [0.0]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        raise SleptError

    async def wait() -> None:
        async with openai.AsyncOpenAI(api_key="k") as sdk:
            client: Any = instructor.from_openai(sdk) if own else "openai/m"
            async with judge_session(client, "m", SessionSettings(**limits)) as pipeline:
                assert pipeline.limiter is not None
                with monkeypatch.context() as changed, suppress(SleptError):
                    changed.setattr(asyncio, "sleep", sleep)
                    for _ in range(2):
                        await pipeline.limiter.take_slot(100)

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    asyncio.run(wait())
    assert slept[-1] == pytest.approx(seconds, abs=0.2)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SessionSettings(), (16, 600.0, 120.0)),
        (SessionSettings(3, 7.0, max_wait_seconds=9.0), (3, 9.0, 7.0)),
    ],
)
def test_a_run_has_sixteen_calls_two_minutes_a_row_and_waits_ten(
    settings: SessionSettings,
    expected: tuple[int, float, float],
    own: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless it is told otherwise; only a client of the user's own is asked again here."""

    async def opened() -> tuple[int, float, float]:
        async with openai.AsyncOpenAI(api_key="k") as sdk:
            client: Any = instructor.from_openai(sdk) if own else "openai/m"
            async with judge_session(client, "other", settings) as pipeline:
                assert pipeline.limiter is not None
                limiter = pipeline.limiter
                assert pipeline.own_client is (client if own else None)
                assert "\nother\n" in str(pipeline.identity)
                return limiter.allowed, limiter.max_wait_seconds, pipeline.row_seconds

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert asyncio.run(opened()) == expected


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
