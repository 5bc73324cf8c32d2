"""What is computed from a chunk before statements are compared with it?

A chunk is prepared once: its sentences as words, and an index from each word key to the sentences
that hold it. Preparing costs time linear in the text; prepared chunks are kept by their text.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

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


# Which sentences of the chunks speak about a statement?
#
# Greedy: the sentence that covers most of the statement's weight, then those that add most to it.
# A sentence of another chunk joins only when it says a good part of the statement itself, so that a
# single word in an unrelated chunk changes nothing.

_MOST_SENTENCES = 4
_LEAST_GAIN = 0.06
_LEAST_OWN_COVER = 0.4
_LEAST_JOINING_GAIN = 0.15
# A sentence beside one already chosen goes on with it; one of another chunk may speak of
# something else.
_NEAR_WORTH, _INSIDE_WORTH, _OTHER_WORTH = 1.25, 1.0, 0.8
# Worth, brevity, and the text itself to break ties.
Rank = tuple[float, int, str, str]
_LOWEST: Rank = (0.0, 0, "", "")


class EvidenceSentence(NamedTuple):
    """One evidence sentence and its position."""

    chunk_id: int
    number: int
    sentence: Sentence


class ChosenEvidence(NamedTuple):
    """The evidence for one statement, and the share of its weight that the best sentence holds."""

    sentences: list[EvidenceSentence]
    cover: float


class EvidenceSearch:
    """All chunks as one statement sees them: what each sentence and each chunk holds of it."""

    __slots__ = (
        "_best", "_shared", "chunk_covers", "content", "covers", "passages", "total", "weights",
    )  # fmt: skip

    def __init__(
        self, statement: Sentence, weights: Mapping[str, float], passages: Sequence[Passage]
    ) -> None:
        """Look a statement's words up in every chunk.

        Args:
            statement: The prepared statement.
            weights: Keys of the statement's content words, each with its weight (over 0).
            passages: The prepared chunks.
        """
        self.weights = weights
        self.passages = passages
        self.content = [i for i, key in enumerate(statement.keys) if key in weights]
        self.total = sum(weights.values())
        self._shared = [
            {key: weight for key, weight in weights.items() if key in passage.index}
            for passage in passages
        ]
        self.covers = [
            _covers(shared, passage) for shared, passage in zip(self._shared, passages, strict=True)
        ]
        self.chunk_covers = [sum(shared.values()) for shared in self._shared]
        self._best = [self._best_of(chunk_id) for chunk_id in range(len(passages))]

    def wide_keys(self, excluded: Collection[int]) -> set[str]:
        """Return the statement's keys that the best chunk, or a chunk nearly as good, holds.

        Args:
            excluded: Ids of chunks not to read, not all of them.
        """
        covers = [
            (cover, shared)
            for chunk_id, (cover, shared) in enumerate(
                zip(self.chunk_covers, self._shared, strict=True)
            )
            if chunk_id not in excluded
        ]
        # An unrelated chunk stays under this bar, so that its stray words change nothing.
        bar = max(0.3 * self.total, 0.5 * max([cover for cover, _ in covers]))
        return {key for cover, shared in covers if cover >= bar for key in shared}

    def best_evidence(self, excluded: Collection[int]) -> ChosenEvidence:
        """Choose the evidence sentences.

        Args:
            excluded: Ids of chunks not to read.

        Returns:
            At most four sentences, best first; none when no chunk shares a content word.
        """
        found = [
            ranked
            for chunk_id, ranked in enumerate(self._best)
            if ranked is not None and chunk_id not in excluded
        ]
        if not found:
            return ChosenEvidence([], 0.0)
        best = max(found, key=_by_rank)[1]
        ids = [place.chunk_id for _, place in found]
        places = [best]
        covered = best.sentence.last
        missing = {key: weight for key, weight in self.weights.items() if key not in covered}
        while missing and len(places) < _MOST_SENTENCES:
            following = self._joining(places, missing, ids)
            if following is None:
                break
            places.append(following)
            covered = following.sentence.last
            missing = {key: weight for key, weight in missing.items() if key not in covered}
        return ChosenEvidence(places, self.covers[best.chunk_id][best.number] / self.total)

    def _best_of(self, chunk_id: int) -> tuple[Rank, EvidenceSentence] | None:
        """Return the sentence of a chunk that says most of the statement; None if none does."""
        passage = self.passages[chunk_id]
        best: tuple[Rank, EvidenceSentence] | None = None
        highest = 0.0
        for number, value in self.covers[chunk_id].items():
            # Ranks are rounded: a little less may be a tie.
            if value < highest - 1e-5:
                continue
            sentence = passage.sentence(number)
            rank = _rank(value, sentence, passage)
            if best is None or rank > best[0]:
                best, highest = (rank, EvidenceSentence(chunk_id, number, sentence)), rank[0]
        return best

    def _joining(
        self, places: Sequence[EvidenceSentence], missing: Mapping[str, float], ids: Sequence[int]
    ) -> EvidenceSentence | None:
        total, covers = self.total, self.covers
        used = {(place.chunk_id, place.number) for place in places}
        used_chunks = {place.chunk_id for place in places}
        best: EvidenceSentence | None = None
        best_rank = _LOWEST
        for chunk_id in ids:
            inside = chunk_id in used_chunks
            if not inside and self.chunk_covers[chunk_id] < _LEAST_OWN_COVER * total:
                continue
            least = (_LEAST_GAIN if inside else _LEAST_JOINING_GAIN) * total
            passage = self.passages[chunk_id]
            for number, gain in _covers(missing, passage).items():
                if gain < least or (chunk_id, number) in used:
                    continue
                if not inside and covers[chunk_id][number] < _LEAST_OWN_COVER * total:
                    continue
                near = (chunk_id, number - 1) in used or (chunk_id, number + 1) in used
                worth = gain * (_NEAR_WORTH if near else _INSIDE_WORTH if inside else _OTHER_WORTH)
                sentence = passage.sentence(number)
                rank = _rank(worth, sentence, passage)
                if best is None or rank > best_rank:
                    best, best_rank = EvidenceSentence(chunk_id, number, sentence), rank
        return best


def _covers(weights: Mapping[str, float], passage: Passage) -> dict[int, float]:
    covers: dict[int, float] = {}
    index = passage.index
    for key, weight in weights.items():
        for number in index.get(key, ()):
            covers[number] = covers.get(number, 0.0) + weight
    return covers


def _rank(worth: float, sentence: Sentence, passage: Passage) -> Rank:
    # Ties are broken by the text, never by the place: the order of chunks must not matter.
    return (round(worth, 6), -len(sentence.sequence), sentence.span.text, passage.text)


def _by_rank(ranked: tuple[Rank, EvidenceSentence]) -> Rank:
    return ranked[0]
