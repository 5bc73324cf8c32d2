"""Decision models: every question answered exactly once, and every fault by its name."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rag_evals.core import Meter, Usage
from rag_evals.errors import (
    ConfigurationError,
    GradingError,
    JudgeOutputError,
    JudgeRejectedError,
    JudgeUnavailableError,
    JudgeUnreachableError,
)
from rag_evals.judge import AskOptions, DecisionCall, judge_for, model_of
from rag_evals.judge.clients.decisions import DecisionAnswer, Question, _read_answer
from rag_evals.judge.clients.strings import price_of, read_endpoint
from tests.scripted import Answer, HttpError, Raw, Reset, Script, ScriptedJudge, Stall

Start = Callable[[Script], ScriptedJudge]

QUESTIONS = (
    Question("true", "It stands in Paris."),
    Question("which", "Which chunk says so?", ("chunk_0", "none")),
)
GOOD: dict[str, Any] = {
    "true": 0.9,
    "which": {"chunk_0": 0.7, "none": 0.3},
}
STATE = "The tower stands in Paris.\nIt does."


def ask(judge: ScriptedJudge, *, reasks: int = 0, meter: Meter | None = None) -> Any:
    """Ask the three questions, and return the answers."""
    spec = f"decisions:m@{judge.base_url}"
    call = DecisionCall.of(STATE, QUESTIONS, spec)
    asked = judge_for(spec, options=AskOptions(reasks=reasks))
    return call.read(asked.ask(call, meter or Meter(20))).answers


def test_each_kind_of_question_is_answered(scripted: Start) -> None:
    """A probability and an option come back, and what they cost; one request is made."""
    judge = scripted(GOOD)
    meter = Meter(20)
    answers = ask(judge, meter=meter)

    assert answers["true"].probability == 0.9
    assert (answers["which"].choice, answers["which"].probability) == ("chunk_0", 0.7)
    (request,) = judge.requests
    assert request.path == "/v1/decisions"
    assert request.data == "The tower stands in Paris.\nIt does."
    assert [(one.name, one.kind) for one in request.questions] == [
        (one.name, one.kind) for one in QUESTIONS
    ]
    assert meter.total.calls == 1
    assert meter.total.prompt_tokens > 0
    assert meter.total.completion_tokens == 0


def test_the_body_is_that_of_the_wire(scripted: Start) -> None:
    """Questions are listed with their names."""
    judge = scripted(GOOD)
    ask(judge)
    (request,) = judge.requests

    assert request.body == {
        "model": "m",
        "input": STATE,
        "questions": [
            {"type": "predicate", "name": "true", "instructions": "It stands in Paris."},
            {
                "type": "choice",
                "name": "which",
                "instructions": "Which chunk says so?",
                "choices": [{"value": "chunk_0"}, {"value": "none"}],
            },
        ],
    }


def without(name: str) -> dict[str, Any]:
    """Leave one answer out."""
    return {key: value for key, value in GOOD.items() if key != name}


FAULTS: Mapping[str, tuple[Answer, str]] = {
    "omission": (without("which"), "answer to 'which' is missing$"),
    "foreign name": ({**GOOD, "other": 0.5}, "an answer to 'other', which was not asked"),
    "above 1": ({**GOOD, "true": 1.2}, "'true' has the probability 1.2; expected a number from 0"),
    "below 0": ({**GOOD, "true": -0.1}, "'true' has the probability -0.1"),
    "a word": ({**GOOD, "true": "yes"}, "'true' has the probability 'yes'"),
    "yes": ({**GOOD, "true": True}, "'true' has the probability True"),
    "foreign option": (
        {**GOOD, "which": {"chunk_0": 0.4, "chunk_7": 0.6}},
        "'which' chooses 'chunk_7', which is not an option",
    ),
    "two faults": ({}, r"'true' is missing \(and 1 more\)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_is_none_is_named(scripted: Start, fault: str) -> None:
    """It fails with the question's name and what is wrong; it is never taken for a number."""
    answer, words = FAULTS[fault]
    with pytest.raises(JudgeOutputError, match=words):
        ask(scripted(answer))


