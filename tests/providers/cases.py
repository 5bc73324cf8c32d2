"""Which providers are asked, how they are set up on loopback, and what may happen to a request."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from tests.conftest import statement
from tests.scripted import Answer, HttpError, Raw, Reply, Stall

KEY = "test-key-SECRET"
SDKS_HERE = bool(os.environ.get("RAG_EVALS_REQUIRE_PROVIDERS")) or all(
    find_spec(name) for name in "anthropic boto3 cohere groq litellm mistralai".split()
)
"""Where CI wants them, a missing one is a failure, not a skip."""


@dataclass(frozen=True)
class Asked:
    """A provider as a user sets it up.

    Attributes:
        name: As the table in the docs has it.
        judge: The judge string.
        dialect: What the scripted judge speaks.
        address: Environment variable with the address.
        keys: Environment variables with the key.
        sdk: What is in between; what `pip install` takes.
        lacks: Names of the cases in which it behaves otherwise.
    """

    name: str
    judge: str
    dialect: str
    address: str
    keys: tuple[str, ...]
    sdk: str = "openai"
    lacks: tuple[str, ...] = ()


_OPENAI = ("OPENAI_API_KEY",)
_AWS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
# It reads a reply before anybody can look at its length.
_BOTOCORE = ("17 MB",)
# It makes another HTTP client for each of its providers, and follows every redirect.
_LITELLM = ("another host", "17 MB")
ASKED = [
    Asked("OpenAI Chat", "openai/m", "openai", "OPENAI_BASE_URL", _OPENAI),
    Asked("OpenAI Responses", "openai-responses/m", "responses", "OPENAI_BASE_URL", _OPENAI),
    Asked("Azure", "azure/m", "azure", "AZURE_OPENAI_ENDPOINT", ("AZURE_OPENAI_API_KEY",)),
    Asked("Anthropic", "anthropic/m", "anthropic", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",),
          "anthropic"),
    Asked("Gemini", "google/m", "gemini", "GOOGLE_GEMINI_BASE_URL", ("GOOGLE_API_KEY",),
          "google-genai"),
    Asked("Vertex", "vertex/m", "vertex", "GOOGLE_VERTEX_BASE_URL", ("GOOGLE_API_KEY",),
          "google-genai"),
    Asked("Bedrock, tools", "bedrock/anthropic.m", "bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
          _AWS, "boto3", _BOTOCORE),
    Asked("Bedrock, text", "bedrock/amazon.m", "bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
          _AWS, "boto3", _BOTOCORE),
    Asked("Mistral", "mistral/m", "mistral", "MISTRAL_BASE_URL", ("MISTRAL_API_KEY",), "mistralai"),
    Asked("Groq", "groq/m", "groq", "GROQ_BASE_URL", ("GROQ_API_KEY",), "groq"),
    Asked("Cohere", "cohere/m", "cohere", "CO_API_URL", ("CO_API_KEY",), "cohere"),
    Asked("Ollama", "ollama/m", "ollama", "OLLAMA_HOST", ()),
    Asked("vLLM", "vllm/m", "vllm", "VLLM_BASE_URL", ()),
    Asked("LiteLLM", "litellm/openai/m", "litellm", "OPENAI_BASE_URL", _OPENAI, "litellm",
          _LITELLM),
    Asked("xAI", "xai/m", "xai", "XAI_BASE_URL", ("XAI_API_KEY",)),
]  # fmt: skip

GOOD = {"statements": [statement()]}
NULL_IDS = {"statements": [{**statement(supported=False), "supporting_chunk_ids": None}]}
WRONG_ID = {"statements": [statement(ids=(7,))]}


@dataclass(frozen=True)
class Case:
    """What the endpoint does, and how a grading then ends.

    Attributes:
        name: As the table in the docs has it.
        script: Answers in order; the last one is given to every later request.
        ends: The score, or the name of an error.
        requests: How many requests arrive; None where it does not matter.
        usage: What is known of the usage.
        says: What the error says.
        seconds: For one row.
        has_key: The environment holds the provider's keys.
        is_running: The server is there.
        is_quiet: Nothing is warned about, and nothing is left open.
    """

    name: str
    script: tuple[Answer, ...]
    ends: float | str
    requests: int | None = 1
    usage: Mapping[str, int] = field(default_factory=dict)
    says: str = ""
    seconds: float = 60.0
    has_key: bool = True
    is_running: bool = True
    is_quiet: bool = False


_TOKENS = {"prompt_tokens": 100, "completion_tokens": 20, "uncounted": 0, "calls": 1}
_AGAIN: dict[str, Any] = {"requests": 2, "usage": {**_TOKENS, "retries": 1}}
VALID = Case("valid", (GOOD,), 1.0, usage=_TOKENS)
CASES = [
    # First: a client that was made with a key is kept.
    Case("no key", (GOOD,), "ConfigurationError", 0, says="no API key: set ", has_key=False),
    Case("no server", (GOOD,), "JudgeUnreachableError", 0, is_running=False),
    VALID,
    Case("close", (GOOD,), 1.0, usage=_TOKENS, is_quiet=True),
    Case("`null` ids", (NULL_IDS,), 0.0, usage=_TOKENS),
    Case("invalid, then valid", (WRONG_ID, GOOD), 1.0, 2,
         {"calls": 2, "reasks": 1, "prompt_tokens": 200}),
    Case("refusal", (Reply(refusal="I will not."),), "JudgeRefusedError"),
    Case("truncated", (Reply('{"statements": [', finish_reason="length"),), "JudgeOutputError",
         says="cut off at the token limit"),
    Case("400", (HttpError(400, "too odd"),), "JudgeRequestError", says="HTTP 400: .*too odd"),
    Case("401", (HttpError(401, "who?"),), "JudgeRejectedError",
         says="rejects the key .*HTTP 401: .*who"),
    Case("wrong schema", (HttpError(400, "Invalid schema: not this"),), "JudgeRejectedError",
         says="rejects this kind of request .*HTTP 400: .*not this"),
    Case("404", (HttpError(404, "no such model"),), "JudgeRejectedError",
         says="does not recognise this model .*HTTP 404: .*no such model"),
    Case("429, Retry-After", (HttpError(429, "slow", {"retry-after": "0.01"}), GOOD), 1.0,
         **_AGAIN),
    Case("429", (HttpError(429, "slow"), GOOD), 1.0, **_AGAIN),
    Case("500", (HttpError(500, "oops"), GOOD), 1.0, **_AGAIN),
    Case("500 for ever", (HttpError(500, "oops"),), "JudgeUnavailableError", 5,
         says="after all retries .*HTTP 500"),
    Case("another host", (Raw(b"", 307, {"location": "http://127.0.0.2:9/v1"}),),
         "JudgeRejectedError", says="redirects"),
    Case("17 MB", (Raw(b" " * 17_000_000),), "JudgeOutputError", says="longer than 16 MB"),
    # Last: a call that hangs is left behind, and ends while others are asked.
    Case("hang", (Stall(20),), "JudgeUnavailableError", None, seconds=1.0),
]  # fmt: skip

FOUND: dict[tuple[str, str], bool] = {}
"""What the suite has found so far: provider and case, and whether it is as promised."""
