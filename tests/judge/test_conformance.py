"""What goes straight to an OpenAI-like endpoint is what instructor sends, re-asks included."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import instructor
import pytest
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, Field, ValidationError

from rag_evals.base import ContextEvaluation
from rag_evals.catalog import GRADERS, RUBRICS
from rag_evals.core import JudgeCall, JudgeReply, Meter, Sample, Usage, facts_for
from rag_evals.errors import GradingError
from rag_evals.grading import Grader
from rag_evals.judge.wire.ask import AskOptions, AskSettings, InstructorJudge
from rag_evals.judge.wire.direct import DirectJudge, read_chat, request_body
from rag_evals.judge.wire.exchange import missing_message, packed
from rag_evals.response_models import ChecklistResult
from rag_evals.score_ranks import RetrievalRanks
from rag_evals.testing import JudgeRequest
from rag_evals.testing.scripted import fill_by_words
from tests.judge.modes import MODES
from tests.slow import some_slow

SAMPLE = Sample(
    question='Где башня? \u2028 "quoted" <b> \U0001f5fc',
    answer="The tower stands in Paris [1]. Она стоит в Париже \U0001f5fc.",
    context=["The tower stands in Paris.", "Башня стоит в Париже \U0001f5fc."],
    reference="In Paris. В Париже.",
)
CHECKED = re.compile(
    r'("(?:id_chunk|(?:chunk|statement|sentence|citation)_id|label|criterion|score|passed)": )'
    r'("[^"]*"|\w+)'
)
QUOTED = re.compile(r'("quote": )"[^"]*"')
IDS = re.compile(r'((?:_ids|supported_by)": )\[[^]]*\]')


class _Free(BaseModel):
    """What a user may ask for: an open dictionary, words in Russian, a bound."""

    note: str = Field(description="Слово \U0001f5fc")
    marks: dict[str, int] = {}
    score: float = Field(ge=0, le=1)


def custom(model: type[BaseModel]) -> Grader[Any]:
    """Make a grader as a user does."""
    asks = {"polite": "Он вежлив.", "short": "It is short."} if model is ChecklistResult else None
    return ContextEvaluation("Пометь ответ.", model, criteria=asks)


GRADED = [
    *(one for one in GRADERS.values() if one is not RetrievalRanks),
    *map(custom, RUBRICS.values()),
    custom(_Free),
]


def calls_of(grader: Grader[Any]) -> Iterator[tuple[JudgeCall[Any], str]]:
    """Yield every call of a grading, of its second step too, each with a good reply."""
    flow = grader.flow(SAMPLE)
    steps = next(flow)
    while calls := [step for step in steps if isinstance(step, JudgeCall)]:
        replies = []
        for call in calls:
            asked = request_body(call, mode="JSON_SCHEMA", strict=False, model="m", settings={})
            good = fill_by_words(JudgeRequest(0, "/v1/chat/completions", {}, asked))
            facts = facts_for(call.facts, is_last=False)
            replies.append(JudgeReply(call.reply_model.model_validate(good, context=facts)))
            yield call, json.dumps(good, ensure_ascii=False)
        try:
            steps = flow.send(replies)
        except StopIteration:
            return


class Said(NamedTuple):
    """One form of reply: its message, and why the model stopped."""

    message: dict[str, Any]
    finish: str = "stop"

    def as_bytes(self) -> bytes:
        """Write it as OpenAI does."""
        choice = {"index": 0, "finish_reason": self.finish, "message": self.message}
        whole = {
            "id": "a",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
        return json.dumps(whole).encode()


def tool_call(number: int, arguments: Any) -> dict[str, Any]:
    """Write one call of a tool."""
    function = {"name": "X", "arguments": arguments}
    return {"id": f"c{number}", "type": "function", "function": function}


def filled(mode: str, *texts: str | None) -> dict[str, Any]:
    """Write a message that fills the schema: as text, or as calls of the tool."""
    if mode == "JSON_SCHEMA":
        return {"role": "assistant", "content": texts[0]}
    calls = [tool_call(number, text) for number, text in enumerate(texts)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def faults(mode: str, good: str) -> dict[str, Said]:
    """Return a reply of every wrong form, and of wrong forms that are read all the same."""
    spoilt = IDS.sub(r"\g<1>[99]", QUOTED.sub(r'\1"никто \\ud83d\\uddfc"', good))
    texts = {
        "not JSON": "нет \U0001f5fc { no JSON",
        "wrong type": '{"statements": 3, "note": 4}',
        "missing field": "{}",
        "failed check": CHECKED.sub(r"\g<1>99", spoilt),
        "half a surrogate": '{"note": "\\ud83d"}',
        "fenced": f"```json\n{good}\n```",
        "thoughts": f"<think>hm</think> {good}",
        "cut inside": good[: len(good) // 2],
        "empty": "",
        "null": None,
    }
    bare: dict[str, Any] = {"role": "assistant", "content": None}
    return {
        **{name: Said(filled(mode, text)) for name, text in texts.items()},
        "refused": Said(bare | {"refusal": "Нет."}),
        "refused in words": Said({"role": "assistant", "content": "I'm sorry, but no."}),
        "parts": Said({"role": "assistant", "content": [{"type": "text", "text": good}]}),
        "broken parts": Said({"role": "assistant", "content": [{"text": "{Ж"}, {"text": "}"}]}),
        "properties": Said(filled(mode, f'{{"properties": {good}}}')),
        "cut off": Said(filled(mode, good[:9]), "length"),
        "filtered": Said(filled(mode, ""), "content_filter"),
        "whole, yet cut off": Said(filled(mode, good), "length"),
        "whole, yet filtered": Said(filled(mode, good), "content_filter"),
        "no call": Said({"role": "assistant", "content": "Да \U0001f5fc"}),
        "no calls": Said(bare | {"tool_calls": []}),
        "two calls": Said(filled(mode, "{}", '{"statements": 3}')),
        "two equal calls": Said(filled(mode, "{}", "{}") | {"content": "said"}),
        "function call": Said(bare | {"function_call": {"name": "X", "arguments": "{}"}}),
    }


READ = {"fenced", "thoughts", "parts", "properties", "whole, yet filtered"}
ENDS = {
    *("refused", "refused in words", "cut off", "whole, yet cut off", "filtered"),
    *("empty", "null", "no calls"),
}
"""What is not asked again: it would come back the same."""

SETTINGS: Any = [
    {"seed": 7},
    {"temperature": None},
    {"temperature": 0.30000000000000004, "max_tokens": 900, "reasoning_effort": "low"},
    {"top_p": 0.5},
]


class Way(NamedTuple):
    """What a way of asking did: the bodies it sent, what was counted, and how it ended."""

    sent: list[bytes]
    used: Usage
    end: object


def completion_in(content: bytes) -> Any:
    """Read a body as OpenAI's library does; a reply that leaves fields out is taken as it is."""
    completion: Any
    try:
        completion = ChatCompletion.model_validate_json(content)
    except ValidationError:
        completion = ChatCompletion.construct(**read_chat(content))
    if (missing := missing_message(completion)) is not None:
        raise missing
    return completion