RAW: Mapping[str, tuple[Any, str]] = {
    "twice": (
        {"answers": [{"type": "predicate", "name": "true", "probability": 0.9}] * 2},
        "'true' was given 2 times",
    ),
    "without a name": (
        {"answers": [{"type": "predicate", "name": None, "probability": 0.9}]},
        "an answer to None, which was not asked",
    ),
    "no object": ({"answers": [0.9]}, "an answer to None, which was not asked"),
    "too large for a float": (
        f'{{"answers": [{{"name": "true", "probability": 1{"0" * 400}}}]}}',
        "'true' has the probability 1000",
    ),
    "another type": (
        {"answers": [{"type": "choice", "name": "true", "choice": "x", "probability": 0.9}]},
        "'true' is of type 'choice'; expected a predicate",
    ),
    "a confidence above 1": (
        {"answers": [{"type": "choice", "name": "which", "choice": "none", "confidence": 7}]},
        "'which' has the probability 7",
    ),
    "a list of options": (
        {"answers": [{"name": "which", "choice": ["none"]}]},
        "'which' chooses ['none'], which is not an option",
    ),
    "not a number": (
        '{"answers": [{"name": "true", "probability": NaN}]}',
        "'true' has the probability nan",
    ),
}


@pytest.mark.parametrize("fault", RAW)
def test_replies_of_another_shape_are_named(scripted: Start, fault: str) -> None:
    """What is twice, unnamed or of another kind is a fault of its question."""
    body, words = RAW[fault]
    judge = scripted(Raw(body))
    spec = f"decisions:m@{judge.base_url}"
    asked = tuple(one for one in QUESTIONS if f"'{one.name}'" in words) or QUESTIONS[:1]
    call = DecisionCall.of(STATE, asked, spec)
    with pytest.raises(JudgeOutputError, match=re.escape(words)):
        judge_for(spec, options=AskOptions(reasks=0)).ask(call, Meter(20))


def test_only_what_is_wrong_is_asked_again(scripted: Start) -> None:
    """The second request has the one question whose answer was none, and is counted as such."""
    judge = scripted([without("which"), {"which": "none"}])
    meter = Meter(20)
    answers = ask(judge, reasks=3, meter=meter)

    assert answers["which"].choice == "none"
    assert answers["true"].probability == 0.9
    assert [len(request.questions) for request in judge.requests] == [2, 1]
    assert (meter.total.calls, meter.total.reasks) == (2, 1)


def test_a_refusal_is_an_answer_of_its_own(scripted: Start) -> None:
    """One question is declined; the others count, and nothing is asked again."""
    judge = scripted({**GOOD, "true": None})
    answers = ask(judge, reasks=3)

    assert answers["true"].refusal == "scripted"
    assert answers["true"].probability is None
    assert answers["which"].choice == "chunk_0"
    assert len(judge.requests) == 1


