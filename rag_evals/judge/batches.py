"""Batch APIs, and judges that replay batch results.

Every step of a batch run can be repeated without paying twice. If the response to a request is
lost, OpenAI's files are looked up by name, and its batches by file. Anthropic supports neither, so
a lost batch is identified, among the batches created since, by its number of requests. If several
match, the ids in their results identify the right batch.

A row is graded with the replies that have arrived so far. The row's first request without a reply
raises `PendingError`. After the next batch, grading starts over and gets further.
"""

import json
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic_core import from_json

from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage, fingerprint
from rag_evals.errors import (
    ConfigurationError,
    JudgeUnavailableError,
    PendingError,
    RagEvalsError,
    UnknownBatchError,
)
from rag_evals.judge.clients.build import endpoint_of, own_async_judge
from rag_evals.judge.clients.sdks import client_for_files
from rag_evals.judge.clients.strings import OPENAI_HOSTS, read_endpoint
from rag_evals.judge.pace import retry
from rag_evals.judge.pace.retry import Tries, read_fault, try_again
from rag_evals.judge.wire.ask import AskOptions, AsyncJudge, JudgeHost
from rag_evals.judge.wire.direct import StatusError, read_chat
from rag_evals.judge.wire.exchange import address_name, no_reply
from rag_evals.judge.wire.sending import Answered, ClientUse, translate

T = TypeVar("T")
# The number of recent files or batches to search.
_NEWEST = 1000
_SHOWN_CHARS = 80
_NO_REPLY = "the batch contains no reply to this request"
_FAULTS_SHOWN = 3
# From the "Errors" page of Anthropic's documentation.
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

