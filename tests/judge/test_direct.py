"""What goes straight to an OpenAI-like endpoint travels as through OpenAI's library."""

import asyncio
import gzip
import json
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import instructor
import openai
import pytest

from rag_evals import aevaluate, evaluate
from rag_evals.errors import ConfigurationError, GradingError, JudgeUnreachableError
from rag_evals.judge.clients.build import async_judge_for
from rag_evals.judge.pace.row_time import DEFAULT_TIMEOUT_SECONDS
from rag_evals.judge.wire.direct import DirectPost, unsent
from rag_evals.judge.wire.sending import translate, trusted_certificates
from rag_evals.testing import HttpError, Raw, Reply, Reset, Script, ScriptedJudge, Stall
from tests.conftest import ONE_SUPPORTED, statement

Start = Callable[[Script], ScriptedJudge]
TLS = Path(__file__).parent / "tls"
GOOD = {"statements": [statement()]}


def completion(message: Any) -> dict[str, Any]:
    """Wrap a message as OpenAI does."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {
        "id": "a",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def test_strings_go_straight_and_own_clients_through_instructor(scripted: Start) -> None:
    """Both send the same, headers among it, and give the same run."""
    judge = scripted(GOOD)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(3)]

    async def by_both() -> tuple[list[Any], list[str]]:
        timeout = openai.Timeout(DEFAULT_TIMEOUT_SECONDS, connect=5.0)
        async with openai.AsyncOpenAI(max_retries=0, timeout=timeout) as sdk:
            clients: list[Any] = [
                "openai/m",
                instructor.from_openai(sdk, mode=instructor.Mode.JSON_SCHEMA),
            ]
            runs = [await aevaluate(rows, client=client, model="m") for client in clients]
            judges = [await async_judge_for(client) for client in clients]
            return runs, [type(one).__name__ for one in judges]

    runs, kinds = asyncio.run(by_both())
    assert kinds == ["DirectJudge", "InstructorJudge"]
    assert [o.result for o in runs[0]] == [o.result for o in runs[1]]
    assert judge.requests[0].body == judge.requests[3].body
    ours, theirs = ({**request.headers} for request in (judge.requests[0], judge.requests[3]))
    for headers in (ours, theirs):
        for name in ("host", "accept-encoding", "connection"):
            headers.pop(name, None)
    assert ours == theirs


def test_a_proxy_is_used_by_every_request(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """With HTTP_PROXY set, nothing goes straight to the endpoint."""
    proxy = scripted(GOOD)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://judge.example/v1")
    monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(3)]
    run = evaluate(rows, client="openai/m")

    assert [o.status for o in run] == ["scored"] * 3
    assert {request.path for request in proxy.requests} == {
        "http://judge.example/v1/chat/completions"
    }


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_no_proxy_alone_keeps_the_straight_way(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Hosts to be asked without a proxy are no proxy; where one is set, they are asked past it."""
    judge, proxy = scripted(None), scripted(HttpError(418, "through the proxy"))
    monkeypatch.setenv("OPENAI_BASE_URL", judge.base_url)
    row = [{"answer": "a", "context": ["c"]}]
    for environment in ({}, {name: "127.0.0.1"}, {"HTTP_PROXY": proxy.base_url}):
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        assert evaluate(row, client="openai/m").outcomes[0].status == "scored"

    assert (len(judge.requests), proxy.requests) == (3, [])


def test_cookies_are_sent_back(scripted: Start) -> None:
    """What a balancer sets in a reply stands in the next request, and in no other client's."""
    good = json.dumps(completion({"role": "assistant", "content": json.dumps(ONE_SUPPORTED)}))
    judge = scripted(Raw(good, 200, headers={"set-cookie": "node=7; Path=/"}))
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(2)]
    for _ in range(2):
        evaluate(rows, client="openai/m", concurrency=1)

    said = [request.headers.get("cookie") for request in judge.requests]
    assert said == [None, "node=7", None, "node=7"]


def test_certificates_of_the_environment_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE names whom to trust; nobody else is asked, and never in HTTP/2."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    row = [{"answer": "a", "context": ["c"]}]
    with _tls_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"https://127.0.0.1:{server.server_port}/v1")
        with pytest.raises(JudgeUnreachableError, match="not trusted: .*; set SSL_CERT_FILE"):
            evaluate(row, client="openai/m")
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))
        assert evaluate(row, client="openai/m").outcomes[0].score == 1.0
    assert server.spoken in (["HTTP/1.1, None"], ["HTTP/1.1, http/1.1"])


