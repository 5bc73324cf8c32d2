"""Which judge does another tool's model name? One of our judge strings, or a client."""

from typing import Any, NamedTuple

from rag_evals.compat.spelling import refused, say
from rag_evals.grading import default_judge
from rag_evals.judge import Client


class JudgeChoice(NamedTuple):
    """Who judges.

    Attributes:
        client: As `evaluate` takes it.
        model: As `evaluate` takes it.
    """

    client: Client = None
    model: str | None = None

    def spelled(self) -> str:
        """Write it as an argument of `evaluate`."""
        shown = repr(self.client) if isinstance(self.client, str) else "client"
        return shown if self.model is None else f"{shown}, model={self.model!r}"


_PROVIDERS = {
    "ChatOpenAI": "openai",
    "AzureChatOpenAI": "azure_openai",
    "ChatAnthropic": "anthropic",
    "ChatOllama": "ollama",
    "ChatGoogleGenerativeAI": "google",
    "ChatMistralAI": "mistral",
    "ChatGroq": "groq",
    "ChatCohere": "cohere",
    "GPTModel": "openai",
    "AzureOpenAIModel": "azure_openai",
    "AnthropicModel": "anthropic",
    "OllamaModel": "ollama",
    "GeminiModel": "google",
}
"""Classes of LangChain and deepeval that hold a model, and the provider that each asks."""

_MODEL_FIELDS = ("deployment_name", "model_name", "model", "name")
_ADDRESS_FIELDS = ("openai_api_base", "base_url", "azure_endpoint")


def judge_of(given: Any, argument: str) -> JudgeChoice:
    """Return the judge that a script names, and say how we spell it.

    Args:
        given: What the script passed: None, a model's name, a judge string, a client, or a model
            object of LangChain, ragas or deepeval.
        argument: What the script calls it, `llm` or `model`.

    Raises:
        ConfigurationError: Nothing here can ask it.
    """
    if given is None:
        judge = default_judge()
        say(
            f"no {argument}= is given, so the judge is {judge!r}; "
            f"{argument}='openai/gpt-4o-mini' asks a model"
        )
        return JudgeChoice(judge)
    if isinstance(given, JudgeChoice):
        return given
    if isinstance(given, str):
        return JudgeChoice(given if _is_judge_string(given) else _of_openai(given, argument))
    kind = type(given).__name__
    if kind in _PROVIDERS:
        return JudgeChoice(_from_fields(given, _PROVIDERS[kind], argument))
    wrapped = getattr(given, "langchain_llm", None)
    if wrapped is not None:
        return judge_of(wrapped, argument)
    client, model = getattr(given, "client", None), getattr(given, "model", None)
    if client is not None and isinstance(model, str):
        return JudgeChoice(client, model)
    if type(given).__module__.partition(".")[0] in ("langchain_core", "ragas", "deepeval"):
        raise refused(
            f"{argument}={kind}(...)",
            f"pass a judge string such as {argument}='openai/gpt-4o-mini', or a provider's client",
        )
    return JudgeChoice(given)


def _is_judge_string(text: str) -> bool:
    return "/" in text or ":" in text or ">" in text or text in ("embedded", "demo")


def _of_openai(name: str, argument: str) -> str:
    judge = f"openai/{name}"
    say(f"{argument}={name!r} is the judge {judge!r}")
    return judge


def _from_fields(given: Any, provider: str, argument: str) -> str:
    named = (getattr(given, field, None) for field in _MODEL_FIELDS)
    model = next((one for one in named if isinstance(one, str) and one), None)
    if model is None:
        raise refused(
            f"{argument}={type(given).__name__}(...) without a model's name",
            f"pass a judge string such as {argument}='{provider}/MODEL'",
        )
    judge = f"{provider}/{model.removeprefix('models/')}"
    address = next((a for f in _ADDRESS_FIELDS if (a := getattr(given, f, None))), None)
    if address is not None and provider in ("openai", "azure_openai", "ollama"):
        judge = f"{judge}@{address}"
    say(
        f"{argument}={type(given).__name__}(...) is the judge {judge!r}; "
        "its key is read from the environment"
    )
    return judge