_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch.

    Attributes:
        name: The provider's id for the batch.
        ended: Number of requests with a result; None if unknown.
        replied: Number of requests with a reply; None if unknown.
        results: Result files, once the batch is finished.
        message: The reason why the whole batch failed.
    """

    name: str
    status: str
    ended: int | None = None
    replied: int | None = None
    results: tuple[str, ...] = ()
    message: str = ""

    @staticmethod
    def is_end(status: str) -> bool:
        return status in _ENDED


class BatchResult(NamedTuple):
    """The latest result for one request.

    Attributes:
        key: The request's `custom_id`.
        reply: The JSON body of a reply with status 200; None if there was an error.
        status: HTTP status of the error; None if the request was not processed.
        fault: Body of the error, or the reason why the request was not processed.
        number: The number of times the request has been sent.
    """

    key: str
    reply: str | None
    status: int | None
    fault: str
    number: int = 1

    @classmethod
    def read(cls, line: bytes) -> "BatchResult | None":
        """Parse a line of a result file; return None if it is not a result."""
        try:
            # Files may start with a byte order mark.
            found = from_json(line.removeprefix(BOM_UTF8))
            key = found["custom_id"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(key, str):
            return None
        if isinstance(result := found.get("result"), dict):
            return _of_anthropic(key, result)
        response = found.get("response")
        response = response if isinstance(response, dict) else {}
        status, body, error = response.get("status_code"), response.get("body"), found.get("error")
        if status == 200 and body is not None:
            return cls(key, _text(body), None, "")
        if isinstance(status, int):
            return cls(key, None, status, _text({"error": error} if body is None else body))
        words = error.get("message") if isinstance(error, dict) else error
        return cls(key, None, None, str(words or _NO_REPLY))

    def answered(self) -> Answered:
        """Return the HTTP reply; raise `JudgeUnavailableError` if there is none."""
        if self.reply is not None:
            return Answered(200, self.reply.encode())
        if self.status is not None:
            return Answered(self.status, self.fault.encode())
        raise JudgeUnavailableError(f"no reply after {self.number} batches: {self.fault}")


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


def _text(found: Any) -> str:
    return json.dumps(found, ensure_ascii=False)


_MEGABYTE = 10**6


class BatchHost(NamedTuple):
    """A provider's batch limits, and the price of batches as a share of the list price.

    `url` is the request path stated in each line of a file; empty for Anthropic. If `is_local`, the
    user processes the files with a program such as vLLM.
    """

    price_share: float = 0.5
    max_requests: int = 50_000
    max_bytes: int = 200 * _MEGABYTE
    url: str = "/v1/chat/completions"
    is_local: bool = False

    @classmethod
    def of(cls, spec: str) -> "BatchHost":
        """Return the batch host for a judge; raise `ConfigurationError` if there is none."""
        endpoint = read_endpoint(spec)
        if endpoint.decides:
            raise ConfigurationError(
                f"judge {spec!r} does not support batches; leave out --batch, or use a chat model, "
                "such as 'openai/gpt-4o-mini'"
            )
        if endpoint.provider not in _HOSTS:
            named = ", ".join(f"'{name}/MODEL'" for name in _HOSTS)
            raise ConfigurationError(
                f"judge {spec!r} does not support batches; {named} do, and so does any host with "
                "OpenAI's batch API, as 'openai/MODEL@https://HOST/v1'"
            )
        return _HOSTS[endpoint.provider]

    @staticmethod
    def share_of(spec: str) -> float:
        return _HOSTS.get(read_endpoint(spec).provider, BatchHost(1.0)).price_share

    def line(self, key: str, body: Mapping[str, Any]) -> bytes:
        http = {"method": "POST", "url": self.url, "body": body}
        asked = {"custom_id": key, **(http if self.url else {"params": body})}
        # Escape sequences would use up more of the provider's byte limit.
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


_HOSTS: Mapping[str, BatchHost] = {
    "openai": BatchHost(),
    "azure_openai": BatchHost(url="/chat/completions"),
    "groq": BatchHost(max_bytes=100 * _MEGABYTE),
    "anthropic": BatchHost(max_requests=100_000, max_bytes=256 * _MEGABYTE, url=""),
    "vllm": BatchHost(1.0, is_local=True),
}


class BatchApi(ABC):
    """The batch API of one endpoint."""

    def __init__(self, spec: str) -> None:
        self.host = BatchHost.of(spec)
        self._endpoint = read_endpoint(spec)
        self._sdk = client_for_files(self._endpoint)

    def close(self) -> None:
        self._sdk.close()

    @classmethod
    def open(cls, spec: str) -> "BatchApi":
        return _OpenAIBatches(spec) if BatchHost.of(spec).url else _AnthropicBatches(spec)

    @abstractmethod
    def upload(self, path: Path, name: str, *, again: bool) -> str:
        """Upload a file of requests and return its id; if `again`, the file may already exist."""

    @abstractmethod
    def create(self, path: Path, file_id: str, name: str, *, again: bool) -> BatchState:
        """Create a batch from an uploaded file; if `again`, the batch may already exist."""

    def state(self, batch: str) -> BatchState:
        """Return a batch's state; raise `UnknownBatchError` if the key cannot access it."""
        unknown = (
            f"the endpoint has no batch {batch!r}: it was created with another key or at another "
            f"address ({self._endpoint.address_name}), or has been deleted"
        )
        with self._translated(unknown):
            return _again(lambda: self._retrieve(batch))

    def lines(self, batch: str, file: str) -> Iterator[bytes]:
        """Yield the lines of a result file; raise `UnknownBatchError` if the file is gone."""
        with self._translated(_gone(batch, file)), ExitStack() as stack:
            response = _again(lambda: stack.enter_context(self._results(batch, file)))
            rest = b""
            for piece in response.iter_bytes():
                *lines, rest = (rest + piece).split(b"\n")
                yield from lines
            if rest:
                yield rest

    @abstractmethod
    def _retrieve(self, batch: str) -> BatchState: ...

    @abstractmethod
    def _results(self, batch: str, file: str) -> Any: ...

    def _certainly(self, send: Callable[[], T], find: Callable[[], T | None], *, again: bool) -> T:
        """Create an object once: before a retry, look for the result of an earlier attempt."""
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
    def _translated(self, unknown: str = "") -> Iterator[None]:
        """Convert the SDK's exceptions to our errors; `unknown` is the message for a 404."""
        named = address_name.set(self._endpoint.address_name)
        try:
            yield
        except RagEvalsError:
            raise
        # Libraries used by the SDK may raise other exceptions while a file is being read.
        except Exception as error:  # noqa: BLE001 - users get a one-line message for any exception
            if unknown and read_fault(error).status == 404:
                raise UnknownBatchError(unknown) from None
            raise translate(error, attempts=1, key=self._endpoint.key) from None
        finally:
            address_name.reset(named)


