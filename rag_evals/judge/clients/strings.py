"""Judge strings, such as `vllm/MODEL@http://host/v1`, and model prices."""

import json
import os
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from rag_evals.core import Usage
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.judge.wire import NO_KEY


class Host(NamedTuple):
    """Where to find a provider's address and key; the first variable that is set wins.

    Attributes:
        address_variables: Environment variables, separated by spaces.
        key_variables: The variables for the key; empty if the SDK looks it up itself.
        default_address: None if the SDK has a default or the user must set the address.
        default_key: None if a key is required.
        mode: instructor's mode for requests in OpenAI's format.
    """

    address_variables: str
    key_variables: str
    default_address: str | None = None
    default_key: str | None = None
    mode: str = "JSON_SCHEMA"


_OLLAMA_PORT = 11434
_DATABRICKS_PATH = "/serving-endpoints"
_OLLAMA = f"http://localhost:{_OLLAMA_PORT}/v1"


def _hosted(name: str, address: str, *, mode: str = "TOOLS") -> Host:
    """Return a host; by default, its models use tools, because they may not support schemas."""
    return Host(f"{name}_BASE_URL", f"{name}_API_KEY", address, mode=mode)


_OPENAI = _hosted("OPENAI", "https://api.openai.com/v1", mode="JSON_SCHEMA")
OPENAI_HOSTS: dict[str, Host] = {
    "openai": _OPENAI,
    "openai-responses": _OPENAI,
    "azure_openai": Host("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
    "vllm": Host("VLLM_BASE_URL", "VLLM_API_KEY", "http://localhost:8000/v1", NO_KEY),
    "ollama": Host("OLLAMA_HOST", "OLLAMA_API_KEY", _OLLAMA, NO_KEY),
    "anyscale": _hosted("ANYSCALE", "https://api.endpoints.anyscale.com/v1"),
    "cerebras": _hosted("CEREBRAS", "https://api.cerebras.ai/v1"),
    "databricks": Host("DATABRICKS_HOST", "DATABRICKS_TOKEN", mode="TOOLS"),
    "deepseek": _hosted("DEEPSEEK", "https://api.deepseek.com"),
    "fireworks": _hosted("FIREWORKS", "https://api.fireworks.ai/inference/v1"),
    "openrouter": _hosted("OPENROUTER", "https://openrouter.ai/api/v1"),
    "perplexity": _hosted("PERPLEXITY", "https://api.perplexity.ai", mode="JSON_SCHEMA"),
    "together": _hosted("TOGETHER", "https://api.together.xyz/v1"),
    "xai": _hosted("XAI", "https://api.x.ai/v1"),
}
"""Providers with OpenAI's API; their judge strings may include an address."""

_OWN_HOSTS: dict[str, Host] = {
    "anthropic": Host("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN"),
    "bedrock": Host("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", ""),
    "cohere": Host("CO_API_URL", "CO_API_KEY COHERE_API_KEY"),
    "google": Host("GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY GEMINI_API_KEY"),
    "groq": Host("GROQ_BASE_URL", "GROQ_API_KEY"),
    # The address and the key depend on the model.
    "litellm": Host("", ""),
    "mistral": Host("MISTRAL_BASE_URL", "MISTRAL_API_KEY"),
    "vertexai": Host("GOOGLE_VERTEX_BASE_URL", ""),
    "writer": Host("", "WRITER_API_KEY"),
}
PROVIDERS = (*OPENAI_HOSTS, *_OWN_HOSTS)
"""All providers, whether they use OpenAI's API or their own SDK."""

_OTHER_NAMES = {
    "anthropic": "claude",
    "azure_openai": "azure azure-openai",
    "bedrock": "amazon aws aws_bedrock",
    "fireworks": "fireworks_ai",
    "google": "gemini genai generative-ai google-genai google_genai",
    "mistral": "mistralai",
    "ollama": "ollama_chat",
    "openai": "openai-compatible openai_compatible openai_like",
    "openai-responses": "openai_responses responses",
    "together": "together_ai togetherai",
    "vertexai": "vertex vertex_ai",
    "vllm": "hosted_vllm",
    "xai": "grok x-ai",
}
ALIASES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
"""Our provider names, keyed by other common names."""

DECISIONS = "decisions:"
"""Prefix of judge strings for decision models."""

_DECISION_HOSTS = ("openai", "fireworks", "openrouter")

_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
# Probably the start of a mistyped address, unlike the `@` in `claude@2024` and `@cf/meta/llama`.
_NO_ADDRESS = re.compile(
    r"@(?:$|[\s/[]|localhost\b|https?[:/]|[a-z][a-z0-9+.-]*:/|[\w.-]+:\d+(?:/|$)"
    r"|(?:\d+\.){3}\d+|(?:[\w-]+\.)+[a-z]{2,}(?:/|$))",
    re.IGNORECASE,
)


class Endpoint(NamedTuple):
    """A parsed judge string; `url` is the address that it contains, or None."""

    provider: str
    model: str
    url: str | None = None
    decides: bool = False

    @property
    def host(self) -> Host:
        host = OPENAI_HOSTS.get(self.provider) or _OWN_HOSTS[self.provider]
        if self.provider != "litellm":
            return host
        first, slash, _ = self.model.partition("/")
        behind = (first if slash else "openai").upper().replace("-", "_")
        names = (f"{behind}_API_BASE", f"{behind}_BASE_URL")
        # LiteLLM reads OpenAI's two variables in the opposite order.
        return Host(" ".join(names[::-1] if behind == "OPENAI" else names), "")

    @property
    def address(self) -> str | None:
        """The address; None if unknown or known only to the SDK."""
        host = self.host
        variable = _first_set(host.address_variables)
        given = os.environ.get(variable) if self.url is None else self.url
        if given and self.provider == "ollama":
            return _ollama_address(given)
        if given and self.provider == "databricks":
            return f"{given.rstrip('/').removesuffix(_DATABRICKS_PATH)}{_DATABRICKS_PATH}"
        if self.provider not in OPENAI_HOSTS:
            return given or None
        # An empty variable is an error; it does not select the default.
        return host.default_address if given is None else given

    @property
    def address_name(self) -> str:
        """The setting that determines the address, for messages."""
        if self.url is not None:
            return "the address in the judge"
        return _first_set(self.host.address_variables) or "its library's default"

    @property
    def key_name(self) -> str:
        """The variable that contains the key; empty if the SDK looks it up itself."""
        return _first_set(self.host.key_variables)

    @property
    def key(self) -> str | None:
        """The key; None if it is missing, or if the SDK looks it up itself."""
        # A server whose address is in the judge string may not need a key.
        stand_in = self.host.default_key if self.url is None else NO_KEY
        return os.environ.get(self.key_name) or stand_in


def _first_set(variables: str) -> str:
    """Return the first variable that is set, or else the first one; empty if there are none."""
    names = variables.split()
    return next((name for name in names if os.environ.get(name)), next(iter(names), ""))


def read_endpoint(spec: str) -> Endpoint:
    """Parse `PROVIDER/MODEL[@URL]` or `decisions:...`; raise `ConfigurationError` if invalid."""
    decides = spec.startswith(DECISIONS)
    path, *address = _ADDRESS.split(spec.removeprefix(DECISIONS), maxsplit=1)
    named, slash, model = path.partition("/")
    provider = ALIASES.get(named.lower(), named)
    if decides:
        if not slash or (address and provider not in OPENAI_HOSTS):
            # Model names may contain a slash, as on Hugging Face.
            provider, model = "openai", path
    elif not named or not model:
        raise ConfigurationError(
            f"judge {spec!r} is neither 'embedded' nor PROVIDER/MODEL, such as 'openai/gpt-4o-mini'"
        )
    elif provider not in PROVIDERS:
        raise UnknownNameError.of("provider", named, {*PROVIDERS, *ALIASES})
    if (
        fault := _fault_of_model(model, "decisions:MODEL" if decides else "vllm/MODEL")
    ) is not None:
        raise ConfigurationError(f"judge {spec!r}: {fault}")
    if decides and not (model and (address or provider in _DECISION_HOSTS)):
        hosts = ", ".join(_DECISION_HOSTS)
        raise ConfigurationError(
            f"judge {spec!r} is neither decisions:PROVIDER/MODEL ({hosts}) nor "
            "decisions:MODEL@https://HOST/v1"
        )
    if address and provider not in OPENAI_HOSTS:
        raise ConfigurationError(
            f"judge {spec!r}: provider {named!r} does not accept an address; for a server with "
            "OpenAI's API use 'openai/MODEL@URL'"
        )
    return Endpoint(provider, model, address[0] if address else None, decides)


def _fault_of_model(model: str, example: str) -> str | None:
    if _NO_ADDRESS.search(model):
        like = f"{example}@http://localhost:8000/v1"
        return f"an address must begin with http:// or https://, as in {like!r}"
    if model != model.strip() or not model.isprintable():
        return f"the model {model!r} has a space at its start or end, or a control character"
    return None


def _ollama_address(given: str) -> str:
    """Return the address for an `OLLAMA_HOST`, in which scheme, port and path are optional."""
    address = given if "://" in given else f"http://{given}"
    scheme, _, rest = address.partition("://")
    host, _, path = rest.partition("/")
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        name, port = host, "443" if scheme == "https" else str(_OLLAMA_PORT)
    # Servers listen on these addresses, but clients cannot connect to them.
    name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "[::]": "[::1]"}.get(name, name)
    return f"{scheme}://{name}:{port}/{path.strip('/') or 'v1'}"


