"""How are requests sent as a batch? A file is uploaded, a batch made of it, its results fetched.

Everything here is safe to repeat: what was sent is found again by its name, so that nothing is paid
for twice when a reply is lost on the way or the program is killed.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic_core import from_json

from rag_evals.errors import ConfigurationError, JudgeUnavailableError
from rag_evals.judge.address_name import address_name
from rag_evals.judge.failures import translate
from rag_evals.judge.providers import CHAT, OPENAI_HOSTS, Endpoint, read_endpoint
from rag_evals.judge.request_retries import TRANSPORT_RETRIES
from rag_evals.judge.sdks import no_key
from rag_evals.judge.transport import client_for_files

T = TypeVar("T")
_METADATA = "rag_evals"
_NEWEST = 1000
_FIRST_WAIT_SECONDS = 0.5
_OK = 200
_MEGABYTE = 10**6
_HALF = 0.5


class BatchHost(NamedTuple):
    """What a provider says of its batches.

    Attributes:
        price_share: What a batch costs, as a share of the list price.
        max_requests: Lines of a file, at most.
        max_bytes: Size of a file, at most.
        url: Where each line is sent.
        is_local: A program of the user's works off the files, and there is nothing to upload to.
    """

    price_share: float
    max_requests: int = 50_000
    max_bytes: int = 200 * _MEGABYTE
    url: str = "/v1/chat/completions"
    is_local: bool = False


BATCH_HOSTS: Mapping[str, BatchHost] = {
    # OpenAI, guide "Batch API": "50% lower costs"; 50,000 requests and 200 MB a file.
    "openai": BatchHost(_HALF),
    # Azure, "Getting started with global batch": "at 50% less cost than global standard".
    "azure_openai": BatchHost(_HALF, url="/chat/completions"),
    # `vllm run-batch` reads and writes files; whoever owns the machine pays for it.
    "vllm": BatchHost(1.0, is_local=True),
}
"""Providers that take batches, with the figures of their documentation in November 2026."""

ENDED = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class BatchState:
    """Where a batch stands.

    Attributes:
        name: What the provider calls it.
        status: The provider's word, such as `in_progress` or one of `ENDED`.
        ended: Requests that were worked off.
        results: Names of the files with results; empty while it goes on.
        message: Why it failed; empty where it did not.
    """

    name: str
    status: str
    ended: int = 0
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


def batch_host(spec: str) -> BatchHost:
    """Return what the host of a judge string says of batches.

    Raises:
        ConfigurationError: It takes none.
    """
    endpoint = read_endpoint(spec)
    found = BATCH_HOSTS.get(endpoint.provider)
    if found is None or endpoint.wire != CHAT:
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


class BatchApi:
    """The batches of one endpoint, on OpenAI's wire.

    Args:
        spec: A judge string, such as `openai/gpt-4o-mini`.
    """

    def __init__(self, spec: str) -> None:
        self.host = batch_host(spec)
        self._endpoint: Endpoint = read_endpoint(spec)
        if self._endpoint.key is None:
            raise no_key(OPENAI_HOSTS[self._endpoint.provider].key_variable)
        self._sdk = client_for_files(self._endpoint)

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

        def send() -> str:
            with path.open("rb") as file:
                made = self._once.files.create(file=(_file_name(name), file), purpose="batch")
            return str(made.id)

        def find() -> str | None:
            files = islice(self._sdk.files.list(purpose="batch"), _NEWEST)
            return next((f.id for f in files if f.filename == _file_name(name)), None)

        return self._certainly(send, find, again=again)

    def create(self, file_id: str, name: str, *, again: bool) -> BatchState:
        """Make a batch of an uploaded file, once; arguments as for `upload`."""
        url: Any = self.host.url

        def send() -> BatchState:
            made = self._once.batches.create(
                input_file_id=file_id,
                endpoint=url,
                completion_window="24h",
                metadata={_METADATA: name},
            )
            return _state(made)

        def find() -> BatchState | None:
            batches = islice(self._sdk.batches.list(limit=100), _NEWEST)
            # Not every host keeps metadata; the file is of this batch alone.
            return next((_state(b) for b in batches if b.input_file_id == file_id), None)

        return self._certainly(send, find, again=again)

    def state(self, batch: str) -> BatchState:
        """Ask where a batch stands.

        Raises:
            ConfigurationError: There is no such batch for this key.
        """
        import openai  # noqa: PLC0415 - loaded by now

        with self._translated():
            try:
                return _state(self._sdk.batches.retrieve(batch))
            except openai.NotFoundError:
                raise ConfigurationError(
                    f"the endpoint has no batch {batch!r}: it was made with another key or at "
                    f"another address ({self._endpoint.address_name}), or was deleted there"
                ) from None

    def results(self, file: str) -> Iterator[BatchResult]:
        """Fetch a file of results; lines that hold none are passed over."""
        with (
            self._translated(),
            self._sdk.files.with_streaming_response.content(file) as response,
        ):
            for line in response.iter_lines():
                if (found := read_result(line)) is not None:
                    yield found

    @property
    def _once(self) -> Any:
        """The client that sends a request once: what it repeats could be paid twice."""
        return self._sdk.with_options(max_retries=0)

    def _certainly(self, send: Callable[[], T], find: Callable[[], T | None], *, again: bool) -> T:
        """Send what must be sent once; where its reply was lost, find what was made of it."""
        for tries_left in reversed(range(TRANSPORT_RETRIES)):
            with self._translated():
                if again and (found := find()) is not None:
                    return found
            try:
                with self._translated():
                    return send()
            except JudgeUnavailableError:
                if not tries_left:
                    raise
                again = True
                time.sleep(_FIRST_WAIT_SECONDS * (TRANSPORT_RETRIES - 1 - tries_left))
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise what the SDK raises as one of our errors."""
        import openai  # noqa: PLC0415 - loaded by now

        named = address_name.set(self._endpoint.address_name)
        try:
            yield
        except openai.OpenAIError as error:
            raise translate(error, attempts=1, key=self._endpoint.key) from None
        finally:
            address_name.reset(named)


def read_result(line: bytes | str) -> BatchResult | None:
    """Read one line of a file of results; None where it is none."""
    try:
        found = from_json(line)
        key = found["custom_id"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(key, str):
        return None
    response = found.get("response") or {}
    status, body = response.get("status_code"), response.get("body")
    if status == _OK and body is not None:
        return BatchResult(key, json.dumps(body, ensure_ascii=False), None, "")
    error = found.get("error")
    if status is not None:
        said = body if body is not None else {"error": error}
        return BatchResult(key, None, int(status), json.dumps(said, ensure_ascii=False))
    words = error.get("message") if isinstance(error, dict) else error
    return BatchResult(key, None, None, str(words or "the batch has no reply to it"))


def _file_name(name: str) -> str:
    return f"{name}.jsonl"


def _state(batch: Any) -> BatchState:
    counts = batch.request_counts
    faults = getattr(batch.errors, "data", None) or ()
    # Some hosts write it in capitals.
    status = str(batch.status).lower()
    files = (batch.output_file_id, batch.error_file_id)
    return BatchState(
        batch.id,
        status,
        0 if counts is None else counts.completed + counts.failed,
        tuple(file for file in files if file) if status in ENDED else (),
        "; ".join(str(fault.message) for fault in faults),
    )
