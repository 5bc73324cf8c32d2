"""The limiter paces calls, pauses on demand, and learns from replies."""

import asyncio
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage
from rag_evals.errors import JudgeOutputError, JudgeUnavailableError
from rag_evals.judge.pace.retry import (
    RateBudget,
    RequestLimiter,
    Waits,
    parse_duration,
    retry_after_seconds,
)
from rag_evals.judge.pace.row_time import RowTime
from rag_evals.judge.session import JudgePipeline
from rag_evals.judge.wire.direct import StatusError
from rag_evals.judge.wire.exchange import Exchange, current_exchange, no_reply
from rag_evals.judge.wire.sending import ClientUse, extend, limit_headers, repeating
from rag_evals.response_models import FaithfulnessResult

NOTHING = FaithfulnessResult(statements=[])


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let sleeping take no time."""
    made = Clock()
    monkeypatch.setattr("asyncio.sleep", made.sleep)
    monkeypatch.setattr("rag_evals.judge.pace.retry.WAITS", Waits())
    return made


@asynccontextmanager
async def slot(
    limiter: RequestLimiter, tokens: int = 0, used: int | None = None
) -> AsyncIterator[None]:
    await limiter.take_slot(tokens)
    try:
        yield
    finally:
        limiter.free_slot(0 if used is None else used - tokens)


async def pass_through(
    limiter: RequestLimiter, times: int, tokens: int = 0, used: int | None = None
) -> None:
    """Make calls one after the other."""
    for _ in range(times):
        async with slot(limiter, tokens, used):
            pass


@pytest.mark.parametrize(
    ("rpm", "calls", "seconds"), [(60, 31, 30.0), (600, 40, 3.0), (6, 4, 30.0)]
)
def test_requests_keep_to_the_minute(clock: Clock, rpm: float, calls: int, seconds: float) -> None:
    """After one second's worth at once, requests are spread evenly."""
    asyncio.run(pass_through(RequestLimiter(8, requests_per_minute=rpm, clock=clock), calls))

    assert clock.now == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("limits", "tokens", "times"),
    [
        ({"requests_per_minute": 60}, 0, [100, 101, 102]),
        ({"requests_per_minute": 6}, 0, [100, 110, 120]),
        ({"requests_per_minute": 120}, 0, [100, 100, 100.5]),
        ({"tokens_per_minute": 6000}, 50, [100, 100, 100.5]),
        ({"tokens_per_minute": 6000}, 100, [100, 101, 102]),
        ({"tokens_per_minute": 6000}, 300, [100, 103, 106]),
        ({"requests_per_minute": 60, "tokens_per_minute": 6000}, 300, [100, 103, 106]),
        ({"requests_per_minute": 6, "tokens_per_minute": 6000}, 300, [100, 110, 120]),
        ({}, 300, [100, 100, 100]),
    ],
)
def test_idle_time_saves_up_no_more_than_a_second(
    clock: Clock, limits: dict[str, float], tokens: int, times: list[float]
) -> None:
    """After a hundred seconds without a call, calls keep to the minute as at the start."""
    limiter = RequestLimiter(8, clock=clock, **limits)
    clock.now = 100.0
    begun = []

    async def call_three() -> None:
        for _ in range(3):
            async with slot(limiter, tokens):
                begun.append(clock.now)

    asyncio.run(call_three())
    assert begun == pytest.approx(times)


def test_tokens_keep_to_the_minute_and_are_corrected(clock: Clock) -> None:
    """What a reply used counts, not what was guessed before it."""
    limiter = RequestLimiter(8, tokens_per_minute=6000, clock=clock)
    asyncio.run(pass_through(limiter, 11, tokens=100, used=200))

    # 100 a second; ten calls' corrections of 200 are waited off before the eleventh.
    assert clock.now == pytest.approx(20.0, abs=1.01)


@pytest.mark.parametrize(
    ("own", "status", "allowed", "waits"), [(1, 429, 4, 7), (1, 503, 8, 0), (None, 429, 8, 0)]
)
def test_only_a_429_of_ones_own_client_slows_a_run_down(
    clock: Clock, own: object, status: int, allowed: int, waits: int
) -> None:
    """What sends the request has told the limiter of it, unless that is a client of the user's."""

    class Refusing(Wordy):
        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
            error = JudgeUnavailableError("no")
            error.status, error.retry_after_seconds = status, 7.0
            raise error

    limiter = RequestLimiter(8, clock=clock)
    judge = JudgePipeline(Refusing(), limiter=limiter, own_client=own)
    with pytest.raises(JudgeUnavailableError):
        asyncio.run(judge.ask(JudgeCall((), FaithfulnessResult), Meter()))

    assert (limiter.allowed, limiter.waiting_seconds) == (allowed, waits)


