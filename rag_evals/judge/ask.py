"""How is a judge asked? The only place that calls an instructor client, sync and async alike."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, Protocol

from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage
from rag_evals.errors import GradingError
from rag_evals.judge.deadline import RowTime, call_within
from rag_evals.judge.failures import cleaned, translate
from rag_evals.judge.redact import clean_instructor_logs
from rag_evals.judge.replies import complete_tool_call, differing_calls, fault_of, no_reply
from rag_evals.judge.schema import Parsed, current_exchange, prepared, strict_response_format
from rag_evals.judge.tokens import usage_of

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor

DEFAULT_REASKS = 3
"""How often an invalid reply is asked again; four attempts in all."""


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


@dataclass(frozen=True, slots=True)
class AskSettings:
    """How a client is used.

    Attributes:
        model: Model to ask whatever a call wants; None lets the call choose.
        default_model: Model to ask where neither says; None leaves it to the client.
        strict: Send the strict form of the schema; only for hosts known to take it.
        lean: The client's handlers need no fields of the model; see `prepared`.
        reasks: How often an invalid reply is asked again.
    """

    model: str | None = None
    default_model: str | None = None
    strict: bool = False
    lean: bool = False
    reasks: int = DEFAULT_REASKS


class InstructorJudge:
    """Asks through a sync instructor client."""

    def __init__(self, client: "Instructor", settings: AskSettings) -> None:
        self._client = client
        self._settings = settings
        clean_instructor_logs()

    @property
    def identity(self) -> str:
        """Which model of which endpoint answers; it stands in keys of caches."""
        return _identity(self._client, self._settings)

    @property
    def sdk(self) -> Any:
        """The provider's own client below instructor's."""
        return self._client.client

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the reply is invalid.

        Raises:
            GradingError: No valid reply; the subclass says why.
            ConfigurationError: No model is named.
        """
        with _exchange(call, meter, self._client, self._settings, asynchronous=False) as exchange:
            arguments = exchange.arguments
            return exchange.finish(call_within(meter, lambda: self._client.create(**arguments)))


