"""A judge's settings are the user's; ours is a temperature of 0, where the model takes it."""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Faithfulness, TwoStepFaithfulness, base, errors, evaluate
from rag_evals.core import JudgeCall, Meter
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.judge.wire.ask import (
    DEFAULT_OPTIONS,
    AskOptions,
    AskSettings,
    CallSettings,
    InstructorJudge,
    check_taken,
    model_in,
    own_model,
    provider_of,
    settings_of,
    wanted_settings,
)
from rag_evals.judge.wire.exchange import Exchange
from rag_evals.response_models.statements import FaithfulnessResult
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import Answer, fill_by_words
from rag_evals.verify import CascadeVerifier, LLMVerifier
from tests.conftest import EIFFEL, Command, statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
NO_TEMPERATURE = HttpError(
    400,
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported.",
    code="unsupported_value",
    param="temperature",
)
OTHER_MAX_TOKENS = HttpError(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    code="unsupported_parameter",
    param="max_tokens",
)


def refusing(request: JudgeRequest) -> Answer:
    """Answer as a reasoning model does."""
    if "temperature" in request.body:
        return NO_TEMPERATURE
    return OTHER_MAX_TOKENS if "max_tokens" in request.body else GOOD


@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_setting_reaches_the_judge(scripted: Start, asynchronous: bool) -> None:
    """Without any, the temperature is 0; those of a call come before those of its grader."""
    judge = scripted(GOOD)
    settings = {"max_tokens": 900, "seed": 7, "top_p": 0.5, "reasoning_effort": "low"}
    grader = base.ContextEvaluation(
        Faithfulness.prompt, FaithfulnessResult, settings={"seed": 1, "temperature": 0.3}
    )

    def grade(grader: Any, **more: Any) -> dict[str, Any]:
        if asynchronous:
            asyncio.run(grader.agrade(**EIFFEL, client="openai/m", **more))
        else:
            grader.grade(**EIFFEL, client="openai/m", **more)
        known = {"temperature", *settings}
        return {name: v for name, v in judge.requests[-1].body.items() if name in known}

    assert grade(Faithfulness) == {"temperature": 0}
    assert grade(Faithfulness, settings={"temperature": None}) == {}
    # Some models take only one of the two.
    assert grade(Faithfulness, settings=settings) == settings
    assert grade(grader) == {"seed": 1, "temperature": 0.3}
    assert grade(grader, settings={"seed": 7}) == {"seed": 7, "temperature": 0.3}
    assert grade(grader.with_settings(temperature=1)) == {"seed": 1, "temperature": 1}


def test_settings_of_a_grader_are_in_its_fingerprint() -> None:
    """Other settings, another grader; the shipped one is not changed."""
    changed = Faithfulness.with_settings(seed=7)

    assert changed.fingerprint() != Faithfulness.fingerprint()
    assert Faithfulness.settings == {}
    two = TwoStepFaithfulness.with_settings(seed=7)
    assert two.fingerprint() != TwoStepFaithfulness.fingerprint()


def test_settings_reach_every_call_of_two_steps(scripted: Start) -> None:
    """Extraction and verification are asked alike, also in a cascade."""
    judge = scripted(fill_by_words)
    TwoStepFaithfulness.with_settings(seed=7).grade(**EIFFEL, client="openai/m")
    cascade = CascadeVerifier(EmbeddedVerifier(), LLMVerifier(), unsure=(0, 1))
    both = TwoStepFaithfulness.with_parts(verifier=cascade).with_settings(seed=7)
    both.grade(**EIFFEL, client="openai/m")

    assert len(judge.requests) == 4
    assert {request.body.get("seed") for request in judge.requests} == {7}


def test_a_client_of_ones_own_keeps_its_temperature(scripted: Start) -> None:
    """What it was made with is not overridden, unless a setting is named."""
    judge = scripted(GOOD)
    with openai.OpenAI() as sdk:
        client = instructor.from_openai(sdk, model="m", temperature=0.7)
        Faithfulness.grade(**EIFFEL, client=client)
        Faithfulness.grade(**EIFFEL, client=client, settings={"temperature": 0.1})

    assert [request.body["temperature"] for request in judge.requests] == [0.7, 0.1]


