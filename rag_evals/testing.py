"""How can a grader be tested without a model? `ScriptedJudge`, an OpenAI-like loopback server.

```python
import instructor
from openai import OpenAI

from rag_evals import Faithfulness
from rag_evals.testing import ScriptedJudge

with ScriptedJudge({"statements": []}) as judge:
    with OpenAI(base_url=judge.base_url, api_key="any") as sdk:
        client = instructor.from_openai(sdk)
        Faithfulness.grade(answer="Hello.", context=["Some chunk."], client=client, model="any")
print(judge.requests[0].chunks)
#> ['Some chunk.']
```

The real client and the real network stack stand between: a test sees what a provider would get.
"""

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Self

_FIELD = {
    tag: re.compile(rf"<{tag}>\n(.*?)\n</{tag}>", re.DOTALL) for tag in ("question", "answer")
}
_CHUNK = re.compile(r'<chunk id="(\d+)">\n(.*?)\n</chunk>', re.DOTALL)
_SENTENCE = re.compile(r"[^.!?…]+(?:[.!?…](?=\S)[^.!?…]*)*[.!?…]*")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the model.

    Attributes:
        content: A mapping is sent as JSON, a string as it is: malformed JSON for instance.
        finish_reason: `length` says that the reply was cut off.
        refusal: The model's words when it declines; then there is no content.
        prompt_tokens: What the usage record says was sent.
        completion_tokens: What the usage record says was generated.
    """

    content: Mapping[str, Any] | str = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 20


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error status with the body that OpenAI would send.

    Attributes:
        status: 400, 401, 404, 429, 500 and so on.
        message: Text of the error.
        headers: Further headers, such as `{"retry-after": "1"}`.
        code: OpenAI's word for the error, such as `insufficient_quota`.
        param: The parameter that the error is about.
    """

    status: int
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Stall:
    """No reply for a while; then `then` is sent.

    Attributes:
        seconds: How long the client waits.
        then: What follows; None closes the connection.
    """

    seconds: float
    then: Reply | Mapping[str, Any] | None = None


class Reset:
    """The connection is reset instead of a reply."""


class EmptyBody:
    """Status 200 and nothing in it."""


Answer = Reply | Mapping[str, Any] | str | HttpError | Stall | Reset | EmptyBody


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One request as the server saw it.

    Attributes:
        number: From 0, in the order of arrival.
        path: Such as `/v1/chat/completions`.
        headers: Names in lower case.
        body: The JSON that was sent.
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The chat messages."""
        return list(self.body.get("messages", []))

    @property
    def data(self) -> str:
        """The first user message, without few-shot examples: what is graded."""
        texts = [str(m["content"]) for m in self.messages if m["role"] == "user"]
        return texts[0].rpartition("</examples>")[2] if texts else ""

    @property
    def question(self) -> str | None:
        """The question in the standard data block, or None."""
        return self._field("question")

    @property
    def answer(self) -> str | None:
        """The answer in the standard data block, or None."""
        return self._field("answer")

    @property
    def chunks(self) -> list[str]:
        """The chunks in the standard data block, in order."""
        return [text for _, text in _CHUNK.findall(self.data)]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the reply that was asked for; empty when none was."""
        if self.body.get("tools"):
            return dict(self.body["tools"][0]["function"]["parameters"])
        response_format = self.body.get("response_format") or {}
        return dict(response_format.get("json_schema", {}).get("schema", {}))

    @property
    def is_reask(self) -> bool:
        """True when the client says that an earlier reply was invalid."""
        return any(message["role"] in ("assistant", "tool") for message in self.messages)

    def _field(self, tag: str) -> str | None:
        found = _FIELD[tag].findall(self.data)
        return found[-1] if found else None


Script = Answer | Sequence[Answer] | Callable[[JudgeRequest], Answer] | None