@dataclass(frozen=True, slots=True)
class Price:
    """A model's list price in US dollars per million tokens; `as_of` is a month like `2026-06`."""

    prompt: float
    completion: float
    cached: float
    as_of: str

    def cost_usd(self, usage: Usage) -> float:
        fresh = usage.prompt_tokens - usage.cached_tokens
        spent = fresh * self.prompt + usage.cached_tokens * self.cached
        return (spent + usage.completion_tokens * self.completion) / 1_000_000


def price_of(model: str | None) -> Price | None:
    """Return a model's price, or None; a date at the end of the name is ignored."""
    if model is None:
        return None
    return _found(model.rpartition("/")[2], os.environ.get("RAG_EVALS_PRICES") or None)


@lru_cache(maxsize=1000)
def _found(name: str, own: str | None) -> Price | None:
    for table in (_prices(own), _prices(None)):
        for known in sorted(table, key=len, reverse=True):
            dated = name.removeprefix(f"{known}-")
            if name == known or (dated != name and dated[:4].isdigit()):
                return table[known]
    return None


@cache
def _prices(name: str | None) -> dict[str, Price]:
    """Return the prices in a user's file, or in the shipped file if `name` is None."""
    shipped = resources.files("rag_evals") / "_data" / "prices.json"
    try:
        loaded = json.loads((Path(name) if name else shipped).read_text(encoding="utf-8"))
        return {
            model: Price(
                float(price["prompt"]),
                float(price["completion"]),
                float(price.get("cached", price["prompt"])),
                str(price.get("as_of", loaded["as_of"])),
            )
            for model, price in loaded["models"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"price file {name!r} cannot be used ({type(error).__name__}: {error}); expected "
            '{"as_of": "2026-06", "models": {"NAME": {"prompt": 1.0, "completion": 2.0}}}'
        ) from error
