"""What goes straight to an OpenAI-like endpoint is what instructor and OpenAI's library send."""

import asyncio
import gzip
import json
import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import instructor
import pytest
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from rag_evals import evaluate
from rag_evals.catalog import GRADERS
from rag_evals.core import JudgeCall, Meter, Sample, TextReply
from rag_evals.errors import ConfigurationError, GradingError
from rag_evals.judge.ask import AskOptions, AskSettings, InstructorJudge
from rag_evals.judge.chat import read_reply
from rag_evals.judge.clients import async_judge_for
from rag_evals.judge.direct import AsyncDirectJudge
from rag_evals.judge.transport import _packed
from rag_evals.testing import HttpError, Raw, Reply, Script, ScriptedJudge
from tests.conftest import MODES, statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
SAMPLE = Sample(
    question='Где башня? \u2028 "quoted" <b>',
    answer="The tower stands in Paris [1]. Она стоит в Париже.",
    context=["The tower stands in Paris.", "Башня стоит в Париже."],
    reference="In Paris.",
)


def calls() -> Iterator[JudgeCall[Any]]:
    """Yield the first calls of every shipped grader, and one that asks for a single token."""
    for grader in GRADERS.values():
        flow = grader.flow(SAMPLE)
        yield from (step for step in next(flow) if isinstance(step, JudgeCall))
        flow.close()
    message: Any = {"role": "user", "content": "Yes or no?"}
    yield JudgeCall((message,), TextReply, settings={"logprobs": True, "max_tokens": 1})


CALLS = list(calls())


def replies(mode: str) -> list[Any]:
    """Return messages of all the forms that are asked again, or read."""
    texts = ["{}", "no JSON at all", '{"statements": 3}', '```json\n{"a": 1}\n```', "", None]
    if mode == "JSON_SCHEMA":
        return [{"role": "assistant", "content": text} for text in texts]
    called = [
        {"id": f"c{n}", "type": "function", "function": {"name": "X", "arguments": text}}
        for n, text in enumerate(("{}", "no JSON", '{"statements": 3}'))
    ]
    return [
        *({"role": "assistant", "content": None, "tool_calls": [call]} for call in called),
        {"role": "assistant", "content": "said", "tool_calls": called},
        {"role": "assistant", "content": "no call", "tool_calls": []},
        {"role": "assistant", "content": 'text {"a": 1} text'},
    ]


