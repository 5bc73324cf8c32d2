"""A user's own client over another SDK than OpenAI's: read, repeated and left open like any."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import instructor
import pytest

from rag_evals import Faithfulness, errors, evaluate
from rag_evals.judge.clients.build import address_of
from rag_evals.judge.clients.sdks import close_client
from tests.providers.cases import ASKED, GOOD, KEY, SDKS_HERE, Asked
from tests.scripted import Answer, HttpError, JudgeRequest, ScriptedJudge

if not SDKS_HERE:
    pytest.skip("the SDKs of providers are not installed here", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ROW: dict[str, Any] = {"answer": "The tower stands in Paris.", "context": ["In Paris."]}
NO_SEED = {"Anthropic", "Bedrock, tools", "Bedrock, text", "OpenAI Responses"}
"""Providers without this setting; a grading that names it ends before anything is sent."""
AWS = {"region_name": "us-east-1", "aws_access_key_id": KEY, "aws_secret_access_key": KEY}


def anthropic(url: str) -> Any:
    """Make a client as Anthropic's pages do."""
    from anthropic import Anthropic

    sdk = Anthropic(api_key=KEY, base_url=url)
    return instructor.from_anthropic(sdk, model="m", max_tokens=500)


def gemini(url: str) -> Any:
    """Make a client as Google's pages do."""
    from google import genai

    sdk = genai.Client(api_key=KEY, http_options={"base_url": url})
    return instructor.from_genai(sdk, model="m")


def mistral(url: str) -> Any:
    """Make a client as Mistral's pages do."""
    from mistralai.client import Mistral

    return instructor.from_mistral(Mistral(api_key=KEY, server_url=url), model="m")


def bedrock(url: str) -> Any:
    """Make a client as the pages of AWS do."""
    import boto3

    sdk = boto3.client("bedrock-runtime", endpoint_url=url, **AWS)
    return instructor.from_bedrock(sdk, model="m")


def litellm(url: str, model: str = "openai/m") -> Any:
    """Make a client as LiteLLM's pages do: it is a function."""
    import litellm

    return instructor.from_litellm(partial(litellm.completion, api_base=url), model=model)


