"""How does OpenAI take batches? A file is uploaded, a batch made of it, its results fetched.

So do Azure and Groq, and hosts that speak as OpenAI does.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rag_evals.judge.batches.api import NEWEST, BatchApi, identified
from rag_evals.judge.batches.results import ENDED, BatchState
from rag_evals.judge.providers import OPENAI_HOSTS, Endpoint
from rag_evals.judge.sdks import OwnSdk, no_key, own_sdk, sdk_for_files
from rag_evals.judge.transport import client_for_files

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
            made = self._once.files.create(file=(_file_name(name), file), purpose="batch")
        return str(identified(made).id)

    def _find_file(self, name: str) -> str | None:
        files = self._newest(self._sdk.files, purpose="batch")
        return next((f.id for f in files if f.filename == _file_name(name)), None)

    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        url: Any = self.host.url
        made = self._once.batches.create(
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
