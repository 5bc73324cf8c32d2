"""Sentence-by-sentence grading, and the guard that compares each reply with the answer.

The judge sees the answer as numbered sentences, at most 40 in one call. Code compares every reply
with the answer; if they differ, the judge is asked again once and told what is wrong. If it
repeats the error, the statement is marked unverified and does not count; if it leaves a sentence
out, the answer has no score.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from rag_evals.core import Flow, JudgeCall, Message, Sample
from rag_evals.core.finding import statements_in, with_statements
from rag_evals.errors import NotScorableError
from rag_evals.response_models import ByStatement, KeyedReply, VerdictUnit
from rag_evals.response_models.statements import (
    MOST_SENTENCES,
    JudgedClaim,
    ReplyShape,
    keyed_reply,
)
from rag_evals.text import (
    DENIES,
    Span,
    is_name_at,
    leaning_of,
    numbers_of,
    plain_form,
    read_words,
    script_of,
    split_sentences,
    words,
)

# People broke fewer than 1 in 2,000 sentences into more statements.
MOST_STATEMENTS = 20
# At least this share of a statement's words must occur in the answer or the question.
_LEAST_SHARED = 0.3
# Names and numbers survive translation; other words do not.
_LEAST_OF_TRANSLATED = 0.7
_FEW_WORDS = 2
# A statement is copied from the context above these shares of words that the answer lacks.
_SHARE_OF_CONTEXT = 0.75
_LEAST_FOREIGN = 0.25
# The same for a verbatim sentence of a chunk.
_WHOLE, _LEAST_OF_COPY = 0.95, 0.12
# Without an id, a statement belongs to a sentence if it shares at least this many words.
_LEAST_COVERED = 0.3
# "US" and "TV" abbreviate words of the answer; "Argentinian" and "Argentine" are the same.
_LONGEST_SHORT_NAME, _ROOT = 3, 5
# As in "one part" or "his first film": not really numbers.
_ARTICLES = frozenset(("0", "1"))
# Citations such as "[1]" and "[2, 3]".
_MARKS = re.compile(r"[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】]")
# In "Der Turm wurde 1889 in Paris gebaut", 1 word in 7 is also an English function word.
_FEW_STOPS, _MANY_STOPS, _LEAST_WORDS = 0.15, 0.25, 5

DRIFT_NAMES = (
    "changed number",
    "changed name",
    "lost number",
    "lost name",
    "lost negation",
    "added negation",
    "other language",
    "other words",
    "of the context",
    "too many statements",
    "merged",
    "two verdicts",
    "left out",
    "long sentence",
)
"""Prefixes of faults; the summary of a run counts warnings by prefix."""


class Stated(NamedTuple):
    """One statement in a judge's reply; `sentence_ids` count from 0 and may be empty."""

    text: str
    sentence_ids: tuple[int, ...] = ()
    verdict: bool | None = None


class Fault(NamedTuple):
    """A difference between statements and the answer.

    Attributes:
        name: One of `DRIFT_NAMES`.
        told: What is wrong, so that a judge can correct it.
        statement: Index of the statement in the reply; None for a fault of a sentence.
        sentence: Number of the incomplete sentence; None for a fault of a statement.
    """

    name: str
    told: str
    statement: int | None = None
    sentence: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.told}"


