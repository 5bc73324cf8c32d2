"""Grades conversations turn by turn; supported statements become sources for later turns."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from rag_evals.core import Flow, Sample
from rag_evals.core.result import names_chunks
from rag_evals.core.sample import transcript
from rag_evals.errors import DataError, NotScorableError
from rag_evals.response_models import ByStatement, FaithfulnessResult
from rag_evals.response_models.statements import TurnVerdict
from rag_evals.text import split_sentences

# Matches "chunk 0" in the reason "all 4 content words are in chunk 0".
_NAMED_CHUNKS = re.compile(r"\b(?:chunks?|фрагмент\w*) \d+(?:(?:, | and | и )\d+)*", re.IGNORECASE)
_UNCHANGED: Mapping[str, Callable[[Any], Any]] = {}
_CHUNK_IDS = ("supporting_chunk_ids", "chunk_ids")


AnswerFlow = Callable[[Any, Sample], Flow[Any]]


def turns_flow(grader: Any, sample: Sample, answer_flow: AnswerFlow) -> Flow[Any]:
    """Grade a conversation; graders that do not judge statements grade only the last turn."""
    kind: Any = grader.result_model
    if grades_turns(grader):
        return _turn_by_turn(grader, sample, answer_flow)
    if issubclass(kind, ByStatement) or names_chunks(kind):
        raise DataError(
            f"the row is a conversation, but {grader.name!r} grades single answers; "
            "faithfulness grades conversations"
        )
    last = len(sample.turns) - 1
    return answer_flow(grader, sample.turn_sample(last, ()))


def grades_turns(grader: Any) -> bool:
    """True if the grader grades each turn in a separate call."""
    return issubclass(grader.result_model, FaithfulnessResult)


def _turn_by_turn(grader: Any, sample: Sample, answer_flow: AnswerFlow) -> Flow[FaithfulnessResult]:
    if not any(turn.context for turn in sample.turns):
        raise NotScorableError("empty_context")
    ids = {chunk.text: (chunk.id,) for chunk in sample.context}
    places = _Places(sample)
    earlier: list[str] = []
    shown: dict[str, tuple[int, ...]] = {}
    parts: list[dict[str, Any]] = []
    verdicts: list[TurnVerdict] = []
    for number, turn in enumerate(sample.turns):
        row = sample.turn_sample(number, earlier)
        known = [ids.get(chunk.text) or shown[chunk.text] for chunk in row.context]
        verdict = TurnVerdict(turn=number + 1, question=turn.question)
        verdicts.append(verdict)
        held: list[Any] = []
        try:
            result: FaithfulnessResult = yield from answer_flow(grader, row)
        except NotScorableError as error:
            verdict.reason = error.reason
        else:
            held = [one for one in result.statements if one.is_supported]
            verdict.reason = result.not_scorable
            verdict.statements = len(result.statements)
            verdict.supported = sum(bool(one.verdict) for one in result.findings)
            parts.append(places.in_transcript(result.model_dump(), number, known))
        earlier.append("\n".join(dict.fromkeys(one.statement for one in held)))
        used = chain.from_iterable(known[id] for one in held for id in one.supporting_chunk_ids)
        shown.setdefault(earlier[-1], tuple(sorted(set(used))))
    if not parts:
        raise NotScorableError(verdicts[-1].reason or "empty_context")
    together = joined(parts) | {"turns": [one.model_dump() for one in verdicts]}
    return type(result).model_validate(together)


class _Places:
    """Maps a turn's sentences and chunks to those of the whole conversation."""

    def __init__(self, sample: Sample) -> None:
        text, self._starts = transcript(sample.turns)
        self._turns = sample.turns
        self._sentences = [span.start for span in split_sentences(text)]

    def in_transcript(
        self, result: Mapping[str, Any], number: int, known: Sequence[tuple[int, ...]]
    ) -> dict[str, Any]:
        """Renumber a turn's result; `known` lists the original chunks behind each chunk shown."""
        start = self._starts[number]
        spans = split_sentences(self._turns[number].answer)
        sentences = [bisect_right(self._sentences, span.start + start) - 1 for span in spans]
        change: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(("sentence_id", "sentence_ids", "left_out"), sentences.__getitem__),
            **dict.fromkeys(("start", "end"), start.__add__),
            "drift": lambda line: f"{line} (turn {number + 1})",
        }
        fields = renumbered(result, known, change)
        return fields | {"unread": [one | {"turn": number + 1} for one in fields["unread"]]}


def renumbered(
    result: Mapping[str, Any],
    known: Sequence[tuple[int, ...]],
    change: Mapping[str, Callable[[Any], Any]] = _UNCHANGED,
) -> dict[str, Any]:
    """Renumber the chunk ids in a result's fields.

    `known` lists each chunk's new ids, and `change` maps the names of other fields to converters.
    """
    names = {str(id): ", ".join(map(str, own)) for id, own in enumerate(known) if own}

    def in_words(named: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda id: names.get(id[0], id[0]), named[0])

    def moved(value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            if isinstance(value.get("chunk_id"), int):
                own = known[value["chunk_id"]]
                # The offsets in the text shown may not apply to the original chunk.
                nowhere = {"start": None, "end": None}
                return {"text": value["text"], "chunk_id": own[0] if own else 0, **nowhere}
            return {key: moved(one, key) for key, one in value.items()}
        if isinstance(value, list) and name in _CHUNK_IDS:
            return sorted({id for one in value for id in known[one]})
        if isinstance(value, list):
            return [moved(one, name) for one in value]
        if name == "reasoning" and value is not None:
            value = _NAMED_CHUNKS.sub(in_words, value)
        return change[name](value) if name in change and value is not None else value

    return {name: moved(value, name) for name, value in result.items()}


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the fields of several results: concatenate lists and add up counts."""
    return {name: _joined_values([part[name] for part in parts]) for name in parts[0]}


def _joined_values(values: Iterable[Any]) -> Any:
    own = [one for one in values if one is not None]
    if not own:
        return None
    if isinstance(own[0], list):
        return list(chain.from_iterable(own))
    if isinstance(own[0], bool):
        return any(own)
    if isinstance(own[0], int):
        return sum(own)
    if isinstance(own[0], float):
        return min(own)
    if isinstance(own[0], dict):
        return dict(sum(map(Counter, own), Counter()))
    return own[0]
