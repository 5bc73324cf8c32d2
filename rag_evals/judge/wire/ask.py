"""Judges that use an instructor client, and the settings of their calls.

The default temperature is 0. Some models reject a temperature, or use another name for
`max_tokens`. In that case, the call is retried with different settings, and later calls through the
same client use them from the start.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from inspect import getclosurevars, isfunction
from json import JSONDecodeError
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from rag_evals.core import (
    JudgeCall,
    JudgeReply,
    Meter,
    check_settings,
    fingerprint,
    require_whole,
)
from rag_evals.errors import (
    ConfigurationError,
    GradingError,
    JudgeRejectedError,
    JudgeRequestError,
    PendingError,
    RagEvalsError,
)
from rag_evals.judge.pace.retry import Tries, try_again_async
from rag_evals.judge.pace.row_time import call_in_thread, row_time
from rag_evals.judge.wire.exchange import (
    OF_A_CLIENT,
    OTHER_FORMS,
    Exchange,
    Parsed,
    address_name,
    current_exchange,
    prepared,
    strict_response_format,
)
from rag_evals.judge.wire.sending import clean_instructor_logs, cleaned, too_long_for, translate
from rag_evals.response_models import KeyedReply
from rag_evals.response_models.statements import EXACT, ReplyForm

# A user who sets one of these is assumed to have chosen the temperature.
_OWN_PLACES = ("temperature", "config", "generation_config", "inferenceConfig")
# Anthropic requires a limit.
_ANTHROPIC_TOKENS = 4096
# Older models accept these, but newer versions of the SDK pass them only in `extra_body`.
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

# The first two names are also keys of phrases in the run summary.
NO_TEMPERATURE = "without_temperature"
IN_WORDS = "in_words"
OTHER_MAX_TOKENS = "max_completion_tokens"

# What earlier calls revealed about endpoints, by client; a user's own client outlives a run.
_learned: "WeakKeyDictionary[Any, set[tuple[str, str | None]]]" = WeakKeyDictionary()


def wanted_settings(
    call: Mapping[str, Any], given: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge a call's settings with those `given` for the run, which take precedence.

    `own` are the settings that the client was created with. The temperature defaults to 0.
    """
    settings = {**call, **given}
    # Some models accept either a temperature or top_p, but not both.
    owned = {*own, *(own.get("extra_body") or ())}
    chosen = not owned.isdisjoint(_OWN_PLACES) or "top_p" in {*settings, *owned}
    if "temperature" not in settings and not chosen:
        # Makes verdicts repeatable.
        settings["temperature"] = 0
    return settings


