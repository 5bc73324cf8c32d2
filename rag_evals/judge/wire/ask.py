"""How is a judge asked? The only place that calls an instructor client, sync and async alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from json import JSONDecodeError
from typing import Any, Protocol

from pydantic import ValidationError

from rag_evals.core import (
    JudgeCall,
    JudgeReply,
    Meter,
    check_settings,
    require_whole,
)
from rag_evals.errors import GradingError
from rag_evals.judge.pace.deadline import call_within, row_time
from rag_evals.judge.pace.retry import Tries, try_again, try_again_async
from rag_evals.judge.wire.exchange import Exchange, current_exchange
from rag_evals.judge.wire.failures import (
    OF_A_CLIENT,
    address_name,
    clean_instructor_logs,
    cleaned,
    translate,
)
from rag_evals.judge.wire.schema import Parsed, prepared, strict_response_format
from rag_evals.judge.wire.settings import (
    CallSettings,
    check_taken,
    client_settings,
    described,
    models_without_temperature,
    own_model,
    settings_of,
    wanted_settings,
)

DEFAULT_REASKS = 3
"""How often an invalid reply is asked again; four attempts in all."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What a user says of all calls to a judge.

    Attributes:
        settings: Such as `temperature`; they come before those of a grader.
        reasks: How often an invalid reply is asked again.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    reasks: int = DEFAULT_REASKS

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None, reasks: int) -> "AskOptions":
        """Check what a user gave.

        Raises:
            ConfigurationError: A setting is unknown or out of its range, or `reasks` is.
        """
        return cls(check_settings(settings), require_whole("reasks", reasks, least=0))


DEFAULT_OPTIONS = AskOptions()


class Judge(Protocol):
    """Something that answers a call at once."""

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return a validated reply; raise `GradingError` after the last attempt."""
        ...


class AsyncJudge(Protocol):
    """Something that answers a call when awaited."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return a validated reply; raise `GradingError` after the last attempt."""
        ...


class JudgeHost(AsyncJudge, Protocol):
    """An endpoint to ask: a client of any SDK, a decision model, or batches."""

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers, for keys of caches; None when nobody knows."""

    @property
    def models_without_temperature(self) -> Sequence[str]:
        """Models that refused a temperature of 0, and were asked at their own."""

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Refuse settings that the provider does not take; they are of a grader's later calls."""


@dataclass(frozen=True, slots=True)
class AskSettings:
    """How a client is used.

    Attributes:
        model: Model to ask whatever a call wants; None lets the call choose.
        default_model: Model to ask where neither says; None leaves it to the client.
        strict: Send the strict form of the schema; only for hosts known to take it.
        schema_only: The client's handlers need no fields of the model; see `prepared`.
        reasks: How often an invalid reply is asked again.
        given: Settings of every call, such as `temperature`; they come before a call's own.
        address_name: What a user changes to have another address asked.
        repeats: A call that failed is made again, where the client's SDK repeats nothing.
    """

    model: str | None = None
    default_model: str | None = None
    strict: bool = False
    schema_only: bool = False
    reasks: int = DEFAULT_REASKS
    given: Mapping[str, Any] = field(default_factory=dict)
    address_name: str = OF_A_CLIENT
    repeats: bool = False


