"""How do decision models talk? Two wires: `/decisions` in OpenAI's shape, `/systemone` in Jev's.

A wire makes the body of a request, and lists the answers of a reply by the question's name. Whether
an answer is one is judged here for both.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evals.core import DecisionAnswer, Question, QuestionKind
from rag_evals.judge.providers import NO_KEY
from rag_evals.judge.redact import redact
from rag_evals.judge.replies import no_reply
from rag_evals.text import shortened

DecisionBody = dict[str, Any]
Named = Iterator[tuple[object, Mapping[str, Any]]]


_MOST_SHOWN = 200
# What either wire calls them.
_KINDS: Mapping[str, QuestionKind] = {
    "predicate": "predicate",
    "noul": "predicate",
    "choice": "choice",
    "score": "score",
}


class _FaultError(ValueError):
    """Why an answer is none, in words that follow "the answer"."""


@dataclass(frozen=True, slots=True)
class DecisionWire:
    """One way of talking.

    Attributes:
        path: What follows the address.
        body: Makes a request of model, state and questions.
        answers: Lists the answers of a reply with the names that they stand under; one name may
            come twice.
    """

    path: str
    body: Callable[[str, str, Sequence[Question]], DecisionBody]
    answers: Callable[[Any], Named]


@dataclass(slots=True)
class ReadReply:
    """What a reply holds.

    Attributes:
        answers: Those that can be used, by the question's name.
        faults: Why a question has no such answer, by its name.
    """

    answers: dict[str, DecisionAnswer] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


class _Object(dict[str, Any]):
    """An object of JSON that keeps what stands in it twice; a dictionary would hide the first."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def read_reply(content: bytes) -> Any:
    """Read the body of a reply.

    Raises:
        JudgeUnavailableError: It is none, whatever its status says.
    """
    try:
        found = json.loads(content, object_pairs_hook=_Object)
    # Brackets within brackets, thousands deep, end a parser as surely as a broken text.
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, _Object) or not isinstance(found.get("answers"), dict | list):
        raise no_reply(content)
    return found


def check_answers(wire: DecisionWire, reply: Any, questions: Sequence[Question]) -> ReadReply:
    """Take the answers of a reply: each question exactly once, and nothing else."""
    found = list(wire.answers(reply["answers"]))
    asked = {question.name: question for question in questions}
    foreign = [name for name, _ in found if not isinstance(name, str) or name not in asked]
    if foreign:
        # Whose answer that is nobody knows, so that all of them are in doubt.
        fault = f"came with one to {_shown(foreign[0])}, which was not asked"
        return ReadReply(faults=dict.fromkeys(asked, fault))
    read = ReadReply()
    times = Counter(name for name, _ in found)
    given = dict(found)
    for name, question in asked.items():
        if times[name] != 1:
            read.faults[name] = "is missing" if not times[name] else f"came {times[name]} times"
            continue
        try:
            read.answers[name] = _answer(question, given[name])
        except _FaultError as fault:
            read.faults[name] = str(fault)
    return read


def without_key(read: ReadReply, key: str | None) -> ReadReply:
    """Take the key out of what a reply says; a server may repeat what it was sent."""
    # What stands in for a key is a word that options are named by.
    key = None if key == NO_KEY else key
    for answer in read.answers.values():
        if answer.refusal is not None:
            answer.refusal = redact(answer.refusal, key)
    read.faults = {name: redact(fault, key) for name, fault in read.faults.items()}
    return read


def _answer(question: Question, given: Any) -> DecisionAnswer:
    if not isinstance(given, Mapping):
        raise _FaultError(f"is {_shown(given)}, which is no object")
    kind = given.get("type")
    if kind == "refusal":
        said = given.get("refusal") or given.get("message") or "no reason said"
        return DecisionAnswer(refusal=shortened(str(said), _MOST_SHOWN))
    # A number of another question says nothing of this one; hosts may leave the type out.
    meant = _KINDS.get(kind) if isinstance(kind, str) else None
    if meant is not None and meant != question.kind:
        raise _FaultError(f"is of type {kind!r}; expected a {question.kind}")
    if question.kind == "predicate":
        return DecisionAnswer(probability=_probability(given.get("probability", given.get("noul"))))
    if question.kind == "choice":
        return _choice(question, given)
    return _score(question, given)