class ScriptedJudge:
    """An OpenAI-compatible chat endpoint on loopback that answers from a script.

    Args:
        script: One answer, given every time; a list, used up in order (one request more is answered
            with status 400); a function from request to answer; or None, which fills any response
            model: statements are the answer's sentences, supported when most of their words stand
            in one chunk.

    Attributes:
        requests: All that arrived, in order.
        max_in_flight: The most requests that were being answered at one time.
    """

    def __init__(self, script: Script = None) -> None:
        self._script: Script = fill_by_words if script is None else script
        self.requests: list[JudgeRequest] = []
        self.max_in_flight = 0
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
        """What a client takes as `base_url`, or `OPENAI_BASE_URL` holds."""
        if self._server is None:
            raise RuntimeError("the scripted judge is not running; use it in a `with` block")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @contextmanager
    def _answering(self, path: str, headers: Mapping[str, str], body: Any) -> Iterator[Answer]:
        with self._lock:
            request = JudgeRequest(len(self.requests), path, headers, body)
            self.requests.append(request)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            yield self._answer(request)
        finally:
            with self._lock:
                self._in_flight -= 1

    def _answer(self, request: JudgeRequest) -> Answer:
        script = self._script
        if isinstance(script, Sequence) and not isinstance(script, str):
            if request.number < len(script):
                return script[request.number]
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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent when a client has gone away: that is a client's right."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small replies must not wait for the client's acknowledgement (Nagle).
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Record the request and play the script."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.judge._answering(self.path, headers, body) as answer:
            self._send(answer, body)

    def do_GET(self) -> None:
        """Answer anything but a chat request with 404."""
        self._send(HttpError(404, f"no such path: {self.path}"), {})

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def _send(self, answer: Answer | None, body: Mapping[str, Any]) -> None:
        if isinstance(answer, Stall):
            self.server.judge._closing.wait(answer.seconds)
            answer = answer.then
        if answer is None or isinstance(answer, Reset):
            self._reset()
        elif isinstance(answer, EmptyBody):
            self._write(200, b"", {})
        elif isinstance(answer, HttpError):
            error = {
                "message": answer.message,
                "type": "scripted",
                "code": answer.code,
                "param": answer.param,
            }
            self._write(answer.status, json.dumps({"error": error}).encode(), answer.headers)
        else:
            reply = answer if isinstance(answer, Reply) else Reply(answer)
            self._write(200, json.dumps(_completion(reply, body)).encode(), {})

    def _write(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        # Linger 0 makes the kernel send RST, as a crashed proxy would.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


_numbers = count(1)


def _completion(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap a reply as OpenAI does, in the mode that the request asked for."""
    text = reply.content if isinstance(reply.content, str) else json.dumps(dict(reply.content))
    number = next(_numbers)
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": reply.refusal}
    if reply.refusal is None and body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    elif reply.refusal is None:
        message["content"] = text
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }


def fill_by_words(request: JudgeRequest) -> Answer:
    """Fill any response model from the request: the default script.

    Statements are the sentences of the answer, supported when more than half of their words stand
    in one chunk; `graded_chunks` has every chunk; anything else gets the first value allowed.
    """
    schema = request.schema
    if not schema:
        return HttpError(400, "the request asks for no schema")
    filled: dict[str, Any] = _fill(schema, schema)
    if "statements" in filled:
        sentences = [s.strip() for s in _SENTENCE.findall(request.answer or "")]
        filled["statements"] = [_statement(s, request.chunks) for s in sentences if s]
    if "graded_chunks" in filled:
        filled["graded_chunks"] = [
            {"id_chunk": number, "reasoning": "scripted", "score": True}
            for number in range(len(request.chunks))
        ]
    return filled


def _statement(sentence: str, chunks: Sequence[str]) -> dict[str, Any]:
    words = set(re.findall(r"\w+", sentence.lower()))
    shares = [
        len(words & set(re.findall(r"\w+", chunk.lower()))) / len(words or "-") for chunk in chunks
    ]
    best = max(shares, default=0.0)
    supported = best > 0.5
    return {
        "statement": sentence,
        "reasoning": f"{best:.0%} of the words stand in one chunk",
        "supporting_chunk_ids": [shares.index(best)] if supported else [],
        "is_supported": supported,
    }


def _fill(node: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the simplest value that the schema allows."""
    if "$ref" in node:
        return _fill(root["$defs"][str(node["$ref"]).rpartition("/")[2]], root)
    if "enum" in node or "const" in node:
        return node["enum"][0] if "enum" in node else node["const"]
    if "anyOf" in node:
        return _fill(node["anyOf"][0], root)
    match node.get("type"):
        case "object":
            return {name: _fill(inner, root) for name, inner in node.get("properties", {}).items()}
        case "array":
            return [_fill(node["items"], root)] if "items" in node else []
        case "boolean":
            return True
        case "integer" | "number":
            return node.get("minimum", 0)
        case _:
            return "scripted"
