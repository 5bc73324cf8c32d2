"""A judge is asked over real HTTP: replies, re-asks, refusals, and every kind of failure."""

import asyncio
import logging
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import instructor
import openai
import pytest
from pydantic import BaseModel, Field, ValidationInfo, field_validator

from rag_evals import Faithfulness, FaithfulnessResult, errors, evaluate
from rag_evals.core import JudgeCall, Meter, Usage
from rag_evals.core.result import is_last_attempt
from rag_evals.judge import judge_for
from rag_evals.judge.wire.ask import DEFAULT_OPTIONS, AskOptions, AskSettings, InstructorJudge
from rag_evals.judge.wire.exchange import strict_response_format
from rag_evals.testing import (
    HttpError,
    JudgeRequest,
    Raw,
    Reply,
    Reset,
    Script,
    ScriptedJudge,
    Stall,
)
from tests.conftest import EIFFEL, ONE_SUPPORTED, statement
from tests.judge.modes import MODES

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]
GOOD = {"statements": [statement()]}
WRONG_ID = {"statements": [statement(ids=(9,))]}
WRONG_IDS = [{"statements": [statement(ids=(number,))]} for number in (6, 7, 8, 9)]
EMPTY_STATEMENT = {"statements": [statement(" ")]}


def call(model: type[BaseModel] = FaithfulnessResult, **facts: Any) -> JudgeCall[Any]:
    """Make a call of one message."""
    return JudgeCall(({"role": "user", "content": "Judge."},), model, {"chunk_count": 2} | facts)


@pytest.mark.parametrize("mode", MODES)
def test_one_call_returns_all_fields_parsed(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """Statements, verdicts, reasonings and chunk ids come from a single request."""
    no = {"reasoning": "No.", "verdict": {"not_supported_because": "contradicted"}}
    judge = scripted({**ONE_SUPPORTED, "s1": no})
    result = Faithfulness.grade(**EIFFEL, client=client_of(judge, mode), model="m")

    assert len(judge.requests) == 1
    assert judge.requests[0].body["model"] == "m"
    assert result.score == 0.5
    assert [s.supporting_chunk_ids for s in result.statements] == [[0], []]
    assert result.statements[0].reasoning == "Chunk 0 says so."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("first", "fault"),
    [
        (WRONG_ID, "chunk id 9 does not exist; ids run from 0 to 1"),
        (EMPTY_STATEMENT, "a statement is empty"),
        ('{"statements": [', "EOF while parsing"),
        ("I think it is fine.", "Invalid JSON"),
    ],
)
def test_a_wrong_reply_is_asked_again_with_its_fault(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode, first: Any, fault: str
) -> None:
    """The second request tells the judge exactly what was wrong with the first reply."""
    judge = scripted([first, GOOD])
    result = Faithfulness.grade(**EIFFEL, client=client_of(judge, mode), model="m")

    assert result.score == 1.0
    assert len(judge.requests) == 2
    assert judge.requests[1].is_reask
    assert fault in str(judge.requests[1].messages[-1]["content"])


