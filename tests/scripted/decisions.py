"""How does a scripted judge play a decision model? From numbers by name.

A script answers a request with `{name: value}`: a number for a predicate, an option's or a level's
name for a choice or a score, or probabilities by option; None declines. A name that is left out is
not answered, one that was not asked is sent all the same.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from rag_evals.testing import Reply, Wire

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question as a decision model receives it.

    Attributes:
        name: Its name.
        kind: `predicate`, `choice` or `score`.
        instructions: What is asked.
        options: Of a choice, or the levels of a score; else empty.
    """

    name: str
    kind: str
    instructions: str
    options: tuple[str, ...] = ()


def is_for_decisions(path: str) -> bool:
    """Say whether a request goes to a decision model."""
    return path.endswith("/decisions")


def state_of(body: Mapping[str, Any]) -> str:
    """Return what the questions of a request are about."""
    return str(body.get("input", ""))


def questions_of(body: Mapping[str, Any]) -> list[AskedQuestion]:
    """Read the questions of a request."""
    return [_read(one) for one in body.get("questions", [])]


def _read(one: Mapping[str, Any]) -> AskedQuestion:
    options = [str(choice["value"]) for choice in one.get("choices", ())]
    options += [str(level["label"]) for level in one.get("levels", ())]
    said = str(one.get("instructions", ""))
    return AskedQuestion(str(one.get("name")), str(one["type"]), said, tuple(options))


def tokens_of(body: Mapping[str, Any]) -> int:
    """Guess the tokens of a request: four characters each."""
    texts = [state_of(body)]
    for question in questions_of(body):
        texts += [question.instructions, *question.options]
    return sum(map(len, texts)) // _CHARACTERS_PER_TOKEN


def decision_wire(chat: Wire) -> Wire:
    """Return the wire of a decision model; texts and errors are sent as a chat's."""

    def reply(reply: Reply, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(reply.content, str):
            return chat.reply(reply, body)
        return as_sent(reply.content, body, reply.prompt_tokens)

    def messages(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        return [{"role": "user", "content": state_of(body)}]

    return Wire(messages, chat.schema, reply, chat.error, chat.path)


def as_sent(values: Mapping[str, Any], body: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
    """Wrap the answers of a script as the wire sends them."""
    asked = {question.name: question for question in questions_of(body)}
    answers = [
        {"name": name, **_answer(asked.get(name, AskedQuestion(name, "predicate", "")), value)}
        for name, value in values.items()
    ]
    usage = {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
    return {"model": body.get("model", "scripted"), "answers": answers, "usage": usage}


def _answer(question: AskedQuestion, value: Any) -> dict[str, Any]:
    if value is None:
        return {"type": "refusal", "refusal": "scripted"}
    if question.kind == "predicate":
        return {"type": "predicate", "probability": value}
    shares = _shares(question, value)
    if question.kind == "choice":
        listed = [{"value": name, "probability": share} for name, share in shares.items()]
        return {**_chosen(shares), "type": "choice", "probabilities": listed}
    listed = [
        {"value": place, "label": name, "probability": shares.get(name, 0.0)}
        for place, name in enumerate(question.options)
    ]
    return {"type": "score", "score": _mean(question, shares), "probabilities": listed}


def _shares(question: AskedQuestion, value: Any) -> dict[str, float]:
    if isinstance(value, Mapping):
        return dict(value)
    return {option: float(option == value) for option in question.options}


def _chosen(shares: Mapping[str, float]) -> dict[str, Any]:
    best = max(shares, key=lambda name: shares[name])
    return {"choice": best, "confidence": shares[best]}


def _mean(question: AskedQuestion, shares: Mapping[str, float]) -> float:
    total = sum(shares.values()) or 1.0
    places = enumerate(question.options)
    return sum(place * shares.get(name, 0.0) for place, name in places) / total


_STATEMENT = re.compile(r"<statement>\n(.*?)\n</statement>", re.DOTALL)
_CHUNK = re.compile(r"(?:Chunk|Фрагмент|chunk) (\d+)")
_NUMBER = re.compile(r"\d+")
_SURE = 0.99


def decided_by_words(
    questions: Sequence[AskedQuestion],
    chunks: Sequence[str],
) -> dict[str, Any]:
    """Answer any questions: the default script.

    Args:
        questions: What is asked.
        chunks: The context; a statement is as likely supported as its words stand in one chunk,
            and hardly with a number that does not.
    """
    found: dict[str, Any] = {}
    for question in questions:
        statements = _STATEMENT.findall(question.instructions)
        named = [int(number) for number in _CHUNK.findall(question.instructions)]
        read = [chunks[number] for number in named if number < len(chunks)] or list(chunks)
        shares = [_said(statements[0], chunk) for chunk in read if statements]
        # Anything else: a number of its own for each question, whatever is asked beside it.
        own = "\n".join([question.instructions, *(read if named else ())])
        best = max(shares, default=0.0) if statements else crc32(own.encode()) % 100 / 100
        likely = min(max(best, 1 - _SURE), _SURE)
        if question.kind == "predicate":
            found[question.name] = likely
        elif question.kind == "choice" and statements and shares:
            place = shares.index(best) if best > 0.5 else -1
            found[question.name] = question.options[place]
        else:
            place = round(likely * (len(question.options) - 1))
            found[question.name] = question.options[place]
    return found


def _said(statement: str, chunk: str) -> float:
    words = set(re.findall(r"\w+", statement.lower()))
    share = len(words & set(re.findall(r"\w+", chunk.lower()))) / len(words or "-")
    return share if set(_NUMBER.findall(statement)) <= set(_NUMBER.findall(chunk)) else share / 10
