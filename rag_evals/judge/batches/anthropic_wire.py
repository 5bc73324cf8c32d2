"""How does Anthropic take batches? All requests in one message; there are no files, and no names.

A batch whose order got no reply is found among those made since, by its number of requests. While
such a one goes on, nobody can tell whose it is, so all that may be it are waited for; the names in
their results tell.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rag_evals.judge.batches.api import NEWEST, BatchApi, NotThere, identified
from rag_evals.judge.batches.results import BatchState
from rag_evals.judge.providers import Endpoint
from rag_evals.judge.sdks import own_sdk, sdk_for_files

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
        made = self._once.post(
            "/v1/messages/batches",
            cast_to=_kind(),
            content=content,
            options={"headers": {"Content-Type": "application/json"}},
        )
        return _state(made)

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
        states = [_state(self._batches.retrieve(name)) for name in batch.split(_BETWEEN)]
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


def _state(batch: Any) -> BatchState:
    counts = identified(batch).request_counts
    status = _ENDS.get(batch.processing_status, batch.processing_status)
    return BatchState(
        batch.id,
        status,
        counts.succeeded + counts.errored,
        counts.succeeded,
        (batch.id,) if status == "completed" else (),
    )