@pytest.mark.parametrize("mode", MODES)
def test_after_the_last_attempt_nothing_is_repaired(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """Four wrong replies are an error; no result is made of them."""
    judge = scripted(WRONG_IDS)

    with pytest.raises(errors.JudgeOutputError, match=r"invalid after 4 attempts.*chunk id 9"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge, mode), model="m")
    assert len(judge.requests) == 4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("script", "kind", "requests"),
    [
        (Reply(refusal="I cannot help."), errors.JudgeRefusedError, 1),
        (Reply('{"statements": [', finish_reason="length"), errors.JudgeOutputError, 1),
        (HttpError(400, "context too long"), errors.JudgeRequestError, 1),
        (HttpError(400, "bad", param="response_format"), errors.JudgeRejectedError, 1),
        (HttpError(401, "wrong key"), errors.JudgeRejectedError, 1),
        (HttpError(403, "not yours"), errors.JudgeRejectedError, 1),
        (HttpError(404, "no such model"), errors.JudgeRejectedError, 1),
        (HttpError(422, "strange"), errors.JudgeRequestError, 1),
        (HttpError(429, "slow", {"retry-after-ms": "1"}), errors.JudgeUnavailableError, 2),
        (
            HttpError(429, "pay", {"retry-after-ms": "1"}, "insufficient_quota"),
            errors.JudgeRejectedError,
            2,
        ),
        (HttpError(500, "oops", {"retry-after-ms": "1"}), errors.JudgeUnavailableError, 2),
        (HttpError(503, "busy", {"retry-after-ms": "1"}), errors.JudgeUnavailableError, 2),
        (Reset(), errors.JudgeUnavailableError, 2),
        (Raw(), errors.JudgeUnavailableError, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_every_failure_has_its_error(
    scripted: Start,
    client_of: ClientOf,
    mode: instructor.Mode,
    script: Any,
    kind: type[errors.GradingError],
    requests: int,
) -> None:
    """What the endpoint does decides the type of error and how often it is tried."""
    judge = scripted(script)

    with pytest.raises(errors.GradingError) as caught:
        Faithfulness.grade(**EIFFEL, client=client_of(judge, mode), model="m")
    assert type(caught.value) is kind
    assert len(judge.requests) == requests
    assert "SECRET" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


def test_a_stalled_reply_is_a_time_out(scripted: Start) -> None:
    """A silent endpoint does not hold a grading longer than the client's time-out."""
    judge = scripted(Stall(5))
    with (
        openai.OpenAI(base_url=judge.base_url, api_key="k", timeout=0.2, max_retries=0) as sdk,
        pytest.raises(errors.JudgeUnavailableError, match="no reply within the timeout"),
    ):
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk), model="m")


def test_no_connection_is_its_own_error(client_of: ClientOf) -> None:
    """A port where nobody listens is told apart from a server in trouble."""
    with ScriptedJudge() as judge:
        client = client_of(judge, retries=0)

    with pytest.raises(errors.JudgeUnreachableError, match="no connection to the endpoint"):
        Faithfulness.grade(**EIFFEL, client=client, model="m")


def test_a_key_in_a_providers_message_is_masked(scripted: Start, client_of: ClientOf) -> None:
    """Providers echo keys; our errors do not."""
    judge = scripted(HttpError(401, "Incorrect API key provided: sk-test-SECRET"))

    with pytest.raises(errors.JudgeRejectedError, match=r"provided: \[key\]"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge), model="m")


def test_logs_of_instructor_hold_no_key(
    scripted: Start, client_of: ClientOf, caplog: pytest.LogCaptureFixture
) -> None:
    """Someone who collects logs gets instructor's error lines without the key."""
    judge = scripted(HttpError(401, "Incorrect API key provided: sk-test-SECRET"))
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.JudgeRejectedError):
        Faithfulness.grade(**EIFFEL, client=client_of(judge), model="m")

    assert "API call failed" in caplog.text
    assert "SECRET" not in caplog.text


