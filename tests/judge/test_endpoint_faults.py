"""An endpoint may do anything: each fault has its exit code, its line, its calls and its bound."""

import asyncio
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Faithfulness, FaithfulnessResult, Run, aevaluate, errors, evaluate
from rag_evals.core import JudgeCall, Meter
from rag_evals.judge.clients.build import own_async_judge
from rag_evals.judge.wire.ask import DEFAULT_OPTIONS
from rag_evals.judge.wire.exchange import json_in
from rag_evals.judge.wire.sending import ClientUse
from rag_evals.testing import HttpError, JudgeRequest, Raw, Script, ScriptedJudge, Stall
from tests.conftest import EIFFEL, Command
from tests.judge.faults import ADDRESSES, FAULTS, GOOD, KEYS, OWN_CLIENT, ROWS, TEXT, Fault, message
from tests.slow import some_slow

Start = Callable[[Script], ScriptedJudge]
CALL: Any = ({"role": "user", "content": "?"},)
ClientOf = Callable[..., instructor.Instructor]
_MEGABYTES = 1024  # ru_maxrss is in kilobytes on Linux


@pytest.fixture
def data() -> str:
    """Write three rows."""
    lines = [
        {"id": f"r{n}", "answer": f"House {chr(97 + n)} stands in Paris.", "context": ["In Paris."]}
        for n in range(ROWS)
    ]
    Path("d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return "d.jsonl"


def script_of(fault: Fault) -> Callable[[JudgeRequest], Any]:
    """Answer as the fault says."""
    return lambda request: (
        fault.always
        if fault.always is not None
        else fault.first[request.number]
        if request.number < len(fault.first)
        else GOOD
    )


def grade(command: Command, data: str, *options: str) -> tuple[int, str, Counter[str]]:
    """Run the command; return its code, what it and its outcomes say, and how rows ended."""
    ended = command(
        "grade", data, "--judge", "openai/m", "--concurrency", "1", "--out", "out", "--quiet",
        "--no-cache", *options,
    )  # fmt: skip
    results = Path("out/results.jsonl")
    kept = results.read_text() if results.exists() else ""
    outcomes = [json.loads(line) for line in kept.splitlines()]
    said = ended.err + "".join(str(one.get("error")) for one in outcomes)
    assert "Traceback" not in said
    assert "SECRET" not in said + ended.out
    return ended.code, said, Counter(one["status"] for one in outcomes)


def test_the_table_is_long_enough() -> None:
    """Faults are added here, not tried by hand."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 80


@pytest.mark.parametrize("fault", some_slow(FAULTS, 3), ids=lambda fault: fault.name)
def test_a_fault_ends_as_it_should(
    command: Command, scripted: Start, data: str, fault: Fault
) -> None:
    """Exit code, line, calls, scores and memory are those of the table."""
    judge = scripted(script_of(fault))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, said, ends = grade(command, data, *fault.options)

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert (code, len(judge.requests), ends["scored"]) == (fault.code, fault.calls, fault.scored)
    assert fault.says in said
    assert grown < 150 * _MEGABYTES


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        pytest.param(("OpenAI", "AsyncOpenAI")[place % 2], fault, id=fault.name)
        for place, fault in enumerate(FAULTS)
    ],
)
@pytest.mark.slow
def test_a_fault_ends_alike_with_a_client_of_ones_own(
    scripted: Start, data: str, fault: Fault, kind: str
) -> None:
    """Calls, scores and words through instructor and the user's SDK; differences have reasons."""
    judge = scripted(script_of(fault))
    named = dict(zip(fault.options[::2], fault.options[1::2], strict=True))
    options: Any = {name[2:].replace("-", "_"): float(value) for name, value in named.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run, said = graded_by(kind, judge.base_url, data, options)

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    scored = sum(one.status == "scored" for one in run.outcomes) if run else 0
    calls, scores, _ = OWN_CLIENT.get(fault.name, (fault.calls, fault.scored, ""))
    assert (len(judge.requests), scored) == (calls, scores), said
    assert fault.says in said
    assert grown < 150 * _MEGABYTES


def graded_by(
    kind: str, url: str, data: str, options: Any, retries: int = 0
) -> tuple[Run | None, str]:
    """Grade through a client of the user's own; return the run, if any, and all errors."""

    async def ask() -> tuple[Run | None, str]:
        sdk = getattr(openai, kind)(base_url=url, api_key="sk-test-SECRET", max_retries=retries)
        try:
            run = await aevaluate(
                data, client=sdk, model="m", concurrency=1, progress=False, **options
            )
        except errors.RagEvalsError as error:
            return None, str(error)
        finally:
            closed = sdk.close()
            if closed is not None:
                await closed
        return run, "".join(str(one.error) for one in run.outcomes)

    run, said = asyncio.run(ask())
    assert "SECRET" not in said
    return run, said


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_none(
    command: Command, data: str, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """One line, exit code 2, no folder, and no password on the screen."""
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
    code, said, _ = grade(command, data)

    assert (code, len(said.splitlines())) == (2, 1)
    assert ADDRESSES[address] in said
    assert "hunter2" not in said
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("judge", "variable", "value", "says"),
    [
        (
            "anthropic/m",
            "ANTHROPIC_BASE_URL",
            "ftp://a",
            "ANTHROPIC_BASE_URL is 'ftp://a': it does",
        ),
        (
            "anthropic/m",
            "ANTHROPIC_AUTH_TOKEN",
            "hunter2\n",
            "ANTHROPIC_AUTH_TOKEN contains U\\+000A",
        ),
        ("groq/m", "GROQ_BASE_URL", "http://a:99999", "Port out of range"),
        ("cohere/m", "COHERE_API_KEY", "hunter2é", "COHERE_API_KEY contains U\\+00E9"),
    ],
)
def test_the_address_and_key_of_other_libraries_are_checked(
    judge: str, variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no request could get past is found before one is sent, whoever sends it."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.ConfigurationError, match=says) as raised:
        Faithfulness.grade(**EIFFEL, client=judge)

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_cannot_be_sent(
    command: Command, scripted: Start, data: str, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """As above; nothing is sent."""
    judge = scripted(GOOD)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    code, said, _ = grade(command, data)

    assert (code, len(said.splitlines()), judge.requests) == (2, 1, [])
    assert KEYS[key] in said
    assert "hunter2" not in said
    assert not Path("out").exists()


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_a_client_of_ones_own(scripted: Start, key: str) -> None:
    """It is found before the first call there as well."""
    judge = scripted(GOOD)
    with (
        openai.OpenAI(base_url=judge.base_url, api_key=key) as sdk,
        pytest.raises(errors.ConfigurationError, match="api_key of the client contains"),
    ):
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk), model="m")
    assert judge.requests == []


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/chat/completions", "leave out '/chat/completions', which is appended"),
        ("/v1#here", "a '?' or '#' would cut off the path"),
    ],
)
def test_an_address_of_a_client_of_ones_own(scripted: Start, path: str, says: str) -> None:
    """It is checked as an address in a variable, and nothing is sent."""
    judge = scripted(GOOD)
    url = judge.base_url.removesuffix("/v1") + path
    with (
        openai.OpenAI(base_url=url, api_key="k") as sdk,
        pytest.raises(errors.ConfigurationError, match="base_url of the client is") as raised,
    ):
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk), model="m")
    assert says in str(raised.value)
    assert judge.requests == []