class Turn:
    """Awaited, it lets others go on, where sleeping takes no time and so lets nobody."""

    def __await__(self) -> Generator[None]:
        yield


class Wordy:
    """A judge whose replies are long."""

    identity = None
    lessons: Mapping[str, Sequence[str]] = {}

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Accept all."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Use 10 tokens to ask and 1,990 to reply."""
        return JudgeReply(NOTHING, Usage(calls=1, prompt_tokens=10, completion_tokens=1990))


def test_tokens_of_a_reply_keep_to_the_minute_in_a_run(clock: Clock) -> None:
    """Both what was sent and what came back count, as the endpoint counts them."""
    limiter = RequestLimiter(8, tokens_per_minute=6000, clock=clock)
    judge = JudgePipeline(Wordy(), limiter=limiter)

    async def ask_twice() -> None:
        for _ in range(2):
            await judge.ask(JudgeCall((), FaithfulnessResult), Meter())

    asyncio.run(ask_twice())

    # 100 a second: the first call's debt, and a second's worth for the guess of the next one.
    assert clock.now == pytest.approx(20.0, abs=0.01)


@pytest.mark.parametrize(("characters", "seconds"), [(0, 3.0), (400, 4.0), (4000, 13.0)])
def test_tokens_of_a_call_are_guessed_before_its_reply(
    clock: Clock, characters: int, seconds: float
) -> None:
    """While it is on its way, the next one waits for 300 tokens and one for four characters."""
    begun: list[float] = []

    class Slow(Wordy):
        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
            begun.append(clock.now)
            while len(begun) < 2:
                await Turn()
            return JudgeReply(NOTHING, Usage())

    judge = JudgePipeline(Slow(), limiter=RequestLimiter(8, tokens_per_minute=6000, clock=clock))
    call = JudgeCall(({"role": "user", "content": "x" * characters},), FaithfulnessResult)

    async def ask_both() -> None:
        await asyncio.gather(*(judge.ask(call, Meter()) for _ in range(2)))

    asyncio.run(ask_both())

    assert begun == [0.0, pytest.approx(seconds)]


@pytest.mark.parametrize("teaches", [True, False])
def test_a_reply_is_reported_to_the_limiter_once(teaches: bool) -> None:
    """By whatever sends the request if that reads the headers, and else after it."""
    limiter = RequestLimiter(8)

    async def send(body: dict[str, Any]) -> dict[str, Any]:
        if teaches:
            limiter.after_response(200, {})
        return body

    async def send_once() -> None:
        await repeating(send, limiter, teaches=teaches)()

    asyncio.run(send_once())

    assert limiter.answered == 1


def test_a_call_larger_than_the_budget_still_goes(clock: Clock) -> None:
    """It waits for a full budget, leaves a debt, and the next one waits that off."""
    limiter = RequestLimiter(8, tokens_per_minute=600, clock=clock)
    asyncio.run(pass_through(limiter, 2, tokens=100))

    assert clock.now == pytest.approx(10.0, abs=0.01)


def test_a_429_pauses_every_worker(clock: Clock) -> None:
    """One worker is told to wait; no other starts a request before that."""
    limiter = RequestLimiter(8, clock=clock)
    limiter.after_response(429, {"retry-after": "7"})

    async def worker() -> float:
        async with slot(limiter):
            await limiter.before_request(is_retry=False)
            return clock.now

    async def workers() -> list[float]:
        return await asyncio.gather(*(worker() for _ in range(3)))

    assert min(asyncio.run(workers())) >= 7


def test_only_what_was_answered_counts_as_an_answer() -> None:
    """A refusal of one request says nothing of the others that wait."""
    limiter = RequestLimiter(8)
    for status in (200, 399, 400, 404, 429, 500):
        limiter.after_response(status, {})

    assert limiter.answered == 2


@pytest.mark.parametrize(("status", "seconds"), [(500, 7), (503, 7), (404, 0)])
def test_an_error_of_the_server_pauses_where_it_says_how_long(
    clock: Clock, status: int, seconds: float
) -> None:
    """As many calls as before may be in flight afterwards."""
    limiter = RequestLimiter(8, clock=clock)
    limiter.after_response(status, {"retry-after": "7"})

    assert (limiter.waiting_seconds, limiter.allowed) == (seconds, 8)


