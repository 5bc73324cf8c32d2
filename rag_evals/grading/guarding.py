"""Sentence-by-sentence grading, and the guard that compares each reply with the answer.

The judge sees the answer as numbered sentences, at most 40 per call. The guard compares the reply
with the answer. If they differ, the judge is told what is wrong and re-asked once. A statement that
is still wrong then is marked as unverified and does not count as supported. If the judge leaves out
a sentence again, the answer has no score.
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
from rag_evals.response_models.statements import MOST_SENTENCES, ReplyShape, Stated, keyed_reply
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

# Annotators broke fewer than 1 in 2,000 sentences into more statements than this.
MOST_STATEMENTS = 20
# At least this share of a statement's words must occur in the answer or the question.
_LEAST_SHARED = 0.3
# Names and numbers stay the same in a translation; other words change.
_LEAST_OF_TRANSLATED = 0.7
_FEW_WORDS = 2
# A statement counts as copied from the context if a sentence of a chunk contains the share
# `_SHARE_OF_CONTEXT` of its words, and the answer lacks at least `_LEAST_FOREIGN` of them.
_SHARE_OF_CONTEXT = 0.75
_LEAST_FOREIGN = 0.25
# The corresponding shares for a statement that is nearly all in one sentence of a chunk.
_WHOLE, _LEAST_OF_COPY = 0.95, 0.12
# A statement without an id is assigned to sentences that contain at least this share of its words.
_LEAST_COVERED = 0.3
# "US" and "TV" may abbreviate words in the answer; "Argentinian" and "Argentine" are equivalent.
_LONGEST_SHORT_NAME, _ROOT = 3, 5
# "One part" and "his first film" do not really state a number.
_ARTICLES = frozenset(("0", "1"))
# Citations such as "[1]" and "[2, 3]".
_MARKS = re.compile(r"[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】]")
# In "Der Turm wurde 1889 in Paris gebaut", 1 of 7 words is also an English function word.
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
"""Names of faults; a run's summary counts the warnings that start with each name."""


class Fault(NamedTuple):
    """A difference between the statements and the answer, found in a statement or a sentence.

    `name` is one of `DRIFT_NAMES`, and `told` explains the fault so that a judge can correct it.
    """

    name: str
    told: str
    statement: int | None = None
    sentence: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.told}"