@pytest.mark.parametrize(
    "own", [{"top_p": 0.5}, {"extra_body": {"top_p": 0.5}}, {"extra_body": {"temperature": 0.7}}]
)
def test_a_client_of_ones_own_that_narrows_the_choice_gets_no_temperature(
    scripted: Start, own: dict[str, Any]
) -> None:
    """Some models take either a temperature or top_p, wherever a client keeps it."""
    judge = scripted(GOOD)
    with openai.OpenAI() as sdk:
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk, model="m", **own))

    (name, value), *_ = (own.get("extra_body") or own).items()
    sent = judge.requests[0].body
    assert {name: sent.get(name) for name in ("temperature", "top_p")} == {
        "temperature": None,
        "top_p": None,
        name: value,
    }


def test_a_judge_is_known_by_its_address_its_model_and_what_it_adds(scripted: Start) -> None:
    """The run's model comes before the client's: a cached reply is one of that model."""
    judge = scripted(GOOD)
    with openai.OpenAI() as sdk:
        own, hotter = (
            instructor.from_openai(sdk, model="own", temperature=heat) for heat in (0.7, 0.8)
        )
        bare = instructor.from_openai(sdk)

        def known(client: Any, model: str | None = None, default: str | None = None) -> str | None:
            return InstructorJudge(client, AskSettings(DEFAULT_OPTIONS, model, default)).identity

        models = [known(own, "run", "usual"), known(own, None, "usual"), known(own), known(bare)]
        assert [one and model_in(one) for one in models] == ["run", "usual", "own", None]
        assert str(models[0]).startswith(f"{judge.base_url}/\nrun\n")
        assert known(own, "run") != known(hotter, "run") != known(bare, "run")
        options = AskOptions.of({"seed": 7, "top_p": 0.5}, 0)
        turned = AskOptions.of({"top_p": 0.5, "seed": 7}, 0)
        asked = [
            InstructorJudge(bare, AskSettings(one, "run")).identity for one in (options, turned)
        ]
        assert asked[0] == asked[1] != known(bare, "run")


def test_a_refused_temperature_is_learned_once_and_told_once(scripted: Start) -> None:
    """The first call is sent again without; all others go without at once."""
    judge = scripted(refusing)
    run = evaluate([{"id": n, **EIFFEL} for n in "abc"], client="openai/o9", concurrency=1)

    assert len(judge.requests) == 4
    assert run.summary().failed == 0
    told = "o9 does not accept temperature 0 and was called with its default temperature"
    assert str(run.summary()).count(told) == 1


def test_another_name_for_the_most_tokens_is_learned(scripted: Start) -> None:
    """`max_tokens` becomes `max_completion_tokens` where the model asks for it."""
    judge = scripted(refusing)
    for _ in range(2):
        Faithfulness.grade(**EIFFEL, client="openai/o8", settings={"max_tokens": 900})

    assert judge.requests[-1].body["max_completion_tokens"] == 900
    assert len(judge.requests) == 4


def test_a_temperature_that_the_user_chose_is_never_dropped(scripted: Start) -> None:
    """The refusal ends the run at the first row, in the provider's words."""
    judge = scripted(refusing)
    with pytest.raises(errors.JudgeRejectedError, match="'temperature' does not support 0"):
        evaluate([EIFFEL], client="openai/o9", settings={"temperature": 0}, concurrency=1)

    assert len(judge.requests) == 1


def test_what_was_learned_of_ours_drops_no_temperature_of_the_users(scripted: Start) -> None:
    """A grader that names one gets the refusal, though another call went on without."""
    judge = scripted(refusing)
    Faithfulness.grade(**EIFFEL, client="openai/o9")
    with pytest.raises(errors.JudgeRejectedError, match="'temperature' does not support 0"):
        Faithfulness.with_settings(temperature=0.5).grade(**EIFFEL, client="openai/o9")

    assert [one.body.get("temperature") for one in judge.requests] == [0, None, 0.5]


