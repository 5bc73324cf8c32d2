"""How is an answer graded by its statements, and how is a reply about them believed?

The answer is asked about sentence by sentence, at most 40 in one call. Code compares every reply
with the answer: one that says something else is asked again once, with its faults. What a judge
insists on is unverified and does not count; an answer of which it leaves a sentence out has no
score.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from rag_evals.core import Flow, JudgeCall, Message, Sample
from rag_evals.core.finding import statements_in, with_statements
from rag_evals.errors import NotScorableError
from rag_evals.response_models import ByStatement, Guard, KeyedReply, Stated, VerdictUnit
from rag_evals.response_models.replies import (
    MOST_SENTENCES,
    Fault,
    JudgedClaim,
    ReplyShape,
    distinct,
    keyed_reply,
)
from rag_evals.text import Span, leaning_of, numbers_of, split_sentences

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

_MOST_NAMED = 5
_LEAST_WORDS_OF_CLAIM = 5
# A judge gives at most five claims of a sentence; few have more in fewer words.
_MANY_WORDS = 200
_FIRST_PERSON = re.compile(r"(?:\w+,? )?(?:i|we|let|я|мы)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GuardedCall(Generic[M]):
    """A call, and what its reply is compared with.

    Attributes:
        call: What is asked.
        guard: Knows the text; None compares nothing.
        stated: Returns the statements of a reply, and the ids of sentences that have none.
    """

    call: JudgeCall[M]
    guard: Guard | None
    stated: Callable[[M], tuple[Sequence[Stated], Sequence[int]]]

    def examine(self, reply: M) -> "GuardedReply[M]":
        """Find repeated statements, and the faults of the others."""
        stated, silent = self.stated(reply)
        if not silent and self.guard is not None and self.guard.are_sentences(stated):
            return GuardedReply(reply, stated, range(len(stated)), (), ())
        places, repeated = distinct(stated)
        merged = [fault for fault in repeated if fault.statement is None]
        opposed = [fault for fault in repeated if fault.statement is not None]
        if self.guard is None:
            return GuardedReply(reply, stated, places, opposed, merged)
        found = self.guard.faults([stated[n] for n in places], silent)
        # Places are those of the whole reply.
        faults = [
            one if one.statement is None else one._replace(statement=places[one.statement])
            for one in found
        ]
        return GuardedReply(reply, stated, places, opposed + faults, merged)


@dataclass(frozen=True, slots=True)
class GuardedReply(Generic[M]):
    """A reply, and how it differs from the text.

    Attributes:
        reply: What the judge said in the end.
        stated: Its statements.
        places: Of the statements that say something new, in order.
        faults: What the judge insists on.
        merged: Statements that came repeatedly.
    """

    reply: M
    stated: Sequence[Stated]
    places: Sequence[int]
    faults: Sequence[Fault]
    merged: Sequence[Fault]

    @property
    def drift(self) -> list[str]:
        """Every difference, as warnings say it."""
        return [str(fault) for fault in (*self.faults, *self.merged)]

    @property
    def left_out(self) -> list[int]:
        """The sentences that claim something, of which the reply says nothing."""
        return [
            n for fault in self.faults if fault.name == "left out" for n in [fault.sentence or 0]
        ]

    @property
    def unverified(self) -> Mapping[int, str]:
        """Which statements nobody can trust, by place, with the reason."""
        told: dict[int, str] = {}
        for fault in self.faults:
            if fault.statement is not None:
                told.setdefault(fault.statement, fault.told)
            elif fault.name == "lost negation":
                for place, one in enumerate(self.stated):
                    if fault.sentence in one.sentence_ids:
                        told.setdefault(place, fault.told)
        return told


def ask_guarded(asked: Sequence[GuardedCall[M]]) -> Flow[list[GuardedReply[M]]]:
    """Ask calls side by side, and those whose replies have faults once again."""
    answered = yield [one.call for one in asked]
    found = [one.examine(one.call.read(reply)) for one, reply in zip(asked, answered, strict=True)]
    faulty = [place for place, one in enumerate(found) if one.faults]
    if faulty:
        calls = [_again(asked[place].call, found[place]) for place in faulty]
        answered = yield calls
        for place, call, reply in zip(faulty, calls, answered, strict=True):
            found[place] = asked[place].examine(call.read(reply))
    return found


def _again(call: JudgeCall[M], found: GuardedReply[M]) -> JudgeCall[M]:
    told = "\n".join(f"- {fault}" for fault in found.faults[:_MOST_NAMED])
    said: Message = {"role": "assistant", "content": _as_said(found.reply)}
    asked: Message = {
        "role": "user",
        "content": f"A program compared your reply with the text:\n{told}\nCorrect this, and give "
        "the whole reply again, in the same form.",
    }
    return replace(call, messages=(*call.messages, said, asked))


def _as_said(reply: Any) -> str:
    """Write a reply as its judge did: without what code fills."""
    written: str = reply.model_dump_json(exclude_unset=True)
    return written


def claiming_sentences(answer: str) -> list[int]:
    """Return the ids of the sentences that claim something and hold a number or a verb."""
    # Its patterns take a while to build, and most replies speak of every sentence.
    from rag_evals.embedded import prepare_answer  # noqa: PLC0415

    places = {span.start: number for number, span in enumerate(split_sentences(answer))}
    found = [
        places[one.start]
        for one in prepare_answer(answer)
        if one.no_claim is None
        and one.start in places
        and leaning_of(one.claim) in (None, "pronoun")
        and (numbers_of(one.claim) or len(one.claim.split()) >= _LEAST_WORDS_OF_CLAIM)
        and not _FIRST_PERSON.match(one.claim)
    ]
    return sorted(set(found))


Ask = Callable[[Sequence[str], type[BaseModel]], JudgeCall[Any]]
"""Makes the call about some sentences, which fills a reply model."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Sentences that one call is about.

    Attributes:
        first: The place of the first in the text.
        spans: All of them.
        guard: What a reply is compared with.
    """

    first: int
    spans: Sequence[Span]
    guard: Guard


def grade_by_sentence(sample: Sample, result: type[R], unit: VerdictUnit, ask: Ask) -> Flow[R]:
    """Describe the work on one sample.

    Args:
        sample: What is graded.
        result: A class of `ByStatement`.
        unit: What gets a verdict.
        ask: Makes a call.
    """
    kind: Any = result
    text = (sample.answer if kind.statements_of == "answer" else sample.reference) or ""
    spans = [Span(0, len(text), text)] if unit == "answer" else split_sentences(text)
    if not any(map(str.isalnum, text)):
        return result(statements=[])
    parts = _parts(spans, sample, text)
    chunks = len(sample.context)
    calls = [
        ask(
            [span.text for span in part.spans],
            keyed_reply(result, ReplyShape(unit, len(part.spans), chunks)),
        )
        for part in parts
    ]
    replies = yield from ask_guarded(
        [
            GuardedCall(call, None if unit == "answer" else part.guard, partial(_stated_in, part))
            for call, part in zip(calls, parts, strict=True)
        ]
    )
    gathered = _Gathered(kind)
    for part, found in zip(parts, replies, strict=True):
        gathered.add(part, found)
    # As data: nothing of it is a judge's any more, and no constructor has to look at it.
    return result.model_validate(
        {
            "statements": gathered.statements,
            "no_claim_sentences": gathered.passed_over,
            "drift": [*gathered.drift, *(() if unit == "answer" else _long_sentences(spans))],
            "left_out": gathered.left_out,
            "calls": len(parts),
        }
    )


def _long_sentences(spans: Sequence[Span]) -> Iterator[str]:
    """Name the sentences of which a judge may have judged a part only."""
    for number, span in enumerate(spans):
        # Most sentences have fewer characters than that.
        if len(span.text) > _MANY_WORDS and (count := len(span.text.split())) > _MANY_WORDS:
            yield f"long sentence: sentence {number} has {count:,} words; a part may be unjudged"


def _parts(spans: Sequence[Span], sample: Sample, text: str) -> list[_Stretch]:
    number = -(-len(spans) // MOST_SENTENCES)
    size = -(-len(spans) // number)
    chunks = [chunk.text for chunk in sample.context]
    known = f"{text} {sample.question or ''}" if number > 1 else sample.question
    parts = []
    for first in range(0, len(spans), size):
        own = spans[first : first + size]
        texts = [span.text for span in own]
        claiming = partial(_claiming, text, first, len(own))
        parts.append(_Stretch(first, own, Guard(texts, known, chunks, claiming)))
    return parts


def _claiming(text: str, first: int, count: int) -> set[int]:
    """Return which of some sentences claim something, counted from the first of them."""
    return {number - first for number in claiming_sentences(text)}.intersection(range(count))


def _stated_in(part: _Stretch, reply: KeyedReply) -> tuple[list[Stated], list[int]]:
    """Return the statements of a reply, and the sentences of which it says nothing."""
    claims = reply.claims
    said = {one.sentence_id for one in claims}
    return [_stated(one, part) for one in claims], [
        number for number in range(len(part.spans)) if number not in said
    ]


def _stated(claim: JudgedClaim, part: _Stretch) -> Stated:
    if claim.sentence_id is None:
        return Stated(claim.text or "", (), claim.is_supported)
    text = claim.text or part.spans[claim.sentence_id].text
    return Stated(text, (claim.sentence_id,), claim.is_supported)


class _Gathered:
    """What the calls of one answer found, in the answer's own places."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.statements: list[dict[str, Any]] = []
        self.passed_over: list[dict[str, Any]] = []
        self.drift: list[str] = []
        self.left_out: list[int] = []

    def add(self, part: _Stretch, found: GuardedReply[KeyedReply]) -> None:
        """Add the reply of one call."""
        claims, unverified = found.reply.claims, found.unverified
        for place in found.places:
            claim = claims[place]
            number = claim.sentence_id
            if number is None:
                number = part.guard.place(claim.text or "")
            self.statements.append(self._one(part, claim, number, unverified.get(place)))
        self.left_out += [part.first + number for number in found.left_out]
        self.drift += found.drift
        self.passed_over += [
            {"sentence_id": part.first + n, "reason": reason, "text": part.spans[n].text}
            for n, reason in found.reply.passed_over.items()
            if n not in found.left_out
        ]

    def _one(
        self, part: _Stretch, claim: JudgedClaim, number: int | None, fault: str | None
    ) -> dict[str, Any]:
        span = None if number is None else part.spans[number]
        return {
            "statement": claim.text or (span.text if span else ""),
            "reasoning": claim.reasoning,
            "supporting_chunk_ids": [] if fault else list(claim.chunk_ids),
            "sentence_id": None if number is None else part.first + number,
            "start": span.start if span else None,
            "end": span.end if span else None,
            "fault": fault,
            "because": claim.because,
            self._kind.verdict_name: claim.is_supported and fault is None,
        }