@contextmanager
def _busy() -> Iterator[str]:
    """Listen, and take no connection: the queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@contextmanager
def _judge(answer: Any) -> Iterator[str]:
    with ScriptedJudge(answer) as judge:
        yield judge.base_url


@pytest.mark.parametrize(
    ("place", "reply", "connect", "ends"),
    [
        (_judge(Stall(60)), 0.1, 10, "no reply within the timeout, after all retries"),
        (_judge(Reset()), 10, 10, "the connection was lost, after all retries"),
        (_busy(), 10, 0.1, "no connection to the endpoint: Connection timeout to host"),
        (
            nullcontext("http://127.0.0.1:9/v1"),
            *(10, 10),
            "no connection to the endpoint: Cannot connect",
        ),
    ],
    ids=["silent", "reset", "busy", "nobody"],
)
def test_time_outs_are_those_of_the_sdk(
    place: Any, reply: float, connect: float, ends: str
) -> None:
    """Of connecting and of a reply: both ways end alike, in time."""

    async def said(url: str) -> list[str]:
        timeout = openai.Timeout(reply, connect=connect)
        http: Any = openai.DefaultAioHttpClient(timeout=timeout)
        sdk = openai.AsyncOpenAI(
            base_url=url, api_key="k", max_retries=0, timeout=timeout, http_client=http
        )
        writes = sdk.with_options(http_client=unsent())
        past = DirectPost(writes, reply_seconds=reply, connect_seconds=connect)
        ways = [
            past.send({}),
            sdk.post("/chat/completions", cast_to=httpx2.Response, content=b"{}"),
        ]
        errors = await asyncio.gather(*ways, return_exceptions=True)
        await past.close()
        await sdk.close()
        return [str(translate(e, attempts=1)) for e in errors if isinstance(e, BaseException)]

    with place as url:
        direct, by_sdk = asyncio.run(said(url))
    assert direct == by_sdk
    assert direct.startswith(ends)


def test_a_file_without_certificates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the SDK refuses it."""
    monkeypatch.setenv("SSL_CERT_FILE", __file__)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://127.0.0.1:9/v1")
    with pytest.raises((ssl.SSLError, GradingError, ConfigurationError)):
        evaluate([{"answer": "a", "context": ["c"]}], client="openai/m")


def test_certificates_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 30 ms; another file is read anew."""
    known = trusted_certificates()
    assert trusted_certificates() is known
    file = tmp_path / "ca.pem"
    file.write_text(ssl.DER_cert_to_PEM_cert(known.get_ca_certs(binary_form=True)[0]))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert trusted_certificates() is not known


def test_the_sdk_writes_one_request_for_a_run(scripted: Start) -> None:
    """Address, headers and key come from it; many rows that begin together wait for one."""
    scripted(GOOD)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(8)]
    written: list[str] = []

    class Counted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    log, handler = logging.getLogger("httpx2"), Counted()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        evaluate(rows, client="openai/m", concurrency=8)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert len([line for line in written if "chat/completions" in line]) == 1


def test_faults_are_named_alike(scripted: Start) -> None:
    """A waiting time, an error without JSON and a packed reply end as through the SDK."""
    wrapped = json.dumps(
        completion({"role": "assistant", "content": json.dumps(ONE_SUPPORTED)})
    ).encode()
    packed = Raw(gzip.compress(wrapped), 200, headers={"content-encoding": "gzip"})
    answers: Sequence[Any] = [
        HttpError(429, "slow", headers={"retry-after-ms": "20"}),
        Reply(GOOD),
        packed,
        HttpError(400, "bad words"),
        Raw(b"plain words", 422),
    ]
    judge = scripted(answers)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(4)]
    run = evaluate(rows, client="openai/m", concurrency=1, max_failures="100%")

    assert [o.status for o in run] == ["scored", "scored", "failed", "failed"]
    said = [o.error.message for o in run if o.error is not None]
    assert said == [
        "the endpoint rejects this request (HTTP 400: bad words)",
        "the endpoint rejects this request (HTTP 422: plain words)",
    ]
    assert run.outcomes[0].usage.retries == 1
    assert len(judge.requests) == 5


class _TlsServer(ThreadingHTTPServer):
    """Answers over TLS, and would speak HTTP/2 with whoever offers it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TlsHandler)
        self.spoken: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that do not trust the certificate."""


class _TlsHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _TlsServer
    connection: ssl.SSLSocket

    def do_POST(self) -> None:
        """Give a good reply, and note what was spoken."""
        self.rfile.read(int(self.headers["content-length"]))
        chosen = self.connection.selected_alpn_protocol()
        self.server.spoken.append(f"{self.request_version}, {chosen}")
        said = {"role": "assistant", "content": json.dumps(ONE_SUPPORTED)}
        content = json.dumps(completion(said)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@contextmanager
def _tls_server() -> Iterator[_TlsServer]:
    server = _TlsServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
