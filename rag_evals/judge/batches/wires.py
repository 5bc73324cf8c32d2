"""How do OpenAI and Anthropic take batches?

OpenAI, and with it Azure, Groq, and hosts that speak alike: a file is uploaded, a batch made of it,
its results fetched. Anthropic: all requests in one message; there are no files, and no names. There
a batch whose order got no reply is found among those made since, by its number of requests. While
such a one goes on, nobody can tell whose it is, so all that may be it are waited for; the names in
their results tell.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rag_evals.judge.batches.api import (
    ENDED,
    NEWEST,
    BatchApi,
    BatchState,
    BatchWire,
    NotThere,
    batch_host,
    identified,
)
from rag_evals.judge.clients.sdks import OwnSdk, client_for_files, no_key, own_sdk, sdk_for_files
from rag_evals.judge.clients.strings import OPENAI_HOSTS, Endpoint, read_endpoint

_METADATA = "rag_evals"
_FAULTS_SHOWN = 3


class OpenAIBatches(BatchApi):
    """The batches of one endpoint, on OpenAI's wire."""

    def __init__(self, spec: str, endpoint: Endpoint) -> None:
        self._has_pages = endpoint.provider in OPENAI_HOSTS
        if self._has_pages:
            if endpoint.key is None:
                raise no_key(OPENAI_HOSTS[endpoint.provider].key_variable)
            whose: Endpoint | OwnSdk = endpoint
            sdk = client_for_files(endpoint)
        else:
            whose = own_sdk(endpoint)
            sdk = sdk_for_files(endpoint)
        super().__init__(spec, sdk, key=whose.key, address_name=whose.address_name)

    def _upload(self, path: Path, name: str) -> str:
        with path.open("rb") as file:
            made = self._sdk.files.create(file=(_file_name(name), file), purpose="batch")
        return str(identified(made).id)

    def _find_file(self, name: str) -> str | None:
        files = self._newest(self._sdk.files, purpose="batch")
        return next((f.id for f in files if f.filename == _file_name(name)), None)

    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        url: Any = self.host.url
        made = self._sdk.batches.create(
            input_file_id=file_id,
            endpoint=url,
            completion_window="24h",
            metadata={_METADATA: name},
        )
        return _state(made)

    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        # Not every host keeps metadata; the file is of this batch alone.
        batches = self._newest(self._sdk.batches, limit=100)
        return next((_state(b) for b in batches if b.input_file_id == file_id), None)

    def _retrieve(self, batch: str) -> BatchState:
        return _state(self._sdk.batches.retrieve(batch))

    def _lines(self, batch: str, file: str) -> Iterator[bytes]:
        with self._sdk.files.with_streaming_response.content(file) as response:
            yield from self._cut(response)

    def _newest(self, things: Any, **asked: Any) -> Iterator[Any]:
        if self._has_pages:
            return islice(things.list(**asked), NEWEST)
        return islice(things.list().data or (), NEWEST)


def _file_name(name: str) -> str:
    return f"{name}.jsonl"


def _state(batch: Any) -> BatchState:
    counts = identified(batch).request_counts
    # Some hosts write it in capitals.
    status = str(batch.status).lower()
    files = (batch.output_file_id, batch.error_file_id)
    return BatchState(
        batch.id,
        status,
        None if counts is None else counts.completed + counts.failed,
        None if counts is None else counts.completed,
        tuple(file for file in files if file) if status in ENDED else (),
        _first_words(getattr(batch.errors, "data", None) or ()),
    )


def _first_words(faults: Any) -> str:
    """Join what is wrong with a file; it may be the same in each of its lines."""
    words = list(dict.fromkeys(str(getattr(fault, "message", fault)) for fault in faults))
    more = f" (and {len(words) - _FAULTS_SHOWN} more)" if len(words) > _FAULTS_SHOWN else ""
    return "; ".join(words[:_FAULTS_SHOWN]) + more


_NONE = "none"
"""Stands for the newest batch where there is none."""

_BETWEEN = " "
_ENDS = {"ended": "completed"}


class AnthropicBatches(BatchApi):
    """The batches of Anthropic."""

    def __init__(self, spec: str, endpoint: Endpoint) -> None:
        own = own_sdk(endpoint)
        sdk = sdk_for_files(endpoint)
        super().__init__(spec, sdk, key=own.key, address_name=own.address_name)

    @property
    def _batches(self) -> Any:
        return self._sdk.messages.batches

    def _upload(self, path: Path, name: str) -> str:
        """Send nothing, and return the newest batch: what is made is newer."""
        return str(next((batch.id for batch in self._batches.list(limit=1)), _NONE))

    def _find_file(self, name: str) -> str | None:
        """Find none: there are no files."""

    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        # As bytes: as objects they are many times as large.
        content = b'{"requests":[' + b",".join(path.read_bytes().splitlines()) + b"]}"
        made = self._sdk.post(
            "/v1/messages/batches",
            cast_to=_kind(),
            content=content,
            options={"headers": {"Content-Type": "application/json"}},
        )
        return _message_state(made)

    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        with path.open("rb") as file:
            count = sum(1 for _ in file)
        found = []
        for batch in islice(self._batches.list(limit=100), NEWEST):
            if batch.id == file_id:
                break
            if _count(batch) == count:
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
            # Of which one is unknown yet.
            None,
            None,
            () if waits else tuple(state.name for state in states),
        )

    def _lines(self, batch: str, file: str) -> Iterator[bytes]:
        if self._batches.retrieve(file).results_url is None:
            # They are kept for 29 days.
            raise NotThere
        with self._batches.with_streaming_response.results(file) as response:
            yield from self._cut(response)


def _kind() -> Any:
    from anthropic.types.messages import (  # noqa: PLC0415 - an optional library
        MessageBatch,
    )

    return MessageBatch


def _count(batch: Any) -> int:
    counts = batch.request_counts
    return int(
        counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
    )


def _message_state(batch: Any) -> BatchState:
    counts = identified(batch).request_counts
    status = _ENDS.get(batch.processing_status, batch.processing_status)
    return BatchState(
        batch.id,
        status,
        counts.succeeded + counts.errored,
        counts.succeeded,
        (batch.id,) if status == "completed" else (),
    )


_KINDS: Mapping[BatchWire, Callable[[str, Endpoint], BatchApi]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def open_batch_api(spec: str) -> BatchApi:
    """Return the batches of an endpoint; whoever asks for them closes them.

    Raises:
        ConfigurationError: It takes none, or there is no key.
    """
    return _KINDS[batch_host(spec).wire](spec, read_endpoint(spec))
