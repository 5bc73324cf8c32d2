"""What does a round of batches need? The replies that have come; and what is missing is written.

Each request without a reply is one line of the next part. Parts are files for one endpoint and one
model, as large as the provider takes them.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO

from rag_evals.errors import PendingError
from rag_evals.judge import Attempt, BatchHost, batch_host
from rag_evals.run.batch_table import WRITTEN, BatchPart, BatchTable
from rag_evals.run.lines import PRIVATE

grading_now: ContextVar[str] = ContextVar("grading_now", default="")
"""The grading that runs in this task: the id of its sample, and its grader."""


class RoundAnswers:
    """The replies that have come before a round, and the requests that it finds missing.

    Args:
        table: Keeps both.
        max_requests: Lines of a part, at most; None takes what the provider says.
        max_bytes: Size of a part, at most; as above.
    """

    def __init__(
        self, table: BatchTable, *, max_requests: int | None = None, max_bytes: int | None = None
    ) -> None:
        self._table = table
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._next_part = table.next_part()
        self._noted: set[bytes] = set()
        self._open: dict[tuple[str, str], _PartFile] = {}

    def attempt(self, key: str) -> Attempt | None:
        """Return what came of a request; None for one that waits, or was never sent."""
        return None if self._table.waits(key) else self._table.attempt(key)

    def is_paid_here(self, key: str) -> bool:
        """Say whether the grading that runs is the one that a request was sent for."""
        return self._table.owner(key) in (None, grading_now.get())

    def note(self, missing: PendingError) -> None:
        """Write a request into a part, if it stands in none."""
        name = bytes.fromhex(missing.key)
        if name in self._noted or self._table.waits(missing.key):
            return
        self._noted.add(name)
        host = batch_host(missing.endpoint)
        line = host.line(missing.key, missing.body)
        place = (missing.endpoint, str(missing.body["model"]))
        file = self._open.get(place)
        if file is not None and not file.has_room(len(line)):
            self._close(file)
            file = None
        if file is None:
            file = self._open[place] = self._new(place, host)
        file.add(line, missing.key, grading_now.get())

    @contextmanager
    def writing(self) -> Iterator["RoundAnswers"]:
        """Keep the parts of a round that came to its end."""
        try:
            yield self
        except BaseException:
            for file in self._open.values():
                file.file.close()
            raise
        for file in self._open.values():
            self._close(file)

    def _new(self, place: tuple[str, str], host: BatchHost) -> "_PartFile":
        number, self._next_part = self._next_part, self._next_part + 1
        most = min(host.max_requests, self._max_requests or host.max_requests)
        size = min(host.max_bytes, self._max_bytes or host.max_bytes)
        path = self._table.path_of(number)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        return _PartFile(number, place, os.fdopen(descriptor, "wb"), most, size)

    def _close(self, file: "_PartFile") -> None:
        file.file.flush()
        os.fsync(file.file.fileno())
        file.file.close()
        name = f"rag-evals-{uuid.uuid4().hex}"
        endpoint, model = file.place
        count = len(file.requests)
        part = BatchPart(file.number, name, endpoint, model, count, 0, WRITTEN, None, None)
        self._table.add_part(part, file.requests)


class _PartFile:
    """A part that is being written."""

    def __init__(
        self,
        number: int,
        place: tuple[str, str],
        file: IO[bytes],
        max_requests: int,
        max_bytes: int,
    ) -> None:
        self.number = number
        self.place = place
        self.file = file
        self.requests: list[tuple[str, str]] = []
        self._max_requests = max_requests
        self._bytes_left = max_bytes

    def has_room(self, size: int) -> bool:
        return len(self.requests) < self._max_requests and size <= self._bytes_left

    def add(self, line: bytes, key: str, owner: str) -> None:
        self.file.write(line)
        self._bytes_left -= len(line)
        self.requests.append((key, owner))
