"""What does a classifier read beside a claim? Chunks alone or joined, cut where they are long."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evals.core import Claim, Evidence
from rag_evals.errors import VerifierError
from rag_evals.verify.classifier.adapters import Adapter

LEAST_WINDOW = 16
"""A window that leaves fewer tokens than this to the context cannot show anything."""

_MOST_TOGETHER = 4

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
        empty = self._adapter.encode(self._adapter.premise([""], claim.question), claim.text)
        room = self._limit - len(empty["input_ids"])
        if room < LEAST_WINDOW:
            raise VerifierError(
                f"a statement of {len(claim.text)} characters leaves {max(room, 0)} of "
                f"{self._limit} tokens "
                "to the context; break it up, or use a model that reads more"
            )
        return room

    def _window(self, evidence: Sequence[Evidence], claim: Claim) -> Window:
        premise = self._adapter.premise([one.text for one in evidence], claim.question)
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
