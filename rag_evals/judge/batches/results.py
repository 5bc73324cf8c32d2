"""What does a provider say of a batch, and of each of its requests? The same words for all."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json

_OK = 200
_NO_REPLY = "the batch has no reply to it"
# An error of Anthropic has a word where others have a status: its page "Errors".
_ANTHROPIC_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

ENDED = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class BatchState:
    """Where a batch stands.

    Attributes:
        name: What the provider calls it.
        status: The provider's word, such as `in_progress` or one of `ENDED`.
        ended: Requests that were worked off; None where the provider does not say.
        replied: Requests that have a reply; None where the provider does not say.
        results: Names of the files with results; empty while it goes on.
        message: Why it failed; empty where it did not.
    """

    name: str
    status: str
    ended: int | None = None
    replied: int | None = None
    results: tuple[str, ...] = ()
    message: str = ""


class BatchResult(NamedTuple):
    """What a file of results says of one request.

    Attributes:
        key: Its `custom_id`.
        reply: The body that came with status 200, as JSON; None for an error.
        status: The status of HTTP of an error; None where the request was not worked off.
        fault: The body of an error, or why the request was not worked off.
    """

    key: str
    reply: str | None
    status: int | None
    fault: str


def read_result(line: bytes | str) -> BatchResult | None:
    """Read one line of a file of results; None where it is none."""
    try:
        found = from_json(line)
        key = found["custom_id"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(key, str):
        return None
    if isinstance(result := found.get("result"), dict):
        return _of_anthropic(key, result)
    response = found.get("response")
    response = response if isinstance(response, dict) else {}
    status, body = response.get("status_code"), response.get("body")
    if status == _OK and body is not None:
        return BatchResult(key, _text(body), None, "")
    error = found.get("error")
    if isinstance(status, int):
        return BatchResult(key, None, status, _text({"error": error} if body is None else body))
    return BatchResult(key, None, None, _words(error))


def _of_anthropic(key: str, result: Mapping[str, Any]) -> BatchResult:
    kind = result.get("type")
    if kind == "succeeded" and isinstance(result.get("message"), dict):
        return BatchResult(key, _text(result["message"]), None, "")
    error = result.get("error")
    inner = error.get("error") if isinstance(error, dict) else None
    if kind != "errored" or not isinstance(inner, dict):
        return BatchResult(key, None, None, f"{_NO_REPLY}: it is {kind}")
    status = _ANTHROPIC_STATUS.get(str(inner.get("type")), 500)
    return BatchResult(key, None, status, _text(error))


def _words(error: Any) -> str:
    words = error.get("message") if isinstance(error, dict) else error
    return str(words or _NO_REPLY)


def _text(found: Any) -> str:
    return json.dumps(found, ensure_ascii=False)