def test_a_refusal_for_another_reason_teaches_nothing(scripted: Start) -> None:
    """An error that only speaks of a temperature is raised, and the next call has ours again."""
    judge = scripted(HttpError(400, "content filter: the temperature of the water"))
    for _ in range(2):
        with pytest.raises(errors.JudgeRequestError):
            Faithfulness.grade(**EIFFEL, client="openai/m7")

    assert [request.body.get("temperature") for request in judge.requests] == [0, None, 0, None]


def test_settings_are_part_of_a_run(scripted: Start) -> None:
    """The manifest has them, other ones are another run, and the cache keeps answers apart."""
    judge = scripted(GOOD)
    options: dict[str, Any] = {"client": "openai/m", "cache": True}
    first = evaluate([EIFFEL], out="one", **options)
    evaluate([EIFFEL], out="two", settings={"seed": 1}, **options)
    again = evaluate([EIFFEL], out="three", settings={"seed": 1}, **options)

    assert first.identity["settings"] == {"temperature": 0}
    assert again.identity["settings"] == {"temperature": 0, "seed": 1}
    assert len(judge.requests) == 2
    with pytest.raises(errors.ConfigurationError, match=r"settings was \{'temperature': 0\} and"):
        evaluate([EIFFEL], out="one", settings={"seed": 1}, **options)
    assert evaluate([EIFFEL], out="four").identity["settings"] is None


def test_settings_on_the_command_line(scripted: Start, command: Command) -> None:
    """`--set` may be repeated, and `--reasks 0` asks once, wherever a judge is asked."""
    judge = scripted({"statements": [statement(ids=(9,))]})
    row = {"answer": "It is.", "context": ["It is."]}
    Path("d.jsonl").write_text(json.dumps({**row, "label": 0}))
    for words in (("grade", "d.jsonl"), ("judge", "attack")):
        judge.requests.clear()
        settings = ("--set", "temperature=0.2", "--set", "seed=3", "--reasks", "0")
        assert command(*words, "--judge", "openai/m", *settings).code == 3
        bodies = [(one.body["temperature"], one.body["seed"]) for one in judge.requests]
        assert set(bodies) == {(0.2, 3)}
        texts = [json.dumps(one.body) for one in judge.requests]
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temprature": 0}, "no setting 'temprature'; did you mean 'temperature'"),
        ({"temperature": "0"}, "temperature is '0'; expected a number from 0 to 2"),
        ({"temperature": True}, "temperature is True"),
        ({"max_tokens": 1.5}, "max_tokens is 1.5; expected a whole number"),
        ({"seed": None}, "seed is None"),
        ({"reasoning_effort": ""}, "reasoning_effort is ''; expected a word"),
        (["temperature"], "expected a dictionary, such as {'temperature': 0}"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings: Any, message: str) -> None:
    """One line names the setting and its value, before anything is sent."""
    for call in (
        lambda: Faithfulness.grade(**EIFFEL, client="openai/m", settings=settings),
        lambda: evaluate([EIFFEL], client="openai/m", settings=settings),
        lambda: base.ContextEvaluation("Judge.", FaithfulnessResult, settings=settings),
        lambda: LLMVerifier(settings=settings),
    ):
        with pytest.raises(errors.ConfigurationError) as caught:
            call()
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "mode", "given", "sent"),
    [
        ("anthropic", "TOOLS", {}, {"extra_body": {"temperature": 0}, "max_tokens": 4096}),
        (
            "anthropic",
            "TOOLS",
            {"max_tokens": 9},
            {"extra_body": {"temperature": 0}, "max_tokens": 9},
        ),
        ("mistral", "TOOLS", {"seed": 1}, {"temperature": 0, "random_seed": 1}),
        ("cohere", "TOOLS", {"top_p": 0.5}, {"p": 0.5}),
        (
            "vertexai",
            "TOOLS",
            {"max_tokens": 9},
            {"generation_config": {"temperature": 0, "max_output_tokens": 9}},
        ),
        (
            "openai",
            "RESPONSES_TOOLS",
            {"reasoning_effort": "low"},
            {"temperature": 0, "reasoning": {"effort": "low"}},
        ),
    ],
)
def test_a_setting_goes_by_the_providers_name(
    provider: str, mode: str, given: Mapping[str, Any], sent: Mapping[str, Any]
) -> None:
    """One name here, whatever the provider calls it; Anthropic requires a number of tokens."""
    assert CallSettings(_Client(provider, mode), "m", {}, given).to_send() == sent