def _gone(batch: str, file: str) -> str:
    return (
        f"the endpoint no longer has the results of batch {batch!r} (file {file!r}): they were "
        "deleted, or have expired"
    )


def _again(work: Callable[[], T]) -> T:
    def read() -> T:
        try:
            return work()
        except JSONDecodeError as error:
            raise no_reply(error.doc) from None

    return try_again(read, Tries(None).after_request)


def _identified(found: Any) -> Any:
    """Check that an object is a file or batch and not, for example, a proxy's error page."""
    if not getattr(found, "id", None):
        said = " ".join(str(found).split())[:_SHOWN_CHARS]
        error = JudgeUnavailableError(f"the endpoint returned neither a file nor a batch: {said!r}")
        error.status = 200
        raise error
    return found


class _OpenAIBatches(BatchApi):
    def upload(self, path: Path, name: str, *, again: bool) -> str:
        named = f"{name}.jsonl"

        def send() -> str:
            with path.open("rb") as file:
                made = self._sdk.files.create(file=(named, file), purpose="batch")
            return str(_identified(made).id)

        def find() -> str | None:
            files = self._newest(self._sdk.files, purpose="batch")
            return next((f.id for f in files if f.filename == named), None)

        return self._certainly(send, find, again=again)

    def create(self, path: Path, file_id: str, name: str, *, again: bool) -> BatchState:
        def send() -> BatchState:
            made = self._sdk.batches.create(
                input_file_id=file_id,
                endpoint=self.host.url,
                completion_window="24h",
                metadata={"rag_evals": name},
            )
            return _state(made)

        def find() -> BatchState | None:
            # Not every host stores metadata, but a file belongs to only one batch.
            batches = self._newest(self._sdk.batches, limit=100)
            return next((_state(b) for b in batches if b.input_file_id == file_id), None)

        return self._certainly(send, find, again=again)

    def _retrieve(self, batch: str) -> BatchState:
        return _state(self._sdk.batches.retrieve(batch))

    def _results(self, batch: str, file: str) -> Any:
        return self._sdk.files.with_streaming_response.content(file)

    def _newest(self, things: Any, **asked: Any) -> Iterator[Any]:
        # Groq's `list` does not accept arguments and returns a single page.
        has_pages = self._endpoint.provider in OPENAI_HOSTS
        return islice(things.list(**asked) if has_pages else things.list().data or (), _NEWEST)


def _state(batch: Any) -> BatchState:
    counts = _identified(batch).request_counts
    # Some hosts use uppercase.
    status = str(batch.status).lower()
    files = (batch.output_file_id, batch.error_file_id)
    return BatchState(
        batch.id,
        status,
        None if counts is None else counts.completed + counts.failed,
        None if counts is None else counts.completed,
        tuple(file for file in files if file) if status in _ENDED else (),
        _first_words(getattr(batch.errors, "data", None) or ()),
    )


def _first_words(faults: Any) -> str:
    words = list(dict.fromkeys(str(getattr(fault, "message", fault)) for fault in faults))
    more = f" (and {len(words) - _FAULTS_SHOWN} more)" if len(words) > _FAULTS_SHOWN else ""
    return "; ".join(words[:_FAULTS_SHOWN]) + more


_BETWEEN = " "
_ENDS = ("processing", "succeeded", "errored", "canceled", "expired")