class CallSettings:
    """A call's settings and response format, adapted to the endpoint's restrictions.

    Attributes:
        missed: The exchange whose reply did not match the schema, if any.
        other_form: The response format of the next attempt; empty for the client's own format.
    """

    def __init__(
        self, client: Any, model: str | None, call: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._model = model
        self._own = client_settings(client)
        self._asked = {**call, **given}
        self._ours = "temperature" not in self._asked
        self._sent: dict[str, Any] = {}
        self._tried: list[str] = []
        self.missed: Exchange | None = None
        self.other_form = ""

    def to_send(self) -> dict[str, Any]:
        check_taken(self._client, self._asked, self._model)
        provider = provider_of(self._client)
        lessons = {what for what, model in _learned.get(self._client, ()) if model == self._model}
        settings = wanted_settings(self._asked, {}, self._own)
        # The context window only affects the prompt, so it is not sent.
        settings.pop("window", None)
        no_temperature = self._ours and NO_TEMPERATURE in lessons
        if no_temperature or settings.get("temperature", 0) is None:
            settings.pop("temperature", None)
        if provider == "anthropic" and "max_tokens" not in self._own:
            settings.setdefault("max_tokens", _ANTHROPIC_TOKENS)
        self._sent = settings
        words = dict(_WORDS.get(provider, {}))
        if OTHER_MAX_TOKENS in lessons:
            words["max_tokens"] = OTHER_MAX_TOKENS
        settings = {words.get(name, name): value for name, value in settings.items()}
        if provider == "anthropic":
            extra = {name: settings.pop(name) for name in _ANTHROPIC_EXTRA if name in settings}
            settings["extra_body"] = {**(self._own.get("extra_body") or {}), **extra}
        elif provider == "responses" and "reasoning_effort" in settings:
            settings["reasoning"] = {"effort": settings.pop("reasoning_effort")}
        elif provider == "vertexai" and settings:
            return {"generation_config": {**self._own.get("generation_config", {}), **settings}}
        return settings

    def learns(self, error: BaseException, exchange: Exchange) -> bool:
        """True if the call should be retried in another format or with different settings."""
        lessons = _learned.setdefault(self._client, set())
        refused = isinstance(error, JudgeRejectedError | JudgeRequestError)
        if exchange.missed_schema:
            self.missed, self.other_form = exchange, OTHER_FORMS[0]
            lessons.add((IN_WORDS, self._model))
            return True
        if refused and self.other_form == OTHER_FORMS[0]:
            self.other_form = OTHER_FORMS[1]
            return True
        what = self._lesson(str(error)) if refused else None
        if what is not None and what not in self._tried:
            self._tried.append(what)
            lessons.add((what, self._model))
            return True
        if not isinstance(error, PendingError):
            # Omitting the settings did not help, so forget that.
            lessons.difference_update((tried, self._model) for tried in self._tried)
        return False

    def _lesson(self, said: str) -> str | None:
        if "max_tokens" in self._sent and OTHER_MAX_TOKENS in said:
            return OTHER_MAX_TOKENS
        ours = self._ours and "temperature" in self._sent
        return NO_TEMPERATURE if ours and "temperature" in said.lower() else None


def check_taken(client: Any, settings: Mapping[str, Any], model: str | None = None) -> None:
    """Raise `ConfigurationError` for a setting that the client's provider does not accept."""
    if not settings:
        return
    provider = provider_of(client)
    # LiteLLM is a function, so there is no SDK client.
    is_litellm = provider == "openai" and getattr(client, "client", client) is None
    litellm: Any = sys.modules.get("litellm") if is_litellm else None
    known = None
    if litellm is not None and model is not None:
        # A name without a known provider fails at the first request, with LiteLLM's own message.
        with suppress(litellm.BadRequestError):
            known = litellm.get_supported_openai_params(*litellm.get_llm_provider(model)[:2])
    for name in settings.keys() - {"window"}:
        if name in _NOT_TAKEN.get(provider, ()):
            raise ConfigurationError(
                f"provider {provider!r} does not accept the setting {name!r}; leave it out "
                "for this judge"
            )
        if known is not None and name not in known:
            raise ConfigurationError(
                f"LiteLLM does not pass the setting {name!r} to {model!r}; leave it "
                "out for this judge"
            )


def provider_of(client: Any) -> str:
    if client.mode.name == "RESPONSES_TOOLS":
        return "responses"
    return str(client.provider.value)


_MEANS_NOTHING = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "host", "idempotency-key"}
    | {"traceparent", "tracestate", "user-agent", "x-request-id"}
)
# A new API key must not make earlier results unusable.
_SECRET = ("auth", "key", "token", "secret", "cookie", "signature")


def client_settings(client: object) -> dict[str, Any]:
    kept = getattr(client, "kwargs", None)
    return dict(kept) if isinstance(kept, dict) else {}


def own_model(client: Any) -> str | None:
    model = client_settings(client).get("model")
    create = getattr(client, "create_fn", None)
    if model is None and isfunction(create):
        # The only place where `from_openai(client, model="m")` stores the model.
        model = getclosurevars(create).nonlocals.get("default_model")
    return model if isinstance(model, str) else None


def settings_of(client: Any) -> str:
    """Return a hash of what a client adds to every call, except the model, address and keys."""
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


DEFAULT_REASKS = 3
"""Number of additional attempts after an invalid reply, for a total of four attempts."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Settings for all calls, which override those of graders, and the number of re-asks."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    reasks: int = DEFAULT_REASKS

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None, reasks: int) -> "AskOptions":
        """Return validated options; raise `ConfigurationError` for an invalid value."""
        return cls(check_settings(settings), require_whole("reasks", reasks, least=0))


DEFAULT_OPTIONS = AskOptions()


class Judge(Protocol):
    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return a validated reply; raise `GradingError` after the last attempt."""


class AsyncJudge(Protocol):
    """A judge for async callers."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return a validated reply; raise `GradingError` after the last attempt."""


