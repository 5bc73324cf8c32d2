"""Who answers? An HTTP server on loopback that speaks as a provider does, embeddings included."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from rag_evals.testing.answers import Answer, EmptyBody, HttpError, Raw, Reply, Reset, Stall
from rag_evals.testing.batch_desks import DESKS
from rag_evals.testing.batches import BatchDesk, BatchEnd, is_for_batches
from rag_evals.testing.decisions import as_sent, is_for_decisions, tokens_of
from rag_evals.testing.fill import fill_by_words, vector_by_words
from rag_evals.testing.request import JudgeRequest
from rag_evals.testing.wires import WIRES

Script = Answer | Sequence[Answer] | Callable[[JudgeRequest], Answer] | None


class ScriptedJudge:
    """A chat endpoint on loopback that answers from a script, and a decision model beside it.

    `/v1/decisions` and `/v1/systemone` are answered with `{name: value}`: see
    `rag_evals.testing.decisions`. `/v1/files` and `/v1/batches` take batches, whose lines are
    requests to the same script.

    Args:
        script: One answer, given every time; a list, used up in order (one request more is answered
            with status 400); a function from request to answer; or None, which fills any response
            model: statements are the answer's sentences, supported when most of their words stand
            in one chunk.
        embed: Makes the vector of a text for `/v1/embeddings`; None counts its words.
        dialect: Whose wire it speaks: `openai`, `responses`, `azure`, `anthropic`, `gemini`,
            `vertex`, `bedrock`, `mistral`, `groq`, `cohere`, `ollama`, `vllm`, `litellm` or
            `xai`.
        batches: How batches end, in the order in which they are created; the rest complete.

    Attributes:
        requests: All that arrived, in order.
        max_in_flight: The most requests that were being answered at one time.
        connections: How many connections were opened.
        desk: Files and batches that were made.
    """

    def __init__(
        self,
        script: Script = None,
        *,
        embed: Callable[[str], Sequence[float]] | None = None,
        dialect: str = "openai",
        batches: Sequence[BatchEnd] = (),
    ) -> None:
        if dialect not in WIRES:
            raise ValueError(f"no dialect {dialect!r}; there are: {', '.join(WIRES)}")
        self._dialect = dialect
        self._wire = WIRES[dialect]
        self._script: Script = fill_by_words if script is None else script
        self._embed = embed
        self.desk = DESKS.get(dialect, BatchDesk)(self._wire, batches, self._answer_line)
        self.requests: list[JudgeRequest] = []
        self.max_in_flight = 0
        self.connections = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start to listen on a free port."""
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; requests that stall are dropped."""
        self._closing.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    @property
    def base_url(self) -> str:
        """What a client takes as `base_url`, or `OPENAI_BASE_URL` and its like hold."""
        if self._server is None:
            raise RuntimeError("the scripted judge is not running; use it in a `with` block")
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._wire.path}"

    @contextmanager
    def _answering(self, path: str, headers: Mapping[str, str], body: Any) -> Iterator[Answer]:
        with self._lock:
            request = JudgeRequest(len(self.requests), path, headers, body, self._dialect)
            self.requests.append(request)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            yield self._answer(request)
        finally:
            with self._lock:
                self._in_flight -= 1

    def _answer_line(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Answer one line of a batch."""
        with self._lock:
            request = JudgeRequest(len(self.requests), path, {}, body, self._dialect)
            self.requests.append(request)
        return self._answer(request)

    def _answer(self, request: JudgeRequest) -> Answer:
        if request.path.endswith("/embeddings"):
            embed = self._embed or vector_by_words
            return {"vectors": [embed(text) for text in request.texts]}
        script = self._script
        if isinstance(script, Sequence) and not isinstance(script, str):
            place = sum(one.path == request.path for one in self.requests[: request.number])
            if place < len(script):
                return script[place]
            return HttpError(400, f"the script has {len(script)} answers; this is one request more")
        if callable(script):
            return script(request)
        return script if script is not None else HttpError(500)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Bursts of new connections must not be refused: that would test the server, not the client.
    request_queue_size = 512

    def __init__(self, judge: ScriptedJudge) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.judge = judge

    def get_request(self) -> tuple[socket.socket, Any]:
        """Count the connection."""
        self.judge.connections += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent when a client has gone away: that is a client's right."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small replies must not wait for the client's acknowledgement (Nagle).
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Record the request and play the script."""
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if is_for_batches(self.path):
            self._send(self.server.judge.desk.post(self.path, headers, content), {})
            return
        body = json.loads(content or b"{}")
        with self.server.judge._answering(self.path, headers, body) as answer:
            self._send(answer, body)

    def do_GET(self) -> None:
        """Show files and batches; there is nothing else to see."""
        self._send(self.server.judge.desk.get(self.path), {})

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def _send(self, answer: Answer | None, body: Mapping[str, Any]) -> None:
        if isinstance(answer, Stall):
            self.server.judge._closing.wait(answer.seconds)
            answer = answer.then
        if answer is None or isinstance(answer, Reset):
            self._reset()
        elif isinstance(answer, Raw):
            self._write(answer.status, answer.as_bytes(), answer.headers)
        elif isinstance(answer, EmptyBody):
            self._write(200, b"", {})
        elif isinstance(answer, HttpError):
            error = self.server.judge._wire.error(answer)
            self._write(answer.status, json.dumps(error).encode(), answer.headers)
        elif body.get("input") is not None and isinstance(answer, Mapping) and "vectors" in answer:
            self._write(200, json.dumps(_embeddings(answer["vectors"], body)).encode(), {})
        elif is_for_decisions(self.path) and not isinstance(answer, str):
            reply = (
                answer if isinstance(answer, Reply) else Reply(answer, "", None, tokens_of(body))
            )
            values = reply.content if isinstance(reply.content, Mapping) else {}
            decided = as_sent(self.path, values, body, reply.prompt_tokens)
            self._write(200, json.dumps(decided).encode(), {})
        else:
            reply = answer if isinstance(answer, Reply) else Reply(answer)
            wrapped = self.server.judge._wire.reply(reply, body)
            self._write(200, json.dumps(wrapped).encode(), {})

    def _write(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            # Headers are bytes of Latin-1; a test may want others.
            self.send_header(name, value.encode().decode("latin-1"))
        # A longer length breaks the connection off before the end.
        if int(headers.get("content-length", 0)) > len(body):
            self.close_connection = True
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        # Linger 0 makes the kernel send RST, as a crashed proxy would.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _embeddings(vectors: Sequence[Sequence[float]], body: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap vectors as OpenAI does."""
    return {
        "object": "list",
        "model": body.get("model", "scripted"),
        "data": [
            {"object": "embedding", "index": place, "embedding": list(vector)}
            for place, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }
