"""A judge that cannot be asked, for want of a key or a library, ends a command in one line."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import Command

KEYS = {
    "openai/x": "OPENAI_API_KEY",
    "openai-responses/x": "OPENAI_API_KEY",
    "azure/x": "AZURE_OPENAI_API_KEY",
    "anthropic/x": "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    "google/x": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "gemini/x": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "generative-ai/x": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "vertex/x": "GOOGLE_CLOUD_PROJECT",
    "bedrock/anthropic.x": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "mistral/x": "MISTRAL_API_KEY",
    "groq/x": "GROQ_API_KEY",
    "cohere/x": "CO_API_KEY or COHERE_API_KEY",
    "litellm/openai/x": "OPENAI_API_KEY",
    "litellm/anthropic/x": "ANTHROPIC_API_KEY",
    "writer/x": "WRITER_API_KEY",
    "xai/x": "XAI_API_KEY",
    "anyscale/x": "ANYSCALE_API_KEY",
    "cerebras/x": "CEREBRAS_API_KEY",
    "databricks/x": "DATABRICKS_TOKEN",
    "deepseek/x": "DEEPSEEK_API_KEY",
    "fireworks/x": "FIREWORKS_API_KEY",
    "openrouter/x": "OPENROUTER_API_KEY",
    "perplexity/x": "PERPLEXITY_API_KEY",
    "together/x": "TOGETHER_API_KEY",
}
"""What stands for each judge in the line that says which key is missing."""

LIBRARIES = {
    "anthropic/x": "anthropic",
    "google/x": "google.genai",
    "gemini/x": "google.genai",
    "generative-ai/x": "google.genai",
    "vertex/x": "google.genai",
    "bedrock/anthropic.x": "boto3",
    "mistral/x": "mistralai",
    "groq/x": "groq",
    "cohere/x": "cohere",
    "litellm/openai/x": "litellm",
    "litellm/anthropic/x": "litellm",
    "writer/x": "writerai",
}
"""What each judge imports; all others are asked with OpenAI's library, which is always here."""


def is_here(library: str) -> bool:
    """Say whether a library is installed."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("judge", KEYS)
def test_a_judge_without_a_key_is_one_line(
    judge: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exit code 2, no folder, nothing sent: the line says what to set, or what to install."""
    for words in (*KEYS.values(), "AWS_PROFILE AWS_BEARER_TOKEN_BEDROCK"):
        for name in words.replace(" or ", " ").replace(" and ", " ").split():
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABRICKS_HOST", "https://127.0.0.1")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("d.jsonl").write_text(json.dumps({"answer": "In Paris.", "context": ["In Paris."]}))
    library = LIBRARIES.get(judge)
    ended = command("grade", "d.jsonl", "--judge", judge, "--out", "out", "--quiet")

    assert ended.code == 2
    assert (ended.out, len(ended.err.splitlines())) == ("", 1)
    said = "run: pip install " if library and not is_here(library) else f"set {KEYS[judge]}"
    assert said in ended.err
    assert not Path("out").exists()
