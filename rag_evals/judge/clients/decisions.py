"""Decision models, which answer typed questions through `POST /decisions`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from rag_evals.core import JudgeCall, JudgeReply, Message, Meter
from rag_evals.errors import ConfigurationError, JudgeOutputError
from rag_evals.judge.clients.strings import Endpoint
from rag_evals.judge.pace.row_time import row_time
from rag_evals.judge.wire.ask import AskOptions, AskSettings, Exchanged, InstructorJudge
from rag_evals.judge.wire.direct import Post
from rag_evals.judge.wire.exchange import Exchange, no_reply
from rag_evals.judge.wire.sending import redact
from rag_evals.text import shortened

# OpenAI's limit on questions per request; other hosts do not publish one.
_MOST_QUESTIONS = 400
MOST_OPTIONS = 208
"""Fireworks' limit for one choice; OpenAI allows 255."""

_MOST_SHOWN = 200
DECISIONS_PATH = "/decisions"


@dataclass(frozen=True, slots=True)
class Question:
    """A question: a predicate, or a choice if it has options; names are unique within a call."""

    name: str
    instructions: str
    options: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "choice" if self.options else "predicate"


class DecisionAnswer(BaseModel):
    """A decision model's answer to one question.

    Attributes:
        probability: Probability that a predicate is true or a choice is right; None if the host
            does not return one for a choice.
        choice: The most likely option, for a choice.
        refusal: Why the model refused to answer.
    """

    probability: float | None = None
    choice: str | None = None
    refusal: str | None = None


class Decisions(BaseModel):
    """Answers, keyed by question name."""

    answers: dict[str, DecisionAnswer] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DecisionCall(JudgeCall[Decisions]):
    """Questions about a single text, for a decision model."""

    questions: tuple[Question, ...] = ()

    @classmethod
    def of(cls, state: str, questions: Sequence[Question], endpoint: str) -> "DecisionCall":
        """Return a call that asks these questions about `state`."""
        texts = [state, *("\n".join((q.name, q.instructions, *q.options)) for q in questions)]
        messages = tuple(Message(role="user", content=text) for text in texts)
        # Validators treat a chunk count as a sign that a judge was called.
        facts = {"chunk_count": 0}
        return cls(messages, Decisions, facts, endpoint=endpoint, questions=tuple(questions))

    @property
    def state(self) -> str:
        """The text that the questions are about."""
        return self.messages[0]["content"]

    def in_requests(self) -> Iterator["DecisionCall"]:
        """Split the questions into calls that each fit into one request."""
        for first in range(0, len(self.questions), _MOST_QUESTIONS):
            part = self.questions[first : first + _MOST_QUESTIONS]
            yield DecisionCall.of(self.state, part, str(self.endpoint))


class DecisionJudge(InstructorJudge):
    def __init__(
        self, client: Any, post: Post, endpoint: Endpoint, model: str | None, options: AskOptions
    ) -> None:
        if options.settings:
            raise ConfigurationError(
                f"settings ({', '.join(options.settings)}) are given, but a decision model accepts "
                "none"
            )
        name = endpoint.address_name
        super().__init__(client, AskSettings(options, model, endpoint.model, address_name=name))
        self._post = post

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        if not isinstance(call, DecisionCall):
            raise ConfigurationError(
                "this grader needs text, and a decision model only answers typed questions; use "
                "a chat model, such as 'openai/gpt-4o-mini'"
            )
        found: dict[str, DecisionAnswer] = {}
        faults: dict[str, str] = {}
        exchange = Exchange(call, meter, self._client.mode.name, self._settings.options.reasks)
        with Exchanged(exchange, self._client, self._settings, enveloped=False):
            async with row_time(meter):
                for part in call.in_requests():
                    faults |= await self._ask(exchange, part, found)
            if faults:
                name, fault = next(iter(faults.items()))
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                raise JudgeOutputError(f"the decision model's answer to {name!r} {fault}{more}")
            return JudgeReply(Decisions(answers=found), exchange.usage)

    async def _ask(
        self, exchange: Exchange, part: DecisionCall, found: dict[str, DecisionAnswer]
    ) -> dict[str, str]:
        """Send a request's questions, re-ask those with invalid answers; return the last faults."""
        asked: Sequence[Question] = part.questions
        for attempt in range(self._settings.options.reasks + 1):
            listed = [_as_sent(question) for question in asked]
            model = self._settings.model or self._settings.default_model
            reply = await self._post(model=model, input=part.state, questions=listed)
            exchange.count_reply(reply, again=attempt > 0)
            answers, wrong = _read_answers(reply, asked, exchange.key)
            found.update(answers)
            asked = [question for question in asked if question.name in wrong]
            if not asked:
                break
        return wrong


def _as_sent(question: Question) -> dict[str, Any]:
    choices = [{"value": option} for option in question.options]
    sent = {"type": question.kind, "name": question.name, "instructions": question.instructions}
    return sent | ({"choices": choices} if choices else {})


def read_decisions(content: bytes) -> dict[str, Any]:
    try:
        # Unlike pydantic's parser, `json` accepts half of a surrogate pair.
        found = json.loads(content)
    # Thousands of nested brackets raise RecursionError.
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("answers"), list):
        raise no_reply(content)
    return found


def _read_answers(
    reply: Mapping[str, Any], questions: Sequence[Question], key: str | None
) -> tuple[dict[str, DecisionAnswer], dict[str, str]]:
    by_name: dict[str, list[dict[str, Any]]] = {question.name: [] for question in questions}
    for one in reply["answers"]:
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str) or name not in by_name:
            # An answer to a question that was not asked makes every answer doubtful.
            fault = f"came with an answer to {_shown(name)}, which was not asked"
            return {}, dict.fromkeys(by_name, redact(fault, key))
        by_name[name].append(one)
    answers: dict[str, DecisionAnswer] = {}
    faults: dict[str, str] = {}
    for question in questions:
        try:
            answers[question.name] = _read_answer(question, by_name[question.name], key)
        except ValueError as error:
            faults[question.name] = redact(str(error), key)
    return answers, faults


def _read_answer(
    question: Question, answers: Sequence[Mapping[str, Any]], key: str | None
) -> DecisionAnswer:
    """Parse a question's only answer; `ValueError` messages continue the words "the answer"."""
    if len(answers) != 1:
        raise ValueError(f"was given {len(answers)} times" if answers else "is missing")
    (given,) = answers
    kind = given.get("type")
    if kind == "refusal":
        said = given.get("refusal") or given.get("message") or "no reason given"
        return DecisionAnswer(refusal=redact(shortened(str(said), _MOST_SHOWN), key))
    # Hosts may omit the type, but must not send an answer of a different type.
    if kind in ("predicate", "choice", "score") and kind != question.kind:
        raise ValueError(f"is of type {kind!r}; expected a {question.kind}")
    if not question.options:
        return DecisionAnswer(probability=_probability(given.get("probability")))
    choice, confidence = given.get("choice"), given.get("confidence")
    if choice not in question.options:
        raise ValueError(f"chooses {_shown(choice)}, which is not an option")
    sure = None if confidence is None else _probability(confidence)
    return DecisionAnswer(choice=choice, probability=sure)


def _probability(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Also rejects NaN.
    if not is_number or not 0 <= value <= 1:
        raise ValueError(f"has the probability {_shown(value)}; expected a number from 0 to 1")
    return float(value)


def _shown(value: object) -> str:
    return shortened(repr(value), _MOST_SHOWN)