@dataclass(frozen=True, eq=False)
class Guard:
    """The text that statements are compared with.

    Attributes:
        sentences: Sentences of the answer or of the reference.
        question: The question, or None.
        chunks: Texts of the context, which a judge may have copied.
        claiming: Returns the ids of sentences that claim something according to our rules.
    """

    sentences: Sequence[str]
    question: str | None = None
    chunks: Sequence[str] = ()
    claiming: Callable[[], Collection[int]] = field(default=tuple)

    @classmethod
    def of(cls, sample: Sample) -> "Guard":
        """Return the guard for a sample's answer."""
        answer = sample.answer or ""
        return cls(
            [span.text for span in split_sentences(answer)],
            sample.question,
            [chunk.text for chunk in sample.context],
            partial(claiming_sentences, answer),
        )

    def faults(self, statements: Sequence[Stated], passed_over: Iterable[int] = ()) -> list[Fault]:
        """Compare statements with the sentences and return the differences.

        Args:
            statements: Statements of a reply; those without ids are compared with the whole text.
            passed_over: Ids of sentences that claim nothing according to the judge. If statements
                have no ids, uncovered sentences are found by their words.
        """
        if statements and all(one.sentence_ids for one in statements):
            placed, left_out = statements, set(passed_over)
        else:
            placed, left_out = self._placed(statements)
        found = [
            fault
            for place, one in enumerate(placed)
            if not self._is_word_for_word(one)
            for fault in self._of_statement(place, one, is_named=bool(statements[place][1]))
        ]
        by_sentence: dict[int, list[Stated]] = {}
        for one in placed:
            for number in set(one.sentence_ids):
                by_sentence.setdefault(number, []).append(one)
        # If code assigned the sentence, the statement may belong to a different one.
        is_named = placed is statements
        every = "" if is_named else " ".join(one.text for one in placed)
        for number, own in sorted(by_sentence.items()):
            if len(own) > MOST_STATEMENTS:
                told = f"sentence {number} has {len(own)}; at most {MOST_STATEMENTS}"
                found.append(Fault("too many statements", told, None, number))
            if not any(map(self._is_word_for_word, own)):
                found += _of_sentence(number, self.sentences[number], own, every)
        if left_out:
            found += [
                Fault(
                    "left out",
                    f"sentence {number} claims something; say what, with a verdict",
                    None,
                    number,
                )
                for number in sorted(left_out.intersection(self.claiming()))
            ]
        return found

    def are_sentences(self, statements: Sequence[Stated]) -> bool:
        return len(statements) == len(self.sentences) and all(
            one.sentence_ids == (number,) and one.text == self.sentences[number]
            for number, one in enumerate(statements)
        )

    def place(self, text: str) -> int | None:
        """Return the sentence that shares most words with a statement, or None."""
        own = _content(text)
        shares = [len(own & known) for known in self._contents]
        best = max(shares, default=0)
        return shares.index(best) if best else None

    def _placed(self, statements: Sequence[Stated]) -> tuple[list[Stated], set[int]]:
        """Assign statements without ids to sentences; also return sentences without a statement."""
        placed = []
        said: list[set[str]] = [set() for _ in self.sentences]
        for one in statements:
            own = _content(one.text)
            number = self.place(one.text)
            placed.append(Stated(one.text, () if number is None else (number,)))
            for n, known in enumerate(self._contents):
                if n == number or len(own & known) >= _LEAST_COVERED * len(own):
                    said[n] |= own & known
        covered = {
            n
            for n, known in enumerate(self._contents)
            if len(said[n]) >= _LEAST_COVERED * len(known)
        }
        return placed, set(range(len(self.sentences))) - covered

    @cached_property
    def _contents(self) -> list[frozenset[str]]:
        return [_content(sentence) for sentence in self.sentences]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset().union(*self._contents, _content(self.question or ""))

    @cached_property
    def _keys(self) -> set[str]:
        return {word.key for text in (*self.sentences, self.question or "") for word in words(text)}

    @cached_property
    def _numbers(self) -> set[str]:
        return numbers_of(" ".join(self.sentences)) | numbers_of(self.question or "") | _ARTICLES

    @cached_property
    def _of_context(self) -> list[frozenset[str]]:
        return [_content(one.text) for chunk in self.chunks for one in split_sentences(chunk)]

    def _is_word_for_word(self, one: Stated) -> bool:
        return any(one.text == self.sentences[number] for number in one.sentence_ids)

    def _of_statement(self, place: int, one: Stated, *, is_named: bool) -> Iterator[Fault]:
        named = " ".join(self.sentences[number] for number in one.sentence_ids)
        ids = ", ".join(map(str, one.sentence_ids))
        whose = f"sentence {ids}" if is_named else "the answer"
        this = f"statement {one.text!r}"
        known = self._numbers if not is_named else numbers_of(f"{named} {self.question or ''}")
        if numbers := sorted(numbers_of(one.text) - known - _ARTICLES):
            yield Fault(
                "changed number",
                f"{this} has {', '.join(numbers)}, which {whose} does "
                "not say; keep the answer's numbers, right or wrong",
                place,
            )
        script, expected = script_of(one.text), script_of(named)
        if script and expected and script != expected:
            yield Fault(
                "other language",
                f"{this} is in another script than {whose}; keep its language",
                place,
            )
            return
        if names := self._added_names(one.text):
            yield Fault(
                "changed name",
                f"{this} has {', '.join(names)}, which the answer does not "
                "say; keep the answer's names, right or wrong",
                place,
            )
        if _denies(one.text) and named and not _denies(named):
            yield Fault("added negation", f"{this} denies what {whose} says", place)
        yield from self._other_words(place, one, named, this, whose)

    def _added_names(self, text: str) -> list[str]:
        sequence = words(text)
        return [
            word.surface
            for place, word in enumerate(sequence)
            if word.kind == "word"
            and not (word.surface.isupper() and len(word.surface) <= _LONGEST_SHORT_NAME)
            and word.key not in self._keys
            and is_name_at(sequence, place)
            and not any(key.startswith(word.key[:_ROOT]) for key in self._keys)
        ]

    def _other_words(
        self, place: int, one: Stated, named: str, this: str, whose: str
    ) -> Iterator[Fault]:
        own = _content(one.text)
        missing = own - self._known
        asked = _content(f"{named} {self.question or ''}")
        shared = len(own & asked)
        if own and not shared:
            yield Fault("other words", f"{this} shares no word with {whose}", place)
        elif len(own) >= _FEW_WORDS and len(own) - len(missing) < _LEAST_SHARED * len(own):
            yield Fault("other words", f"{this} says hardly anything of what {whose} says", place)
        elif (
            shared < _LEAST_OF_TRANSLATED * len(own)
            and _stops(one.text) < _FEW_STOPS
            and _stops(named) >= _MANY_STOPS
        ):
            yield Fault(
                "other language", f"{this} has no small words of {whose}; keep its language", place
            )
        elif self._is_of_context(own, len(missing), shared):
            yield Fault(
                "of the context",
                f"{this} says what a chunk says, and not what {whose} "
                "says; give the answer's own claims",
                place,
            )

    def _is_of_context(self, own: frozenset[str], missing: int, shared: int) -> bool:
        """True if a statement is copied from a chunk instead of the answer.

        Args:
            own: Words of the statement.
            missing: Number of words that answer and question lack.
            shared: Number of words that its sentence and the question have.
        """
        if len(own) <= _FEW_WORDS or (missing < _FEW_WORDS and 2 * shared >= len(own)):
            return False
        most = max((len(own & known) for known in self._of_context), default=0)
        lacks = missing >= max(_FEW_WORDS, _LEAST_FOREIGN * len(own))
        if most >= _WHOLE * len(own):
            return lacks or missing >= _LEAST_OF_COPY * len(own) or 2 * shared < len(own)
        return lacks and most >= _SHARE_OF_CONTEXT * len(own)


