"""What fails is tried again as often, and after such waits, as one table says."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.errors import (
    ConfigurationError,
    EventLoopError,
    JudgeOutputError,
    JudgeUnavailableError,
)
from rag_evals.judge.pace.retry import (
    RequestLimiter,
    Tries,
    Waits,
    beneath_litellm,
    never_repeats,
    seconds_before_poll,
)
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import fill_by_words
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
SHARES = (0.75, 1.0)


@pytest.fixture
def real_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the waits of a user's process back."""
    monkeypatch.setattr("rag_evals.judge.pace.retry.WAITS", Waits())


def refused(retry_after: str | None = None) -> Exception:
    """Make what an SDK raises for a 429."""
    error: Any = OSError("slow down")
    error.status_code = 429
    error.headers = {} if retry_after is None else {"retry-after": retry_after}
    failure: Exception = error
    return failure


def waits_of(tries: Tries, error: Exception, times: int) -> list[float]:
    """Return the waits before further tries; the error ends them."""
    return [tries.after_request(error) for _ in range(times)]


@pytest.mark.usefixtures("real_waits")
def test_waits_double_from_half_a_second_and_end_after_four() -> None:
    """0.5, 1, 2 and 4 seconds, each drawn from its last quarter; the fifth failure is raised."""
    error = refused()
    tries = Tries(None)
    waits = waits_of(tries, error, 4)

    for wait, longest in zip(waits, (0.5, 1.0, 2.0, 4.0), strict=True):
        assert longest * SHARES[0] <= wait <= longest * SHARES[1]
    with pytest.raises(OSError, match="slow down"):
        tries.after_request(error)


def test_no_wait_is_longer_than_eight_seconds() -> None:
    """However often something is tried; a batch is asked for once a minute at least."""
    assert 6.0 <= Waits().before_try(40) <= 8.0


@pytest.mark.usefixtures("real_waits")
def test_a_batch_is_asked_for_ever_more_patiently() -> None:
    """From 0.2 seconds, half as long again each time, up to a minute."""
    assert [seconds_before_poll(number) for number in (1, 2, 1000)] == [0.2, 0.2 * 1.5, 60.0]


@pytest.mark.usefixtures("real_waits")
def test_what_the_endpoint_asks_for_is_waited() -> None:
    """To the second, by a single grading itself; longer than its row has is an error."""
    assert waits_of(Tries(None), refused("7"), 1) == [7.0]
    assert waits_of(Tries(None, seconds_left=lambda: 7.0), refused("7"), 1) == [7.0]
    with pytest.raises(JudgeUnavailableError, match="asks for a wait of 7 s .* is 5 s") as longer:
        Tries(None, seconds_left=lambda: 5.0).after_request(refused("7"))
    assert (longer.value.status, longer.value.retry_after_seconds) == (429, 7.0)
    with pytest.raises(JudgeUnavailableError, match=r"remaining time \(timeout\) is 0 s"):
        Tries(None, seconds_left=lambda: -5.0).after_request(refused("7"))
    assert waits_of(Tries(None), refused("600"), 1) == [600.0]
    with pytest.raises(JudgeUnavailableError, match="asks for a wait of 601 s .* is 600 s"):
        Tries(None).after_request(refused("601"))


@pytest.mark.usefixtures("real_waits")
def test_a_run_pauses_a_second_where_a_429_does_not_say() -> None:
    """It pauses as long as the 429 says, if it does; the request itself does not sleep."""

    async def pauses() -> list[float]:
        found = []
        for seconds in (None, 7.0):
            limiter = RequestLimiter(4, clock=lambda: 100.0)
            limiter.slow_down(seconds)
            found.append(limiter.waiting_seconds)
        return [*found, Tries(limiter).after_request(refused("7"))]

    assert asyncio.run(pauses()) == [1.0, 7.0, 0.0]


@pytest.mark.usefixtures("real_waits")
def test_the_wait_before_a_retry_after_a_429_is_a_pause() -> None:
    """It doubles like other waits, but does not count against the row's timeout."""

    async def waits() -> list[tuple[float, float]]:
        limiter = RequestLimiter(4, clock=lambda: 100.0)
        tries = Tries(limiter)
        return [(tries.after_request(refused()), limiter.waiting_seconds) for _ in range(4)]

    sleeps, pauses = zip(*asyncio.run(waits()), strict=True)
    assert sleeps == (0.0, 0.0, 0.0, 0.0)
    assert all(
        0.75 * most <= pause <= most for pause, most in zip(pauses, (0.5, 1, 2, 4), strict=True)
    )