def test_a_setting_that_a_provider_lacks_is_refused() -> None:
    """It would be an error of the SDK, after the run has begun."""
    client = _Client("anthropic", "TOOLS")
    judge = InstructorJudge(client, AskSettings(AskOptions()))
    for refuse in (
        CallSettings(client, "m", {}, {"seed": 1}).to_send,
        lambda: judge.check_settings({"seed": 1}, "m"),
    ):
        with pytest.raises(errors.ConfigurationError, match="does not accept the setting 'seed'"):
            refuse()
    judge.check_settings({"top_p": 0.5}, "m")


class _Client:
    """What settings look at in an instructor client."""

    def __init__(self, provider: str = "openai", mode: str = "TOOLS", **own: Any) -> None:
        self.provider = SimpleNamespace(value=provider)
        self.mode = SimpleNamespace(name=mode)
        self.kwargs: dict[str, Any] = own
        self.client: Any = SimpleNamespace()


@pytest.mark.parametrize(
    ("call", "given", "own", "wanted"),
    [
        ({}, {}, {}, {"temperature": 0}),
        ({"seed": 1, "temperature": 0.5}, {"seed": 2}, {}, {"seed": 2, "temperature": 0.5}),
        ({"temperature": 0.5}, {"temperature": None}, {}, {"temperature": None}),
        ({}, {"temperature": 1}, {"temperature": 0.7}, {"temperature": 1}),
        ({"seed": 1}, {}, {"temperature": 0.7}, {"seed": 1}),
        ({"top_p": 0.5}, {}, {}, {"top_p": 0.5}),
        ({}, {"top_p": 0.5}, {}, {"top_p": 0.5}),
        ({}, {}, {"top_p": 0.5}, {}),
        ({}, {}, {"config": {}}, {}),
        ({}, {}, {"generation_config": {}}, {}),
        ({}, {}, {"inferenceConfig": {}}, {}),
        ({}, {}, {"extra_body": {"top_p": 0.5}}, {}),
        ({}, {}, {"extra_body": {"temperature": 0.7}}, {}),
        ({}, {}, {"extra_body": None, "max_tokens": 9}, {"temperature": 0}),
    ],
)
def test_settings_of_the_run_come_first_and_then_those_of_the_call(
    call: dict[str, Any], given: dict[str, Any], own: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """A temperature of 0 is only added where nobody has narrowed the choice, in any place."""
    assert wanted_settings(call, given, own) == wanted


@pytest.mark.parametrize(
    ("client", "call", "given", "sent"),
    [
        (_Client(), {"seed": 1, "top_p": 0.5}, {"seed": 2}, {"seed": 2, "top_p": 0.5}),
        (_Client(), {"window": 9}, {}, {"temperature": 0}),
        (_Client(), {"temperature": 0.5}, {"temperature": None}, {}),
        (_Client(temperature=0.7), {"max_tokens": 5}, {}, {"max_tokens": 5}),
        (_Client("anthropic", max_tokens=7, top_p=0.5), {}, {}, {"extra_body": {}}),
        (
            _Client("anthropic", extra_body={"temperature": 0.7, "a": 1}),
            {},
            {"temperature": 0.2},
            {"max_tokens": 4096, "extra_body": {"temperature": 0.2, "a": 1}},
        ),
        (
            _Client("vertexai", generation_config={"temperature": 0.7, "max_output_tokens": 5}),
            {},
            {"max_tokens": 9},
            {"generation_config": {"temperature": 0.7, "max_output_tokens": 9}},
        ),
        (_Client("vertexai", top_p=0.5), {}, {}, {}),
        (_Client("mistral"), {"seed": 1}, {"temperature": 1}, {"random_seed": 1, "temperature": 1}),
        (_Client("openai"), {"seed": 1}, {"temperature": 1}, {"seed": 1, "temperature": 1}),
    ],
)
def test_what_is_sent_beside_what_a_client_was_made_with(
    client: _Client, call: dict[str, Any], given: dict[str, Any], sent: dict[str, Any]
) -> None:
    """The run's settings replace the call's, and both replace the client's of the same name."""
    assert CallSettings(client, "m", call, given).to_send() == sent


NOT_ACCEPTED = {
    ("anthropic", "TOOLS"): {"seed", "reasoning_effort"},
    ("bedrock", "TOOLS"): {"seed", "reasoning_effort"},
    ("cohere", "TOOLS"): {"reasoning_effort"},
    ("genai", "TOOLS"): {"reasoning_effort"},
    ("groq", "TOOLS"): set(),
    ("mistral", "TOOLS"): {"reasoning_effort"},
    ("openai", "RESPONSES_TOOLS"): {"seed"},
    ("openai", "TOOLS"): set(),
    ("vertexai", "TOOLS"): {"reasoning_effort"},
}


@pytest.mark.parametrize(("provider", "mode"), NOT_ACCEPTED)
def test_which_settings_a_provider_does_not_accept(provider: str, mode: str) -> None:
    """Exactly these are refused, each by name; a window is never sent, and so always accepted."""
    given = {"max_tokens": 9, "reasoning_effort": "low", "seed": 1, "temperature": 0, "window": 9}
    client, refused = _Client(provider, mode), NOT_ACCEPTED[provider, mode]
    for name in refused:
        said = f"{provider_of(client)!r} does not accept the setting {name!r}"
        with pytest.raises(errors.ConfigurationError, match=said):
            check_taken(client, {name: given[name]}, "m")
    taken = {name: value for name, value in given.items() if name not in refused}
    check_taken(client, {**taken, "top_p": 0.5}, "m")


def test_what_litellm_would_leave_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a model of a provider that it knows; the window is never sent."""

    def provider(model: str) -> tuple[str, str, None]:
        if "/" not in model:
            raise KeyError(model)
        return model.partition("/")[2], model.partition("/")[0], None

    def taken(model: str, provider: str) -> list[str]:
        return ["temperature", *(["seed"] if (model, provider) == ("m", "takes") else [])]

    stand_in = SimpleNamespace(
        BadRequestError=KeyError, get_llm_provider=provider, get_supported_openai_params=taken
    )
    monkeypatch.setitem(sys.modules, "litellm", stand_in)
    client, own = _Client(), _Client()
    client.client = None
    given = {"seed": 1, "temperature": 0, "window": 9}
    for asked, model in ((client, "takes/m"), (client, "m"), (client, None), (own, "other/m")):
        check_taken(asked, given, model)
    check_taken(client, {"temperature": 0, "window": 9}, "other/m")
    with pytest.raises(errors.ConfigurationError, match="not pass the setting 'seed' to 'other/m'"):
        check_taken(client, given, "other/m")


def _exchange(*, other_form: bool = False) -> Exchange:
    exchange = Exchange(JudgeCall((), FaithfulnessResult), Meter(), "JSON_SCHEMA", 3)
    exchange.missed_schema = other_form
    return exchange


def _learns(
    said: str, settings: dict[str, Any], kind: type[errors.GradingError] = errors.JudgeRequestError
) -> tuple[bool, dict[str, Any]]:
    """Return whether a refused call is sent again, and what the client's next call sends."""
    client = _Client()
    again = CallSettings(client, "m", settings, {})
    again.to_send()
    return again.learns(kind(said), _exchange()), CallSettings(client, "m", settings, {}).to_send()


HOT = "'temperature' does not support 0"
RENAMED = "use 'max_completion_tokens' instead"
TOP: dict[str, Any] = {"top_p": 0.5}
MOST: dict[str, Any] = {"max_tokens": 9}


@pytest.mark.parametrize(
    ("said", "settings", "again", "then"),
    [
        (HOT, {}, True, {}),
        (HOT.upper(), {}, True, {}),
        (HOT, {"temperature": 0}, False, {"temperature": 0}),
        (HOT, TOP, False, TOP),
        (RENAMED, {}, False, {"temperature": 0}),
        (RENAMED, MOST, True, {"max_completion_tokens": 9, "temperature": 0}),
        (RENAMED, {**MOST, **TOP}, True, {"max_completion_tokens": 9, **TOP}),
        (f"{HOT}; {RENAMED}", MOST, True, {"max_completion_tokens": 9, "temperature": 0}),
        (f"{HOT}; {RENAMED}", {}, True, {}),
        ("no", MOST, False, {"max_tokens": 9, "temperature": 0}),
    ],
)
def test_only_what_was_sent_can_have_been_refused(
    said: str, settings: dict[str, Any], again: bool, then: dict[str, Any]
) -> None:
    """A refusal that names what was not sent, or what the user chose, changes no call."""
    for kind in (errors.JudgeRequestError, errors.JudgeRejectedError):
        assert _learns(said, settings, kind) == (again, then)
    assert _learns(said, settings, errors.JudgeUnavailableError)[0] is False


def test_what_a_model_refuses_is_learned_of_that_model_alone() -> None:
    """A client asks many; another model's calls, and those of no model, are sent as before."""
    client = _Client()
    refused = CallSettings(client, "a", {}, {})
    refused.to_send()

    assert refused.learns(errors.JudgeRequestError(HOT), _exchange())
    assert [CallSettings(client, model, {}, {}).to_send() for model in ("a", "b", None)] == [
        {},
        {"temperature": 0},
        {"temperature": 0},
    ]


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (errors.JudgeRequestError(HOT), {"temperature": 0}),
        (errors.JudgeRequestError("no"), {"temperature": 0}),
        (errors.JudgeUnavailableError("no"), {"temperature": 0}),
        (errors.PendingError("not yet"), {}),
    ],
)
def test_what_did_not_help_is_forgotten(error: errors.RagEvalsError, then: dict[str, Any]) -> None:
    """The same refusal again, or another fault; a reply that a batch still owes is no fault."""
    client = _Client()
    refused = CallSettings(client, "a", {}, {})
    refused.to_send()
    assert refused.learns(errors.JudgeRequestError(HOT), _exchange())
    refused.to_send()

    assert not refused.learns(error, _exchange())
    assert CallSettings(client, "a", {}, {}).to_send() == then