def test_what_a_server_says_is_shown_short_and_without_the_key(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words may be of any length, hold what no file can, and repeat the key."""
    said = "very-secret-key \ud800\x1b[31m\n" + "no " * 100_000
    refusal = {"type": "refusal", "name": "true", "refusal": said}
    scripted(
        [
            Raw(json.dumps({"answers": [refusal]})),
            Raw(json.dumps({"answers": [{**refusal, "name": said}]})),
        ]
    )
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret-key")
    spec = "decisions:openai/gpt-6-luna"
    call = DecisionCall.of(STATE, QUESTIONS[:1], spec)
    asked = judge_for(spec, options=AskOptions(reasks=0))
    told = [call.read(asked.ask(call, Meter(20))).answers["true"].refusal or ""]
    with pytest.raises(JudgeOutputError) as error:
        asked.ask(call, Meter(20))
    told.append(str(error.value))

    for words in told:
        assert len(words) < 400
        assert "secret" not in words
        assert words.isprintable()


@pytest.mark.parametrize("count", ["1e999", "NaN", "-5"])
def test_a_count_of_tokens_that_is_none_costs_no_answer(scripted: Start, count: str) -> None:
    """The answers count, and the reply is one without a count."""
    body = '{"answers": [{"type": "predicate", "name": "true", "probability": 0.9}], '
    judge = scripted(Raw(f'{body}"usage": {{"input_tokens": {count}}}}}'))
    spec = f"decisions:m@{judge.base_url}"
    call, meter = DecisionCall.of(STATE, QUESTIONS[:1], spec), Meter(20)

    assert call.read(judge_for(spec).ask(call, meter)).answers["true"].probability == 0.9
    assert (meter.total.prompt_tokens, meter.total.uncounted) == (0, 1)


OUTAGES: Mapping[str, tuple[Script, type[GradingError], str]] = {
    "key": (HttpError(401), JudgeRejectedError, "rejects the key"),
    "path": (HttpError(404), JudgeRejectedError, "does not recognise this model or path"),
    "no decision model": (
        HttpError(501, "This model is not a decision model"),
        JudgeRejectedError,
        "does not recognise this model or path .HTTP 501: This model is not a decision model",
    ),
    "longer wait than the row has": (
        HttpError(429, headers={"retry-after": "60"}),
        JudgeUnavailableError,
        "asks for a wait of 60 s",
    ),
    "brackets without end": (
        Raw("[" * 100_000, headers={"x-should-retry": "false"}),
        JudgeUnavailableError,
        "no model reply",
    ),
    "answers that are no list": (
        Raw({"answers": {"true": 0.9}}),
        JudgeUnavailableError,
        "no model reply",
    ),
    "page": (
        Raw("<html>Sign in</html>", headers={"x-should-retry": "false"}),
        GradingError,
        "HTML",
    ),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_what_an_endpoint_does_is_named(
    scripted: Start, outage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors are told as for any judge."""
    script, kind, words = OUTAGES[outage]
    judge = scripted(script)
    with pytest.raises(kind, match=words):
        ask(judge)

    # A page may be a proxy's that passes; the other requests would be answered in the same way.
    assert len(judge.requests) == (5 if words in ("HTML", "no model reply") else 1)


def test_what_may_pass_is_sent_again(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A 429, a 500, an empty body and a broken connection each cost a retry, and no row."""
    wait = HttpError(429, headers={"retry-after-ms": "1"})
    judge = scripted([wait, HttpError(500), Raw(), Reset(), GOOD])
    meter = Meter(20)

    assert ask(judge, meter=meter)["true"].probability == 0.9
    assert (meter.total.calls, meter.total.retries) == (1, 4)


def test_a_row_has_its_time(scripted: Start) -> None:
    """A reply that does not come ends with the row's time."""
    with pytest.raises(JudgeUnavailableError, match="timeout"):
        ask(scripted(Stall(5)), meter=Meter(0.2))


def test_many_questions_take_several_requests(scripted: Start) -> None:
    """No request holds more than the host takes; the answers come together."""
    judge = scripted(lambda request: {one.name: 0.5 for one in request.questions})
    spec = f"decisions:m@{judge.base_url}"
    many = [Question(f"q{number}", "?") for number in range(401)]
    call = DecisionCall.of(STATE, many, spec)
    meter = Meter(20)

    assert len(call.read(judge_for(spec).ask(call, meter)).answers) == 401
    assert [len(request.questions) for request in judge.requests] == [400, 1]
    assert meter.total == Usage(2, prompt_tokens=meter.total.prompt_tokens)


def test_a_fault_in_an_earlier_request_is_not_lost(scripted: Start) -> None:
    """A good answer to the last question does not hide a bad one to the first."""
    judge = scripted(lambda asked: {q.name: 2 if q.name == "q0" else 0.5 for q in asked.questions})
    spec = f"decisions:m@{judge.base_url}"
    call = DecisionCall.of(STATE, [Question(f"q{number}", "?") for number in range(401)], spec)

    with pytest.raises(JudgeOutputError, match="'q0' has the probability 2"):
        judge_for(spec, options=AskOptions(reasks=0)).ask(call, Meter(20))


STRINGS = {
    "decisions:openai/gpt-6-luna": ("openai", "gpt-6-luna", "https://api.openai.com/v1"),
    "decisions:gpt-6-luna": ("openai", "gpt-6-luna", "https://api.openai.com/v1"),
    "decisions:Qwen/Qwen3@http://h:30000/v1": ("openai", "Qwen/Qwen3", "http://h:30000/v1"),
    "decisions:vllm/m@http://h/v1": ("vllm", "m", "http://h/v1"),
}


@pytest.mark.parametrize("spec", STRINGS)
def test_strings_name_host_and_model(spec: str) -> None:
    """The host is OpenAI where none is named."""
    endpoint = read_endpoint(spec)

    assert endpoint[:2] == STRINGS[spec][:2]
    assert endpoint.address == STRINGS[spec][2]
    assert endpoint.decides
    assert model_of(spec) == STRINGS[spec][1]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("decisions:", "is neither decisions:PROVIDER/MODEL"),
        ("decisions:openai/", "is neither decisions:PROVIDER/MODEL"),
        (
            "decisions:groq/m",
            r"neither decisions:PROVIDER/MODEL \(openai, .*\) nor decisions:MODEL@",
        ),
        ("decisions:anthropic/m", "is neither decisions:PROVIDER/MODEL"),
        ("decisions:m@https://", "is not a host name"),
    ],
)
def test_a_string_that_names_no_host_is_refused(spec: str, words: str) -> None:
    """It says which hosts are known, and how to name another."""
    with pytest.raises(ConfigurationError, match=words):
        judge_for(spec)