@pytest.mark.usefixtures("real_waits")
def test_only_a_429_pauses_the_run() -> None:
    """A server in trouble is the matter of its own request, which sleeps."""

    async def waits() -> tuple[float, float]:
        limiter = RequestLimiter(4, clock=lambda: 100.0)
        return Tries(limiter).after_request(_raised("A", status_code=500)), limiter.waiting_seconds

    sleep, pause = asyncio.run(waits())
    assert 0.375 <= sleep <= 0.5
    assert pause == 0.0


def client_with(retries: int | None, provider: str | None = "openai") -> Any:
    """Make what is looked at in a user's own client; without a number, it has no SDK."""
    sdk = None if retries is None else SimpleNamespace(max_retries=retries)
    named = None if provider is None else SimpleNamespace(value=provider)
    return SimpleNamespace(client=sdk, provider=named)


@pytest.mark.parametrize(
    ("client", "never"),
    [
        (client_with(0), True),
        (client_with(2), False),
        (client_with(2, "genai"), True),
        (client_with(2, "mistral"), True),
        (client_with(None, "openai"), True),
        (client_with(None, None), False),
    ],
)
def test_a_call_is_made_again_where_its_sdk_repeats_nothing(client: Any, never: bool) -> None:
    """Else both would, and the tries be multiplied; LiteLLM is a function, with no SDK."""
    lost, other_loop = JudgeUnavailableError("lost"), EventLoopError("another loop")
    assert never_repeats(client) is never
    for error in (lost, other_loop):
        if never:
            assert Tries(None).after_call(error, client) > 0
        else:
            with pytest.raises(type(error)):
                Tries(None).after_call(error, client)
    late = JudgeUnavailableError("no time left")
    late.row_is_over = True
    for final in (late, JudgeOutputError("wrong")):
        with pytest.raises(type(final)):
            Tries(None).after_call(final, client)


def test_refusals_are_free_only_while_others_are_answered() -> None:
    """A 429 after an answer to somebody is a queue; without a new answer it counts."""

    async def tries() -> int:
        limiter = RequestLimiter(4)
        one = Tries(limiter)
        error = refused("0")
        limiter.after_response(200, {})
        # A fault here would go on for ever.
        for made in range(20):
            try:
                one.after_request(error)
            except OSError:
                return made
        return 20

    # One for the answer, then the four of every request.
    assert asyncio.run(tries()) == 5


def test_a_run_ends_where_refusals_do_not(scripted: Start) -> None:
    """The first row is answered, then everything is refused: no row waits for ever."""

    def answer(request: JudgeRequest) -> Any:
        return GOOD if request.number == 0 else HttpError(429, headers={"retry-after": "0"})

    judge = scripted(answer)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(2)]
    run = evaluate(rows, client="openai/m", concurrency=1, max_failures=1)

    assert [o.status for o in run] == ["scored", "failed"]
    assert len(judge.requests) == 6


def test_a_pause_is_not_charged_to_the_row(scripted: Start) -> None:
    """Nor to its later call: both together may take two seconds, and the pause is longer."""
    refused_once = HttpError(429, headers={"retry-after": "2.5"})
    scripted(lambda request: fill_by_words(request) if request.number else refused_once)
    rows = [{"id": "1", "answer": "It rains.", "context": ["It rains."]}]
    run = evaluate(rows, "faithfulness_two_step", client="openai/m", timeout=2)

    assert [(o.status, o.usage.calls, o.usage.retries) for o in run] == [("scored", 2, 1)]


def _raised(
    name: str, base: type[Exception] = OSError, cause: Exception | None = None, **more: Any
) -> Exception:
    """Make an exception as an SDK does."""
    error: Any = type(name, (base,), {})("as text")
    error.__cause__ = cause
    for key, value in more.items():
        setattr(error, key, value)
    failure: Exception = error
    return failure


_NO_TRUST = OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")