def test_another_name_is_tried_once() -> None:
    """A host that refuses both names of the most tokens is not asked for ever."""
    client = _Client()
    refused = CallSettings(client, "a", MOST, {})
    answers = []
    for _ in range(2):
        refused.to_send()
        answers.append(refused.learns(errors.JudgeRequestError(RENAMED), _exchange()))

    assert answers == [True, False]
    assert CallSettings(client, "a", MOST, {}).to_send() == {**MOST, "temperature": 0}


def test_a_reply_that_missed_the_schema_is_asked_for_in_two_other_forms() -> None:
    """First in JSON mode, and only where the host refuses that, as text."""
    of_call = CallSettings(_Client(), "m", {}, {})
    missed = _exchange(other_form=True)
    assert of_call.learns(ValueError("no JSON"), missed)
    assert (of_call.missed, of_call.other_form) == (missed, "json_object")
    assert not of_call.learns(errors.JudgeUnavailableError("busy"), _exchange())
    assert of_call.other_form == "json_object"
    refused = errors.JudgeRejectedError("'response_format.type' must be 'text'")
    assert of_call.learns(refused, _exchange())
    assert of_call.other_form == "text"
    assert not of_call.learns(refused, _exchange())


def test_what_was_learned_is_told_by_its_kind() -> None:
    """The models in order, and nothing of another name for the most tokens."""
    client = _Client()
    for model, said in (("z", HOT), ("b", HOT), ("c", RENAMED)):
        of_call = CallSettings(client, model, MOST, {})
        of_call.to_send()
        assert of_call.learns(errors.JudgeRequestError(said), _exchange())
    for model in ("y", "a", "z"):
        CallSettings(client, model, {}, {}).learns(ValueError(), _exchange(other_form=True))

    judge = InstructorJudge(client, AskSettings(DEFAULT_OPTIONS))
    assert judge.lessons == {"without_temperature": ["b", "z"], "in_words": ["a", "y", "z"]}