def test_calls_in_flight_are_halved_once_a_burst_and_raised_again(clock: Clock) -> None:
    """Four refusals at one time are one event; successes win the places back."""
    limiter = RequestLimiter(16, clock=clock)
    for _ in range(4):
        limiter.after_response(429, {"retry-after": "1"})
    assert limiter.allowed == 8
    clock.now += 2
    limiter.after_response(429, {})
    assert limiter.allowed == 4
    # A place for as many successes as there are places.
    seen = []
    for _ in range(5):
        limiter.after_response(200, {})
        seen.append(limiter.allowed)
    assert seen == [4, 4, 4, 4, 5]
    for _ in range(200):
        limiter.after_response(200, {})
    assert limiter.allowed == 16
    for _ in range(20):
        clock.now += 10
        limiter.after_response(429, {})
    assert limiter.allowed == 1
    # However often it was halved, it grows from one again.
    seen = []
    for _ in range(5):
        limiter.after_response(200, {})
        seen.append(limiter.allowed)
    assert seen == [2, 2, 2, 3, 3]


def test_no_more_are_in_flight_than_allowed() -> None:
    """Whoever comes later waits for a place."""
    limiter = RequestLimiter(3)
    most = inside = 0

    async def worker() -> None:
        nonlocal most, inside
        async with slot(limiter):
            inside += 1
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1

    async def workers() -> None:
        await asyncio.gather(*(worker() for _ in range(20)))

    asyncio.run(workers())
    assert (most, inside) == (3, 0)


def test_limits_are_learnt_from_headers(clock: Clock) -> None:
    """`x-ratelimit-*` set the pace where the user did not."""
    learning = RequestLimiter(8, clock=clock)
    learning.after_response(200, {"x-ratelimit-limit-requests": "60"})
    asyncio.run(pass_through(learning, 11))
    assert clock.now == pytest.approx(10.0, abs=1.01)

    clock.now = 0.0
    told = RequestLimiter(8, requests_per_minute=600, clock=clock)
    told.after_response(200, {"x-ratelimit-limit-requests": "60"})
    asyncio.run(pass_through(told, 20))
    assert clock.now == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("known", "learnt", "seconds"),
    [
        ({"requests_per_minute": 6000}, "requests", 0.0),
        ({"requests_per_minute": 6000}, "requests tokens", 1.09),
        ({"tokens_per_minute": 60_000}, "tokens", 0.0),
        ({"tokens_per_minute": 60_000}, "requests tokens", 10.0),
    ],
)
def test_only_the_limit_that_the_user_did_not_set_is_learnt(
    clock: Clock, known: dict[str, float], learnt: str, seconds: float
) -> None:
    """Eleven calls of 10 tokens, at one call or at 100 tokens a second."""
    limits = {"requests": "60", "tokens": "6000"}
    limiter = RequestLimiter(8, clock=clock, **known)
    limiter.after_response(200, {f"x-ratelimit-limit-{one}": limits[one] for one in learnt.split()})
    asyncio.run(pass_through(limiter, 11, tokens=10))

    assert clock.now == pytest.approx(seconds)


@pytest.mark.parametrize(("limit", "seconds"), [("9", 0.0), ("10", 6.0), ("0", 0.0)])
def test_a_limit_that_is_none_of_a_minute_is_not_learnt(
    clock: Clock, limit: str, seconds: float
) -> None:
    """Fewer than ten are those of a second, or of a day."""
    limiter = RequestLimiter(8, clock=clock)
    limiter.after_response(200, {"x-ratelimit-limit-requests": limit})
    asyncio.run(pass_through(limiter, 2))

    assert clock.now == pytest.approx(seconds)


def test_an_empty_budget_of_the_endpoint_is_waited_for(clock: Clock) -> None:
    """Nothing remaining: the next call comes after the reset."""
    limiter = RequestLimiter(8, clock=clock)
    limiter.after_response(
        200, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"}
    )
    asyncio.run(pass_through(limiter, 1))

    assert clock.now == pytest.approx(90)