@pytest.mark.parametrize(
    ("error", "is_tried_again"),
    [
        (_raised("ConnectError"), True),
        (_raised("ConnectError", cause=OSError("reset")), True),
        (_raised("ConnectError", ValueError), False),
        (_raised("LocalProtocolError"), False),
        (_raised("APIConnectionError", cause=_raised("UnsupportedProtocol")), False),
        (_raised("APIConnectionError", cause=ConfigurationError("no")), False),
        (_raised("APIConnectionError", cause=_raised("ConnectError", cause=_NO_TRUST)), False),
        (_raised("TimeoutException", ValueError), True),
        *((_raised("A", status_code=status), True) for status in (200, 408, 409, 429, 500, 529)),
        *((_raised("A", status_code=status), False) for status in (400, 401, 404, 422, 499, 501)),
        (_raised("A", status_code=400, headers={"x-should-retry": "true"}), True),
        (_raised("A", status_code=500, headers={"x-should-retry": "false"}), False),
        (_raised("A", status_code=500, headers={"x-should-retry": "maybe"}), True),
        (_raised("A", status_code=429, body={"code": "insufficient_quota"}), False),
        (_raised("A", status_code=429, body={"message": "insufficient_quota: pay"}), False),
        (_raised("A", status_code=500, body={"code": "insufficient_quota"}), True),
    ],
    ids=repr,
)
def test_only_what_may_pass_is_tried_again(error: Exception, is_tried_again: bool) -> None:
    """A lost connection and a busy server, but no request that fails however often it is sent."""
    if is_tried_again:
        assert Tries(None).after_request(error) > 0
    else:
        with pytest.raises(type(error)):
            Tries(None).after_request(error)


@pytest.mark.usefixtures("real_waits")
@pytest.mark.parametrize(
    ("asked", "left", "most", "ends"),
    [
        ("7", 3.0, 9.0, "0.0, paused 7.0"),
        ("9", None, 9.0, "0.0, paused 9.0"),
        ("9.5", None, 9.0, "the limit (max_wait) is 9 s"),
        ("9.5", 99.0, 9.0, "the limit (max_wait) is 9 s"),
    ],
)
def test_a_run_waits_as_long_as_it_is_told_to(
    asked: str, left: float | None, most: float, ends: str
) -> None:
    """Whatever time the row has left: the pause is the run's."""

    async def end() -> str:
        limiter = RequestLimiter(4, max_wait_seconds=most, clock=lambda: 100.0)
        limiter.after_response(429, {"retry-after": asked})
        try:
            seconds = Tries(limiter, seconds_left=lambda: left).after_request(refused(asked))
        except JudgeUnavailableError as error:
            told = (error.status, error.retry_after_seconds, limiter.waiting_seconds)
            return str(error).partition("but ")[2] * (told == (429, float(asked), 0.0))
        return f"{seconds}, paused {limiter.waiting_seconds}"

    assert asyncio.run(end()) == ends


def asked_to_wait(seconds: float | None) -> JudgeUnavailableError:
    """Make the error of a client's call."""
    error = JudgeUnavailableError("busy")
    error.status, error.retry_after_seconds = 503, seconds
    return error


@pytest.mark.usefixtures("real_waits")
def test_a_call_waits_only_if_time_is_left_after_the_wait() -> None:
    """As long as the row has, or longer, is too long."""
    never = client_with(0)
    assert Tries(None, seconds_left=lambda: 7.5).after_call(asked_to_wait(7), never) == 7.0
    assert Tries(None).after_call(asked_to_wait(7), never) == 7.0
    for error, tries in (
        (asked_to_wait(7), Tries(None, seconds_left=lambda: 7.0)),
        (asked_to_wait(None), Tries(None, seconds_left=lambda: 0.1)),
    ):
        with pytest.raises(JudgeUnavailableError, match="busy"):
            tries.after_call(error, never)


def test_no_reply_to_a_client_that_retries_is_asked_for_again_by_a_run_alone() -> None:
    """Its SDK takes status 200 for a reply; a single grading leaves that to its user."""
    error = JudgeUnavailableError("no choices")
    error.status = 200
    with pytest.raises(JudgeUnavailableError):
        Tries(None).after_call(error, client_with(2))

    async def seconds() -> float:
        return Tries(RequestLimiter(4)).after_call(error, client_with(2))

    assert asyncio.run(seconds()) > 0


def test_what_was_raised_while_another_was_handled_is_looked_at_too() -> None:
    """Libraries do not always say what an error came from."""
    distrusted, lost = _raised("APIConnectionError"), _raised("APIConnectionError")
    distrusted.__context__ = _NO_TRUST
    with pytest.raises(OSError, match="as text"):
        Tries(None).after_request(distrusted)

    beneath: Any = type("APIError", (Exception,), {"__module__": "litellm.exceptions"})("500")
    beneath.__context__ = lost
    assert beneath_litellm(beneath) is lost
    assert beneath.__cause__ is lost
    other: Any = type("APIError", (Exception,), {"__module__": "litellm.exceptions"})("500")
    other.__context__ = ValueError("no connection")
    assert beneath_litellm(other) is other


def test_a_spent_quota_is_not_waited_for() -> None:
    """The provider's code says it, whatever the message says."""
    error: Any = refused("1")
    error.code = "insufficient_quota"

    with pytest.raises(OSError, match="slow down"):
        Tries(None).after_request(error)