def _choice(question: Question, given: Mapping[str, Any]) -> DecisionAnswer:
    probabilities = _by_option(given.get("probabilities"), question.options)
    choice = given.get("choice")
    if not isinstance(choice, str) or choice not in question.options:
        raise _FaultError(f"chooses {_shown(choice)}, which was no option")
    return DecisionAnswer(choice=choice, probabilities=probabilities)


def _score(question: Question, given: Mapping[str, Any]) -> DecisionAnswer:
    most = len(question.options) - 1
    levels = tuple(str(level) for level in range(most + 1))
    score: Any = given.get("score")
    if not _is_number(score) or not 0 <= score <= most:
        raise _FaultError(f"has the score {_shown(score)}; expected a number from 0 to {most}")
    by_level = _by_option(given.get("probabilities"), levels)
    place = int(max(by_level, key=lambda level: by_level[level])) if by_level else round(score)
    return DecisionAnswer(
        choice=question.options[place],
        probabilities={question.options[int(level)]: p for level, p in by_level.items()},
        score=float(score),
    )


def _by_option(given: Any, options: Sequence[str]) -> dict[str, float]:
    """Read probabilities in either shape: a mapping, or a list of values with theirs."""
    if given is None:
        return {}
    if isinstance(given, list):
        pairs = [_option_and_probability(one) for one in given]
    elif isinstance(given, _Object):
        pairs = list(given.pairs)
    else:
        raise _FaultError(f"has the probabilities {_shown(given)}; expected one for each option")
    found: dict[str, float] = {}
    for name, value in pairs:
        if name not in options:
            raise _FaultError(f"has a probability for {_shown(name)}, which was no option")
        if name in found:
            raise _FaultError(f"has two probabilities for {_shown(name)}")
        found[name] = _probability(value)
    return found


def _option_and_probability(one: Any) -> tuple[str, Any]:
    if not isinstance(one, Mapping):
        raise _FaultError(f"has {_shown(one)} among its probabilities, without the option's name")
    return str(one.get("value")), one.get("probability")


# What stands in a reply may be anything.
def _probability(value: Any) -> float:
    if not _is_number(value) or not 0 <= value <= 1:
        raise _FaultError(f"has the probability {_shown(value)}; expected a number from 0 to 1")
    return float(value)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # An integer may be too large for `isfinite`, and is finite anyway.
    return is_number and (isinstance(value, int) or math.isfinite(value))


def _shown(value: object) -> str:
    """Name what a server sent in a message, on one line and not longer than one."""
    return shortened(repr(value), _MOST_SHOWN)


def _decisions_body(model: str, state: str, questions: Sequence[Question]) -> DecisionBody:
    return {
        "model": model,
        "input": state,
        "questions": [_decisions_question(question) for question in questions],
    }


def _decisions_question(question: Question) -> DecisionBody:
    asked = {
        "type": question.kind,
        "name": question.name,
        "instructions": question.instructions,
    }
    if question.kind == "choice":
        return {**asked, "choices": [{"value": option} for option in question.options]}
    if question.kind == "score":
        return {**asked, "levels": [{"label": option} for option in question.options]}
    return asked


def _decisions_answers(given: Any) -> Named:
    for one in given if isinstance(given, list) else ():
        is_answer = isinstance(one, Mapping)
        yield (one.get("name"), one) if is_answer else (None, {})


def _systemone_body(model: str, state: str, questions: Sequence[Question]) -> DecisionBody:
    return {
        "model": model,
        "state": state,
        "questions": {question.name: _systemone_question(question) for question in questions},
    }


def _systemone_question(question: Question) -> DecisionBody:
    if question.kind == "predicate":
        return {"type": "noul", "instructions": question.instructions}
    # A mapping of options to what they mean, which their names say already.
    criteria: Any = dict.fromkeys(question.options)
    if question.kind == "score":
        criteria = list(question.options)
    return {"type": question.kind, "instructions": question.instructions, "criteria": criteria}


def _systemone_answers(given: Any) -> Named:
    yield from given.pairs if isinstance(given, _Object) else ()


WIRES: Mapping[str, DecisionWire] = {
    "decisions": DecisionWire("/decisions", _decisions_body, _decisions_answers),
    "systemone": DecisionWire("/systemone", _systemone_body, _systemone_answers),
}
"""The two wires, by the word before the colon of a judge string."""