@dataclass(frozen=True, eq=False)
class Guard:
    """The texts to compare statements with, including the chunks, which a judge may have copied.

    `claiming` returns the ids of sentences that contain a claim according to fixed rules.
    """

    sentences: Sequence[str]
    question: str | None = None
    chunks: Sequence[str] = ()
    claiming: Callable[[], Collection[int]] = field(default=tuple)

    @classmethod
    def of(cls, sample: Sample) -> "Guard":
        answer = sample.answer or ""
        return cls(
            [span.text for span in split_sentences(answer)],
            sample.question,
            [chunk.text for chunk in sample.context],
            partial(claiming_sentences, answer),
        )

    def faults(self, statements: Sequence[Stated], passed_over: Iterable[int] = ()) -> list[Fault]:
        """Compare statements with the sentences and return the differences.

        `passed_over` lists the sentences that, according to the judge, contain no claim. If a
        statement has no sentence ids, that list is ignored, and sentences are matched by words.
        """
        if statements and all(one.sentence_ids for one in statements):
            placed, left_out = statements, set(passed_over)
        else:
            placed, left_out = self._placed(statements)
        found = [
            Fault(name, told, place)
            for place, one in enumerate(placed)
            if not self._is_word_for_word(one)
            for name, told in self._of_statement(one, is_named=bool(statements[place].sentence_ids))
        ]
        by_sentence: dict[int, list[Stated]] = {}
        for one in placed:
            for number in set(one.sentence_ids):
                by_sentence.setdefault(number, []).append(one)
        # A statement assigned by its words may come from a different sentence.
        is_named = placed is statements
        every = "" if is_named else " ".join(one.text for one in placed)
        for number, own in sorted(by_sentence.items()):
            if len(own) > MOST_STATEMENTS:
                told = f"sentence {number} has {len(own)}; at most {MOST_STATEMENTS}"
                found.append(Fault("too many statements", told, None, number))
            if not any(map(self._is_word_for_word, own)):
                lost = _of_sentence(number, self.sentences[number], own, every)
                found += [Fault(name, told, None, number) for name, told in lost]
        # Finding sentences that contain a claim is slow, so do it only if needed.
        for number in sorted(left_out.intersection(self.claiming())) if left_out else ():
            told = f"sentence {number} makes a claim; state it, with a verdict"
            found.append(Fault("left out", told, None, number))
        return found

    def are_sentences(self, statements: Sequence[Stated]) -> bool:
        return len(statements) == len(self.sentences) and all(
            one.sentence_ids == (number,) and one.text == self.sentences[number]
            for number, one in enumerate(statements)
        )

    def place(self, text: str) -> int | None:
        """Return the index of the sentence that shares the most words with the text, or None."""
        own = _content(text)
        shares = [len(own & known) for known in self._contents]
        best = max(shares, default=0)
        return shares.index(best) if best else None

    def _placed(self, statements: Sequence[Stated]) -> tuple[list[Stated], set[int]]:
        """Match statements to sentences by words; return the sentences without a statement."""
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

    def _of_statement(self, one: Stated, *, is_named: bool) -> Iterator[tuple[str, str]]:
        """Yield the name and description of each fault in a statement."""
        named = " ".join(self.sentences[number] for number in one.sentence_ids)
        ids = ", ".join(map(str, one.sentence_ids))
        whose = f"sentence {ids}" if is_named else "the answer"
        this = f"statement {one.text!r}"
        known = self._numbers if not is_named else numbers_of(f"{named} {self.question or ''}")
        if numbers := sorted(numbers_of(one.text) - known - _ARTICLES):
            told = f"{this} has {', '.join(numbers)}, which {whose} does not say"
            yield "changed number", f"{told}; keep the answer's numbers, right or wrong"
        script, expected = script_of(one.text), script_of(named)
        if script and expected and script != expected:
            yield "other language", f"{this} is not in the script of {whose}; keep its language"
            return
        if names := self._added_names(one.text):
            told = f"{this} has {', '.join(names)}, which the answer does not say"
            yield "changed name", f"{told}; keep the answer's names, right or wrong"
        if _denies(one.text) and named and not _denies(named):
            yield "added negation", f"{this} denies what {whose} says"
        own = _content(one.text)
        missing = len(own - self._known)
        shared = len(own & _content(f"{named} {self.question or ''}"))
        if own and not shared:
            yield "other words", f"{this} shares no word with {whose}"
        elif len(own) >= _FEW_WORDS and len(own) - missing < _LEAST_SHARED * len(own):
            yield "other words", f"{this} says hardly any of what {whose} says"
        elif (
            shared < _LEAST_OF_TRANSLATED * len(own)
            and _stops(one.text) < _FEW_STOPS
            and _stops(named) >= _MANY_STOPS
        ):
            yield "other language", f"{this} has no function words of {whose}; keep its language"
        elif self._is_of_context(own, missing, shared):
            told = f"{this} says what a chunk says, and not what {whose} says"
            yield "of the context", f"{told}; give the answer's own claims"

    def _added_names(self, text: str) -> list[str]:
        sequence = words(text)
        return [
            word.surface
            for place, word in enumerate(sequence)
            if not (word.surface.isupper() and len(word.surface) <= _LONGEST_SHORT_NAME)
            and word.key not in self._keys
            and is_name_at(sequence, place)
            and not any(key.startswith(word.key[:_ROOT]) for key in self._keys)
        ]

    def _is_of_context(self, own: frozenset[str], missing: int, shared: int) -> bool:
        """True if a statement with these words was copied from a chunk instead of the answer.

        `missing` counts the words found in neither the answer nor the question, and `shared` those
        found in the statement's sentence or the question.
        """
        if len(own) <= _FEW_WORDS or (missing < _FEW_WORDS and 2 * shared >= len(own)):
            return False
        most = max((len(own & known) for known in self._of_context), default=0)
        lacks = missing >= max(_FEW_WORDS, _LEAST_FOREIGN * len(own))
        if most >= _WHOLE * len(own):
            return lacks or missing >= _LEAST_OF_COPY * len(own) or 2 * shared < len(own)
        return lacks and most >= _SHARE_OF_CONTEXT * len(own)


