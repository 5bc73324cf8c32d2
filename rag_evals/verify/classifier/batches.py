"""In which batches does a model read the windows of all rows? Of one length, as far as can be."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from rag_evals.verify.classifier.adapters import Adapter
from rag_evals.verify.classifier.windows import Window

_MOST_PADDING = 0.08
# A full batch of windows of this length is what a batch size promises room for.
_USUAL_TOKENS = 512


class Ticket:
    """What one caller waits for."""

    def __init__(self, windows: Sequence[Window], batch_size: int) -> None:
        self.windows = windows
        self.batch_size = batch_size
        self.done: Future[list[float]] = Future()
        self._scores: dict[int, float] = {}

    def take(self, place: int, score: float) -> None:
        """Note the score of one window; the last one ends the waiting."""
        self._scores[place] = score
        if len(self._scores) == len(self.windows):
            self.done.set_result([self._scores[number] for number in range(len(self.windows))])


class _Item(NamedTuple):
    """One window of the pool; items sort by length."""

    tokens: int
    number: int
    ticket: Ticket
    place: int


class SharedModel:
    """One loaded model; callers that come while it is busy join the pool between two batches.

    A batch holds windows of nearly one length, from any row: at most 8 % of it is padding. It holds
    no more windows than its callers' batch size, and no more tokens than that many windows of 512.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.read_tokens = 0
        self.padded_tokens = 0
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        self._waiting: list[Ticket] = []
        self._pool: list[_Item] = []
        self._number = 0

    def score(self, windows: Sequence[Window], batch_size: int) -> list[float]:
        """Return the support of each window; an error of the model reaches all of its batch."""
        ticket = Ticket(windows, batch_size)
        if not windows:
            return []
        with self._queue:
            self._waiting.append(ticket)
        with self._busy:
            while not ticket.done.done():
                self._admit()
                self._score_a_batch(ticket)
        return ticket.done.result()

    def _admit(self) -> None:
        with self._queue:
            tickets, self._waiting = self._waiting, []
        for ticket in tickets:
            for place, window in enumerate(ticket.windows):
                self._number += 1
                self._pool.append(_Item(window.tokens, self._number, ticket, place))
        if tickets:
            self._pool.sort(key=lambda item: (item.tokens, item.number))

    def _score_a_batch(self, own: Ticket) -> None:
        batch = self._next_batch()
        try:
            encoded = [item.ticket.windows[item.place].encoded for item in batch]
            scores = self.adapter.scores(encoded)
            found = list(zip(batch, scores, strict=True))
        except Exception as error:  # noqa: BLE001 - it belongs to all who wait for this batch
            failed = {id(item.ticket): item.ticket for item in batch}
            self._drop(failed)
            for ticket in failed.values():
                ticket.done.set_exception(error)
            return
        except BaseException:
            # Ctrl-C ends this caller; the next one scores the others.
            self._pool = sorted([*self._pool, *batch], key=lambda item: (item.tokens, item.number))
            self._drop({id(own): own})
            raise
        for item, score in found:
            item.ticket.take(item.place, score)

    def _next_batch(self) -> list[_Item]:
        """Take the oldest window, and those nearest to it in length as long as they fit."""
        oldest = min(self._pool, key=lambda item: item.number)
        size = oldest.ticket.batch_size
        # Only windows of one batch size: it may be what the caller's device has memory for.
        alike = [item for item in self._pool if item.ticket.batch_size == size]
        first = alike.index(oldest)
        last = first + 1
        while True:
            shorter, longer = alike[first - 1 : last], alike[first : last + 1]
            if first > 0 and _fits(shorter, size):
                first -= 1
            elif last < len(alike) and _fits(longer, size):
                last += 1
            else:
                break
        batch = alike[first:last]
        self.read_tokens += sum(item.tokens for item in batch)
        self.padded_tokens += batch[-1].tokens * len(batch)
        taken = {item.number for item in batch}
        self._pool = [item for item in self._pool if item.number not in taken]
        return batch

    def _drop(self, tickets: dict[int, Ticket]) -> None:
        self._pool = [item for item in self._pool if id(item.ticket) not in tickets]


def _fits(batch: Sequence[_Item], size: int) -> bool:
    """Say whether windows, sorted by length, make a batch that is neither padded nor too large."""
    padded = batch[-1].tokens * len(batch)
    if len(batch) > size or padded > size * _USUAL_TOKENS:
        return False
    return sum(item.tokens for item in batch) >= (1 - _MOST_PADDING) * padded
