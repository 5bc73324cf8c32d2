"""A user's own client over another SDK than OpenAI's: read, repeated and left open like any."""

import asyncio
from collections.abc import Callable
from typing import Any

import instructor
import pytest

from rag_evals import evaluate
from rag_evals.judge.closing import close_client
from rag_evals.testing import Answer, HttpError, JudgeRequest, ScriptedJudge
from tests.providers.cases import GOOD, KEY, SDKS_HERE

if not SDKS_HERE:
    pytest.skip("the SDKs of providers are not installed here", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ROW: dict[str, Any] = {"answer": "The tower stands in Paris.", "context": ["In Paris."]}
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


@pytest.mark.parametrize(
    "make", [anthropic, gemini, mistral, bedrock], ids=lambda make: make.__name__
)
def test_an_own_client_is_read_and_repeated(
    make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed request is sent again by whoever does that, once; tokens are counted."""
    monkeypatch.setattr("rag_evals.judge.retry._FIRST_WAIT_SECONDS", 0.001)

    def answer(request: JudgeRequest) -> Answer:
        return GOOD if request.number else HttpError(500, "oops", {"retry-after": "0"})

    with ScriptedJudge(answer, dialect=make.__name__) as judge:
        client = make(judge.base_url)
        run = evaluate([ROW], client=client, progress=False)
        # It is the user's: a run leaves it open.
        asyncio.run(close_client(client))

    outcome = run.outcomes[0]
    assert outcome.score == 1.0, outcome.error
    assert len(judge.requests) == 2
    assert (outcome.usage.prompt_tokens, outcome.usage.uncounted) == (100, 0)
