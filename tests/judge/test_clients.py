"""Strings become clients, wrong ones clear errors; the kinds of client are told apart."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Faithfulness, base, errors
from rag_evals.judge import judge_for
from rag_evals.judge.clients import STRICT_HOSTS, split_spec
from rag_evals.judge.session import SessionSettings, judge_session
from rag_evals.response_models.statements import FaithfulnessResult
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, statement

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]
GOOD = {"statements": [statement()]}


def test_a_string_becomes_a_client(scripted: Start) -> None:
    """`openai/MODEL` honours OPENAI_BASE_URL, names the model and asks for JSON by schema."""
    judge = scripted(GOOD)
    result = Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")

    assert result.score == 1.0
    assert judge.requests[0].body["model"] == "gpt-4o-mini"
    assert judge.requests[0].body["response_format"]["type"] == "json_schema"
    # Not api.openai.com: the plain form, which every server understands.
    assert "strict" not in judge.requests[0].body["response_format"]["json_schema"]
    assert {"api.openai.com"} == STRICT_HOSTS


def test_a_string_works_async_in_several_loops(scripted: Start) -> None:
    """A client belongs to its event loop; the next loop gets another."""
    scripted(GOOD)
    for _ in range(2):
        result = asyncio.run(Faithfulness.agrade(**EIFFEL, client="openai/gpt-4o-mini"))
        assert result.score == 1.0
        # A connection left open would be an error here: warnings are.
        gc.collect()


def test_a_client_is_made_once_for_its_settings(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are reused, and a changed base URL is not answered by the old client."""
    first = scripted(GOOD)
    Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")
    second = scripted(GOOD)
    Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")

    assert (len(first.requests), len(second.requests)) == (1, 1)
    made = [judge_for("openai/gpt-4o-mini")._client for _ in range(2)]
    assert made[0] is made[1]


def test_the_model_comes_from_the_call_the_grader_or_the_client(
    scripted: Start, client_of: ClientOf
) -> None:
    """The nearest wins: `grade`, then the grader, then the client's own."""
    judge = scripted(GOOD)
    grader = base.ContextEvaluation(
        prompt=Faithfulness.prompt, response_model=FaithfulnessResult, model="graders"
    )
    plain = client_of(judge)
    own: Any = instructor.from_provider(
        "openai/clients", base_url=judge.base_url, api_key="sk-test-SECRET"
    )
    grader.grade(**EIFFEL, client=plain, model="calls")
    grader.grade(**EIFFEL, client=plain)
    Faithfulness.grade(**EIFFEL, client=own)
    own.client.close()

    assert [r.body["model"] for r in judge.requests] == ["calls", "graders", "clients"]


def test_without_any_model_the_error_names_the_three_places(
    scripted: Start, client_of: ClientOf
) -> None:
    """Nothing is sent, and the message says where a model can be named."""
    judge = scripted(GOOD)
    with pytest.raises(errors.ConfigurationError, match="model= to grade, or model= to the grader"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge))
    assert judge.requests == []


def test_no_key_is_one_clear_error() -> None:
    """The message names the variable and the judge that needs none."""
    with pytest.raises(errors.ConfigurationError, match=r"set OPENAI_API_KEY .*'embedded'"):
        Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-4o-mini", "judge 'gpt-4o-mini' is not 'embedded' and not PROVIDER/MODEL"),
        ("openai/", "not PROVIDER/MODEL"),
        ("/gpt", "not PROVIDER/MODEL"),
        ("opnai/gpt-4o", "no provider 'opnai'; did you mean 'openai'"),
    ],
)
def test_a_string_that_names_no_judge_is_explained(spec: str, message: str) -> None:
    """A missing part or an unknown provider is found before anything is built."""
    with pytest.raises(errors.ConfigurationError, match=message):
        split_spec(spec)


def test_a_missing_provider_library_names_its_package() -> None:
    """The message says what to install."""
    with pytest.raises(errors.ConfigurationError, match="pip install .?anthropic"):
        Faithfulness.grade(**EIFFEL, client="anthropic/claude-sonnet-4-6")


def test_the_wrong_kind_of_client_gets_one_clear_error(
    scripted: Start, client_of: ClientOf
) -> None:
    """Sync in agrade, async in grade, and a client that is not instructor's."""
    judge = scripted(GOOD)
    sync = client_of(judge)
    sdk = openai.AsyncOpenAI(base_url=judge.base_url, api_key="k")
    wrong: Any = sdk

    with pytest.raises(errors.ConfigurationError, match="async client cannot be used by grade"):
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk))
    with pytest.raises(errors.ConfigurationError, match="sync client cannot be awaited"):
        asyncio.run(Faithfulness.agrade(**EIFFEL, client=sync))
    with pytest.raises(errors.ConfigurationError, match="client is AsyncOpenAI; expected an instr"):
        Faithfulness.grade(**EIFFEL, client=wrong)


def test_ollama_is_asked_by_schema() -> None:
    """A local server is built through instructor, with the mode that constrains decoding."""
    client = judge_for("ollama/llama3.2")._client

    assert client.mode is instructor.Mode.JSON_SCHEMA


def test_a_session_closes_what_it_made(scripted: Start) -> None:
    """A client made for one run leaves no connection behind."""
    scripted(GOOD)

    async def session() -> Any:
        async with judge_session("openai/gpt-4o-mini", None, SessionSettings()) as judge:
            return judge

    assert asyncio.run(session())._client.client.is_closed()