def _of_sentence(
    number: int, sentence: str, own: Sequence[Stated], every: str
) -> Iterator[tuple[str, str]]:
    sentence = _MARKS.sub("", sentence)
    said = " ".join(one.text for one in own)
    if script_of(said) != script_of(sentence):
        return
    if lost := sorted(numbers_of(sentence) - numbers_of(f"{said} {every}") - _ARTICLES):
        yield "lost number", f"no statement of sentence {number} has {', '.join(lost)}"
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
        yield "lost name", f"no statement of sentence {number} has {', '.join(missing[:3])}"
    if _denies(sentence) and not _denies(said):
        told = f"sentence {number} denies something, but none of its statements does"
        yield "lost negation", told


def distinct(statements: Sequence[Stated]) -> tuple[list[int], list[Fault]]:
    """Return the index of each distinct statement's first occurrence, and faults for duplicates.

    Statements are duplicates if they have the same text and come from the same sentences.
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
    return [same[0] for same in places.values()], repeated


def _stops(text: str) -> float:
    """Return the share of English and Russian function words; for short text, a high constant."""
    sequence = words(text)
    if len(sequence) < _LEAST_WORDS:
        return _MANY_STOPS
    return sum(word.kind == "stop" for word in sequence) / len(sequence)


def _names(text: str) -> list[tuple[str, set[str]]]:
    """Return the names in the text, which are runs of capitalised words, with their keys."""
    sequence = words(text)
    names: list[tuple[str, set[str]]] = []
    last = -2
    for n, word in enumerate(sequence):
        if is_name_at(sequence, n):
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
# Judges list at most five claims per sentence; sentences with fewer words rarely contain more.
_MANY_WORDS = 200
# In "Room 12 costs 300 euros", `leaning_of` takes the word after the number for a noun.
_NUMBER_OF_A_NAME = re.compile(r"^([^\W\d]+) \d+(?= [a-z])")
_FIRST_PERSON = re.compile(r"(?:\w+,? )?(?:i|we|let|я|мы)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GuardedCall(Generic[M]):
    """A judge call and the guard that checks its reply, if any.

    `stated` returns the statements in a reply and the ids of sentences without statements.
    """

    call: JudgeCall[M]
    guard: Guard | None
    stated: Callable[[M], tuple[Sequence[Stated], Sequence[int]]]

    def examine(self, reply: M) -> "GuardedReply[M]":
        stated, silent = self.stated(reply)
        if not silent and self.guard is not None and self.guard.are_sentences(stated):
            return GuardedReply(reply, stated, range(len(stated)), ())
        places, faults = distinct(stated)
        for one in self.guard.faults([stated[n] for n in places], silent) if self.guard else ():
            # Convert an index among distinct statements to one in the whole reply.
            place = None if one.statement is None else places[one.statement]
            faults.append(one._replace(statement=place))
        faults.sort(key=lambda one: one.name == "merged")
        return GuardedReply(reply, stated, places, faults)


@dataclass(frozen=True, slots=True)
class GuardedReply(Generic[M]):
    """A reply and its faults; `places` are the indexes of its distinct statements."""

    reply: M
    stated: Sequence[Stated]
    places: Sequence[int]
    faults: Sequence[Fault]

    @property
    def wrong(self) -> list[Fault]:
        """Faults that the judge must correct."""
        return [fault for fault in self.faults if fault.name != "merged"]

    @property
    def drift(self) -> list[str]:
        return [str(fault) for fault in self.faults]

    @property
    def left_out(self) -> list[int]:
        """Ids of sentences that contain a claim but are missing from the reply."""
        return [fault.sentence or 0 for fault in self.faults if fault.name == "left out"]

    @property
    def unverified(self) -> Mapping[int, str]:
        """Reasons not to trust statements, keyed by statement index."""
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
    """Make calls in parallel; if a reply has faults, repeat its call once."""
    answered = yield [one.call for one in asked]
    found = [one.examine(one.call.read(reply)) for one, reply in zip(asked, answered, strict=True)]
    faulty = [place for place, one in enumerate(found) if one.wrong]
    if faulty:
        calls = [_again(asked[place].call, found[place]) for place in faulty]
        answered = yield calls
        for place, call, reply in zip(faulty, calls, answered, strict=True):
            found[place] = asked[place].examine(call.read(reply))
    return found


def _again(call: JudgeCall[M], found: GuardedReply[M]) -> JudgeCall[M]:
    told = "\n".join(f"- {fault}" for fault in found.wrong[:_MOST_NAMED])
    # Only the fields that the judge wrote, without those set by code.
    reply: Any = found.reply
    said: Message = {"role": "assistant", "content": reply.model_dump_json(exclude_unset=True)}
    asked: Message = {
        "role": "user",
        "content": f"A program compared your reply with the text:\n{told}\nCorrect this, and give "
        "the whole reply again, in the same form.",
    }
    return replace(call, messages=(*call.messages, said, asked))


def claiming_sentences(answer: str, first: int = 0) -> list[int]:
    """Return the ids of sentences with a claim that contains a number or at least five words.

    Ids are relative to the sentence `first`, so the ids of earlier sentences are negative.
    """
    from rag_evals.embedded import prepare_answer  # noqa: PLC0415 - slow import

    places = {span.start: number for number, span in enumerate(split_sentences(answer))}
    found = {
        places[one.start] - first
        for one in prepare_answer(answer)
        if one.no_claim is None
        and one.start in places
        and leaning_of(_NUMBER_OF_A_NAME.sub(r"\1", one.claim)) in (None, "pronoun")
        and (numbers_of(one.claim) or len(one.claim.split()) >= _LEAST_WORDS_OF_CLAIM)
        and not _FIRST_PERSON.match(one.claim)
    }
    return sorted(found)


Ask = Callable[[Sequence[str], type[BaseModel]], JudgeCall[Any]]
"""Creates the judge call for a list of sentences and a reply model."""


class _Stretch(NamedTuple):
    """The sentences in one call; `first` is the first one's index in the whole text."""

    first: int
    spans: Sequence[Span]
    guard: Guard

    def stated(self, reply: KeyedReply) -> tuple[list[Stated], list[int]]:
        """Return the statements in a reply and the ids of the sentences it skips."""
        stated = reply.claims(self.guard.sentences)
        said = {number for one in stated for number in one.sentence_ids}
        return stated, [number for number in range(len(self.spans)) if number not in said]

    def fields(self, found: GuardedReply[KeyedReply], verdict_name: str) -> dict[str, list[Any]]:
        """Return the fields of a result with sentence ids that refer to the whole text."""
        unverified, left_out = found.unverified, found.left_out
        statements = []
        for place in found.places:
            claim, fault = found.stated[place], unverified.get(place)
            number = claim.sentence_ids[0] if claim.sentence_ids else self.guard.place(claim.text)
            span = None if number is None else self.spans[number]
            one = {
                "statement": claim.text,
                "reasoning": claim.reasoning,
                "supporting_chunk_ids": [] if fault else list(claim.chunk_ids),
                "sentence_id": None if number is None else self.first + number,
                "start": span and span.start,
                "end": span and span.end,
                "fault": fault,
                "because": claim.because,
            }
            statements.append(one | {verdict_name: claim.verdict and fault is None})
        passed_over = [
            {"sentence_id": self.first + number, "reason": reason, "text": self.spans[number].text}
            for number, reason in found.reply.passed_over.items()
            if number not in left_out
        ]
        return {
            "statements": statements,
            "no_claim_sentences": passed_over,
            "drift": found.drift,
            "left_out": [self.first + number for number in left_out],
        }