def keyed_example(kind: type[ByStatement], result: str, sample: Sample, unit: VerdictUnit) -> str:
    """Write the result of a worked example as the judge is to write its reply."""
    text = (sample.answer if kind.statements_of == "answer" else sample.reference) or ""
    guard = Guard([span.text for span in split_sentences(text)])
    own: dict[int, list[dict[str, Any]]] = {n: [] for n in range(len(guard.sentences))}
    shown: Any = kind.model_validate_json(result)
    for one in shown.statements:
        counts = getattr(one, kind.verdict_name)
        verdict = (
            {"supported_by": one.supporting_chunk_ids}
            if counts
            else {"not_supported_because": "not_in_context"}
        )
        judged = {"reasoning": one.reasoning or "", "verdict": verdict}
        own.setdefault(guard.place(one.statement) or 0, []).append(
            {"statement": one.statement, **judged}
        )
    if unit == "answer":
        return json.dumps(_together([one for each in own.values() for one in each]))
    return json.dumps({f"s{n}": _keyed(each, unit) for n, each in own.items()})


def _keyed(claims: list[dict[str, Any]], unit: VerdictUnit) -> dict[str, Any]:
    if not claims:
        return {"claims_nothing": "It claims nothing."}
    return {"claims": claims} if unit == "claims" and len(claims) > 1 else _together(claims)


def _together(claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Make one verdict of those of several claims: the first that denies, else the first."""
    denied = (one for one in claims if "supported_by" not in one["verdict"])
    chosen = next(denied, claims[0] if claims else {"reasoning": "", "verdict": {}})
    return {"reasoning": chosen["reasoning"], "verdict": chosen["verdict"]}


def grade_own_statements(sample: Sample, call: JudgeCall[R]) -> Flow[R]:
    """Ask with a response model of a user's own that has statements, and guard its reply.

    Raises:
        NotScorableError: It insists on leaving out a sentence that claims something.
    """
    answer = sample.answer or ""
    guard = Guard(
        [span.text for span in split_sentences(answer)],
        sample.question,
        [chunk.text for chunk in sample.context],
        partial(claiming_sentences, answer),
    )

    asked = GuardedCall(
        call, guard, lambda reply: ([Stated(said, (), v) for said, v in statements_in(reply)], ())
    )
    (found,) = yield from ask_guarded([asked])
    if found.left_out:
        raise NotScorableError("answer_not_covered")
    return with_statements(found.reply, found.places, found.unverified.keys())
