"""Grades answers whose sources exceed the judge's context window.

Long chunks are cut into passages, which the embedded judge ranks for each sentence. Each call
contains a pack: for some sentences, as many of the best passages as fit in the window. Each
sentence gets the verdict from its best pack, and the result lists the chunks not read in full.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rag_evals.core import Chunk, ContextInput, Flow, JudgeCall, Sample
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import JudgeRequestError
from rag_evals.grading.conversation import joined, renumbered
from rag_evals.response_models import ByStatement
from rag_evals.response_models.statements import Unread
from rag_evals.text import leaning_of, split_sentences

# Lower than in most texts: tokens are overestimated, so that a pack fits on the first try.
_BYTES_PER_TOKEN = 3.5
_LEAST_ROOM = 100
# Each sentence is guaranteed 1/`_PARTS` of a pack, and no passage is longer than that.
_PARTS = 4


class _Passage(NamedTuple):
    chunk: int
    text: str
    tokens: int


def packed_flow(grader: Any, sample: Sample, window: int) -> Flow[Any]:
    """Grade an answer with a judge that has a window of `window` tokens."""
    room = window - _other_tokens(grader, sample)
    if room < _LEAST_ROOM:
        raise JudgeRequestError(
            f"a window of {window} tokens leaves no room for sources: instructions, answer and "
            f"reply need about {window - room}; nothing was sent"
        )
    kind: type[ByStatement] = grader.result_model
    if sum(_tokens(chunk.text) for chunk in sample.context) <= room:
        return (yield from grader.flow(sample))
    passages = list(_passages(sample.context, room // _PARTS))
    answer = (sample.answer if kind.statements_of == "answer" else sample.reference) or ""
    packs = _packs([span.text for span in split_sentences(answer)], passages, room)
    parts: list[dict[str, Any]] = []
    for pack in packs:
        shown = [passages[place] for place in sorted(pack)]
        own = [Chunk(0, one.text, sample.context[one.chunk].metadata) for one in shown]
        result = yield from grader.flow(_with_sources(sample, own))
        parts.append(renumbered(result.model_dump(), [(one.chunk,) for one in shown]))
    best = _best_by_sentence(parts, kind.verdict_name)
    read = set[int]().union(*packs)
    left = sorted({one.chunk for place, one in enumerate(passages) if place not in read})
    unread = [Unread(read=len(read), passages=len(passages), chunk_ids=left)] if left else []
    return type(result).model_validate({**best, "unread": unread})


def _with_sources(sample: Sample, sources: ContextInput) -> Sample:
    return Sample(
        question=sample.question,
        answer=sample.answer,
        context=sources,
        reference=sample.reference,
        language=sample.language,
    )


def _tokens(text: str) -> int:
    return int(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN) + 1


def _other_tokens(grader: Any, sample: Sample) -> int:
    """Estimate the tokens of a call without its sources, including those of a long reply."""
    flow = grader.flow(_with_sources(sample, ["."]))
    calls = [step for step in next(flow) if isinstance(step, JudgeCall)]
    flow.close()
    sent = (
        sum(_tokens(one["content"]) for one in call.messages)
        + _tokens(str(call.reply_model.model_json_schema()))
        for call in calls
    )
    return max(sent, default=0) + 300 + 2 * _tokens(sample.answer or "")


def _passages(chunks: Sequence[Chunk], most: int) -> Iterator[_Passage]:
    """Yield the chunks as passages, splitting long ones between sentences if possible."""
    for chunk in chunks:
        start = end = 0
        spans = split_sentences(chunk.text) if _tokens(chunk.text) > most else ()
        for span in spans:
            if end and _tokens(chunk.text[start : span.end]) > most:
                yield from _cut(chunk, start, span.start, most)
                start = span.start
            end = span.end
        yield from _cut(chunk, start, len(chunk.text), most)


def _cut(chunk: Chunk, start: int, end: int, most: int) -> Iterator[_Passage]:
    text = chunk.text[start:end]
    # A "sentence" such as a table may be too long for a whole call.
    size = len(text) if _tokens(text) <= most else int(most * _BYTES_PER_TOKEN) // 4
    for first in range(0, len(text), max(size, 1)):
        part = text[first : first + size]
        if part.strip():
            yield _Passage(chunk.id, part, _tokens(part))


def _packs(sentences: Sequence[str], passages: Sequence[_Passage], room: int) -> list[set[int]]:
    """Choose the passages for each call; return their indexes."""
    whole = [
        f"{before} {own}" if leaning_of(own) is not None else own
        for before, own in zip(["", *sentences], sentences, strict=False)
    ]
    groups: list[tuple[set[int], list[list[int]]]] = []
    for ranked in EmbeddedVerifier().rank(whole, [one.text for one in passages]):
        needed = _filled(set(), [ranked], passages, room // _PARTS)
        if not groups or _sum(groups[-1][0] | needed, passages) > room:
            groups.append((set(), []))
        groups[-1][0].update(needed)
        groups[-1][1].append(ranked)
    return [_filled(needed, orders, passages, room) for needed, orders in groups]


def _filled(
    taken: set[int], orders: Sequence[Sequence[int]], passages: Sequence[_Passage], room: int
) -> set[int]:
    """Add passages from each ranking in turn, best first, while they fit."""
    chosen, left = set(taken), room - _sum(taken, passages)
    for places in zip(*orders, strict=True):
        for place in places:
            if place not in chosen and passages[place].tokens <= left:
                chosen.add(place)
                left -= passages[place].tokens
    return chosen


def _sum(places: set[int], passages: Sequence[_Passage]) -> int:
    return sum(passages[place].tokens for place in places)


def _best_by_sentence(parts: Sequence[Mapping[str, Any]], verdict: str) -> dict[str, Any]:
    """Merge results, taking each sentence's statements from the pack that supports them best."""
    fields = joined(parts)
    fields["calls"] = max(part["calls"] for part in parts)
    if len(parts) == 1:
        return fields

    def share(found: Sequence[Mapping[str, Any]]) -> float:
        return sum(one[verdict] for one in found) / len(found) if found else -1.0

    numbers = {one["sentence_id"] for part in parts for one in part["statements"]}
    fields["statements"] = []
    for number in sorted(numbers, key=lambda one: -1 if one is None else one):
        own = [
            [one for one in part["statements"] if one["sentence_id"] == number] for part in parts
        ]
        fields["statements"] += max(own, key=share)
    fields["left_out"] = sorted(set(fields["left_out"]) - numbers)
    silent = {one["sentence_id"]: one for one in reversed(fields["no_claim_sentences"])}
    fields["no_claim_sentences"] = [silent[n] for n in sorted(silent.keys() - numbers)]
    return fields