def grade_by_sentence(sample: Sample, result: type[R], unit: VerdictUnit, ask: Ask) -> Flow[R]:
    """Grade one sample sentence by sentence."""
    kind: Any = result
    text = (sample.answer if kind.statements_of == "answer" else sample.reference) or ""
    if not any(map(str.isalnum, text)):
        return result(statements=[])
    spans = [Span(0, len(text), text)] if unit == "answer" else split_sentences(text)
    parts = _parts(spans, sample, text)
    asked = []
    for part in parts:
        reply_model = keyed_reply(kind, ReplyShape(unit, len(part.spans), len(sample.context)))
        call = ask(part.guard.sentences, reply_model)
        asked.append(GuardedCall(call, None if unit == "answer" else part.guard, part.stated))
    replies = yield from ask_guarded(asked)
    pairs = zip(parts, replies, strict=True)
    each = [part.fields(found, kind.verdict_name) for part, found in pairs]
    fields: dict[str, Any] = {name: [one for own in each for one in own[name]] for name in each[0]}
    if unit != "answer":
        fields["drift"] += [
            f"long sentence: sentence {number} has {count:,} words; some claims may be missing"
            for number, span in enumerate(spans)
            # The cheap length check comes first, because most sentences are shorter.
            if len(span.text) > _MANY_WORDS and (count := len(span.text.split())) > _MANY_WORDS
        ]
    # No validation context is given, because these values come from code, not from a judge.
    return result.model_validate(fields | {"calls": len(parts)})


