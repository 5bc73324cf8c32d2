"""What can be done with the batches of an endpoint? Send one, ask for it, fetch its results.

What all ways of sending share stands here, and the table of hosts. Everything is safe to repeat: a
request is sent once, and where its reply was lost, what was made of it is looked for, so that
nothing is paid for twice when a reply is lost on the way or the program is killed.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic_core import from_json

from rag_evals.errors import (
    ConfigurationError,
    JudgeUnavailableError,
    RagEvalsError,
    UnknownBatchError,
)
from rag_evals.judge.clients.strings import CHAT, read_endpoint
from rag_evals.judge.pace.faults import read_fault
from rag_evals.judge.pace.retry import Tries, try_again
from rag_evals.judge.wire.failures import address_name, translate
from rag_evals.judge.wire.replies import no_reply

T = TypeVar("T")
NEWEST = 1000
"""So many of the newest files or batches are looked through for one that was made."""

_NOT_FOUND = 404
_SHOWN_CHARS = 80


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


_MEGABYTE = 10**6
_HALF = 0.5

BatchWire = Literal["openai", "anthropic"]
"""Whose files and batches a host has; `rag_evals.judge.batches` has one file for each."""


class BatchHost(NamedTuple):
    """What a provider says of its batches.

    Attributes:
        price_share: What a batch costs, as a share of the list price.
        max_requests: Requests of one batch, at most.
        max_bytes: Size of one batch, at most.
        wire: How a batch is sent.
        url: Where each line is sent.
        is_local: A program of the user's works off the files, and there is nothing to upload to.
    """

    price_share: float = _HALF
    max_requests: int = 50_000
    max_bytes: int = 200 * _MEGABYTE
    wire: BatchWire = "openai"
    url: str = "/v1/chat/completions"
    is_local: bool = False

    def line(self, key: str, body: Mapping[str, Any]) -> bytes:
        """Write a request of a batch.

        Args:
            key: Names it in the results.
            body: What is asked.
        """
        asked: dict[str, Any] = {"custom_id": key}
        if self.wire == "anthropic":
            asked["params"] = body
        else:
            asked |= {"method": "POST", "url": self.url, "body": body}
        # As text, whatever the letters: bytes are what a provider limits.
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


BATCH_HOSTS: Mapping[str, BatchHost] = {
    "openai": BatchHost(),
    "azure_openai": BatchHost(url="/chat/completions"),
    "groq": BatchHost(max_bytes=100 * _MEGABYTE),
    "anthropic": BatchHost(
        max_requests=100_000, max_bytes=256 * _MEGABYTE, wire="anthropic", url="/v1/messages"
    ),
    "vllm": BatchHost(1.0, is_local=True),
}
"""Providers that take batches."""


def batch_host(spec: str) -> BatchHost:
    """Return what the host of a judge string says of batches.

    Raises:
        ConfigurationError: It takes none.
    """
    endpoint = read_endpoint(spec)
    found = BATCH_HOSTS.get(endpoint.provider)
    if endpoint.wire != CHAT:
        raise ConfigurationError(
            f"judge {spec!r} takes no batches here: a decision model is asked at once, one request "
            "at a time; leave out --batch, or name a chat model, such as 'openai/gpt-4o-mini'"
        )
    if found is None:
        named = ", ".join(f"'{name}/MODEL'" for name in BATCH_HOSTS)
        raise ConfigurationError(
            f"judge {spec!r} takes no batches here; those of {named} do, and any host with "
            "OpenAI's batch interface does as 'openai/MODEL@https://HOST/v1'"
        )
    return found


def batch_price_share(spec: str) -> float:
    """Return what a batch costs, as a share of the list price: 0.5 is half of it."""
    found = BATCH_HOSTS.get(read_endpoint(spec).provider)
    return 1.0 if found is None else found.price_share


class BatchApi(ABC):
    """The batches of one endpoint.

    Args:
        spec: A judge string, such as `openai/gpt-4o-mini`.
        sdk: A client of the provider's library.
        key: The key of the client, so that it stands in no message.
        address_name: What a user changes to have another address asked.
    """

    def __init__(self, spec: str, sdk: Any, *, key: str | None, address_name: str) -> None:
        self.host = batch_host(spec)
        self._sdk = sdk
        self._key = key
        self._address_name = address_name

    def close(self) -> None:
        """Close the connections."""
        self._sdk.close()

    def upload(self, path: Path, name: str, *, again: bool) -> str:
        """Upload a file of requests, once.

        Args:
            path: The file.
            name: What it is called there; no other file has it.
            again: It may be there already.

        Returns:
            The provider's name of it.
        """
        return self._certainly(
            lambda: self._upload(path, name), lambda: self._find_file(name), again=again
        )

    def create(self, path: Path, file_id: str, name: str, *, again: bool) -> BatchState:
        """Make a batch of an uploaded file, once; arguments as for `upload`."""
        return self._certainly(
            lambda: self._create(path, file_id, name),
            lambda: self._find_batch(path, file_id),
            again=again,
        )

    def state(self, batch: str) -> BatchState:
        """Ask where a batch stands.

        Raises:
            UnknownBatchError: There is no such batch for this key.
        """
        try:
            with self._translated(raw=_NOT_FOUND):
                return _again(lambda: self._retrieve(batch))
        except NotThere:
            raise UnknownBatchError(
                f"the endpoint has no batch {batch!r}: it was made with another key or at "
                f"another address ({self._address_name}), or was deleted there"
            ) from None

    def lines(self, batch: str, file: str) -> Iterator[bytes]:
        """Fetch the lines of a file of results.

        Raises:
            UnknownBatchError: The file is not there any more.
        """
        try:
            with self._translated(raw=_NOT_FOUND):
                yield from _again(lambda: _begun(self._lines(batch, file)))
        except NotThere:
            raise UnknownBatchError(
                f"the endpoint has the results of batch {batch!r} no more (file {file!r}): they "
                "were deleted there, or are too old"
            ) from None

    @abstractmethod
    def _upload(self, path: Path, name: str) -> str:
        """Send a file."""

    @abstractmethod
    def _find_file(self, name: str) -> str | None:
        """Look for a file that may have been sent."""

    @abstractmethod
    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        """Order a batch."""

    @abstractmethod
    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        """Look for a batch that may have been ordered."""

    @abstractmethod
    def _retrieve(self, batch: str) -> BatchState:
        """Ask for a batch."""

    @abstractmethod
    def _lines(self, batch: str, file: str) -> Iterator[bytes]:
        """Fetch a file, line by line; the first comes before any, when the reply has begun."""

    def _cut(self, response: Any) -> Iterator[bytes]:
        """Cut what comes into lines; only a line feed ends one, whatever letters a reply has."""
        # Before anything is read: the request has been answered, and need not be sent again.
        yield b""
        rest = b""
        for piece in response.iter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if rest:
            yield rest

    def _certainly(self, send: Callable[[], T], find: Callable[[], T | None], *, again: bool) -> T:
        """Send what must be sent once; where its reply was lost, find what was made of it."""
        is_repeated = again

        def send_or_find() -> T:
            nonlocal is_repeated
            if is_repeated and (found := find()) is not None:
                return found
            is_repeated = True
            return send()

        with self._translated():
            return _again(send_or_find)

    @contextmanager
    def _translated(self, *, raw: int | None = None) -> Iterator[None]:
        """Raise what the library raises as one of our errors, one status as `NotThere`."""
        named = address_name.set(self._address_name)
        try:
            yield
        except (RagEvalsError, NotThere):
            raise
        # Also what the library below it raises, in the middle of a file.
        except Exception as error:  # noqa: BLE001 - whatever it is, a user reads one line
            if raw is not None and read_fault(error).status == raw:
                raise NotThere from None
            raise translate(error, attempts=1, key=self._key) from None
        finally:
            address_name.reset(named)


def _again(work: Callable[[], T]) -> T:
    """Send a request, and again where that may help."""

    def read() -> T:
        try:
            return work()
        except JSONDecodeError as error:
            raise no_reply(error.doc) from None

    return try_again(read, Tries(None).after_request)


def _begun(lines: Iterator[bytes]) -> Iterator[bytes]:
    next(lines, b"")
    return lines


def identified(found: Any) -> Any:
    """Return a file or a batch that an endpoint told of.

    Raises:
        JudgeUnavailableError: What came is none, such as a page of a proxy.
    """
    if not getattr(found, "id", None):
        said = " ".join(str(found).split())[:_SHOWN_CHARS]
        error = JudgeUnavailableError(f"the endpoint answered with no file and no batch: {said!r}")
        error.status = _OK
        raise error
    return found


class NotThere(Exception):  # noqa: N818 - a turn in the flow, which nobody outside sees
    """The endpoint does not have what was asked for."""
