"""What is computed from a chunk before statements are compared with it?

A chunk is prepared once: its sentences as words, and an index from each word key to the sentences
that hold it. Preparing costs time linear in the text; prepared chunks are kept by their text.
"""

from collections.abc import Sequence
from functools import lru_cache

from rag_evals.embedded.sentence import Sentence
from rag_evals.text import (
    Span,
    Word,
    expand_dates,
    normalise_numbers,
    plain_keys,
    split_sentences,
    words,
)

_KEPT_CHUNKS = 256
_LONGEST_KEPT_CHUNK = 20_000
_LONGEST_SENTENCE = 120


class Passage:
    """A prepared chunk."""

    __slots__ = ("_known", "_sequences", "_spans", "index", "text")

    def __init__(self, text: str) -> None:
        """Prepare a chunk.

        Args:
            text: The chunk; may be empty.
        """
        self.text = text
        # Two lists, not pairs: the fewer objects, the less the collector has to visit.
        self._spans: list[Span] = []
        self._sequences: list[list[Word] | None] = []
        self._known: dict[int, Sentence] = {}
        self.index: dict[str, Sequence[int]] = {}
        for span in split_sentences(text):
            # Most words stand in one sentence only: these share one tuple.
            here = (len(self._spans),)
            keys = plain_keys(span.text, here, most_words=_LONGEST_SENTENCE)
            if keys is not None:
                self._add(span, None, keys)
                continue
            for place, sequence in _read(text, span):
                here = (len(self._spans),)
                found = [word.key for word in sequence if word.kind != "stop"]
                self._add(place, sequence, dict.fromkeys(found, here))

    def _add(self, span: Span, sequence: list[Word] | None, keys: dict[str, tuple[int]]) -> None:
        """Add a sentence, and enter its keys into the index."""
        number = len(self._spans)
        self._spans.append(span)
        self._sequences.append(sequence)
        index = self.index
        for key in index.keys() & keys.keys():
            holders = index[key]
            if isinstance(holders, list):
                holders.append(number)
            else:
                index[key] = [*holders, number]
            del keys[key]
        index.update(keys)

    def sentence(self, number: int) -> Sentence:
        """Return a sentence; one that is never evidence need not be more than its keys."""
        known = self._known.get(number)
        if known is None:
            span, sequence = self._spans[number], self._sequences[number]
            if sequence is None:
                sequence = _words(span.text)
            known = self._known[number] = Sentence(span, sequence)
        return known


def prepare(text: str) -> Passage:
    """Prepare a chunk, or return the one prepared before for the same text."""
    if len(text) > _LONGEST_KEPT_CHUNK:
        return Passage(text)
    return _kept(text)


@lru_cache(maxsize=_KEPT_CHUNKS)
def _kept(text: str) -> Passage:
    return Passage(text)


def _read(text: str, span: Span) -> list[tuple[Span, list[Word]]]:
    """Return a sentence of a chunk with its words; one without an end in sight in pieces."""
    sequence = _words(span.text)
    if len(sequence) <= _LONGEST_SENTENCE:
        return [(span, sequence)]
    return [(piece, _words(piece.text)) for piece in _pieces(text, span)]


def _words(text: str) -> list[Word]:
    return normalise_numbers(words(expand_dates(text)))


def _pieces(text: str, span: Span) -> list[Span]:
    # A text without stops (a transcript, a table) is read in pieces: evidence must stay quotable.
    pieces: list[Span] = []
    start = span.start
    while start < span.end:
        end = min(start + 400, span.end)
        if end < span.end:
            space = text.rfind(" ", start + 200, end)
            end = space if space > 0 else end
        body = text[start:end]
        stripped = body.strip()
        if stripped:
            first = start + len(body) - len(body.lstrip())
            pieces.append(Span(first, first + len(stripped), stripped))
        start = end
    return pieces