def redirect(location: str, status: int = 307) -> Raw:
    """Return a redirect."""
    return Raw(b"", status, {"location": location})


@pytest.mark.parametrize(
    ("status", "location", "says"),
    [
        (307, "/elsewhere/chat/completions", "http://127.0.0.1:PORT/elsewhere; nothing was sent"),
        (308, "/elsewhere/chat/completions", "http://127.0.0.1:PORT/elsewhere; nothing was sent"),
        (303, "/elsewhere", "http://127.0.0.1:PORT/elsewhere; nothing was sent"),
        (307, "", "http://127.0.0.1:PORT/v1; nothing was sent"),
        (307, "http://[", "'http://['; nothing was sent"),
        (307, "ftp://127.0.0.1/v1", "ftp://127.0.0.1/v1; nothing was sent"),
    ],
)
def test_a_redirect_is_not_followed(
    command: Command, scripted: Start, data: str, status: int, location: str, says: str
) -> None:
    """On the same host neither: one request, and the line says where it leads and what to set."""
    judge = scripted(redirect(location, status))
    ended, said, _ = grade(command, data)

    assert (ended, len(judge.requests)) == (2, 1)
    port = judge.base_url.rpartition(":")[2].partition("/")[0]
    assert f"redirects to {says.replace('PORT', port)}" in said
    assert "set OPENAI_BASE_URL to it" in said


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host(
    command: Command, scripted: Start, data: str, status: int
) -> None:
    """Both hosts are named, and the other one gets nothing."""
    other = scripted(GOOD)
    judge = scripted(redirect(f"{other.base_url}/chat/completions", status))
    code, said, _ = grade(command, data)

    assert (code, len(judge.requests), other.requests) == (2, 1, [])
    assert judge.base_url.removesuffix("/v1") in said
    assert other.base_url.removesuffix("/v1") in said


