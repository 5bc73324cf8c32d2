"""What is a judge asked with? The user's settings and a temperature of 0, in a provider's words.

A model that refuses our temperature, or calls the most tokens otherwise, says so in an error; it is
asked again without, and that is learned once for each client. What a client has been given that can
change an answer is part of the keys of caches.
"""

import json
import sys
from collections.abc import Mapping
from inspect import getclosurevars, isfunction
from typing import Any, Self
from weakref import WeakKeyDictionary

from rag_evals.core import DEFAULT_TEMPERATURE, fingerprint
from rag_evals.errors import (
    ConfigurationError,
    JudgeRejectedError,
    JudgeRequestError,
    PendingError,
)

# A provider's own places for a temperature: who fills one has chosen it.
_OWN_PLACES = ("temperature", "config", "generation_config", "inferenceConfig")
# The one provider that takes no request without this limit.
_ANTHROPIC_TOKENS = 4096
# Its newer libraries have no words for these, which older models take: sent as they are, they
# reach the endpoint through any of its libraries.
_ANTHROPIC_EXTRA = ("temperature", "top_p")
_WORDS: Mapping[str, Mapping[str, str]] = {
    "mistral": {"seed": "random_seed"},
    "cohere": {"top_p": "p"},
    "vertexai": {"max_tokens": "max_output_tokens"},
}
_NOT_TAKEN: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("seed", "reasoning_effort"),
    "bedrock": ("seed", "reasoning_effort"),
    "cohere": ("reasoning_effort",),
    "genai": ("reasoning_effort",),
    "mistral": ("reasoning_effort",),
    "responses": ("seed",),
    "vertexai": ("reasoning_effort",),
}

NO_TEMPERATURE = "temperature"
OTHER_MAX_TOKENS = "max_completion_tokens"

# By client: a run has one, and a client of the user's own is asked again and again.
_learned: "WeakKeyDictionary[Any, set[tuple[str, str | None]]]" = WeakKeyDictionary()