def _of_sentence(number: int, sentence: str, own: Sequence[Stated], every: str) -> Iterator[Fault]:
    sentence = _MARKS.sub("", sentence)
    said = " ".join(one.text for one in own)
    if script_of(said) != script_of(sentence):
        return
    if lost := sorted(numbers_of(sentence) - numbers_of(f"{said} {every}") - _ARTICLES):
        yield Fault(
            "lost number", f"no statement of sentence {number} has {', '.join(lost)}", None, number
        )
    keys = {word.key for word in words(f"{said} {every}")}
    # Part of a name may be missing ("Ann Field" becomes "Field"), but not the whole name.
    names = _names(sentence)
    missing = [
        name
        for place, (name, parts) in enumerate(names)
        if not (parts.difference(*(p for n, (_, p) in enumerate(names) if n != place)) or parts)
        & keys
    ]
    if missing:
        yield Fault(
            "lost name",
            f"no statement of sentence {number} has {', '.join(missing[:3])}",
            None,
            number,
        )
    if _denies(sentence) and not _denies(said):
        yield Fault(
            "lost negation",
            f"sentence {number} denies something, and no statement of it does",
            None,
            number,
        )


def distinct(statements: Sequence[Stated]) -> tuple[list[int], list[Fault]]:
    """Find statements with the same text for the same sentences.

    Returns:
        Indexes of the first of each, in order, and a fault for each repetition; the fault has an
        index if the verdicts differ.
    """
    places: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for place, one in enumerate(statements):
        text = plain_form(one.text).casefold()
        places.setdefault((text, tuple(sorted(set(one.sentence_ids)))), []).append(place)
    repeated = []
    for first, *others in filter(lambda same: len(same) > 1, places.values()):
        said = f"statement {statements[first].text!r} was given {len(others) + 1} times"
        if {statements[place].verdict for place in others} == {statements[first].verdict}:
            repeated.append(Fault("merged", said))
        else:
            repeated.append(Fault("two verdicts", f"{said}, with different verdicts", first))
    return sorted(same[0] for same in places.values()), repeated


def _stops(text: str) -> float:
    """Return the share of English and Russian function words; a high one for short texts."""
    sequence = words(text)
    if len(sequence) < _LEAST_WORDS:
        return _MANY_STOPS
    return sum(word.kind == "stop" for word in sequence) / len(sequence)


def _names(text: str) -> list[tuple[str, set[str]]]:
    """Return runs of capitalised words, each with its keys."""
    sequence = words(text)
    names: list[tuple[str, set[str]]] = []
    last = -2
    for n, word in enumerate(sequence):
        if word.kind == "word" and is_name_at(sequence, n):
            if last == n - 1:
                name, keys = names.pop()
                names.append((f"{name} {word.surface}", keys | {word.key}))
            else:
                names.append((word.surface, {word.key}))
            last = n
    return names


def _denies(text: str) -> bool:
    return any(word.marks & DENIES for word in words(text))


@lru_cache(maxsize=4096)
def _content(text: str) -> frozenset[str]:
    return frozenset(word.key for word in read_words(text) if word.kind in ("word", "number"))


M = TypeVar("M", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)