def test_a_long_reset_is_waited_for_as_long_as_is_allowed(clock: Clock) -> None:
    """A reset of a minute and a half with 30 s allowed: 30 s, not none at all."""
    limiter = RequestLimiter(8, max_wait_seconds=30, clock=clock)
    limiter.after_response(
        200, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"}
    )
    asyncio.run(pass_through(limiter, 1))

    assert clock.now == pytest.approx(30)


@pytest.mark.parametrize(("calls", "seconds"), [(1, 0.0), (2, 1.0), (3, 1.0)])
def test_whoever_waits_for_the_budget_says_how_long(
    monkeypatch: pytest.MonkeyPatch, calls: int, seconds: float
) -> None:
    """One request a second: the wait ahead is known while it lasts, and over after it."""
    clock, seen = Clock(), [0.0]
    limiter = RequestLimiter(8, requests_per_minute=60, clock=clock)

    async def sleep(asked: float) -> None:
        seen.append(limiter.waiting_seconds)
        assert not limiter.is_paused
        await clock.sleep(asked)

    monkeypatch.setattr("asyncio.sleep", sleep)
    asyncio.run(pass_through(limiter, calls))

    assert len(seen) == calls
    assert seen[-1] == pytest.approx(seconds)
    assert limiter.waiting_seconds == 0.0


def failing_once(retry_after: str, status: int, clock: Clock) -> tuple[Any, list[float]]:
    """Make what sends requests, the first of which fails, and the list of when each was sent."""
    sent: list[float] = []

    async def send(body: dict[str, Any]) -> dict[str, Any]:
        sent.append(clock.now)
        if len(sent) == 1:
            error: Any = OSError("busy")
            error.status_code, error.headers = status, {"retry-after": retry_after}
            raise error
        return body

    return send, sent


def test_a_request_is_sent_again_after_the_pause_that_it_caused(clock: Clock) -> None:
    """The row sleeps with the whole run, not beside it."""
    send, sent = failing_once("7", 429, clock)

    async def send_once() -> Any:
        return await repeating(send, RequestLimiter(8, clock=clock))(model="m")

    assert asyncio.run(send_once()) == {"model": "m"}
    assert sent == [0.0, 7.0]


def test_a_request_that_is_sent_again_is_taken_from_the_budget(clock: Clock) -> None:
    """Of one a second, the retry is the one of this second: the next call waits for its own."""
    send, sent = failing_once("0", 503, clock)
    limiter = RequestLimiter(8, requests_per_minute=60, clock=clock)
    exchange = Exchange(JudgeCall((), FaithfulnessResult), Meter(), "JSON_SCHEMA", 0)

    async def send_once() -> None:
        token = current_exchange.set(exchange)
        await repeating(send, limiter)()
        current_exchange.reset(token)
        await pass_through(limiter, 1)

    asyncio.run(send_once())

    assert (sent, clock.now) == ([0.0, 0.0], 1.0)
    assert (exchange.usage.retries, exchange.meter.last_fault) == (1, "HTTP 503: busy")


def test_a_retry_is_a_request_of_its_own(clock: Clock) -> None:
    """What the transport sends again is taken from the budget."""
    limiter = RequestLimiter(8, requests_per_minute=60, clock=clock)

    async def retried() -> None:
        async with slot(limiter):
            for attempt in range(5):
                await limiter.before_request(is_retry=attempt > 0)
        await pass_through(limiter, 1)

    asyncio.run(retried())
    assert clock.now == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20ms", 0.02),
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("1m30.5s", 90.5),
        ("1h2m", 3720.0),
        ("12", 12.0),
        ("0", 0.0),
        ("0s", 0.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("5 s", None),
        ("1m soon", None),
        ("in 5s", None),
        ("9" * 400 + "h", None),
    ],
)
def test_durations_are_read_as_providers_write_them(text: str, seconds: float | None) -> None:
    """Go's notation and plain seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds first, then seconds or a date; what cannot be read is passed over."""
    assert retry_after_seconds(headers) == seconds


@given(
    st.floats(0.1, 10_000), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), max_size=30)
)
def test_a_budget_is_never_overspent(rate: float, spendings: list[tuple[float, float]]) -> None:
    """Over any stretch, what was allowed is at most the rate times the time, and one burst."""
    clock = Clock()
    budget = RateBudget(rate * 60, clock)
    spent = 0.0
    largest = 1.0
    for pause, units in spendings:
        clock.now += pause
        clock.now += budget.seconds_until(units)
        budget.spend(units)
        spent += units
        largest = max(largest, units)
    assert spent <= rate * clock.now + max(1.0, rate) + largest + 1e-6


