"""Requests to a scripted judge, and the answers and faults that it can send."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Body = Mapping[str, Any]
Messages = Sequence[Mapping[str, Any]]

_numbers = count(1)
_FIELD = {
    tag: re.compile(rf"<{tag}>\n(.*?)\n</{tag}>", re.DOTALL)
    for tag in ("question", "answer", "reference")
}
_ITEMS = {
    tag: re.compile(rf'<{tag} id="(\d+)">\n(.*?)\n</{tag}>', re.DOTALL)
    for tag in ("chunk", "statement")
}
_SENTENCE = re.compile(r'<(?:sentence id="|s)(\d+)"?>\n?(.*?)\n?</(?:sentence|s\1)>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        content: A mapping is sent as JSON, and a string unchanged.
        finish_reason: `length` means that the reply was cut off.
        refusal: The model's words if it refuses to answer; `content` is then ignored.
        model: None uses the request's model.
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
    """Wait for some seconds, then send `then`, or reset the connection if it is None."""

    seconds: float
    then: Reply | Mapping[str, Any] | None = None


class Reset:
    """Reset the connection."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A raw HTTP reply, such as a proxy's page or a redirect.

    A mapping or list is sent as JSON; `headers` replace the server's own.
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
    """Return the schema at the end of the last message, as in JSON mode."""
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
    """A request to the server, with the parts of its prompt.

    Attributes:
        number: Starts at 0, in order of arrival.
        headers: Names are in lower case.
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
        """The graded question, or None."""
        return self._field("question")

    @property
    def answer(self) -> str | None:
        """The graded answer, or None; numbered sentences are joined by line breaks."""
        return self._unnumbered("answer")

    @property
    def reference(self) -> str | None:
        """The graded reference, or None; sentences are joined as in `answer`."""
        return self._unnumbered("reference")

    @property
    def sentences(self) -> list[str]:
        """The numbered sentences of the answer or reference."""
        return [text for _, text in _SENTENCE.findall(self.data)]

    def _unnumbered(self, tag: str) -> str | None:
        text = self._field(tag)
        sentences = _SENTENCE.findall(text or "")
        return "\n".join(one for _, one in sentences) if sentences else text

    @property
    def statements(self) -> list[str]:
        """The numbered statements."""
        return [text for _, text in _ITEMS["statement"].findall(self.data)]

    @property
    def chunks(self) -> list[str]:
        """The chunks, in order."""
        return [text for _, text in _ITEMS["chunk"].findall(self.data)]

    @property
    def is_reask(self) -> bool:
        """True if the request states that an earlier reply was invalid."""
        return any(message["role"] in ("assistant", "tool") for message in self.messages)

    def _field(self, tag: str) -> str | None:
        found = _FIELD[tag].findall(self.data)
        return found[-1] if found else None