@pytest.mark.parametrize(
    ("given", "call", "usual", "model"),
    [
        ("run", "grader", "usual", "run"),
        (None, "grader", "usual", "grader"),
        (None, None, "usual", "usual"),
        (None, None, None, None),
        ("run", None, None, "run"),
    ],
)
def test_the_model_of_the_run_comes_first_then_that_of_the_call(
    given: str | None, call: str | None, usual: str | None, model: str | None
) -> None:
    """And the judge's own at last."""
    asked = JudgeCall((), FaithfulnessResult, model=call)
    assert AskSettings(DEFAULT_OPTIONS, given, usual).model_for(asked) == model


def test_a_clients_own_model_is_the_one_that_its_calls_name() -> None:
    """A model among the arguments of each call comes before that of the client."""

    def made_with(default_model: str) -> Callable[[], str]:
        def create() -> str:
            return default_model

        return create

    client: Any = _Client(model="named")
    client.create_fn = made_with("usual")
    assert own_model(client) == "named"
    client.kwargs = {}
    assert own_model(client) == "usual"
    client.create_fn = None
    assert own_model(client) is None


def _sdk(client: _Client, **parts: Mapping[str, Any]) -> _Client:
    """Give a client an SDK with headers and query values, and those of its transport."""
    below = SimpleNamespace(headers=parts.get("headers", {}), params=parts.get("params", {}))
    client.client = SimpleNamespace(
        _client=below,
        _custom_headers=parts.get("own_headers", {}),
        _custom_query=parts.get("own_query", {}),
    )
    return client


