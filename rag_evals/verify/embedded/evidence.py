"""Which sentences of the chunks speak about a statement?

Greedy: the sentence that covers most of the statement's weight, then those that add most to it.
A sentence of another chunk joins only when it says a good part of the statement itself, so that a
stray word in an unrelated chunk changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rag_evals.verify.embedded.passage import Passage, Sentence

_MOST_SENTENCES = 4
_LEAST_GAIN = 0.06
_LEAST_OWN_COVER = 0.4
_LEAST_JOINING_GAIN = 0.15
# A sentence beside one already chosen goes on with it; one of another chunk may speak of
# something else.
_NEAR_WORTH, _INSIDE_WORTH, _OTHER_WORTH = 1.25, 1.0, 0.8
_LOWEST: tuple[float, int, str, str] = (0.0, 0, "", "")


class Place(NamedTuple):
    """One evidence sentence and where it stands."""

    chunk_id: int
    number: int
    sentence: Sentence


class Chosen(NamedTuple):
    """The evidence for one statement, and the share of its weight that the best sentence holds."""

    places: list[Place]
    cover: float


class Ground:
    """All chunks as one statement sees them: what each sentence and each chunk holds of it."""

    __slots__ = ("chunk_covers", "covers", "passages", "total", "weights")

    def __init__(self, weights: Mapping[str, float], passages: Sequence[Passage]) -> None:
        """Look a statement's words up in every chunk.

        Args:
            weights: Keys of the statement's content words, each with its weight (over 0).
            passages: The prepared chunks.
        """
        self.weights = weights
        self.passages = passages
        self.total = sum(weights.values())
        self.covers = [_covers(weights, passage) for passage in passages]
        self.chunk_covers = [
            sum(weight for key, weight in weights.items() if key in passage.index) if cover else 0.0
            for cover, passage in zip(self.covers, passages, strict=True)
        ]

    def choose(self, excluded: Collection[int]) -> Chosen:
        """Choose the evidence sentences.

        Args:
            excluded: Ids of chunks not to read.

        Returns:
            At most four places, best first; none when no chunk shares a content word.
        """
        ids = [
            chunk_id
            for chunk_id, cover in enumerate(self.covers)
            if cover and chunk_id not in excluded
        ]
        best = self._best(ids)
        if best is None:
            return Chosen([], 0.0)
        places = [best]
        held = best.sentence.positions
        missing = {key: weight for key, weight in self.weights.items() if key not in held}
        while missing and len(places) < _MOST_SENTENCES:
            following = self._joining(places, missing, ids)
            if following is None:
                break
            places.append(following)
            held = following.sentence.positions
            missing = {key: weight for key, weight in missing.items() if key not in held}
        return Chosen(places, self.covers[best.chunk_id][best.number] / self.total)

    def _best(self, ids: Sequence[int]) -> Place | None:
        best: Place | None = None
        best_rank = _LOWEST
        for chunk_id in ids:
            passage = self.passages[chunk_id]
            for number, value in self.covers[chunk_id].items():
                if value < best_rank[0] - 1e-5:
                    continue
                sentence = passage.sentences[number]
                rank = _rank(value, sentence, passage)
                if best is None or rank > best_rank:
                    best, best_rank = Place(chunk_id, number, sentence), rank
        return best

    def _joining(
        self, places: Sequence[Place], missing: Mapping[str, float], ids: Sequence[int]
    ) -> Place | None:
        total, covers = self.total, self.covers
        used = {(place.chunk_id, place.number) for place in places}
        used_chunks = {place.chunk_id for place in places}
        best: Place | None = None
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
                sentence = passage.sentences[number]
                rank = _rank(worth, sentence, passage)
                if best is None or rank > best_rank:
                    best, best_rank = Place(chunk_id, number, sentence), rank
        return best


def _covers(weights: Mapping[str, float], passage: Passage) -> dict[int, float]:
    covers: dict[int, float] = {}
    index = passage.index
    for key, weight in weights.items():
        for number in index.get(key, ()):
            covers[number] = covers.get(number, 0.0) + weight
    return covers


def _rank(worth: float, sentence: Sentence, passage: Passage) -> tuple[float, int, str, str]:
    # Ties are broken by the text, never by the place: the order of chunks must not matter.
    return (round(worth, 6), -len(sentence.sequence), sentence.span.text, passage.text)
