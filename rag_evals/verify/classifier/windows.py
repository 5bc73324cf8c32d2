"""What does a classifier read at once? Windows of chunks with a claim, in batches of one length."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from rag_evals.core import Claim, Evidence
from rag_evals.errors import VerifierError
from rag_evals.verify.classifier.model import Adapter

LEAST_WINDOW = 16
"""A window that leaves fewer tokens than this to the context cannot show anything."""

_MOST_TOGETHER = 4
_MOST_PADDING = 0.08
# A full batch of windows of this length is what a batch size promises room for.
_USUAL_TOKENS = 512

Offsets = Sequence[tuple[int, int]]


class Window(NamedTuple):
    """Pieces of chunks beside a claim, ready for the model."""

    evidence: tuple[Evidence, ...]
    encoded: dict[str, list[int]]

    @property
    def tokens(self) -> int:
        """Tokens that the model reads."""
        return len(self.encoded["input_ids"])

    @property
    def chunk_ids(self) -> tuple[int, ...]:
        """The chunks that stand in it, in order."""
        return tuple(one.chunk_id for one in self.evidence)


class Reader:
    """Cuts chunks into windows that leave room for a whole claim."""

    def __init__(
        self, adapter: Adapter, chunks: Sequence[str], max_length: int | None, stride: int
    ) -> None:
        self._adapter = adapter
        self._limit = max_length or adapter.max_length
        self._stride = stride
        self._chunks = chunks
        self._offsets = [adapter.offsets(text) for text in chunks]

    def alone(self, claim: Claim, chunk_ids: Sequence[int] | None = None) -> list[Window]:
        """Read each chunk by itself; `chunk_ids` names them, None takes all."""
        numbers = range(len(self._chunks)) if chunk_ids is None else chunk_ids
        return [window for number in numbers for window in self._windows([number], claim)]

    def joined(self, claim: Claim) -> list[Window]:
        """Read all chunks as one text."""
        return self._windows(range(len(self._chunks)), claim)

    def together(self, claim: Claim, best_first: Sequence[Evidence]) -> list[Window]:
        """Read the best pieces of several chunks as one text, as many as fit.

        Args:
            claim: What is decided.
            best_first: One piece of each chunk.

        Returns:
            One window; none where no two pieces fit.
        """
        taken: list[Evidence] = []
        window: list[Window] = []
        for piece in best_first[:_MOST_TOGETHER]:
            tried = sorted([*taken, piece], key=lambda one: one.chunk_id)
            made = self._window(tried, claim)
            if made.tokens <= self._limit:
                taken, window = tried, [made]
        return window if len(taken) > 1 else []

    def _windows(self, numbers: Sequence[int], claim: Claim) -> list[Window]:
        """Cut chunks; a piece may take more tokens alone than it did in the whole text."""
        pieces = [(number, *span) for number in numbers for span in self._offsets[number]]
        room = self._room(claim)
        while True:
            windows = [
                self._window(list(self._evidence(pieces[first:last])), claim)
                for first, last in spans(len(pieces), room, min(self._stride, room // 2))
            ]
            if all(window.tokens <= self._limit for window in windows) or room <= 1:
                return windows
            room = room * 3 // 4

    def _room(self, claim: Claim) -> int:
        empty = self._adapter.encode("\n".join([""]), claim.text)
        room = self._limit - len(empty["input_ids"])
        if room < LEAST_WINDOW:
            raise VerifierError(
                f"a statement of {len(claim.text)} characters leaves {max(room, 0)} of "
                f"{self._limit} tokens "
                "to the context; break it up, or use a model that reads more"
            )
        return room

    def _window(self, evidence: Sequence[Evidence], claim: Claim) -> Window:
        premise = "\n".join([one.text for one in evidence])
        return Window(tuple(evidence), self._adapter.encode(premise, claim.text))

    def _evidence(self, pieces: Sequence[tuple[int, int, int]]) -> Iterator[Evidence]:
        """Put the tokens of a window together again: one piece for each chunk."""
        for number in dict.fromkeys(piece[0] for piece in pieces):
            own = [piece for piece in pieces if piece[0] == number]
            start, end = own[0][1], own[-1][2]
            yield Evidence(number, start, end, self._chunks[number][start:end])


def spans(count: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Return where windows of at most `room` tokens begin and end; neighbours share `stride`."""
    found = []
    begin = 0
    while begin < count:
        end = min(begin + room, count)
        found.append((begin, end))
        if end == count:
            break
        begin += room - stride
    return found


class _Item:
    """One window of the pool, and who waits for its score."""

    def __init__(self, window: Window, batch_size: int) -> None:
        self.window = window
        self.batch_size = batch_size
        self.score: Future[float] = Future()


class SharedModel:
    """One loaded model; callers that come while it is busy join the pool between two batches.

    A batch holds windows of nearly one length, from any row: at most 8 % of it is padding. It holds
    no more windows than its callers' batch size, and no more tokens than that many windows of 512.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        # The oldest first.
        self._pool: list[_Item] = []

    def score(self, windows: Sequence[Window], batch_size: int) -> list[float]:
        """Return the support of each window; an error of the model reaches all of its batch."""
        items = [_Item(window, batch_size) for window in windows]
        with self._queue:
            self._pool.extend(items)
        with self._busy:
            while not all(item.score.done() for item in items):
                self._score_a_batch()
        return [item.score.result() for item in items]

    def _score_a_batch(self) -> None:
        batch = self._next_batch()
        try:
            found = self.adapter.scores([item.window.encoded for item in batch])
            scores = dict(zip(batch, found, strict=True))
        except Exception as error:  # noqa: BLE001 - it belongs to all who wait for this batch
            for item in batch:
                item.score.set_exception(error)
            return
        except BaseException:
            # Ctrl-C ends this caller; the next one scores what others wait for.
            with self._queue:
                self._pool = batch + self._pool
            raise
        for item, score in scores.items():
            item.score.set_result(score)

    def _next_batch(self) -> list[_Item]:
        """Take the oldest window, and those nearest to it in length as long as they fit."""
        with self._queue:
            oldest = self._pool[0]
            size = oldest.batch_size
            # Only windows of one batch size: it may be what the caller's device has memory for.
            alike = [item for item in self._pool if item.batch_size == size]
            alike.sort(key=lambda item: item.window.tokens)
            first = alike.index(oldest)
            last = first + 1
            while True:
                if first > 0 and _fits(alike[first - 1 : last], size):
                    first -= 1
                elif last < len(alike) and _fits(alike[first : last + 1], size):
                    last += 1
                else:
                    break
            batch = alike[first:last]
            taken = set(batch)
            self._pool = [item for item in self._pool if item not in taken]
        return batch


def _fits(batch: Sequence[_Item], size: int) -> bool:
    """Say whether windows, sorted by length, make a batch that is neither padded nor too large."""
    padded = batch[-1].window.tokens * len(batch)
    if len(batch) > size or padded > size * _USUAL_TOKENS:
        return False
    return sum(item.window.tokens for item in batch) >= (1 - _MOST_PADDING) * padded