OWN = ["OpenAI", "AsyncOpenAI"]


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_client_of_ones_own_is_led_to_no_other_host(
    scripted: Start, data: str, kind: str, status: int
) -> None:
    """The other host gets no prompt, its reply is no grade, and nothing is asked twice."""
    other = scripted(GOOD)
    judge = scripted(redirect(f"{other.base_url}/chat/completions", status))
    run, said = graded_by(kind, judge.base_url, data, {}, retries=2)

    assert (run, len(judge.requests), other.requests) == (None, 1, [])
    assert f"redirects to {other.base_url}; nothing was sent there" in said
    assert "base_url of the client" in said


def test_a_client_of_ones_own_is_left_as_it_is(scripted: Start) -> None:
    """What is not asked by us follows redirects as before, and hooks of the user's are called."""
    other = scripted(GOOD)
    judge = scripted(redirect(f"{other.base_url}/chat/completions"))
    seen: list[int] = []
    hooks: Any = {"response": [lambda response: seen.append(response.status_code)]}
    with openai.OpenAI(
        base_url=judge.base_url,
        api_key="k",
        http_client=openai.DefaultHttpxClient(event_hooks=hooks),
    ) as sdk:
        for _ in range(2):
            with pytest.raises(errors.JudgeRejectedError, match="nothing was sent there"):
                Faithfulness.grade(**EIFFEL, client=sdk, model="m")
        assert (seen, other.requests) == ([307, 307], [])
        sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert (seen, len(other.requests)) == ([307, 307, 307, 200], 1)


def test_a_hook_of_the_users_own_may_read_the_reply(scripted: Start) -> None:
    """As loggers do: the row is graded all the same."""
    judge = scripted(GOOD)
    seen: list[str] = []
    hooks: Any = {"response": [lambda response: seen.append(response.read().decode())]}
    http = openai.DefaultHttpxClient(event_hooks=hooks)
    with (
        openai.OpenAI(base_url=judge.base_url, api_key="k", http_client=http) as sdk,
        pytest.warns(UserWarning, match="answer_not_covered"),
    ):
        assert Faithfulness.grade(**EIFFEL, client=sdk, model="m").statements
    assert "choices" in seen[0]