def both_ways(
    call: JudgeCall[Any], mode: Any, settings: AskSettings, script: Sequence[Said]
) -> tuple[Way, Way]:
    """Ask through instructor, and without it; the last reply of a script is repeated."""

    def client(kind: Any, create: Any) -> Any:
        return kind(client=None, create=instructor.patch(create=create, mode=mode), mode=mode)

    def way(ask: Callable[[Callable[..., bytes], Meter], JudgeReply]) -> Way:
        sent: list[bytes] = []
        meter = Meter()

        def answer(body: dict[str, Any]) -> bytes:
            said = script[min(len(sent), len(script) - 1)]
            sent.append(packed(dict(body), "m"))
            return said.as_bytes()

        try:
            end: object = ask(answer, meter).parsed
        except GradingError as error:
            end = repr(error)
        return Way(sent, meter.total, end)

    def by_instructor(answer: Callable[..., bytes], meter: Meter) -> JudgeReply:
        asked = client(instructor.Instructor, lambda **body: completion_in(answer(body)))
        return asyncio.run(InstructorJudge(asked, settings).ask(call, meter))

    def past_it(answer: Callable[..., bytes], meter: Meter) -> JudgeReply:
        async def post(**body: Any) -> Any:
            return read_chat(answer(body))

        asked = client(instructor.AsyncInstructor, post)
        return asyncio.run(DirectJudge(asked, settings, post).ask(call, meter))

    return way(by_instructor), way(past_it)


CALLS = {
    call.reply_model.__name__: (call, good) for grader in GRADED for call, good in calls_of(grader)
}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", some_slow(list(CALLS), 3))
def test_it_sends_the_bytes_that_instructor_sends(name: str, mode: Any) -> None:
    """Bodies, re-asks, usage and the end are equal, whatever comes to each of three attempts."""
    call, good = CALLS[name]
    wrong = faults(mode.name, good)
    names = list(wrong)
    strict = mode.name == "JSON_SCHEMA"
    for place, first in enumerate(names):
        second = names[(place + 1) % len(names)]
        script = [wrong[first], wrong[second], Said(filled(mode.name, good))]
        options = AskOptions(SETTINGS[place % len(SETTINGS)], reasks=2)
        settings = AskSettings(options, default_model="m", strict=strict, schema_only=True)
        theirs, ours = both_ways(call, mode, settings, script)
        assert ours == theirs, (first, second)
        assert len(ours.sent) == ours.used.calls
        assert (len(ours.sent) == 1) == (first in READ | ENDS), first
