"""What can a scripted judge answer? Replies, and everything that can go wrong on the way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the model.

    Attributes:
        content: A mapping is sent as JSON, a string as it is: malformed JSON for instance.
        finish_reason: `length` says that the reply was cut off.
        refusal: The model's words when it declines; then there is no content.
        prompt_tokens: What the usage record says was sent.
        completion_tokens: What the usage record says was generated.
        logprobs: For each token of the reply, the likeliest ones in its place with their
            log-probabilities, the one that was written first; sent when the request asks for them.
        model: Model that the reply says it is from; None repeats the name that was asked.
        system_fingerprint: Of the provider's system, as OpenAI sends it; None sends none.
    """

    content: Mapping[str, Any] | str = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 20
    logprobs: Sequence[Mapping[str, float]] = ()
    model: str | None = None
    system_fingerprint: str | None = None


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


@dataclass(frozen=True, slots=True)
class Raw:
    """Any raw reply, sent unchanged: a proxy's page, an error with status 200, a redirect.

    Attributes:
        body: What is sent; a mapping or a list as JSON, text as UTF-8.
        status: The HTTP status.
        headers: Further headers; they come before those that the server would send itself.
    """

    body: bytes | str | Mapping[str, Any] | Sequence[Any] | None = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return the body as it travels."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


Answer = Raw | Reply | Mapping[str, Any] | str | HttpError | Stall | Reset | EmptyBody