@pytest.mark.parametrize(
    ("other", "is_other"),
    [
        (_sdk(_Client(model="m")), False),
        (_sdk(_Client(mode="JSON_SCHEMA")), True),
        (_sdk(_Client(temperature=0.5)), True),
        (_sdk(_Client(), headers={"X-Tenant": "b"}), True),
        (_sdk(_Client(), params={"api-version": "1"}), True),
        (_sdk(_Client(), own_headers={"X-Tenant": "b"}), True),
        (_sdk(_Client(), own_query={"api-version": "1"}), True),
        (_sdk(_Client(extra_headers={"X-Tenant": "b"})), True),
        (_sdk(_Client(extra_query={"api-version": "1"})), True),
        (_sdk(_Client(), headers={"User-Agent": "x", "X-Request-ID": "7"}), False),
        (_sdk(_Client(), headers={"Authorization": "b", "X-API-Key": "b"}), False),
        (_sdk(_Client(extra_headers={"X-Auth": "b", "Cookie": "b"})), False),
        (_sdk(_Client(), own_query={"TOKEN": "b", "Signature": "b", "secret": "b"}), False),
    ],
)
def test_what_a_client_adds_to_its_calls_makes_another_judge(
    other: _Client, is_other: bool
) -> None:
    """Wherever it is kept; but no key, no model, and nothing that cannot change a reply."""
    assert (settings_of(other) != settings_of(_sdk(_Client()))) is is_other


def test_headers_are_the_same_in_capitals_and_elsewhere_are_others() -> None:
    """A header of the transport is told from one that each call adds, and from a query value."""
    places = ("headers", "params", "own_headers", "own_query")
    known = {settings_of(_sdk(_Client(), **{place: {"x-tenant": "b"}})) for place in places}

    assert len(known) == 4
    assert settings_of(_sdk(_Client(), headers={"X-Tenant": "b"})) in known


def test_a_judge_that_keeps_its_own_temperature_is_not_one_that_is_told_another() -> None:
    """What a verdict's key holds: the settings that each call is sent with."""
    own = _Client(model="m", temperature=0.7)
    asked = [AskOptions(), AskOptions.of({"temperature": 0}, 3), AskOptions.of({"seed": 1}, 3)]
    known = {InstructorJudge(own, AskSettings(one)).identity for one in asked}

    assert len(known) == 3
    assert InstructorJudge(own, AskSettings(AskOptions(), "run", "usual")).identity != (
        InstructorJudge(own, AskSettings(AskOptions(), "usual", "run")).identity
    )
    assert AskOptions().reasks == 3
    assert AskOptions.of(None, 0) == AskOptions({}, 0)
