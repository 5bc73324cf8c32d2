"""A loopback HTTP server that implements OpenAI's chat API."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

from rag_evals.testing.fill import fill_by_words
from rag_evals.testing.wire import (
    OPENAI,
    Answer,
    Body,
    HttpError,
    JudgeRequest,
    Raw,
    Reply,
    Reset,
    Stall,
    Wire,
)

Script = Answer | Sequence[Answer] | Callable[[JudgeRequest], Answer] | None


class ScriptedJudge:
    """An OpenAI-compatible loopback endpoint that replies from a script.

    Subclass it for other APIs: override `wire` for another provider's format, and `route` for
    additional paths, such as files and batches.

    Args:
        script: One answer for all requests; a list of answers in order (requests beyond its end
            get status 400); a function that maps a request to an answer; or None, which fills in
            any response model: the answer's sentences become statements, supported if a single
            chunk contains most of their words.

    Attributes:
        requests: All requests, in order of arrival.
        max_in_flight: Maximum number of requests in flight at the same time.
        connections: Number of connections opened.
    """

    request_type: ClassVar = JudgeRequest

    def __init__(self, script: Script = None) -> None:
        self._script: Script = fill_by_words if script is None else script
        self.requests: list[JudgeRequest] = []
        self.max_in_flight = 0
        self.connections = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    @property
    def base_url(self) -> str:
        """URL for a client's `base_url`, or for `OPENAI_BASE_URL`."""
        if self._server is None:
            raise RuntimeError("the scripted judge is not running; use it in a `with` block")
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.wire('').path}"

    def wire(self, path: str) -> Wire:
        """Return the format to use for a path."""
        del path
        return OPENAI

    def route(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> Answer | None:
        """Answer a request without the script; return None to pass it to the script.

        `path` includes the query string, and header names are in lower case.
        """
        del headers, content
        return None if method == "POST" else HttpError(404, f"no such path: {path}")

    def answer(self, path: str, headers: Mapping[str, str], body: Body) -> Answer:
        """Record a request and return the script's answer."""
        with self._lock:
            request = self.request_type(len(self.requests), path, headers, body, self.wire(path))
            self.requests.append(request)
        script = self._script
        if isinstance(script, Sequence) and not isinstance(script, str):
            index = sum(one.path == path for one in self.requests[: request.number])
            if index < len(script):
                return script[index]
            return HttpError(400, f"the script has only {len(script)} answers; none is left")
        if callable(script):
            return script(request)
        return script if script is not None else HttpError(500)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Accept bursts of connections.
    request_queue_size = 512

    def __init__(self, judge: ScriptedJudge) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.judge = judge

    def get_request(self) -> tuple[socket.socket, Any]:
        self.judge.connections += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors caused by clients that close the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Turn off Nagle's algorithm, which delays small replies.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        judge = self.server.judge
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        routed = judge.route(self.command, self.path, headers, content)
        if routed is not None:
            self._send(routed, {})
            return
        body = json.loads(content or b"{}")
        with judge._lock:
            judge._in_flight += 1
            judge.max_in_flight = max(judge.max_in_flight, judge._in_flight)
        try:
            self._send(judge.answer(self.path, headers, body), body)
        finally:
            with judge._lock:
                judge._in_flight -= 1

    do_GET = do_POST  # noqa: N815 - the name that http.server calls

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _send(self, answer: Answer | None, body: Body) -> None:
        judge = self.server.judge
        if isinstance(answer, Stall):
            judge._closing.wait(answer.seconds)
            answer = answer.then
        if answer is None or isinstance(answer, Reset):
            self._reset()
        elif isinstance(answer, Raw):
            self._write(answer.status, answer.body, answer.headers)
        elif isinstance(answer, HttpError):
            self._write(answer.status, judge.wire(self.path).error(answer), answer.headers)
        else:
            reply = answer if isinstance(answer, Reply) else Reply(answer)
            self._write(200, judge.wire(self.path).reply(reply, body), {})

    def _write(self, status: int, sent: Any, headers: Mapping[str, str]) -> None:
        text = sent if isinstance(sent, str | bytes) else json.dumps(sent)
        body = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            # Encode this way so that tests can send bytes that are not Latin-1.
            self.send_header(name, value.encode().decode("latin-1"))
        # If the declared length exceeds the body, close the connection early.
        if int(headers.get("content-length", 0)) > len(body):
            self.close_connection = True
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        # Linger 0 makes the kernel send RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