class AsyncInstructorJudge:
    """Asks through an async instructor client."""

    def __init__(self, client: "AsyncInstructor", settings: AskSettings) -> None:
        self._client = client
        self._settings = settings
        clean_instructor_logs()

    @property
    def identity(self) -> str:
        """Which model of which endpoint answers; it stands in keys of caches."""
        return _identity(self._client, self._settings)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the reply is invalid.

        Raises:
            GradingError: No valid reply; the subclass says why.
            ConfigurationError: No model is named.
        """
        with _exchange(call, meter, self._client, self._settings, asynchronous=True) as exchange:
            if meter.row_seconds is None:
                return exchange.finish(await self._client.create(**exchange.arguments))
            async with RowTime(meter, meter.row_seconds):
                return exchange.finish(await self._client.create(**exchange.arguments))


class Exchange:
    """One call while it is being made: what instructor is told, and what its hooks saw.

    Attributes:
        call: What is asked.
        fault: What makes the last reply none that could be asked again, or None.
        requests: HTTP requests that were sent, where the transport is watched.
        arguments: Keyword arguments of `client.create`.
        usage: Sum over the replies so far; each is counted once, where instructor accumulates.
    """

    def __init__(
        self,
        call: JudgeCall[Any],
        settings: AskSettings,
        *,
        asynchronous: bool,
        mode: str,
        seconds: float | None,
    ) -> None:
        from instructor.core.hooks import Hooks  # noqa: PLC0415 - loads instructor's runtime

        from rag_evals.judge.retry import async_reasking, reasking  # noqa: PLC0415 - loads asyncio

        ask_again: Callable[..., Any] = async_reasking if asynchronous else reasking
        self.call = call
        self.fault: GradingError | None = None
        self.requests = 0
        self._is_answered = False
        self._calls_made = 1
        self._mode = mode
        self._ends_at = None if seconds is None else time.monotonic() + seconds
        self.usage = Usage()
        hooks = Hooks()
        hooks.on("completion:response", self._on_response)
        self.arguments: dict[str, Any] = {
            "response_model": prepared(call.reply_model, lean=settings.lean),  # type: ignore[arg-type]  # mypy: a class is hashable
            # A list of its own: instructor appends re-ask messages.
            "messages": [dict(message) for message in call.messages],
            "max_retries": ask_again(settings.reasks, self.may_ask_again),
            "hooks": hooks,
            **call.settings,
        }
        model = settings.model or call.model or settings.default_model
        if model is not None:
            self.arguments["model"] = model
        strict = (
            strict_response_format(call.reply_model)  # type: ignore[arg-type]  # as above
            if settings.strict
            else None
        )
        if strict is not None:
            self.arguments["extra_body"] = {"response_format": strict}

    def _on_response(self, response: Any) -> None:
        reask = Usage(reasks=1) if self.usage.calls else Usage()
        self.usage = self.usage + usage_of(response) + reask
        self._is_answered = True
        self.fault = fault_of(response)
        choices = getattr(response, "choices", None)
        if self.fault is not None or not choices:
            return
        if self._mode == "TOOLS":
            complete_tool_call(choices[0].message)
        self._calls_made = differing_calls(choices[0].message)

    def may_ask_again(self, error: BaseException) -> bool:
        """Say whether the judge can do better: what it sent was a reply."""
        if isinstance(error, JSONDecodeError) and not self._is_answered:
            # The client itself could not read the body.
            self.fault = no_reply(error.doc)
        self._is_answered = False
        return self.fault is None

    def check_one_call(self) -> None:
        """Refuse a reply whose parts contradict each other: instructor would read the first.

        Raises:
            ResponseParsingError: It is asked again with these words.
        """
        if self._calls_made > 1:
            from instructor.core.exceptions import (  # noqa: PLC0415 - as above
                ResponseParsingError,
            )

            raise ResponseParsingError(
                f"{self._calls_made} different tool calls; make exactly one that holds everything",
                mode=self._mode,
                raw_response=None,
            )

    @property
    def seconds_left(self) -> float | None:
        """What the row has left; None where nobody said how much it has."""
        return None if self._ends_at is None else self._ends_at - time.monotonic()

    def count_request(self) -> bool:
        """Count one HTTP request; True when it repeats one that failed."""
        self.requests += 1
        # Every reply, a re-ask among them, needs one request; what is more was sent again.
        is_retry = self.requests > self.usage.calls + self.usage.retries + 1
        if is_retry:
            self.usage = replace(self.usage, retries=self.usage.retries + 1)
        return is_retry

    def finish(self, returned: Any) -> JudgeReply:
        """Take the plain instance out of what instructor returned."""
        if not isinstance(returned, Parsed):
            raise GradingError(f"the client returned {type(returned).__name__}, not a parsed reply")
        return JudgeReply(returned.value, self.usage)


@contextmanager
def _exchange(
    call: JudgeCall[Any],
    meter: Meter,
    client: Any,
    settings: AskSettings,
    *,
    asynchronous: bool,
) -> Iterator[Exchange]:
    from instructor.core.exceptions import InstructorError  # noqa: PLC0415 - as above

    exchange = Exchange(
        call,
        settings,
        asynchronous=asynchronous,
        mode=client.mode.name,
        seconds=meter.seconds_left,
    )
    token = current_exchange.set(exchange)
    try:
        yield exchange
    except InstructorError as error:
        attempts = max(1, exchange.usage.calls, getattr(error, "n_attempts", 0))
        # Not `from error`: instructor's exception holds the whole prompt and cannot be pickled.
        if exchange.fault is not None:
            raise cleaned(exchange.fault, _key_of(client)) from None
        raise translate(error, attempts=attempts, key=_key_of(client)) from None
    finally:
        current_exchange.reset(token)
        meter.add(exchange.usage, endpoint=call.endpoint, model=call.model)


def _identity(client: Any, settings: AskSettings) -> str:
    url = getattr(getattr(client, "client", None), "base_url", "")
    own = getattr(client, "kwargs", {}).get("model")
    return f"{url} {settings.model or settings.default_model or own}"


def _key_of(client: Any) -> str | None:
    key = getattr(getattr(client, "client", None), "api_key", None)
    return key if isinstance(key, str) else None