def _parts(spans: Sequence[Span], sample: Sample, text: str) -> list[_Stretch]:
    number = -(-len(spans) // MOST_SENTENCES)
    size = -(-len(spans) // number)
    chunks = [chunk.text for chunk in sample.context]
    known = f"{text} {sample.question or ''}" if number > 1 else sample.question
    parts = []
    for first in range(0, len(spans), size):
        own = spans[first : first + size]
        claiming = partial(claiming_sentences, text, first)
        guard = Guard([one.text for one in own], known, chunks, claiming)
        parts.append(_Stretch(first, own, guard))
    return parts


def keyed_example(kind: type[ByStatement], result: str, sample: Sample, unit: VerdictUnit) -> str:
    """Convert the result of a few-shot example to the format of a judge's reply."""
    text = (sample.answer if kind.statements_of == "answer" else sample.reference) or ""
    guard = Guard([span.text for span in split_sentences(text)])
    own: dict[int, list[dict[str, Any]]] = {n: [] for n in range(len(guard.sentences))}
    shown: Any = kind.model_validate_json(result)
    for one in shown.statements:
        ids, counts = one.supporting_chunk_ids, getattr(one, kind.verdict_name)
        verdict = {"supported_by": ids} if counts else {"not_supported_because": "not_in_context"}
        claim = {"statement": one.statement, "reasoning": one.reasoning or "", "verdict": verdict}
        own.setdefault(guard.place(one.statement) or 0, []).append(claim)
    if unit == "answer":
        return json.dumps(_keyed([one for each in own.values() for one in each], unit))
    return json.dumps({f"s{n}": _keyed(each, unit) for n, each in own.items()})


def _keyed(claims: list[dict[str, Any]], unit: VerdictUnit) -> dict[str, Any]:
    if not claims:
        return {"claims_nothing": "It claims nothing."}
    if unit == "claims" and len(claims) > 1:
        return {"claims": claims}
    # The first claim that is not supported decides the verdict on the sentence or whole answer.
    denied = (one for one in claims if "supported_by" not in one["verdict"])
    chosen = next(denied, claims[0])
    return {"reasoning": chosen["reasoning"], "verdict": chosen["verdict"]}


def grade_own_statements(sample: Sample, call: JudgeCall[R]) -> Flow[R]:
    """Grade with a custom response model that contains statements, and check the reply."""
    asked = GuardedCall(
        call,
        Guard.of(sample),
        lambda reply: ([Stated(said, (), v) for said, v in statements_in(reply)], ()),
    )
    (found,) = yield from ask_guarded([asked])
    if found.left_out:
        raise NotScorableError("answer_not_covered")
    return with_statements(found.reply, found.places, found.unverified.keys())