def completion(message: Any) -> dict[str, Any]:
    """Wrap a message as OpenAI does."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {
        "id": "a",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def by_instructor(call: JudgeCall[Any], mode: Any, settings: AskSettings, said: Any) -> Any:
    """Ask through instructor, and return the bytes it sends, what it cost, and how it ends."""
    sent: list[bytes] = []

    def create(**body: Any) -> Any:
        sent.append(_packed(dict(body), "m"))
        return ChatCompletion.model_validate(completion(said))

    patched = instructor.patch(create=create, mode=mode)
    client = instructor.Instructor(client=None, create=patched, mode=mode)
    meter = Meter()
    try:
        end: Any = InstructorJudge(client, settings).ask(call, meter).parsed
    except GradingError as error:
        end = repr(error)
    return sent, meter.total, end


def by_direct(call: JudgeCall[Any], mode: Any, settings: AskSettings, said: Any) -> Any:
    """Ask without instructor; as `by_instructor` otherwise."""
    sent: list[bytes] = []

    async def post(**body: Any) -> Any:
        sent.append(_packed(dict(body), "m"))
        return read_reply(json.dumps(completion(said)).encode())

    client = instructor.AsyncInstructor(
        client=None, create=instructor.patch(create=post, mode=mode), mode=mode
    )
    meter = Meter()
    try:
        end: Any = asyncio.run(AsyncDirectJudge(client, settings, post).ask(call, meter)).parsed
    except GradingError as error:
        end = repr(error)
    return sent, meter.total, end


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.reply_model.__name__)
def test_it_sends_the_bytes_that_instructor_sends(call: JudgeCall[Any], mode: Any) -> None:
    """Bodies, re-asks, usage and the final error are equal, for every call and form of reply."""
    settings = AskSettings(
        default_model="m",
        strict=mode.name == "JSON_SCHEMA",
        schema_only=True,
        reasks=1,
        given={"seed": 7},
    )
    for said in replies(mode.name):
        sent, used, end = by_instructor(call, mode, settings, said)
        assert by_direct(call, mode, settings, said) == (sent, used, end)
        assert len(sent) == used.calls


def test_strings_go_straight_and_own_clients_through_instructor(scripted: Start) -> None:
    """`transport="sdk"` goes back; another word is refused; both give the same run."""
    judge = scripted(GOOD)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(3)]
    runs = [evaluate(rows, client="openai/m", transport=t) for t in ("direct", "sdk")]

    async def kinds() -> list[str]:
        options = [AskOptions(), AskOptions(transport="sdk")]
        return [type(await async_judge_for("openai/m", options=o)).__name__ for o in options]

    assert asyncio.run(kinds()) == ["AsyncDirectJudge", "AsyncInstructorJudge"]
    assert [o.result for o in runs[0]] == [o.result for o in runs[1]]
    assert judge.requests[0].body == judge.requests[3].body
    ours, theirs = ({**request.headers} for request in (judge.requests[0], judge.requests[3]))
    for headers in (ours, theirs):
        for name in ("host", "accept-encoding", "connection"):
            headers.pop(name, None)
    assert ours == theirs
    with pytest.raises(ConfigurationError, match="transport is 'http2'; expected 'direct' or"):
        evaluate(rows, client="openai/m", transport="http2")  # type: ignore[arg-type]  # misspelt


def test_a_proxy_is_used_by_every_request(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """With HTTP_PROXY set, nothing goes straight to the endpoint."""
    proxy = scripted(GOOD)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://judge.example/v1")
    monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(3)]
    run = evaluate(rows, client="openai/m")

    assert [o.status for o in run] == ["scored"] * 3
    assert {request.path for request in proxy.requests} == {
        "http://judge.example/v1/chat/completions"
    }


def test_certificates_of_the_environment_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE is read as the SDK reads it: one that is none is refused."""
    monkeypatch.setenv("SSL_CERT_FILE", __file__)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://127.0.0.1:9/v1")
    with pytest.raises((ssl.SSLError, GradingError, ConfigurationError)):
        evaluate([{"answer": "a", "context": ["c"]}], client="openai/m")


@pytest.mark.parametrize("transport", ["direct", "sdk"])
def test_faults_are_named_alike(scripted: Start, transport: Any) -> None:
    """A waiting time, an error without JSON and a packed reply end as through the SDK."""
    wrapped = json.dumps(completion({"role": "assistant", "content": json.dumps(GOOD)})).encode()
    packed = Raw(gzip.compress(wrapped), 200, headers={"content-encoding": "gzip"})
    answers: Sequence[Any] = [
        HttpError(429, "slow", headers={"retry-after-ms": "20"}),
        Reply(GOOD),
        packed,
        HttpError(400, "bad words"),
        Raw(b"plain words", 422),
    ]
    judge = scripted(answers)
    rows = [{"id": f"{n}", "answer": "a", "context": ["c"]} for n in range(4)]
    run = evaluate(rows, client="openai/m", transport=transport, concurrency=1, max_failures="100%")

    assert [o.status for o in run] == ["scored", "scored", "failed", "failed"]
    said = [o.error.message for o in run if o.error is not None]
    assert said == [
        "the endpoint refuses this request (HTTP 400: bad words)",
        "the endpoint refuses this request (HTTP 422: plain words)",
    ]
    assert run.outcomes[0].usage.retries == 1
    assert len(judge.requests) == 5


class _Free(BaseModel):
    """What a user may ask for."""

    note: str
    marks: dict[str, int] = {}


def test_an_open_dictionary_is_sent_in_its_plain_form() -> None:
    """Strict schemas do not allow it, and both ways leave it out alike."""
    message: Any = {"role": "user", "content": "Say it."}
    call = JudgeCall((message,), _Free)
    settings = AskSettings(default_model="m", strict=True, schema_only=True, reasks=0)
    for mode in MODES:
        if mode.name == "TOOLS":
            continue
        said = {"role": "assistant", "content": '{"note": "x"}'}
        assert by_direct(call, mode, settings, said) == by_instructor(call, mode, settings, said)