def test_results_are_plain_instances(scripted: Start, client_of: ClientOf) -> None:
    """The type is the user's own class, equal to one made by hand, and it pickles (trap 5)."""
    judge = scripted(GOOD)
    result = Faithfulness.grade(**EIFFEL, client=client_of(judge), model="m")

    assert type(result) is FaithfulnessResult
    assert result == FaithfulnessResult.model_validate(result.model_dump())
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize("mode", MODES)
def test_usage_counts_each_reply_once(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """Instructor adds up usage over re-asks; the meter counts every reply by itself (trap 4)."""
    reply = Reply(GOOD, prompt_tokens=7, completion_tokens=3)
    bad = [Reply(wrong, prompt_tokens=100, completion_tokens=10) for wrong in WRONG_IDS[:2]]
    judge = scripted([*bad, reply])
    meter = Meter()
    judge_for(client_of(judge, mode), "m").ask(call(), meter)

    total = meter.total
    assert (total.calls, total.reasks) == (3, 2)
    assert (total.prompt_tokens, total.completion_tokens) == (207, 23)


def test_usage_of_a_failed_call_is_counted(scripted: Start, client_of: ClientOf) -> None:
    """Replies that led to nothing were paid for all the same."""
    judge = scripted([Reply(one, prompt_tokens=100, completion_tokens=10) for one in WRONG_IDS])
    meter = Meter()
    with pytest.raises(errors.JudgeOutputError):
        judge_for(client_of(judge), "m").ask(call(), meter)

    assert meter.total.prompt_tokens == 400


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["{{ 7*7 }} {# x #}", r"\frac{{a}{b}", "a\n   \n\tb", "\0 🗼"])
def test_messages_arrive_byte_for_byte(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode, text: str
) -> None:
    """No second template pass and no dedent touch the text on its way (trap 2)."""
    judge = scripted(GOOD)
    client = client_of(judge, mode)
    Faithfulness.grade(question=text, answer="a", context=[text, "x"], client=client, model="m")

    assert judge.requests[0].chunks[0] == judge.requests[0].question == text


class Drawn(BaseModel):
    """A reply that is refused while a better one may come."""

    number: int

    @field_validator("number")
    @classmethod
    def _even(cls, number: int, info: ValidationInfo) -> int:
        if number % 2 and not is_last_attempt(info):
            raise ValueError("odd")
        return number