@contextmanager
def speaking(*pieces: bytes, pause: float = 0.0) -> Iterator[str]:
    """Run a server that sends these bytes, whatever it is asked; the address to ask it at."""
    listener = socket.create_server(("127.0.0.1", 0))
    closing = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            try:
                for piece in pieces:
                    connection.sendall(piece)
                    closing.wait(pause)
            except OSError:
                return

    def serve() -> None:
        while not closing.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        closing.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("pieces", "pause", "says"),
    [
        ([b"SSH-2.0-OpenSSH_9.6\r\n"], 0.0, "the connection was lost"),
        ([b"\x16\x03\x01\x00"], 0.0, "the connection was lost"),
        ([b""], 0.0, "the connection was lost"),
        ([HEAD + b"content-length: 100\r\n\r\n{"], 0.0, "the connection was lost"),
        ([HEAD + b"content-length: -5\r\n\r\n{}"], 0.0, "the connection was lost"),
        ([HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"], 0.0, "the connection was lost"),
        ([HEAD + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}"], 0.0, "was lost"),
        ([HEAD + b"x: " + b"y" * 200_000 + b"\r\n\r\n"], 0.0, "the connection was lost"),
        ([bytes([byte]) for byte in HEAD], 0.1, "within the 0.6 s"),
        ([HEAD + b"\r\n", *[b" "] * 100], 0.1, "within the 0.6 s"),
    ],
    ids=["ssh", "tls", "nothing", "short", "negative", "chunks", "no-gzip", "long-header",
         "slow-header", "slow-body"],
)  # fmt: skip
def test_what_is_no_http(
    command: Command, data: str, monkeypatch: pytest.MonkeyPatch,
    pieces: list[bytes], pause: float, says: str,
) -> None:  # fmt: skip
    """Bytes that are no reply, or that never end, fail the rows in time and in words."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
    with speaking(*pieces, pause=pause) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        code, said, ends = grade(command, data, *(["--timeout", "0.6"] if pause else []))

    assert (code, ends["scored"]) == (3, 0)
    assert says in said


@pytest.mark.parametrize("seconds", [0.4])
@pytest.mark.parametrize("own", [True, False])
def test_one_grading_ends_in_time(
    scripted: Start, client_of: ClientOf, seconds: float, own: bool
) -> None:
    """`grade(timeout=)` ends on a server that hangs, whoever made the client."""
    judge = scripted(Stall(3600))
    with pytest.raises(errors.JudgeUnavailableError, match=r"within the 0.4 s"):
        Faithfulness.grade(
            **EIFFEL, client="openai/m" if own else client_of(judge), model="m", timeout=seconds
        )


def test_time_that_a_reply_took_is_not_left_for_a_wait(
    scripted: Start, client_of: ClientOf
) -> None:
    """After a slow 429, the wait that it asks for would end after the row's time: it fails now."""

    def slow(request: JudgeRequest) -> HttpError:
        time.sleep(0.1)
        return HttpError(429, headers={"retry-after": "9.95"})

    judge = scripted(slow)
    with pytest.raises(errors.JudgeUnavailableError, match="asks for a wait of 10 s"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge, retries=0), model="m", timeout=10)
    assert len(judge.requests) == 1


def test_the_waits_between_tries_count_toward_the_rows_time(
    scripted: Start, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six of ten seconds may be waited once, but not twice."""

    async def no_sleep(seconds: float) -> None:
        del seconds

    monkeypatch.setattr("asyncio.sleep", no_sleep)
    judge = scripted(HttpError(429, headers={"retry-after": "6"}))
    with pytest.raises(errors.JudgeUnavailableError, match="HTTP 429"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge, retries=0), model="m", timeout=10)
    assert len(judge.requests) == 2


WINDOWS = [
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 90210",
    "the request exceeds the available context size (4,096 tokens), try increasing it",
]


@pytest.mark.parametrize("words", WINDOWS)
@pytest.mark.parametrize("client", ["openai/m", "OpenAI"])
def test_a_context_longer_than_the_window(scripted: Start, client: str, words: str) -> None:
    """Without packs the first such row says so and what to do; the next is not sent."""
    judge = scripted(
        lambda request: HttpError(400, words) if "long" in str(request.answer) else GOOD
    )
    rows = [{"answer": f"long {n}", "context": ["one of the words " * 5000]} for n in range(3)]
    rows.append({"answer": "short", "context": ["It is in Paris. " * 1000]})
    with openai.OpenAI(base_url=judge.base_url, api_key="k") as sdk:
        own: Any = client if client == "openai/m" else sdk
        run = evaluate(rows, ["rag"], client=own, model="m", concurrency=1, max_failures=3)

    said = [one.error.message for one in run.outcomes if one.error]
    assert [one.status for one in run.outcomes] == ["failed"] * 3 + ["scored"]
    sent = Counter(str(request.answer) for request in judge.requests)
    assert (sent["long 0"], sent["long 1"], sent["long 2"]) == (1, 0, 0)
    assert all("longer than the judge's window" in one and "fewer or" in one for one in said)
    assert [("the window is 4096; nothing was sent" in one) for one in said] == [False, True, True]


FIRST_FAULTS = [
    (HttpError(500, "the disk is full"), "HTTP 500: the disk is full"),
    (Raw("<html>Bad gateway</html>", 502), "HTTP 502: <html>Bad gateway</html>"),
]


WORDS, A_PAGE = FIRST_FAULTS


@pytest.mark.parametrize(
    ("client", "way", "first"),
    [
        ("openai/m", "grade", WORDS),
        ("openai/m", "agrade", A_PAGE),
        ("openai/m", "evaluate", WORDS),
        ("OpenAI", "grade", A_PAGE),
        ("OpenAI", "evaluate", WORDS),
        ("AsyncOpenAI", "agrade", WORDS),
        ("AsyncOpenAI", "evaluate", A_PAGE),
    ],
)
def test_the_last_fault_stands_with_a_time_that_ended(
    scripted: Start, client: str, way: str, first: tuple[Any, str]
) -> None:
    """Who repeats the request, we or the user's SDK, the error says why it was repeated."""
    fault, says = first
    judge = scripted(lambda request: Stall(3600) if request.number else fault)

    async def ask() -> str:
        own: Any = None
        if client != "openai/m":
            own = getattr(openai, client)(base_url=judge.base_url, api_key="k", max_retries=2)
        options: Any = {"client": own or client, "model": "m", "timeout": 1.5}
        try:
            if way == "grade":
                Faithfulness.grade(**EIFFEL, **options)
            elif way == "agrade":
                await Faithfulness.agrade(**EIFFEL, **options)
            run = await aevaluate([EIFFEL], **options, max_failures=1)
        except errors.JudgeUnavailableError as error:
            return str(error)
        return str(run.outcomes[0].error and run.outcomes[0].error.message)

    said = asyncio.run(ask())
    assert said.startswith("no valid reply within the 1.5 s allowed for a row (timeout); the last")
    assert says in said or json.dumps(says.partition(": ")[2]) in said


def test_the_rows_own_time_decides_how_long_a_reply_may_take(scripted: Start) -> None:
    """No other limit is shorter, whatever the client was made with."""
    judge = scripted(Stall(0.6, GOOD))

    async def ask() -> Any:
        short = ClientUse(0.1)
        async with own_async_judge("openai/m", None, DEFAULT_OPTIONS, short) as host:
            reply = await host.ask(JudgeCall(CALL, FaithfulnessResult, {}), Meter(20))
        return reply.parsed

    assert (len(asyncio.run(ask()).statements), len(judge.requests)) == (1, 1)


COLD = """
import sys
from rag_evals.core import JudgeCall, Meter
from rag_evals.judge import judge_for
from rag_evals.score_faithfulness import FaithfulnessResult

judge = judge_for("openai/m")
before = set(sys.modules)
judge.ask(JudgeCall(({"role": "user", "content": "?"},), FaithfulnessResult, {}), Meter(60))
late = {name for name in set(sys.modules) - before}
print(sorted(n for n in late if n.startswith(("instructor.v2.pro", "openai", "requests"))))
"""


@pytest.mark.slow
def test_what_an_sdk_loads_costs_no_row_its_time(scripted: Start) -> None:
    """It is loaded before the clock of the first row starts."""
    scripted(GOOD)
    ended = subprocess.run(
        [sys.executable, "-c", COLD], capture_output=True, text=True, check=False
    )
    assert ended.stdout == "[]\n", ended.stderr


def test_one_async_grading_ends_in_time(scripted: Start) -> None:
    """`agrade(timeout=)` as well."""
    scripted(Stall(3600))
    with pytest.raises(errors.JudgeUnavailableError, match=r"within the 0.4 s"):
        asyncio.run(Faithfulness.agrade(**EIFFEL, client="openai/m", timeout=0.4))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none(seconds: float) -> None:
    """Refused before anything is sent."""
    with pytest.raises(errors.ConfigurationError, match="timeout is"):
        Faithfulness.grade(**EIFFEL, timeout=seconds)


def test_one_grading_does_not_wait_longer_than_it_has(scripted: Start) -> None:
    """An endpoint that asks for more than is left ends it at once, with both numbers."""
    judge = scripted(HttpError(429, headers={"retry-after": "90"}))
    with pytest.raises(errors.JudgeUnavailableError, match=r"asks for a wait of 90 s \(HTTP 429\)"):
        Faithfulness.grade(**EIFFEL, client="openai/m", timeout=30)
    assert len(judge.requests) == 1


def test_a_sync_client_that_hangs_holds_no_run(scripted: Start, client_of: ClientOf) -> None:
    """Neither the other rows nor the end of the run wait for its threads."""
    judge = scripted(lambda request: Stall(3600) if request.number < 2 else GOOD)
    rows = [{"answer": f"House {chr(97 + n)} stands in Paris.", "context": ["c"]} for n in range(6)]
    run = evaluate(rows, client=client_of(judge), model="m", timeout=1, concurrency=2)

    assert Counter(o.status for o in run.outcomes) == {"failed": 2, "scored": 4}


@pytest.mark.slow
def test_a_window_of_few_requests_loses_no_row(scripted: Start) -> None:
    """Four requests a window that is longer than the row's time: all rows are scored."""
    lock = threading.Lock()
    places = iter(range(4))
    windows: list[threading.Timer] = []

    def opened() -> None:
        nonlocal places
        with lock:
            places = iter(range(4))

    def script(_: JudgeRequest) -> Any:
        with lock:
            if next(places, None) is not None:
                return GOOD
            if not windows or not windows[-1].is_alive():
                windows.append(threading.Timer(1.1, opened))
                windows[-1].start()
            return HttpError(429, headers={"retry-after": "1.2"})

    scripted(script)
    rows = [
        {"answer": f"House {chr(97 + n)} stands in Paris.", "context": ["c"]} for n in range(14)
    ]
    run = evaluate(rows, client="openai/m", timeout=1)

    assert [o.error for o in run.outcomes if o.error] == []
    assert len(windows) == 3


def test_a_wait_is_told(command: Command, scripted: Start, data: str) -> None:
    """Whoever looks at the screen knows why nothing moves."""
    judge = scripted(
        lambda request: (
            HttpError(429, headers={"retry-after": "2.5"}) if request.number == 1 else GOOD
        )
    )
    ended = command("grade", data, "--judge", "openai/m", "--concurrency", "1", "--no-cache")

    assert ended.code == 0
    assert "rate limit: waiting 1 s" in ended.err or "rate limit: waiting 2 s" in ended.err
    assert len(judge.requests) == ROWS + 1


HERE: dict[str, Any] = {"answer": "It stands in Paris.", "context": ["It stands in Paris."]}


def test_text_in_place_of_a_tool_call(scripted: Start, client_of: ClientOf) -> None:
    """A server without tools answers with text: one object in it is read at once."""
    judge = scripted(Raw(message(content=f"```json\n{TEXT}\n```")))
    result = Faithfulness.grade(**HERE, client=client_of(judge), model="m")

    assert (result.score, len(judge.requests)) == (1.0, 1)


def test_two_tool_calls_are_asked_again(scripted: Start, client_of: ClientOf) -> None:
    """Instructor reads the first call only: the statements of the second would be lost."""

    def calls(*texts: str) -> Raw:
        made = [
            {"id": f"c{n}", "type": "function", "function": {"name": "x", "arguments": text}}
            for n, text in enumerate(texts)
        ]
        return Raw(message(tool_calls=made))

    judge = scripted([calls(TEXT, json.dumps({"statements": []})), calls(TEXT, TEXT)])
    result = Faithfulness.grade(**HERE, client=client_of(judge), model="m")

    assert (result.score, len(judge.requests)) == (1.0, 2)
    assert "2 different tool calls" in str(judge.requests[1].messages[-1]["content"])


@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA])
def test_a_tool_call_is_read_where_text_was_asked_for(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """Some servers answer a schema so; nothing is asked again."""
    function = {"name": "x", "arguments": TEXT}
    calls = [{"id": "c0", "type": "function", "function": function}]
    judge = scripted(Raw(message(tool_calls=calls)))
    result = Faithfulness.grade(**HERE, client=client_of(judge, mode), model="m")

    assert (result.score, len(judge.requests)) == (1.0, 1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Raw(b""), "an empty body"),
        (Raw("<html>", headers={"content-type": "text/html"}), "an HTML page"),
        (Raw({"error": {"message": "oom"}}), "an error: oom"),
        (Raw({"choices": []}), "no choices"),
        (Raw({"choices": None}), "no choices"),
    ],
)
@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA])
def test_no_reply_to_a_client_of_ones_own(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode, answer: Raw, says: str
) -> None:
    """One call and the words for it; a run tries the call again."""
    judge = scripted([answer, answer, GOOD])
    client = client_of(judge, mode)
    with pytest.raises(errors.JudgeUnavailableError, match=says):
        Faithfulness.grade(**HERE, client=client, model="m")
    assert len(judge.requests) == 1

    (outcome,) = evaluate([HERE], client=client, model="m").outcomes
    assert (outcome.status, len(judge.requests)) == ("scored", 3)


