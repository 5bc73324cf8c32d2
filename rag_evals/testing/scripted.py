"""A loopback HTTP server that implements OpenAI's chat API, and its default script.

The default script judges statements by the words that they share with the chunks.
"""

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, ClassVar, Self

Body = Mapping[str, Any]
Messages = Sequence[Mapping[str, Any]]

_numbers = count(1)
_NUMBERED = re.compile(r'<(?:sentence id="|s)(\d+)"?>\n?(.*?)\n?</(?:sentence|s\1)>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        content: A mapping is sent as JSON; a string is sent unchanged.
        finish_reason: `length` means that the reply was cut off.
        refusal: The model's message if it refuses to answer; `content` is then ignored.
        model: Model stated in the reply; by default, the request's model.
    """

    content: Mapping[str, Any] | str = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 20
    model: str | None = None
    system_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class HttpError:
    """An HTTP error with a body in OpenAI's format.

    Attributes:
        code: OpenAI's error code, such as `insufficient_quota`.
        param: The request parameter at fault.
    """

    status: int
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Stall:
    """Wait, and then send `then`, or reset the connection if it is None."""

    seconds: float
    then: Reply | Mapping[str, Any] | None = None


class Reset:
    """Reset the connection."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A raw HTTP reply, such as a proxy's page or a redirect.

    A mapping or list is sent as JSON; `headers` override the server's.
    """

    body: bytes | str | Mapping[str, Any] | Sequence[Any] | None = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Raw | Reply | Mapping[str, Any] | str | HttpError | Stall | Reset


@dataclass(frozen=True, slots=True)
class Wire:
    """A provider's request and reply format.

    Attributes:
        messages: Returns a request's chat messages, in OpenAI's format.
        schema: Returns the reply's JSON schema; empty if there is none.
        reply: Converts a reply to the provider's format.
        error: Converts an error to the provider's format.
        path: Path in the client's base URL.
    """

    messages: Callable[[Body], Messages]
    schema: Callable[[Body], Body]
    reply: Callable[[Reply, Body], Body]
    error: Callable[[HttpError], Body]
    path: str = "/v1"


def _messages(body: Body) -> Messages:
    return list(body.get("messages", []))


def _schema(body: Body) -> Body:
    if body.get("tools"):
        return dict(body["tools"][0]["function"]["parameters"])
    response_format = body.get("response_format") or {}
    if "json_schema" in response_format:
        return dict(response_format["json_schema"].get("schema", {}))
    return _schema_in_words(_messages(body))


def _schema_in_words(messages: Messages) -> Body:
    """Return the schema at the end of the last message, where JSON mode puts it."""
    _, _, tail = str(messages[-1].get("content") if messages else "").rpartition("\n{")
    try:
        found = json.loads("{" + tail)
    except ValueError:
        return {}
    return found if "properties" in found else {}


def _reply(reply: Reply, body: Body) -> Body:
    number = next(_numbers)
    text = reply.content if isinstance(reply.content, str) else json.dumps(dict(reply.content))
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": reply.refusal}
    if reply.refusal is None and body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    elif reply.refusal is None:
        message["content"] = text
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    system = reply.system_fingerprint
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model or body.get("model", "scripted"),
        "choices": [choice],
        **({} if system is None else {"system_fingerprint": system}),
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }


def _error(error: HttpError) -> Body:
    words = {"message": error.message, "type": "scripted", "code": error.code}
    return {"error": {**words, "param": error.param}}


OPENAI = Wire(_messages, _schema, _reply, _error)
"""OpenAI's chat completions, also used by Ollama, vLLM, LiteLLM, Groq and xAI."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A request to the server, with its prompt split into parts.

    Attributes:
        number: Position in the order of arrival, from 0.
        headers: HTTP headers, with lowercase names.
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    wire: Wire = OPENAI

    @property
    def messages(self) -> Messages:
        """The chat messages, in OpenAI's format."""
        return self.wire.messages(self.body)

    @property
    def schema(self) -> Body:
        """The JSON schema of the reply; empty if there is none."""
        return self.wire.schema(self.body)

    @property
    def data(self) -> str:
        """The graded data: the first user message, without few-shot examples."""
        texts = [str(m["content"]) for m in self.messages if m["role"] == "user"]
        return texts[0].rpartition("</examples>")[2] if texts else ""

    @property
    def instructions(self) -> str:
        """The system message, which may be empty."""
        return "\n".join(str(m["content"]) for m in self.messages if m["role"] == "system")

    @property
    def question(self) -> str | None:
        """The question, or None."""
        return self._field("question")

    @property
    def answer(self) -> str | None:
        """The graded answer, or None; numbered sentences are joined by line breaks."""
        return self._unnumbered("answer")

    @property
    def reference(self) -> str | None:
        """The reference answer, or None; sentences are joined as in `answer`."""
        return self._unnumbered("reference")

    @property
    def sentences(self) -> list[str]:
        """The numbered sentences of the answer or reference."""
        return [text for _, text in _NUMBERED.findall(self.data)]

    def _unnumbered(self, tag: str) -> str | None:
        text = self._field(tag)
        sentences = _NUMBERED.findall(text or "")
        return "\n".join(one for _, one in sentences) if sentences else text

    @property
    def statements(self) -> list[str]:
        """The numbered statements."""
        return _tagged("statement", self.data)

    @property
    def chunks(self) -> list[str]:
        """The chunks, in order."""
        return _tagged("chunk", self.data)

    @property
    def is_reask(self) -> bool:
        """True if the request states that an earlier reply was invalid."""
        return any(message["role"] in ("assistant", "tool") for message in self.messages)

    def _field(self, tag: str) -> str | None:
        found = _tagged(tag, self.data)
        return found[-1] if found else None


def _tagged(tag: str, text: str) -> list[str]:
    return re.findall(rf'<{tag}(?: id="\d+")?>\n(.*?)\n</{tag}>', text, re.DOTALL)


_SENTENCE = re.compile(r"[^.!?…。！？]+(?:[.!?…](?=\S)[^.!?…。！？]*)*[.!?…。！？]*")
_SENTENCE_KEY = re.compile(r"s\d+")
_CRITERION = re.compile(r"^- ([^:\n]+): ", re.MULTILINE)
_CITATION = re.compile(r"sentence (\d+), chunk (\d+)")
_DECLINES = re.compile(
    r"don't know|do not know|does not say|not sure|не знаю|не сказано", re.IGNORECASE
)


def fill_by_words(request: JudgeRequest) -> Answer:
    """Fill in any response model from the request.

    Each sentence of the answer becomes a statement, which is supported if a single chunk contains
    more than half of its words. Any other field is set to the first value that its schema allows.
    """
    schema = request.schema
    if not schema:
        return HttpError(400, "the request does not contain a schema")
    filled: dict[str, Any] = _fill(schema, schema)
    keys = [name for name in schema.get("properties", {}) if _SENTENCE_KEY.fullmatch(name)]
    for name, text in zip(keys, request.sentences, strict=False):
        filled[name] = _keyed(text, request.chunks)
    if filled.keys() == {"reasoning", "verdict"}:
        filled = _keyed(request.answer or request.reference or "", request.chunks)
    if "answerable" in filled:
        share, _ = _best(request.question or "", request.chunks)
        filled["answerable"] = _label(share > 0.3, f"{share:.0%} of the question is in one chunk")
    if "abstained" in filled:
        filled["abstained"] = _label(_DECLINES.search(request.answer or "") is not None)
    for name, found in _items(request).items():
        if name in filled:
            example = next(iter(filled[name]), None)
            filled[name] = [
                item if example is None else {key: item.get(key, example[key]) for key in example}
                for item in found
            ]
    return filled


def _keyed(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict on a sentence or answer; a question makes no claim."""
    if text.rstrip().endswith("?"):
        return {"claims_nothing": "It is a question."}
    decided = _decided(text, chunks)
    ids = decided["supporting_chunk_ids"]
    verdict = {"supported_by": ids} if ids else {"not_supported_because": "not_in_context"}
    return {"reasoning": decided["reasoning"], "verdict": verdict}


def _items(request: JudgeRequest) -> dict[str, list[dict[str, Any]]]:
    """Return the items of each list, with the fields that any response model may need."""
    chunks, answer = request.chunks, request.answer or ""
    texts = request.sentences or _sentences(answer)
    return {
        "statements": [
            {"statement": text, "sentence_id": n, "sentence_ids": [n], **_decided(text, chunks)}
            for n, text in enumerate(texts)
        ],
        "verdicts": [
            {"statement_id": n, **_decided(text, chunks)}
            for n, text in enumerate(request.statements)
        ],
        "graded_chunks": [{"id_chunk": n} for n in range(len(chunks))],
        "labels": [{"chunk_id": n} for n in range(len(chunks))],
        "chunks": [
            {"chunk_id": n, "is_used": _share(chunk, answer) > 0.3}
            for n, chunk in enumerate(chunks)
        ],
        "no_claim_sentences": [],
        "citations": [
            {"citation_id": n, **_cited(request, *map(int, found[0]))}
            for n, text in enumerate(request.statements)
            if (found := _CITATION.findall(text))
        ],
        "checks": [{"criterion": name} for name in _CRITERION.findall(request.instructions)],
    }


def _decided(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict that quotes the sentence with the most words in common with the text."""
    share, chunk_id = _best(text, chunks)
    evidence = []
    if is_supported := share > 0.5:
        sentences = _sentences(chunks[chunk_id])
        quote = sentences[_best(text, sentences)[1]].replace("&lt;", "<")
        evidence = [{"chunk_id": chunk_id, "quote": quote}]
    return {
        "reasoning": f"{share:.0%} of the words are in one chunk",
        "supporting_chunk_ids": [chunk_id] if is_supported else [],
        "is_supported": is_supported,
        "evidence": evidence,
        "verdict": "supported" if is_supported else "not_in_context",
    }


def _cited(request: JudgeRequest, sentence_id: int, chunk_id: int) -> dict[str, Any]:
    share = _share(request.sentences[sentence_id], request.chunks[chunk_id])
    reasoning = f"{share:.0%} of the words are in the chunk"
    return {"reasoning": reasoning, "is_supported": share > 0.5}


def _label(holds: bool, reasoning: str = "scripted") -> dict[str, str]:
    return {"reasoning": reasoning, "label": "yes" if holds else "no"}


def _sentences(text: str) -> list[str]:
    return [s.strip() for s in _SENTENCE.findall(text) if s.strip()]


def _best(text: str, others: Sequence[str]) -> tuple[float, int]:
    """Return the largest share of words that one of the other texts contains, and its index."""
    shares = [_share(text, other) for other in others]
    best = max(shares, default=0.0)
    return best, shares.index(best) if shares else 0


def _share(text: str, other: str) -> float:
    words = _words(text)
    return len(words & _words(other)) / len(words or "-")


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """Return the words of a text, cached because each text is compared with many others."""
    return frozenset(re.findall(r"\w+", text.lower()))


def _fill(node: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the simplest value allowed by the schema."""
    # Up to version 2.8, pydantic wraps a reference this way if there are other keywords.
    if "allOf" in node:
        return _fill(node["allOf"][0], root)
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


Script = Answer | Sequence[Answer] | Callable[[JudgeRequest], Answer] | None


class ScriptedJudge:
    """An OpenAI-compatible loopback endpoint that replies from a script.

    Subclass it for other APIs: override `wire` for another provider's format, and `route` for
    additional paths, such as files and batches.

    Args:
        script: One answer for all requests; a list of answers in order (requests beyond its end
            get status 400); a function that maps a request to an answer; or None, which fills in
            in any response model: each sentence of the answer becomes a statement, which is
            supported if a single chunk contains most of its words.

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
        """Return the provider's format to use for a path."""
        del path
        return OPENAI

    def route(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> Answer | None:
        """Answer a request without the script; return None to pass it to the script.

        `path` includes the query string, and header names are in lowercase.
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
            return HttpError(400, f"the script's {len(script)} answers have all been used")
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
        # If the body is shorter than its declared length, close the connection early.
        if int(headers.get("content-length", 0)) > len(body):
            self.close_connection = True
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        # A linger time of 0 makes the kernel send RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