class _AnthropicBatches(BatchApi):
    @property
    def _batches(self) -> Any:
        return self._sdk.messages.batches

    def upload(self, path: Path, name: str, *, again: bool) -> str:
        """Return the newest batch's id, to recognise newer ones by; do not upload anything."""

        def find() -> str:
            return str(next((batch.id for batch in self._batches.list(limit=1)), "none"))

        return self._certainly(find, lambda: None, again=again)

    def create(self, path: Path, file_id: str, name: str, *, again: bool) -> BatchState:
        return self._certainly(
            lambda: self._send(path), lambda: self._find_batch(path, file_id), again=again
        )

    def _send(self, path: Path) -> BatchState:
        from anthropic.types.messages import MessageBatch  # noqa: PLC0415 - an optional library

        # Bytes need far less memory than objects.
        content = b'{"requests":[' + b",".join(path.read_bytes().splitlines()) + b"]}"
        made = self._sdk.post(
            "/v1/messages/batches",
            cast_to=MessageBatch,
            content=content,
            options={"headers": {"Content-Type": "application/json"}},
        )
        return _message_state(made)

    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        with path.open("rb") as file:
            count = sum(1 for _ in file)
        found = []
        for batch in islice(self._batches.list(limit=100), _NEWEST):
            if batch.id == file_id:
                break
            if sum(getattr(batch.request_counts, name) for name in _ENDS) == count:
                found.append(batch.id)
        return self._retrieve(_BETWEEN.join(found)) if found else None

    def _retrieve(self, batch: str) -> BatchState:
        states = [_message_state(self._batches.retrieve(name)) for name in batch.split(_BETWEEN)]
        if len(states) == 1:
            return states[0]
        waits = [state for state in states if not state.results]
        return BatchState(
            batch,
            waits[0].status if waits else states[0].status,
            # It is not known which batch is ours.
            None,
            None,
            () if waits else tuple(state.name for state in states),
        )

    def _results(self, batch: str, file: str) -> Any:
        if self._batches.retrieve(file).results_url is None:
            # Anthropic stores results for 29 days.
            raise UnknownBatchError(_gone(batch, file))
        return self._batches.with_streaming_response.results(file)


def _message_state(batch: Any) -> BatchState:
    counts = _identified(batch).request_counts
    status = "completed" if batch.processing_status == "ended" else batch.processing_status
    return BatchState(
        batch.id,
        status,
        counts.succeeded + counts.errored,
        counts.succeeded,
        (batch.id,) if status == "completed" else (),
    )


_KEY_VERSION = 1
_SECONDS = 90.0


class ArrivedReplies(Protocol):
    def attempt(self, key: str) -> BatchResult | None:
        """Return the result for a request; None if it is pending or was never sent."""

    def is_paid_here(self, key: str) -> bool:
        """True if the request was sent for the current grading."""

    def note(self, missing: PendingError) -> None:
        """Record a request that has no reply yet."""


# The index of the call in progress, and the keys of its requests.
_call_now: ContextVar[tuple[int, list[str]]] = ContextVar("call_now")


@dataclass(frozen=True, slots=True)
class BatchReplay:
    spec: str
    answers: ArrivedReplies

    async def ask(self, judge: AsyncJudge, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        used, keys = Meter(), list[str]()
        token = _call_now.set((call.sample_index, keys))
        try:
            return await judge.ask(call, used)
        finally:
            _call_now.reset(token)
            # Identical calls are sent once, and only one row is charged for them.
            mine = not keys or self.answers.is_paid_here(keys[0])
            counted = used.total if mine else Usage(cache_hits=1)
            meter.add(
                counted, endpoint=call.endpoint, model=call.model, answered_by=used.answered_by
            )

    def own_judge(
        self, model: str | None, options: AskOptions
    ) -> AbstractAsyncContextManager[JudgeHost]:
        BatchHost.of(self.spec)
        return own_async_judge(self.spec, model, options, ClientUse(_SECONDS, answer=self._answer))

    async def _answer(self, content: bytes) -> Answered:
        """Return the final reply to a request; raise `PendingError` if it has not arrived."""
        sample_index, keys = _call_now.get()
        body = from_json(content)
        key = fingerprint(_KEY_VERSION, endpoint_of(self.spec), body, sample_index)
        keys.append(key)
        found = self.answers.attempt(key)
        if found is not None and (found.number > retry.WAITS.retries or self._is_final(found)):
            return found.answered()
        pending = PendingError("the reply has not arrived yet")
        pending.endpoint, pending.key, pending.body = self.spec, key, body
        raise pending

    def _is_final(self, found: BatchResult) -> bool:
        """True unless a client would retry the request."""
        if found.status is not None:
            error = StatusError(found.status, found.fault.encode())
            return not retry.may_pass(error, read_fault(error))
        try:
            answered = found.answered()
            if BatchHost.of(self.spec).url:
                read_chat(answered.content)
        except RagEvalsError as fault:
            return not isinstance(fault, JudgeUnavailableError)
        return True