@pytest.mark.parametrize("way", ["grade", "evaluate"])
@pytest.mark.parametrize(
    "make", [anthropic, gemini, mistral, bedrock, litellm], ids=lambda make: make.__name__
)
def test_an_own_client_is_read_and_repeated(
    make: Callable[[str], Any], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed request is sent again by whoever does that, once; tokens are counted."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def answer(request: JudgeRequest) -> Answer:
        return GOOD if request.number else HttpError(500, "oops", {"retry-after": "0"})

    with ScriptedJudge(answer, dialect=make.__name__) as judge:
        client = make(judge.base_url)
        if way == "grade":
            assert Faithfulness.grade(**ROW, client=client).score == 1.0
        else:
            outcome = evaluate([ROW], client=client, progress=False).outcomes[0]
            assert outcome.score == 1.0, outcome.error
            assert (outcome.usage.prompt_tokens, outcome.usage.uncounted) == (100, 0)
        # It is the user's: a run leaves it open.
        asyncio.run(close_client(client))

    assert len(judge.requests) == 2


@pytest.mark.parametrize("way", ["grade", "agrade", "evaluate"])
def test_a_client_of_google_is_wrapped(way: str) -> None:
    """`genai.Client()` itself is both kinds of client: the call says which is used."""
    from google import genai

    with (
        ScriptedJudge(GOOD, dialect="gemini") as judge,
        closing(genai.Client(api_key=KEY, http_options={"base_url": judge.base_url})) as sdk,
    ):
        asked = {"client": sdk, "model": "m", "settings": {"seed": 1}}
        if way == "grade":
            Faithfulness.grade(**ROW, **asked)
        elif way == "agrade":

            async def ask() -> None:
                await Faithfulness.agrade(**ROW, **asked)
                await sdk.aio.aclose()

            asyncio.run(ask())
        else:
            assert evaluate([ROW], **asked, progress=False).outcomes[0].score == 1.0

    config = judge.requests[0].body["generationConfig"]
    assert (config["temperature"], config["seed"]) == (0, 1)


def test_an_own_client_of_anthropic_takes_settings() -> None:
    """Its newer libraries have no word for a temperature; the endpoint says whether it is taken."""
    from anthropic import Anthropic

    with (
        ScriptedJudge(GOOD, dialect="anthropic") as judge,
        Anthropic(api_key=KEY, base_url=judge.base_url) as sdk,
    ):
        Faithfulness.grade(**ROW, client=sdk, model="m")
        own = instructor.from_anthropic(sdk, model="m", max_tokens=500, extra_body={"top_k": 3})
        Faithfulness.grade(**ROW, client=own, settings={"top_p": 0.5})

    first, second = (request.body for request in judge.requests)
    assert (first["temperature"], first["max_tokens"]) == (0, 4096)
    assert (second["top_p"], second["top_k"], second["max_tokens"]) == (0.5, 3, 500)
    assert "temperature" not in second


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_settings_reach_every_provider(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arrives under the provider's own name; without any, the temperature is 0."""
    for key in asked.keys:
        monkeypatch.setenv(key, KEY)
    with ScriptedJudge(GOOD, dialect=asked.dialect) as judge:
        monkeypatch.setenv(asked.address, judge.base_url)
        takes = {"top_p": 0.9} if asked.name in NO_SEED else {"top_p": 0.9, "seed": 1}
        for settings in ({}, {"temperature": 0.25, "max_tokens": 77, **takes}):
            assert Faithfulness.grade(**ROW, client=asked.judge, settings=settings).score == 1.0

    sent = []
    for request in judge.requests:
        body = request.body
        sent.append(body.get("inferenceConfig") or body.get("generationConfig") or body)
    assert [one["temperature"] for one in sent] == [0, 0.25]
    names = ("max_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens")
    assert [sent[1][name] for name in names if name in sent[1]] == [77]
    assert [sent[1][name] for name in ("top_p", "topP", "p") if name in sent[1]] == [0.9]
    seeds = [sent[1][name] for name in ("seed", "random_seed") if name in sent[1]]
    assert seeds == ([] if asked.name in NO_SEED else [1])


@pytest.mark.parametrize(
    ("judge", "settings", "says"),
    [
        (
            "litellm/openai/gpt-4o",
            {"reasoning_effort": "low"},
            "does not pass the setting 'reasoning_effort' to",
        ),
        (
            "litellm/anthropic/claude-3-5-sonnet-20240620",
            {"seed": 1},
            "does not pass the setting 'seed' to",
        ),
        ("anthropic/m", {"seed": 1}, "'anthropic' does not accept the setting 'seed'"),
    ],
)
def test_a_setting_that_is_not_taken_is_named_before_a_row(
    judge: str, settings: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the run or of a grader: nothing is asked, and no folder is left."""
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:1")
    out = tmp_path / "out"
    with pytest.raises(errors.ConfigurationError, match=says):
        evaluate([ROW], client=judge, settings=settings, out=out, progress=False)
    with pytest.raises(errors.ConfigurationError, match=says):
        Faithfulness.grade(**ROW, client=judge, settings=settings)
    grader = Faithfulness.with_settings(**settings)
    with pytest.raises(errors.ConfigurationError, match=says):
        evaluate([ROW], grader, client=judge, out=out, progress=False)

    assert not out.exists()


def test_an_own_function_of_litellm_is_asked_what_it_takes() -> None:
    """A client that the user made names its model, and so its settings are known."""
    client = litellm("http://127.0.0.1:1", "openai/gpt-4o")
    with pytest.raises(errors.ConfigurationError, match="'reasoning_effort' to 'openai/gpt-4o'"):
        Faithfulness.grade(**ROW, client=client, settings={"reasoning_effort": "low"})


def test_two_addresses_of_litellm_are_two_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where LiteLLM asks is read as LiteLLM reads it: an answer of one is none of the other."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    monkeypatch.setenv("GROQ_API_BASE", "http://b/v1")

    assert address_of("litellm/openai/m") == address_of("litellm/m") == "http://a/v1"
    assert address_of("litellm/groq/m") == "http://b/v1"


def test_a_client_that_speaks_grpc_is_refused() -> None:
    """Errors and replies of xAI's own library are gRPC's; the line says how Grok is asked."""
    import xai_sdk

    where = {"api_key": KEY, "api_host": "127.0.0.1:1"}
    sdk = xai_sdk.Client(**where)
    for client in (sdk, instructor.from_xai(sdk, model="grok-4")):
        with pytest.raises(errors.ConfigurationError, match="xai-sdk .* pass 'xai/MODEL'"):
            Faithfulness.grade(**ROW, client=client)
        with pytest.raises(errors.ConfigurationError, match="xai-sdk .* pass 'xai/MODEL'"):
            evaluate([ROW], client=client, progress=False)

    async def ask() -> None:
        # Its async client is made where a loop runs.
        own = instructor.from_xai(xai_sdk.AsyncClient(**where), model="grok-4")
        await Faithfulness.agrade(**ROW, client=own)

    with pytest.raises(errors.ConfigurationError, match="xai-sdk .* pass 'xai/MODEL'"):
        asyncio.run(ask())