TWO_LOOPS = """
import asyncio, instructor, openai
from rag_evals import Faithfulness, errors, evaluate

sdk = openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient())
client = instructor.from_openai(sdk)
row = {"answer": "It stands in Paris.", "context": ["It stands in Paris."]}


async def once():
    return (await Faithfulness.agrade(**row, client=client, model="m")).score


assert asyncio.run(once()) == 1.0
for again in (lambda: asyncio.run(once()), lambda: evaluate([row] * 3, client=client, model="m")):
    try:
        again()
    except errors.EventLoopError as error:
        print(error)
"""


@pytest.mark.slow
def test_an_async_client_from_another_loop(scripted: Start) -> None:
    """The connections of an ended loop cannot be used: the error says that, and what to do."""
    scripted(GOOD)
    # In a process of its own: aiohttp leaves what belonged to the ended loop behind.
    ended = subprocess.run(
        [sys.executable, "-c", TWO_LOOPS], capture_output=True, text=True, check=False
    )
    assert ended.stdout.count("was used in another event loop before") == 2, ended.stderr


@pytest.mark.parametrize("text", ["", "{", "}", "{}{}", "{" * 5000, "a } {}", "{} }"])
def test_what_could_mean_two_things_is_not_read(text: str) -> None:
    """No object, more than one, or a piece of a broken one."""
    assert json_in(text) is None


@pytest.mark.parametrize(
    "text", ["{}", b"x {} y", "<think>{</think>{}", "```json\n{}\n```", "\ufeff{}"]
)
def test_one_object_is_found(text: str | bytes) -> None:
    """Whatever stands around it."""
    assert json_in(text) == "{}"


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
@pytest.mark.parametrize("name", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
def test_ids_that_the_library_sends_are_checked(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, name: str, provider: str
) -> None:
    """As the key: before anything is sent, and named."""
    judge = scripted(GOOD)
    monkeypatch.setenv(name, "ü")
    with pytest.raises(errors.ConfigurationError, match=f"{name} contains U.00FC"):
        evaluate([HERE], client=f"{provider}/m")
    assert judge.requests == []


def test_a_client_that_was_closed_is_named(scripted: Start, client_of: ClientOf) -> None:
    """It is no broken connection, and no retry would open it."""
    client: Any = client_of(scripted(GOOD))
    client.client.close()
    with pytest.raises(errors.ConfigurationError, match="this client is closed; grade before"):
        Faithfulness.grade(**HERE, client=client, model="m")