_MOST_NAMED = 5
_LEAST_WORDS_OF_CLAIM = 5
# A judge gives at most five claims for a sentence; shorter sentences rarely have more.
_MANY_WORDS = 200
_FIRST_PERSON = re.compile(r"(?:\w+,? )?(?:i|we|let|я|мы)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GuardedCall(Generic[M]):
    """A judge call and the guard for its reply.

    Attributes:
        call: The call.
        guard: The text to compare with; None skips the comparison.
        stated: Returns the statements of a reply and the ids of sentences without statements.
    """

    call: JudgeCall[M]
    guard: Guard | None
    stated: Callable[[M], tuple[Sequence[Stated], Sequence[int]]]

    def examine(self, reply: M) -> "GuardedReply[M]":
        stated, silent = self.stated(reply)
        if not silent and self.guard is not None and self.guard.are_sentences(stated):
            return GuardedReply(reply, stated, range(len(stated)), (), ())
        places, repeated = distinct(stated)
        merged = [fault for fault in repeated if fault.statement is None]
        opposed = [fault for fault in repeated if fault.statement is not None]
        if self.guard is None:
            return GuardedReply(reply, stated, places, opposed, merged)
        found = self.guard.faults([stated[n] for n in places], silent)
        # Indexes refer to the whole reply.
        faults = [
            one if one.statement is None else one._replace(statement=places[one.statement])
            for one in found
        ]
        return GuardedReply(reply, stated, places, opposed + faults, merged)


@dataclass(frozen=True, slots=True)
class GuardedReply(Generic[M]):
    """A reply and its differences from the text.

    Attributes:
        reply: The judge's last reply.
        stated: Statements of the reply.
        places: Indexes of statements without repetitions, in order.
        faults: Faults that remain after asking again.
        merged: Faults for repeated statements.
    """

    reply: M
    stated: Sequence[Stated]
    places: Sequence[int]
    faults: Sequence[Fault]
    merged: Sequence[Fault]

    @property
    def drift(self) -> list[str]:
        return [str(fault) for fault in (*self.faults, *self.merged)]

    @property
    def left_out(self) -> list[int]:
        """Sentences that claim something but are missing from the reply."""
        return [
            n for fault in self.faults if fault.name == "left out" for n in [fault.sentence or 0]
        ]

    @property
    def unverified(self) -> Mapping[int, str]:
        """Why statements cannot be trusted, by index."""
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
    """Make calls in parallel; repeat those whose replies have faults, once."""
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
    written: str = reply.model_dump_json(exclude_unset=True)
    return written


def claiming_sentences(answer: str) -> list[int]:
    """Return the ids of sentences that claim something and contain a number or a verb."""
    # Its regular expressions are slow to compile, and most replies cover every sentence.
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
"""Creates the call for some sentences and a reply model."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    first: int
    spans: Sequence[Span]
    guard: Guard


def grade_by_sentence(sample: Sample, result: type[R], unit: VerdictUnit, ask: Ask) -> Flow[R]:
    """Grade one sample sentence by sentence.

    Args:
        sample: The sample.
        result: A subclass of `ByStatement`.
        unit: The unit that gets a verdict.
        ask: Creates a call.
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
    # Without validation, because code and not a judge made these values.
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
    for number, span in enumerate(spans):
        # Quick check: most sentences are shorter than that.
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
    return {number - first for number in claiming_sentences(text)}.intersection(range(count))


def _stated_in(part: _Stretch, reply: KeyedReply) -> tuple[list[Stated], list[int]]:
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
    """The combined replies for one answer, with sentence numbers of the whole answer."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.statements: list[dict[str, Any]] = []
        self.passed_over: list[dict[str, Any]] = []
        self.drift: list[str] = []
        self.left_out: list[int] = []

    def add(self, part: _Stretch, found: GuardedReply[KeyedReply]) -> None:
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
    """Convert the result of a few-shot example to the form of a judge's reply."""
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
    """Combine the verdicts of several claims: the first negative one, or the first."""
    denied = (one for one in claims if "supported_by" not in one["verdict"])
    chosen = next(denied, claims[0] if claims else {"reasoning": "", "verdict": {}})
    return {"reasoning": chosen["reasoning"], "verdict": chosen["verdict"]}


def grade_own_statements(sample: Sample, call: JudgeCall[R]) -> Flow[R]:
    """Grade with a user's own response model that has statements, and guard its reply.

    Raises:
        NotScorableError: The judge still leaves out a sentence that claims something.
    """
    asked = GuardedCall(
        call,
        Guard.of(sample),
        lambda reply: ([Stated(said, (), v) for said, v in statements_in(reply)], ()),
    )
    (found,) = yield from ask_guarded([asked])
    if found.left_out:
        raise NotScorableError("answer_not_covered")
    return with_statements(found.reply, found.places, found.unverified.keys())