def wanted_settings(
    call: Mapping[str, Any], given: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """Put settings together: those that a call names, those of a run, and a temperature of 0.

    Those `given` for all calls come before the call's; `own` is what the client is made with.
    """
    settings = {**call, **given}
    # Some models take one of the two only.
    owned = {*own, *(own.get("extra_body") or ())}
    chosen = not owned.isdisjoint(_OWN_PLACES) or "top_p" in {*settings, *owned}
    if "temperature" not in settings and not chosen:
        settings["temperature"] = DEFAULT_TEMPERATURE
    return settings


def described(settings: Mapping[str, Any]) -> str:
    """Write settings for a key: equal settings, equal words."""
    return json.dumps(settings, sort_keys=True, default=str)


class CallSettings:
    """The settings of one call; entered for each try, it takes note of what is refused."""

    def __init__(
        self, client: Any, model: str | None, call: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._model = model
        self._own = client_settings(client)
        self._wanted = wanted_settings(call, given, self._own)
        self._asked = {**call, **given}
        self._ours = "temperature" not in call and "temperature" not in given
        self._sent: dict[str, Any] = {}
        self._tried: list[str] = []

    def to_send(self) -> dict[str, Any]:
        """Return the keyword arguments that carry the settings.

        Raises:
            ConfigurationError: The provider does not take one of them.
        """
        settings = dict(self._wanted)
        lessons = {what for what, model in _learned.get(self._client, ()) if model == self._model}
        no_temperature = self._ours and NO_TEMPERATURE in lessons
        if no_temperature or settings.get("temperature", 0) is None:
            settings.pop("temperature", None)
        check_taken(self._client, self._asked, self._model)
        if provider_of(self._client) == "anthropic" and "max_tokens" not in self._own:
            settings.setdefault("max_tokens", _ANTHROPIC_TOKENS)
        self._sent = settings
        if OTHER_MAX_TOKENS in lessons and "max_tokens" in settings:
            settings = {**settings, OTHER_MAX_TOKENS: settings["max_tokens"]}
            del settings["max_tokens"]
        return self._in_words(settings)

    def _in_words(self, settings: dict[str, Any]) -> dict[str, Any]:
        provider = provider_of(self._client)
        if provider == "anthropic":
            extra = {name: settings[name] for name in _ANTHROPIC_EXTRA if name in settings}
            named = {name: value for name, value in settings.items() if name not in extra}
            return {**named, "extra_body": {**(self._own.get("extra_body") or {}), **extra}}
        if provider == "responses" and "reasoning_effort" in settings:
            effort = settings["reasoning_effort"]
            settings = {**settings, "reasoning": {"effort": effort}}
            del settings["reasoning_effort"]
        words = _WORDS.get(provider, {})
        settings = {words.get(name, name): value for name, value in settings.items()}
        if provider == "vertexai" and settings:
            return {"generation_config": {**self._own.get("generation_config", {}), **settings}}
        return settings

    def __enter__(self) -> Self:
        """Begin one try."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Say whether to try again: the endpoint refuses what may be left out."""
        what = self._lesson(error)
        lessons = _learned.setdefault(self._client, set())
        if what is not None and what not in self._tried:
            self._tried.append(what)
            lessons.add((what, self._model))
            return True
        if error is not None and not isinstance(error, PendingError):
            # It did not help, so it was no lesson.
            lessons.difference_update((tried, self._model) for tried in self._tried)
        return False

    def _lesson(self, error: BaseException | None) -> str | None:
        if not isinstance(error, JudgeRejectedError | JudgeRequestError):
            return None
        said = str(error)
        if "max_tokens" in self._sent and OTHER_MAX_TOKENS in said:
            return OTHER_MAX_TOKENS
        ours = self._ours and "temperature" in self._sent
        return NO_TEMPERATURE if ours and "temperature" in said.lower() else None


def check_taken(client: Any, settings: Mapping[str, Any], model: str | None = None) -> None:
    """Refuse a setting that the client's provider does not have.

    Raises:
        ConfigurationError: It names the provider and the setting.
    """
    provider = provider_of(client)
    # That is a function, and no client is kept.
    is_litellm = provider == "openai" and getattr(client, "client", client) is None
    for name in settings:
        if name in _NOT_TAKEN.get(provider, ()):
            raise ConfigurationError(
                f"provider {provider!r} takes no setting {name!r}; leave it out for this judge"
            )
        if is_litellm and model is not None and not _litellm_takes(model, name):
            raise ConfigurationError(
                f"LiteLLM passes no setting {name!r} to {model!r}; leave it out for this judge"
            )


def _litellm_takes(model: str, setting: str) -> bool:
    """Say whether LiteLLM passes a setting on to a model; True where it does not know the model."""
    # Who asks through it has loaded it; a function of the user's own is asked in the same way.
    litellm = sys.modules.get("litellm")
    known = None if litellm is None else litellm.get_supported_openai_params(model)
    return known is None or setting in known


def models_without_temperature(client: Any) -> list[str]:
    """Return the models of a client that refused a temperature of 0."""
    learned = _learned.get(client, ())
    return sorted(str(model) for what, model in learned if what == NO_TEMPERATURE)


def provider_of(client: Any) -> str:
    """Name the provider of a client by the settings that it takes."""
    if client.mode.name == "RESPONSES_TOOLS":
        return "responses"
    return str(client.provider.value)


_MEANS_NOTHING = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "host", "idempotency-key"}
    | {"traceparent", "tracestate", "user-agent", "x-request-id"}
)
# Of a key only its owner knows more than that there is one; a new key must not cost a new run.
_SECRET = ("auth", "key", "token", "secret", "cookie", "signature")


def client_settings(client: object) -> dict[str, Any]:
    """Return the settings that a client is made with, which go with each of its calls."""
    kept = getattr(client, "kwargs", None)
    return dict(kept) if isinstance(kept, dict) else {}


def own_model(client: Any) -> str | None:
    """Return the model that an instructor client asks by itself; None when it does not say."""
    model = client_settings(client).get("model")
    create = getattr(client, "create_fn", None)
    if model is None and isfunction(create):
        # `from_openai(client, model="m")` leaves it nowhere else.
        model = getclosurevars(create).nonlocals.get("default_model")
    return model if isinstance(model, str) else None


def settings_of(client: Any) -> str:
    """Return a hash of what a client sends with each call, its model, address and keys left out.

    Args:
        client: An instructor client: its mode, its own arguments such as `temperature`, and the
            headers and the query of the provider's client below it count.
    """
    sdk = getattr(client, "client", None)
    transport = getattr(sdk, "_client", None)
    arguments = client_settings(client)
    arguments.pop("model", None)
    headers, query = (
        [
            _public(getattr(transport, below, None)),
            _public(getattr(sdk, f"_custom_{name}", None)),
            _public(arguments.pop(f"extra_{name}", None)),
        ]
        for name, below in (("headers", "headers"), ("query", "params"))
    )
    mode = getattr(getattr(client, "mode", None), "name", "")
    return fingerprint(mode, _public(arguments), headers, query)


def _public(values: object) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        return {}
    named = {str(name).lower(): value for name, value in values.items()}
    return {
        name: value
        for name, value in named.items()
        if name not in _MEANS_NOTHING and not any(secret in name for secret in _SECRET)
    }
