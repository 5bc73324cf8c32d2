"""Chunks and statements prepared for comparison, and the search for evidence."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain, pairwise
from operator import attrgetter, itemgetter, or_
from typing import NamedTuple

from rag_evals.text import (
    DENIES,
    READ_WELL,
    Span,
    Word,
    is_name_at,
    language_of,
    read_words,
    split_sentences,
)
from rag_evals.text.language import denials
from rag_evals.text.word_forms import DENIES_ABROAD, MONTHS, unit_at

_KEPT_CHUNKS = 256
_KEPT_SENTENCES = 2048
_LONGEST_KEPT_CHUNK = 20_000
_LONGEST_SENTENCE = 120
_LONGEST_PIECE = 400
_LONGEST_STATEMENT = 400
_LONGEST_STATEMENT_TEXT = 20_000
_BETWEEN_CLAUSES = frozenset(",;:|")
_OPENS_CLAUSE = frozenset(
    "and but while whereas although though because since "
    "и а но хотя потому und aber et mais y pero e".split()
)


_KEY, _MARKS, _WHOLE = attrgetter("key"), attrgetter("marks"), itemgetter(0)


class Sentence:
    """The words of a sentence in a chunk, or of a statement."""

    __slots__ = ("keys", "marks", "sequence", "span", "where")

    def __init__(self, span: Span, sequence: list[Word]) -> None:
        self.span = span
        self.sequence = sequence
        self.keys = list(map(_KEY, sequence))
        self.where = {key: position for position, key in enumerate(self.keys)}
        self.marks = reduce(or_, set(map(_MARKS, sequence)), 0)


class Passage:
    """A chunk's sentences, and a bit mask of the sentences that contain each content word."""

    __slots__ = ("_known", "_sequences", "masks", "spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[Span] = []
        self._sequences: list[list[Word]] = []
        self.masks: dict[str, int] = {}
        self._known: dict[int, Sentence] = {}
        masks, bit = self.masks, 1
        head: list[Word] = []
        for place in split_sentences(text):
            is_row = "|" in place.text
            head = head if is_row else []
            is_long = len(place.text) > _LONGEST_PIECE
            for span in _pieces(text, place) if is_long else [place]:
                sequence = read_words(span.text)
                if is_row:
                    # A table row is read together with the table header.
                    sequence = [*head, *sequence]
                    head = head or [word for word in sequence if word.kind == "word"]
                self.spans.append(span)
                self._sequences.append(sequence)
                for word in sequence:
                    if word.kind != "stop":
                        masks[word.key] = masks.get(word.key, 0) | bit
                bit <<= 1

    def sentence(self, number: int) -> Sentence:
        # Created on demand, because most sentences are never compared.
        if number not in self._known:
            self._known[number] = Sentence(self.spans[number], self._sequences[number])
        return self._known[number]


def _pieces(text: str, span: Span) -> list[Span]:
    # Text without full stops, such as a transcript, would otherwise produce very long evidence.
    if len(read_words(span.text)) <= _LONGEST_SENTENCE:
        return [span]
    pieces: list[Span] = []
    start = span.start
    while start < span.end:
        end = min(start + _LONGEST_PIECE, span.end)
        if end < span.end:
            space = text.rfind(" ", start + _LONGEST_PIECE // 2, end)
            end = space if space > 0 else end
        body = text[start:end]
        stripped = body.strip()
        if stripped:
            first = start + len(body) - len(body.lstrip())
            pieces.append(Span(first, first + len(stripped), stripped))
        start = end
    return pieces


def read_chunk(text: str) -> Passage:
    return Passage(text) if len(text) > _LONGEST_KEPT_CHUNK else _kept(text)


_kept = lru_cache(maxsize=_KEPT_CHUNKS)(Passage)


def read_statement(text: str) -> Sentence:
    """Read a statement as a single sentence, even if it contains several."""
    # Truncated, because longer statements are slower to compare.
    sequence = read_words(text[:_LONGEST_STATEMENT_TEXT])[:_LONGEST_STATEMENT]
    return Sentence(Span(0, len(text), text), sequence)


def content_keys(text: str) -> set[str]:
    sequence = read_statement(text).sequence
    return {word.key for word in sequence if word.kind in ("word", "number")}


@lru_cache(maxsize=_KEPT_SENTENCES)
def heads_in(sentence: Sentence) -> set[str]:
    return {key[:4] for key in sentence.keys}


@lru_cache(maxsize=_KEPT_SENTENCES)
def names_in(sentence: Sentence) -> dict[str, str]:
    """Map the key of each word that looks like a name to its surface form."""
    sequence = sentence.sequence
    return {
        word.key: word.surface
        for position, word in enumerate(sequence)
        if word.is_capital and is_name_at(sequence, position)
    }


@lru_cache(maxsize=_KEPT_SENTENCES)
def figures_in(sentence: Sentence) -> dict[int, str]:
    """Map number positions to units (or ""), and month positions to "month name"."""
    sequence = sentence.sequence
    return {
        position: unit_at(sequence, position) if word.kind == "number" else "month name"
        for position, word in enumerate(sequence)
        if word.kind == "number" or word.key in MONTHS
    }


@lru_cache(maxsize=_KEPT_SENTENCES)
def clauses_in(sentence: Sentence) -> list[int]:
    """Return the clause number of each word, starting from 0."""
    text, place, clause = sentence.span.text, 0, 0
    found: list[int] = []
    for word in sentence.sequence:
        at = text.find(word.surface, place)
        if at >= 0:
            gap = text[place:at]
            if word.low in _OPENS_CLAUSE or (gap != " " and not _BETWEEN_CLAUSES.isdisjoint(gap)):
                clause += 1
            place = at + len(word.surface)
        found.append(clause)
    return found


def language_in(sentence: Sentence) -> str:
    """Return the language of the sentence, or English if it is not recognised."""
    return language_of(sentence.span.text) or "en"


class Place(NamedTuple):
    """A sentence in a chunk, and the weight of the statement's words that it contains."""

    cover: float
    chunk: Passage
    chunk_id: int
    number: int
    sentence: Sentence


class Found(NamedTuple):
    """Evidence for a statement."""

    # Sentences that share the most words with the statement, best first, without much weaker ones.
    best: list[Place]
    # The keys found in the chunk that contains the most of them, or in chunks with nearly as many.
    wide: set[str]
    # The share of adjacent word pairs that also occur in the best sentences.
    pairs: float


# Weight of shared words, negative length, two texts as tie-breakers, chunk id, sentence number.
_Rank = tuple[float, int, str, str, int, int]
_MOST_SENTENCES = 2
# A sentence that shares far fewer words than the best one cannot contradict the statement.
_LEAST_OF_CHUNK = 0.8
_LEAST_OF_BEST = 0.6
_LEAST_WIDE, _LEAST_OF_WIDEST = 0.3, 0.5


def find_evidence(
    statement: Sentence,
    weights: Mapping[str, float],
    chunks: Sequence[Passage],
    excluded: Collection[int] = (),
) -> Found:
    held = [
        (sum(map(weights.__getitem__, shared)), shared, chunk_id)
        for chunk_id, chunk in enumerate(chunks)
        if chunk_id not in excluded and (shared := _shared(weights, chunk))
    ]
    ranked: list[_Rank] = []
    best_cover = 0.0
    for whole, shared, chunk_id in sorted(held, key=_WHOLE, reverse=True):
        # Neither this chunk nor the remaining ones can contain any of the best sentences.
        if whole < _LEAST_OF_BEST * best_cover:
            break
        chunk, covers = chunks[chunk_id], _covers(weights, shared, chunks[chunk_id])
        highest = max(covers.values())
        best_cover = max(best_cover, round(highest, 6))
        for bit, cover in covers.items():
            if cover >= _LEAST_OF_CHUNK * highest:
                number = bit.bit_length() - 1
                # Text breaks ties, so that the order of the chunks does not matter.
                text = chunk.spans[number].text
                ranked.append((round(cover, 6), -len(text), text, chunk.text, chunk_id, number))
    if not ranked:
        return Found([], set(), 0.0)
    ranked.sort(reverse=True)
    least = _LEAST_OF_BEST * ranked[0][0]
    best = [
        Place(cover, chunks[chunk_id], chunk_id, number, chunks[chunk_id].sentence(number))
        for cover, _, _, _, chunk_id, number in ranked[:_MOST_SENTENCES]
        if cover >= least
    ]
    # Exclude unrelated chunks that share a few words by chance.
    bar = max(_LEAST_WIDE * sum(weights.values()), _LEAST_OF_WIDEST * max(held)[0])
    wide = set[str]().union(*[shared for whole, shared, _ in held if whole >= bar])
    own = set(pairwise(statement.keys))
    said = own.intersection(chain.from_iterable(pairwise(one.sentence.keys) for one in best))
    return Found(best, wide, len(said) / len(own) if own else 0.0)


def cover_of(weights: Mapping[str, float], chunk: Passage) -> tuple[float, float]:
    """Return the weight of the shared words in the chunk's best sentence and in the whole chunk."""
    shared = _shared(weights, chunk)
    best = max(_covers(weights, shared, chunk).values(), default=0.0)
    return round(best, 6), sum(weights[key] for key in shared)


def _shared(weights: Mapping[str, float], chunk: Passage) -> list[str]:
    return list(filter(chunk.masks.__contains__, weights))


def _covers(weights: Mapping[str, float], shared: list[str], chunk: Passage) -> dict[int, float]:
    """Map the bit of each sentence to the weight of the shared words in it."""
    covers: dict[int, float] = {}
    for key in shared:
        weight, mask = weights[key], chunk.masks[key]
        while mask:
            bit = mask & -mask
            covers[bit] = covers.get(bit, 0.0) + weight
            mask ^= bit
    return covers


def denials_in(sentence: Sentence, language: str) -> list[int]:
    """Return the positions of negations."""
    if not sentence.marks & (DENIES | DENIES_ABROAD):
        return []
    sequence = sentence.sequence
    if language not in READ_WELL:
        own = denials(language)
        return [position for position, word in enumerate(sequence) if word.low in own]
    found = [position for position, word in enumerate(sequence) if word.marks & DENIES]
    # In "No, he did.", "no" is an answer and does not negate the following words.
    if found[:1] == [0] and _ANSWERS_NO.match(sentence.span.text):
        del found[0]
    return [
        position
        for position in found
        if position + 1 == len(sequence) or sequence[position + 1].low not in _NOT_ONLY
    ]


# "Not only", "not all" and "не только" do not negate the following words.
_ANSWERS_NO = re.compile(r"\W*(?:no|нет)\s*,", re.IGNORECASE)
_NOT_ONLY = frozenset("only just merely all every everyone только лишь все".split())