def test_only_the_headers_that_a_limiter_reads_are_decoded() -> None:
    """Their names in small letters, whatever the host writes."""
    raw = [
        (b"X-RateLimit-Limit-Requests", b"60"),
        (b"x-ratelimit-reset-tokens", b"1s"),
        (b"Retry-After", b"7"),
        (b"retry-after-ms", b"70"),
        (b"Date", b"\xff"),
        (b"x-rate", b"1"),
    ]

    assert limit_headers(raw) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-reset-tokens": "1s",
        "retry-after": "7",
        "retry-after-ms": "70",
    }


def test_a_try_ends_after_its_row() -> None:
    """By a second, for the row's own message says more; without a row it has its own time."""
    use = ClientUse(60.0)

    async def tries() -> list[float]:
        found = [use.one_try()]
        for seconds in (7.0, 100.0, -3.0):
            row = RowTime(Meter(), 1000.0)
            async with row:
                row._allowed = seconds
                found.append(use.one_try())
        return found

    assert asyncio.run(tries()) == [60.0, *(pytest.approx(n, abs=0.5) for n in (8, 101, 1))]


def test_a_reply_may_have_sixteen_megabytes() -> None:
    """To the byte; what is longer is not kept, and that is no matter of trying again."""
    body = bytearray(16_000_000 - 2)
    extend(body, b"xx")
    assert len(body) == 16_000_000
    with pytest.raises(JudgeOutputError, match="longer than 16 MB and was not read completely"):
        extend(body, b"x")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (no_reply(b""), "the endpoint answered with status 200 and an empty body"),
        (StatusError(503, b'{"error": {"message": "busy k-123456789"}}'), "HTTP 503: busy [key]"),
        (StatusError(500, b""), "HTTP 500: Error code: 500"),
        (ConnectionResetError("gone"), "gone"),
    ],
)
def test_what_went_wrong_last_is_noted_for_the_row(
    clock: Clock, error: Exception, told: str
) -> None:
    """With its status if it is one of HTTP, without the key, and only while there is a call."""
    sent: list[dict[str, Any]] = []

    async def send(body: dict[str, Any]) -> dict[str, Any]:
        sent.append(body)
        if len(sent) % 2:
            raise error
        return body

    meter = Meter()
    exchange = Exchange(JudgeCall((), FaithfulnessResult), meter, "JSON_SCHEMA", 0)
    exchange.key = "k-123456789"

    async def send_both() -> None:
        create = repeating(send, None)
        assert await create(model="a") == {"model": "a"}
        token = current_exchange.set(exchange)
        assert await create(model="b") == {"model": "b"}
        current_exchange.reset(token)

    asyncio.run(send_both())
    assert [body["model"] for body in sent] == ["a", "a", "b", "b"]
    assert meter.last_fault.startswith(told)
    assert (exchange.requests, exchange.usage.retries) == (2, 1)


def test_no_request_waits_longer_than_its_row_has() -> None:
    """A single grading says so at once."""
    send, sent = failing_once("7", 503, Clock())

    async def send_once() -> None:
        async with RowTime(Meter(), 5.0):
            await repeating(send, None)()

    with pytest.raises(JudgeUnavailableError, match="asks for a wait of 7 s .* is 5 s"):
        asyncio.run(send_once())
    assert len(sent) == 1


def test_only_an_error_with_a_status_is_reported_to_the_limiter(clock: Clock) -> None:
    """With its headers: a 429 slows the run down, a lost connection does not."""

    async def allowed(error: Exception) -> tuple[int, float]:
        limiter = RequestLimiter(8, clock=clock)

        async def send(body: dict[str, Any]) -> Any:
            raise error

        with pytest.raises(type(error)):
            await repeating(send, limiter)()
        return limiter.allowed, limiter.waiting_seconds

    lost, refused = ValueError("gone"), StatusError(400, b"", {"retry-after": "7"})
    failing = StatusError(501, b"", {"retry-after": "7"})
    assert asyncio.run(allowed(lost)) == (8, 0.0)
    assert asyncio.run(allowed(refused)) == (8, 0.0)
    assert asyncio.run(allowed(failing)) == (8, 7.0)
    spent = StatusError(429, b'{"code": "insufficient_quota"}', {"retry-after": "7"})
    assert asyncio.run(allowed(spent)) == (4, 7.0)