def test_settings_are_for_models_that_write(scripted: Start) -> None:
    """A temperature would not be sent, so it is refused."""
    judge = scripted(GOOD)
    with pytest.raises(ConfigurationError, match="a decision model accepts none"):
        judge_for(f"decisions:m@{judge.base_url}", options=AskOptions({"temperature": 0}))


def test_no_server_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is named."""
    call = DecisionCall.of(STATE, QUESTIONS, "decisions:m@http://127.0.0.1:9/v1")
    with pytest.raises(JudgeUnreachableError, match="the address in the judge"):
        judge_for(str(call.endpoint)).ask(call, Meter(20))


def test_prices_have_no_output() -> None:
    """What is sent is paid; the published price is known."""
    price = price_of("gpt-6-luna")

    assert price is not None
    assert price.cost_usd(Usage(1, prompt_tokens=1_000_000, completion_tokens=1000)) == 0.1
    assert price.as_of == "2026-10"


STANDS, WHICH = QUESTIONS


@pytest.mark.parametrize(
    ("question", "given", "answer"),
    [
        (STANDS, {"probability": 0}, {"probability": 0.0}),
        (STANDS, {"probability": 1}, {"probability": 1.0}),
        (STANDS, {"type": "predicate", "probability": 0.5}, {"probability": 0.5}),
        (STANDS, {"type": "new", "probability": 0.5, "choice": "none"}, {"probability": 0.5}),
        (WHICH, {"choice": "none"}, {"choice": "none"}),
        (WHICH, {"choice": "none", "confidence": None}, {"choice": "none"}),
        (WHICH, {"choice": "none", "confidence": 0}, {"choice": "none", "probability": 0.0}),
        (
            WHICH,
            {"type": "choice", "choice": "chunk_0", "confidence": 1.0, "probability": 0.5},
            {"choice": "chunk_0", "probability": 1.0},
        ),
        (WHICH, {"type": "refusal", "refusal": "a", "message": "b"}, {"refusal": "a"}),
        (STANDS, {"type": "refusal", "message": "b", "probability": 1}, {"refusal": "b"}),
        (STANDS, {"type": "refusal"}, {"refusal": "no reason given"}),
    ],
)
def test_an_answer_is_read_as_its_question_asks(
    question: Question, given: Mapping[str, Any], answer: dict[str, Any]
) -> None:
    """Limits are among the probabilities, and a choice may come without one."""
    assert _read_answer(question, [given], None) == DecisionAnswer(**answer)


@pytest.mark.parametrize(
    ("question", "given", "said"),
    [
        (STANDS, [], "is missing"),
        (STANDS, [{"probability": 1}, {"probability": 1}], "was given 2 times"),
        (STANDS, [{"type": "choice", "probability": 1}], "is of type 'choice'; expected a predi"),
        (STANDS, [{"type": "score", "probability": 1}], "is of type 'score'; expected a predi"),
        (
            WHICH,
            [{"type": "predicate", "choice": "none"}],
            "of type 'predicate'; expected a ch",
        ),
        (STANDS, [{}], "has the probability None"),
        (STANDS, [{"probability": False}], "has the probability False"),
        (STANDS, [{"probability": float("nan")}], "has the probability nan"),
        (WHICH, [{"choice": "none", "confidence": 1.01}], "has the probability 1.01"),
        (WHICH, [{"choice": None}], "chooses None, which is not an option"),
    ],
)
def test_what_is_no_answer_to_its_question_is_told(
    question: Question, given: list[Mapping[str, Any]], said: str
) -> None:
    """One answer of the right type, with a number from 0 to 1 or one of the options."""
    with pytest.raises(ValueError, match=said):
        _read_answer(question, given, None)


def test_the_runs_model_is_asked_before_that_of_the_string(scripted: Start) -> None:
    """Of the same host."""
    judge = scripted(GOOD)
    spec = f"decisions:m@{judge.base_url}"
    call = DecisionCall.of(STATE, QUESTIONS, spec)
    for model in ("other", None):
        judge_for(spec, model).ask(call, Meter(20))

    assert [request.body["model"] for request in judge.requests] == ["other", "m"]


def test_a_call_differs_by_its_text_and_by_all_of_each_question() -> None:
    """Its messages are what caches and batches know it by; they hold no more than it asks."""
    calls = [
        DecisionCall.of(state, (Question(*question),), "decisions:m")
        for state, question in (
            ("a", ("n", "i", ("x", "y"))),
            ("b", ("n", "i", ("x", "y"))),
            ("a", ("o", "i", ("x", "y"))),
            ("a", ("n", "j", ("x", "y"))),
            ("a", ("n", "i", ("x", "z"))),
            ("a", ("n", "i")),
        )
    ]

    assert len({str(call.messages) for call in calls}) == len(calls)
    assert [call.state for call in calls] == ["a", "b", "a", "a", "a", "a"]
    assert calls[0].facts == {"chunk_count": 0}
    assert calls[0].endpoint == "decisions:m"


@pytest.mark.parametrize(("count", "sizes"), [(400, [400]), (401, [400, 1]), (801, [400, 400, 1])])
def test_a_request_holds_four_hundred_questions(count: int, sizes: list[int]) -> None:
    """The limit of OpenAI; each is asked once and in order."""
    questions = [Question(f"q{number}", "Is it?") for number in range(count)]
    parts = list(DecisionCall.of(STATE, questions, "decisions:m").in_requests())

    assert [len(part.questions) for part in parts] == sizes
    assert [one for part in parts for one in part.questions] == questions
    assert {(part.state, part.endpoint) for part in parts} == {(STATE, "decisions:m")}


def test_the_word_for_no_key_is_no_secret(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that needs no key may say why it refuses in this word."""
    refusals = [
        {"type": "refusal", "name": question.name, "refusal": "none of it"}
        for question in QUESTIONS
    ]
    judge = scripted(Raw(json.dumps({"answers": refusals})))
    monkeypatch.delenv("OPENAI_API_KEY")

    assert {answer.refusal for answer in ask(judge).values()} == {"none of it"}