@pytest.mark.parametrize("mode", MODES)
def test_a_fault_that_comes_twice_ends_the_attempts(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """The second reply is the last one then, and what the last one may hold is taken."""
    judge = scripted({"number": 7})
    reply = judge_for(client_of(judge, mode), "m").ask(call(Drawn), Meter())

    assert (reply.parsed.model_dump(), len(judge.requests)) == ({"number": 7}, 2)


@pytest.mark.parametrize("mode", MODES)
def test_what_the_last_attempt_may_hold_is_taken(
    scripted: Start, client_of: ClientOf, mode: instructor.Mode
) -> None:
    """Four replies with another fault each: the fourth is the last, though none came twice."""
    judge = scripted([{"number": number} for number in (1, 3, 5, 7)])
    reply = judge_for(client_of(judge, mode), "m").ask(call(Drawn), Meter())

    assert (reply.parsed.model_dump(), len(judge.requests)) == ({"number": 7}, 4)


class Numbered(BaseModel):
    """A reply whose validator needs to know the call."""

    number: int

    @field_validator("number")
    @classmethod
    def _is_the_calls_own(cls, value: int, info: ValidationInfo) -> int:
        assert info.context is not None
        if value != info.context["wanted"]:
            raise ValueError(f"expected {info.context['wanted']}")
        return value


@pytest.mark.parametrize("mode", MODES)
def test_facts_reach_validators_of_their_own_call(scripted: Start, mode: instructor.Mode) -> None:
    """Twenty calls side by side, each asked again once, never see each other's facts (trap 1)."""

    def script(request: JudgeRequest) -> dict[str, int]:
        wanted = int(str(request.messages[0]["content"]))
        return {"number": wanted if request.is_reask else -1}

    judge = scripted(script)

    async def ask_all() -> list[int]:
        sdk = openai.AsyncOpenAI(base_url=judge.base_url, api_key="k")
        async with sdk:
            from rag_evals.judge.clients.build import async_judge_for

            asker = await async_judge_for(instructor.from_openai(sdk, mode=mode), "m")
            calls = [
                JudgeCall(
                    ({"role": "user", "content": str(n)},),
                    Numbered,
                    {"chunk_count": 0, "wanted": n},
                )
                for n in range(20)
            ]
            replies = await asyncio.gather(*(asker.ask(c, Meter()) for c in calls))
            return [c.read(r).number for c, r in zip(calls, replies, strict=True)]

    assert asyncio.run(ask_all()) == list(range(20))
    assert len(judge.requests) == 40


def test_strict_schemas_are_sent_where_they_are_taken(scripted: Start, client_of: ClientOf) -> None:
    """The strict form has the flag, closes every object and requires every field (trap 3)."""
    judge = scripted(GOOD)
    client = client_of(judge, instructor.Mode.JSON_SCHEMA)
    asyncio.run(
        InstructorJudge(client, AskSettings(DEFAULT_OPTIONS, "m", strict=True)).ask(call(), Meter())
    )

    sent = judge.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    inner = sent["schema"]["$defs"]["StatementEvaluation"]
    assert inner["additionalProperties"] is False
    assert inner["required"] == list(inner["properties"])


class _Claim(BaseModel):
    text: str
    parts: list["_Claim"]


class _Claims(BaseModel):
    first: _Claim = Field(description="The first one.")


class _Endless(BaseModel):
    parts: list[Annotated["_Endless", Field(description="What it consists of.")]]


def test_strict_schemas_have_no_words_beside_a_reference() -> None:
    """OpenAI refuses these; the model's fields stand in its place, once where it holds itself."""
    sent = strict_response_format(_Claims)
    assert sent is not None
    first = sent["json_schema"]["schema"]["properties"]["first"]

    assert first["description"] == "The first one."
    assert first["required"] == ["text", "parts"]
    assert first["properties"]["parts"]["items"] == {"$ref": "#/$defs/_Claim"}
    assert strict_response_format(_Endless) is None


def test_an_open_dictionary_falls_back_to_the_plain_schema(
    scripted: Start, client_of: ClientOf
) -> None:
    """A model that strict schemas cannot express is still asked for."""

    class Open(BaseModel):
        counts: dict[str, int]

    judge = scripted({"counts": {"a": 1}})
    client = client_of(judge, instructor.Mode.JSON_SCHEMA)
    asyncio.run(
        InstructorJudge(client, AskSettings(DEFAULT_OPTIONS, "m", strict=True)).ask(
            call(Open), Meter()
        )
    )

    assert "strict" not in judge.requests[0].body["response_format"]["json_schema"]


def test_a_users_client_is_left_as_it_is(scripted: Start, client_of: ClientOf) -> None:
    """Mode and schema of a client that a user made are not changed."""
    judge = scripted(GOOD)
    client = client_of(judge, instructor.Mode.TOOLS)
    Faithfulness.grade(**EIFFEL, client=client, model="m")

    assert client.mode is instructor.Mode.TOOLS
    assert "response_format" not in judge.requests[0].body
    assert "strict" not in judge.requests[0].body["tools"][0]["function"]


KEYED = {"s0": {"reasoning": "Chunk 0.", "verdict": {"supported_by": [0]}}}
ROW: dict[str, Any] = {
    "id": "a",
    "answer": "The tower stands in Paris.",
    "context": ["It stands in Paris."],
}


def _only_in(form: str) -> Script:
    """Answer in one form of asking; anything else is refused, or answered in words."""

    def script(request: JudgeRequest) -> Any:
        asked = request.body["response_format"]["type"]
        if form == "text" and asked == "json_object":
            return HttpError(400, "'response_format.type' must be 'json_schema' or 'text'")
        return KEYED if asked == form else "Sure! The answer is supported by chunk 0."

    return script


@pytest.mark.parametrize("form", ["json_object", "text"])
@pytest.mark.parametrize("direct", [True, False])
def test_a_host_that_misses_the_schema_is_asked_in_json_mode(
    form: str, direct: bool, scripted: Start
) -> None:
    """The next attempt has the row's schema in words; the summary says so; no reply is lost."""
    judge = scripted(_only_in(form))
    if direct:
        run = evaluate([ROW], Faithfulness, "openai/m")
        (outcome,) = run.outcomes
        assert outcome.score == 1.0
        assert (outcome.usage.calls, outcome.usage.reasks) == (2, 1)
        assert "m ignored the reply schema" in str(run.summary())
    else:
        sample: dict[str, Any] = {name: ROW[name] for name in ("answer", "context")}
        assert Faithfulness.grade(**sample, client="openai/m").score == 1.0
    first, *_, last = judge.requests

    assert len(judge.requests) == (2 if form == "json_object" else 3)
    assert last.messages[: len(first.messages)] == first.messages
    said, told = last.messages[len(first.messages) :]
    assert said["content"].startswith("Sure!")
    assert "Invalid JSON" in told["content"]
    assert '"s0": {"$ref"' in told["content"]


def test_a_host_that_is_known_or_keeps_to_the_schema_is_asked_in_its_form(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known host keeps to the schema; an id that code refuses is no fault of the form."""
    wrong = {"s0": {"reasoning": "No.", "verdict": {"supported_by": [9]}}}
    judge = scripted(lambda request: KEYED if len(request.messages) > 2 else wrong)
    monkeypatch.setenv("VLLM_BASE_URL", judge.base_url)
    for client in ("vllm/m", "openai/m"):
        run = evaluate([ROW], Faithfulness, client)
        assert run.outcomes[0].score == 1.0
        assert "schema" not in str(run.summary())
    assert all("json_object" not in str(request.body) for request in judge.requests)
    assert "chunk id 9 does not exist" in str(judge.requests[-1].messages[-1]["content"])


@pytest.mark.parametrize("way", ["string", *MODES])
@pytest.mark.parametrize("reasks", [0, 1, 2])
def test_as_many_attempts_are_made_as_were_asked_for(
    scripted: Start, client_of: ClientOf, way: Any, reasks: int
) -> None:
    """What the last one may hold is taken from it, however many there are."""
    judge = scripted([{"number": number} for number in (1, 3, 5, 7)])
    client = "openai/m" if way == "string" else client_of(judge, way)
    meter = Meter()
    reply = judge_for(client, "m", AskOptions.of(None, reasks)).ask(call(Drawn), meter)

    assert reply.parsed.model_dump() == {"number": (1, 3, 5)[reasks]}
    assert (len(judge.requests), meter.total.calls) == (reasks + 1, reasks + 1)
    assert meter.total.reasks == reasks


@pytest.mark.parametrize("way", ["string", *MODES])
def test_a_call_is_charged_to_its_judge_by_endpoint_and_model(
    scripted: Start, client_of: ClientOf, way: Any
) -> None:
    """Also one that fails, whose error is the last fault that the row has seen."""
    reply = Reply({"number": 2}, prompt_tokens=7, completion_tokens=3)
    judge = scripted([reply, HttpError(400, "strange")])
    asker = judge_for("openai/m" if way == "string" else client_of(judge, way), "m")
    meter = Meter()
    for model, endpoint in (("m", "openai/m"), (None, None)):
        asked: JudgeCall[Any] = JudgeCall(
            ({"role": "user", "content": "Judge."},),
            Drawn,
            {"chunk_count": 0},
            model=model,
            endpoint=endpoint,
        )
        if endpoint is None:
            with pytest.raises(errors.JudgeRequestError) as caught:
                asker.ask(asked, meter)
            assert meter.last_fault == str(caught.value)
        else:
            asker.ask(asked, meter)
            assert meter.last_fault == ""

    assert meter.by_judge == {
        ("openai/m", "m"): Usage(calls=1, prompt_tokens=7, completion_tokens=3),
        (None, None): Usage(),
    }
    assert list(meter.answered_by) == ["m"]


def test_a_wait_is_added_to_what_the_row_has_waited(scripted: Start, client_of: ClientOf) -> None:
    """For replies and between tries."""
    judge = scripted([HttpError(503, "busy", {"retry-after-ms": "5"}), {"number": 2}])
    meter = Meter(row_seconds=60.0)
    meter.waited_seconds = 50.0
    judge_for(client_of(judge, retries=0), "m").ask(call(Drawn), meter)

    assert len(judge.requests) == 2
    assert 50.005 <= meter.waited_seconds < 59.0


def _told(window: int) -> HttpError:
    message = f"This model's maximum context length is {window} tokens."
    return HttpError(400, message, code="context_length_exceeded")


@pytest.mark.parametrize("way", ["string", *MODES])
def test_what_cannot_fit_into_a_known_window_is_not_sent(
    scripted: Start, client_of: ClientOf, way: Any
) -> None:
    """A token has eight characters at most, and spaces in a row are one; for each model alone."""
    told = {0: _told(200), 3: _told(150)}
    judge = scripted(lambda request: told.get(request.number, {"number": 2}))
    asker = judge_for("openai/m" if way == "string" else client_of(judge, way))

    def ask(characters: int, model: str = "a") -> int:
        text = "  ".join("x" * (characters // 2) for _ in range(2)) + " " * 50
        asked: JudgeCall[Any] = JudgeCall(
            ({"role": "user", "content": text},), Drawn, {"chunk_count": 0}, model=model
        )
        try:
            asker.ask(asked, Meter())
        except errors.JudgeRequestError as error:
            return error.window_tokens or 0
        return -1

    assert ask(9000) == 200
    assert [ask(1608), ask(1606), ask(9000, "b")] == [200, -1, -1]
    assert ask(1000) == 150
    assert [ask(1208), ask(1206), ask(9000, "b")] == [150, -1, -1]
    assert len(judge.requests) == 6


@pytest.mark.parametrize(("of_call", "of_run"), [(None, "run"), ("grader", "run"), (None, None)])
def test_a_window_is_known_of_the_model_that_was_asked(
    scripted: Start, of_call: str | None, of_run: str | None
) -> None:
    """The run's model if it has one, and else that of the string."""
    judge = scripted([_told(200), {"number": 2}])
    text: Any = {"role": "user", "content": "x" * 2000}
    asked: JudgeCall[Any] = JudgeCall((text,), Drawn, {"chunk_count": 0}, model=of_call)
    for _ in range(2):
        with pytest.raises(errors.JudgeRequestError, match="longer than the judge's window"):
            judge_for("openai/usual", of_run).ask(asked, Meter())
    assert [request.body["model"] for request in judge.requests] == [of_run or "usual"]
    judge_for("openai/usual", "other").ask(asked, Meter())
    assert len(judge.requests) == 2


WORDS = "Sure! The answer is supported by chunk 0."


@pytest.mark.parametrize(
    ("client", "second"),
    [
        ("vllm/m", "json_schema"),
        ("openai/m", "json_object"),
        ("together/m", "json_object"),
        (instructor.Mode.JSON_SCHEMA, "json_object"),
        (instructor.Mode.TOOLS, "tools"),
    ],
)
def test_who_is_asked_in_json_mode_after_words(
    scripted: Start, client_of: ClientOf, client: Any, second: str
) -> None:
    """No host that is known to keep to schemas, and no client of one's own that has tools."""
    judge = scripted(lambda request: KEYED if request.number else WORDS)
    asked = f"{client}@{judge.base_url}" if isinstance(client, str) else client_of(judge, client)
    sample: dict[str, Any] = {name: ROW[name] for name in ("answer", "context")}
    assert Faithfulness.grade(**sample, client=asked, model="m").score == 1.0

    first, then = (request.body for request in judge.requests)
    forms = [body.get("response_format", {"type": "tools"})["type"] for body in (first, then)]
    own = "tools" if client in ("together/m", instructor.Mode.TOOLS) else "json_schema"
    assert forms == [own, second]
    assert then["messages"][: len(first["messages"])] == first["messages"]
    again = str(then["messages"][-1]["content"])
    assert again.startswith("Your reply was wrong:") is (second == "json_object")


def test_a_schema_has_the_form_of_its_host(scripted: Start) -> None:
    """Bounds of lengths where the host takes them."""
    judge = scripted(KEYED)
    sample: dict[str, Any] = {name: ROW[name] for name in ("answer", "context")}
    for provider in ("vllm", "openai"):
        Faithfulness.grade(**sample, client=f"{provider}/m@{judge.base_url}")

    assert ["maxLength" in str(request.schema) for request in judge.requests] == [True, False]