class _ClientJudge:
    """What judges over a client of instructor's share; see `JudgeHost`."""

    def __init__(self, client: Any, settings: AskSettings) -> None:
        self._client = client
        self._settings = settings
        clean_instructor_logs()

    @property
    def identity(self) -> str | None:
        """Address, model and a hash of the client's own settings, each on a line."""
        client, settings = self._client, self._settings
        url = getattr(getattr(client, "client", None), "base_url", "")
        model = settings.model or settings.default_model or own_model(client)
        asked = described(wanted_settings({}, settings.given, client_settings(client)))
        return None if model is None else f"{url}\n{model}\n{settings_of(client)} {asked}"

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return models_without_temperature(self._client)

    @property
    def sdk(self) -> Any:
        """The provider's own client below instructor's."""
        return self._client.client

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Refuse settings that the provider does not take."""
        check_taken(self._client, settings, model)

    def _waits(self, meter: Meter) -> Callable[[Exception], float]:
        """Return what says how long to wait before a call is made again; the row waits for it."""
        tries = Tries(None, seconds_left=lambda: meter.seconds_left)

        def wait(error: Exception) -> float:
            seconds = tries.after_call(error, self._client)
            meter.waited_seconds += seconds
            return seconds

        return wait


class InstructorJudge(_ClientJudge):
    """Asks through a sync instructor client."""

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the reply is invalid.

        Raises:
            GradingError: No valid reply; the subclass says why.
            ConfigurationError: No model is named.
        """
        if not self._settings.repeats:
            return self._ask_once(call, meter)
        return try_again(partial(self._ask_once, call, meter), self._waits(meter))

    def _ask_once(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        settings = settings_for(self._client, call, self._settings)
        while True:
            with settings, exchanged(call, meter, self._client, self._settings) as exchange:
                arguments = _arguments(exchange, self._settings, settings, asynchronous=False)
                returned = call_within(meter, partial(self._client.create, **arguments))
                return _reply(returned, exchange)


class AsyncInstructorJudge(_ClientJudge):
    """Asks through an async instructor client."""

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the reply is invalid; raises as for `InstructorJudge`."""
        if not self._settings.repeats:
            return await self._ask_once(call, meter)
        return await try_again_async(partial(self._ask_once, call, meter), self._waits(meter))

    async def _ask_once(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        settings = settings_for(self._client, call, self._settings)
        while True:
            with settings, exchanged(call, meter, self._client, self._settings) as exchange:
                arguments = _arguments(exchange, self._settings, settings, asynchronous=True)
                async with row_time(meter):
                    return _reply(await self._client.create(**arguments), exchange)


@contextmanager
def exchanged(
    call: JudgeCall[Any],
    meter: Meter,
    client: Any,
    settings: AskSettings,
    *,
    enveloped: bool = True,
) -> Iterator[Exchange]:
    """Make one call: what came of it is counted, and what failed is raised as one of our errors.

    `enveloped` says that failures of the endpoint come in an exception of instructor's.
    """
    from instructor.core.exceptions import InstructorError  # noqa: PLC0415 - as above

    exchange = Exchange(
        call, mode=client.mode.name, seconds=meter.seconds_left, reasks=settings.reasks
    )
    token = current_exchange.set(exchange)
    named = address_name.set(settings.address_name)
    try:
        yield exchange
    except Exception as error:
        if enveloped and not isinstance(error, InstructorError):
            raise
        attempts = max(1, exchange.usage.calls, getattr(error, "n_attempts", 0))
        # Not `from error`: instructor's exception holds the whole prompt and cannot be pickled.
        if exchange.fault is not None:
            raise cleaned(exchange.fault, _key_of(client)) from None
        raise translate(error, attempts=attempts, key=_key_of(client)) from None
    finally:
        address_name.reset(named)
        current_exchange.reset(token)
        meter.add(
            exchange.usage,
            endpoint=call.endpoint,
            model=call.model,
            answered_by=exchange.answered_by,
        )


def settings_for(client: Any, call: JudgeCall[Any], asked: AskSettings) -> CallSettings:
    """Return what a call is asked with."""
    return CallSettings(client, model_for(call, asked), call.settings, asked.given)


def model_for(call: JudgeCall[Any], settings: AskSettings) -> str | None:
    """Return the model that a call is put to; None leaves it to the client."""
    return settings.model or call.model or settings.default_model


def _arguments(
    exchange: Exchange, settings: AskSettings, of_call: CallSettings, *, asynchronous: bool
) -> dict[str, Any]:
    """Return the keyword arguments of `client.create`."""
    from instructor.core.hooks import Hooks  # noqa: PLC0415 - loads instructor's runtime

    call = exchange.call
    hooks = Hooks()
    hooks.on("completion:response", exchange.take_response)
    arguments: dict[str, Any] = {
        "response_model": prepared(call.reply_model, schema_only=settings.schema_only),  # type: ignore[arg-type]  # mypy: a class is hashable
        # A list of its own: instructor appends re-ask messages.
        "messages": [dict(message) for message in call.messages],
        "max_retries": _reasking(
            settings.reasks, exchange.may_ask_again, asynchronous=asynchronous
        ),
        "hooks": hooks,
        **of_call.to_send(),
    }
    model = model_for(call, settings)
    if model is not None:
        arguments["model"] = model
    if settings.strict:
        strict = strict_response_format(call.reply_model)  # type: ignore[arg-type]  # as above
        if strict is not None:
            arguments["extra_body"] = {"response_format": strict}
    return arguments


def _reply(returned: Any, exchange: Exchange) -> JudgeReply:
    """Take the plain instance out of what instructor returned."""
    if not isinstance(returned, Parsed):
        raise GradingError(f"the client returned {type(returned).__name__}, not a parsed reply")
    return JudgeReply(returned.value, exchange.usage)


def _reasking(
    times: int, may_ask_again: Callable[[BaseException], bool], *, asynchronous: bool
) -> Any:
    """Make instructor's controller of one call's re-asks, which no two calls may share."""
    from tenacity import (  # noqa: PLC0415 - only a client of instructor's takes one
        AsyncRetrying,
        Retrying,
        retry_if_exception,
        stop_after_attempt,
    )

    wrong = wrong_replies()
    return (AsyncRetrying if asynchronous else Retrying)(
        stop=stop_after_attempt(times + 1),
        retry=retry_if_exception(lambda error: isinstance(error, wrong) and may_ask_again(error)),
        reraise=True,
    )


@cache
def wrong_replies() -> tuple[type[Exception], ...]:
    """Return the exceptions that instructor itself asks again for."""
    from instructor.core.exceptions import (  # noqa: PLC0415 - loads instructor's runtime
        AsyncValidationError,
        ResponseParsingError,
    )

    return ValidationError, JSONDecodeError, AsyncValidationError, ResponseParsingError


def model_in(identity: str) -> str:
    """Return the model in a judge's identity; empty where it says none."""
    return identity.partition("\n")[2].partition("\n")[0]


def _key_of(client: Any) -> str | None:
    key = getattr(getattr(client, "client", None), "api_key", None)
    return key if isinstance(key, str) else None