class JudgeHost(AsyncJudge, Protocol):
    """A judge that uses an SDK client or a decision model."""

    @property
    def identity(self) -> str | None:
        """Identifies the endpoint and model in cache keys; None if unknown."""

    @property
    def lessons(self) -> Mapping[str, Sequence[str]]:
        """The models whose calls had to be changed, keyed by change, for the run summary."""

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Reject settings that the provider does not accept."""


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Settings of a judge.

    Attributes:
        model: Model for all calls; by default, each call's own model.
        default_model: Model for calls that do not specify one; by default, the client's.
        strict: Send the strict form of the schema; only for hosts known to accept it.
        schema_only: See `prepared`.
        address_name: The setting that determines the address, for messages.
        repeats: Retry failed calls if the client's SDK does not.
    """

    options: AskOptions
    model: str | None = None
    default_model: str | None = None
    strict: bool = False
    schema_only: bool = False
    address_name: str = OF_A_CLIENT
    repeats: bool = False
    form: ReplyForm = EXACT

    def model_for(self, call: JudgeCall[Any]) -> str | None:
        return self.model or call.model or self.default_model


class InstructorJudge:
    """A judge that uses an instructor client; a sync client runs in a thread."""

    # instructor wraps the endpoint's errors.
    _enveloped = True

    def __init__(self, client: Any, settings: AskSettings) -> None:
        self._client = client
        self._settings = settings
        clean_instructor_logs()

    @property
    def identity(self) -> str | None:
        """Address, model and settings, one per line."""
        client, settings = self._client, self._settings
        url = getattr(getattr(client, "client", None), "base_url", "")
        model = settings.model or settings.default_model or own_model(client)
        wanted = wanted_settings({}, settings.options.settings, client_settings(client))
        asked = json.dumps(wanted, sort_keys=True, default=str)
        return None if model is None else f"{url}\n{model}\n{settings_of(client)} {asked}"

    @property
    def lessons(self) -> dict[str, list[str]]:
        learned = _learned.get(self._client, ())
        return {
            name: sorted(str(model) for what, model in learned if what == name)
            for name in (NO_TEMPERATURE, IN_WORDS)
        }

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        check_taken(self._client, settings, model)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        if not self._settings.repeats:
            return await self._ask_once(call, meter)
        tries = Tries(None, seconds_left=lambda: meter.seconds_left)

        def wait(error: Exception) -> float:
            seconds = tries.after_call(error, self._client)
            # This wait counts toward the row's timeout.
            meter.waited_seconds += seconds
            return seconds

        return await try_again_async(partial(self._ask_once, call, meter), wait)

    async def _ask_once(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        asked, given = self._settings, self._settings.options.settings
        of_call = CallSettings(self._client, asked.model_for(call), call.settings, given)
        while True:
            exchange = self._exchange(call, meter, of_call)
            try:
                with Exchanged(exchange, self._client, asked, enveloped=self._enveloped):
                    async with row_time(meter):
                        return await self._answer(exchange, of_call)
            except BaseException as error:
                if not of_call.learns(error, exchange):
                    raise

    def _exchange(self, call: JudgeCall[Any], meter: Meter, of_call: CallSettings) -> Exchange:
        client, form = self._client, self._settings.form
        exchange = Exchange(call, meter, client.mode.name, self._settings.options.reasks)
        if not issubclass(call.reply_model, KeyedReply):
            return exchange
        exchange.call = replace(call, reply_model=call.reply_model.for_host(form))
        if (missed := of_call.missed) is not None:
            exchange.call = replace(exchange.call, messages=tuple(missed.in_words()))
            exchange.mode, exchange.last_fault = of_call.other_form, missed.last_fault
        elif not form.known:
            # For other clients, instructor cannot switch to JSON mode.
            is_openai = provider_of(client) == "openai" and exchange.mode == "JSON_SCHEMA"
            exchange.has_other_form = is_openai or not self._enveloped
        return exchange

    async def _answer(self, exchange: Exchange, of_call: CallSettings) -> JudgeReply:
        from instructor import AsyncInstructor  # noqa: PLC0415 - slow import

        is_async = isinstance(self._client, AsyncInstructor)
        arguments = _arguments(exchange, self._settings, of_call, asynchronous=is_async)
        work = partial(self._client.create, **arguments)
        if is_async:
            returned = await work()
        else:
            import asyncio  # noqa: PLC0415 - loaded by now

            # A hanging call must not block the run.
            returned = await asyncio.wrap_future(call_in_thread(work))
        if not isinstance(returned, Parsed):
            raise GradingError(f"the client returned {type(returned).__name__}, not a parsed reply")
        # Unwrap instructor's value.
        return JudgeReply(returned.value, exchange.usage)


def _failure(error: Exception, exchange: Exchange) -> RagEvalsError:
    if exchange.fault is not None:
        return cleaned(exchange.fault, exchange.key)
    attempts = max(1, exchange.usage.calls, getattr(error, "n_attempts", 0))
    # The first attempt used the client's own format.
    attempts += exchange.mode in OTHER_FORMS
    repeated = exchange.is_repeated
    return translate(error, attempts=attempts, key=exchange.key, repeated=repeated)


@dataclass(eq=False)
class Exchanged:
    """Counts a call, and converts its exceptions to this package's errors.

    `enveloped` is true if instructor wraps the endpoint's errors.
    """

    exchange: Exchange
    client: Any
    settings: AskSettings
    enveloped: bool

    def __enter__(self) -> None:
        exchange = self.exchange
        self._known = _windows.setdefault(self.client, {})
        if (window := self._known.get(self.settings.model_for(exchange.call))) is not None:
            _check_window(exchange.call, window)
        key = getattr(getattr(self.client, "client", None), "api_key", None)
        exchange.key = key if isinstance(key, str) else None
        self._token = current_exchange.set(exchange)
        self._named = address_name.set(self.settings.address_name)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        from instructor.core.exceptions import InstructorError  # noqa: PLC0415 - slow import

        exchange, call = self.exchange, self.exchange.call
        try:
            if isinstance(error, InstructorError if self.enveloped else Exception):
                failed = _failure(error, exchange)
                if (window := getattr(failed, "window_tokens", None)) is not None:
                    self._known[self.settings.model_for(call)] = window
                if not getattr(failed, "row_is_over", False):
                    exchange.meter.last_fault = str(failed)
                # instructor's exception contains the whole prompt and cannot be pickled.
                raise failed from None
        finally:
            address_name.reset(self._named)
            current_exchange.reset(self._token)
            exchange.meter.add(
                exchange.usage,
                endpoint=call.endpoint,
                model=call.model,
                answered_by=exchange.answered_by,
            )


# Context windows in tokens, as stated in error messages, by client and model.
_windows: "WeakKeyDictionary[Any, dict[str | None, int]]" = WeakKeyDictionary()
# An upper bound, because a prompt that might fit must still be sent.
_MOST_CHARACTERS_PER_TOKEN = 8


def _check_window(call: JudgeCall[Any], window: int) -> None:
    texts = (" ".join(message["content"].split()) for message in call.messages)
    if (least := sum(map(len, texts)) // _MOST_CHARACTERS_PER_TOKEN) > window:
        error = too_long_for(
            f"at least {least} tokens, but the window is {window}; nothing was sent"
        )
        error.window_tokens = window
        raise error


def _arguments(
    exchange: Exchange, settings: AskSettings, of_call: CallSettings, *, asynchronous: bool
) -> dict[str, Any]:
    from instructor.core.hooks import Hooks  # noqa: PLC0415 - slow import
    from tenacity import (  # noqa: PLC0415 - only instructor's clients need it
        AsyncRetrying,
        Retrying,
        retry_if_exception,
        stop_after_attempt,
    )

    call = exchange.call
    hooks = Hooks()
    hooks.on("completion:response", exchange.take_response)
    arguments: dict[str, Any] = {
        "response_model": prepared(
            call.reply_model,  # type: ignore[arg-type]  # mypy: a class is hashable
            schema_only=settings.schema_only,
            mode="JSON_SCHEMA" if of_call.other_form else exchange.mode,
        ),
        # Copied because instructor appends re-asks.
        "messages": [dict(message) for message in call.messages],
        "max_retries": (AsyncRetrying if asynchronous else Retrying)(
            stop=stop_after_attempt(settings.options.reasks + 1),
            retry=retry_if_exception(
                lambda error: isinstance(error, wrong_replies()) and exchange.may_ask_again(error)
            ),
            reraise=True,
        ),
        "hooks": hooks,
        **of_call.to_send(),
    }
    model = settings.model_for(call)
    if model is not None:
        arguments["model"] = model
    if of_call.other_form:
        arguments["extra_body"] = {"response_format": {"type": of_call.other_form}}
    if settings.strict:
        strict = strict_response_format(call.reply_model)  # type: ignore[arg-type]  # as above
        if strict is not None:
            arguments["extra_body"] = {"response_format": strict}
    return arguments


@cache
def wrong_replies() -> tuple[type[Exception], ...]:
    from instructor.core.exceptions import AsyncValidationError, ResponseParsingError  # noqa: PLC0415 - slow import

    return ValidationError, JSONDecodeError, AsyncValidationError, ResponseParsingError


def model_in(identity: str) -> str:
    """Return the model named in a judge's identity; empty if there is none."""
    return identity.partition("\n")[2].partition("\n")[0]
