"""Who asks a decision model? A judge, sync or async, over the SDK's own HTTP client.

What is wrong in a reply is asked again, those questions alone; what stays wrong is a fault of its
question, and the other answers count.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from rag_evals.core import (
    DecisionCall,
    Decisions,
    JudgeCall,
    JudgeReply,
    Meter,
    Question,
    state_text,
)
from rag_evals.errors import ConfigurationError
from rag_evals.judge.address_name import address_name
from rag_evals.judge.ask import AskOptions
from rag_evals.judge.deadline import RowTime, call_within
from rag_evals.judge.decisions.hosts import limits_of
from rag_evals.judge.decisions.wires import WIRES, check_answers, read_reply, without_key
from rag_evals.judge.exchange import Exchange, current_exchange
from rag_evals.judge.failures import translate
from rag_evals.judge.providers import Endpoint
from rag_evals.judge.sending import limit_headers, repeating, repeating_async, seconds_for_one_try

if TYPE_CHECKING:
    from rag_evals.judge.limits import RequestLimiter

Asking = Generator[dict[str, Any], Any, Decisions]
"""Yields the bodies to send, receives the replies, returns the answers."""


class _Asker:
    """What both judges share.

    Args:
        sdk: A client of OpenAI's SDK for the endpoint's address.
        endpoint: Who is asked, on which wire.
        model: Model to ask; None takes the endpoint's.
        options: How often what is wrong is asked again.

    Raises:
        ConfigurationError: There are settings, and a decision model takes none.
    """

    def __init__(
        self, sdk: Any, endpoint: Endpoint, model: str | None, options: AskOptions
    ) -> None:
        if options.settings:
            raise ConfigurationError(
                f"settings ({', '.join(options.settings)}) are given, and a decision model takes "
                "none: it writes nothing"
            )
        self.sdk = sdk
        self.endpoint = endpoint
        self.wire = WIRES[endpoint.wire]
        self.model = model or endpoint.model
        self.reasks = options.reasks

    @property
    def identity(self) -> str:
        """Which model of which endpoint answers on which wire."""
        return f"{self.sdk.base_url}\n{self.model}\n{self.endpoint.wire}"

    def asking(self, call: DecisionCall, exchange: Exchange) -> Asking:
        """Ask all questions, in as many requests as the host needs, and the wrong ones again."""
        found = Decisions(answers={})
        state = state_text(call.state)
        most = limits_of(self.endpoint).questions
        for part in call.in_requests(most):
            asked: Sequence[Question] = part.questions
            for attempt in range(self.reasks + 1):
                reply = yield self.wire.body(self.model, state, asked)
                exchange.count_reply(reply, again=attempt > 0)
                read = without_key(check_answers(self.wire, reply, asked), self.sdk.api_key)
                found.answers.update(read.answers)
                asked = [question for question in asked if question.name in read.faults]
                if not asked:
                    break
            found.faults.update(read.faults)
        return found

    @contextmanager
    def exchange(self, call: JudgeCall[Any], meter: Meter) -> Iterator[Exchange]:
        """Keep what is known of a call while it runs, and name what ends it."""
        exchange = Exchange(call, mode="", seconds=meter.seconds_left, reasks=self.reasks)
        token = current_exchange.set(exchange)
        named = address_name.set(self.endpoint.address_name)
        try:
            yield exchange
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises ends this call
            attempts = max(1, exchange.usage.calls)
            raise translate(error, attempts=attempts, key=self.sdk.api_key) from None
        finally:
            address_name.reset(named)
            current_exchange.reset(token)
            meter.add(
                exchange.usage,
                endpoint=call.endpoint,
                model=call.model,
                answered_by=exchange.answered_by,
            )


class DecisionJudge:
    """Asks a decision model at once; arguments as for `AsyncDecisionJudge`."""

    def __init__(
        self,
        sdk: Any,
        endpoint: Endpoint,
        model: str | None,
        options: AskOptions,
        *,
        reply_seconds: float,
    ) -> None:
        self._asker = _Asker(sdk, endpoint, model, options)
        self._create = repeating(partial(_send, sdk, self._asker.wire.path, reply_seconds))

    @property
    def identity(self) -> str:
        """Which model of which endpoint answers on which wire."""
        return self._asker.identity

    @property
    def models_without_temperature(self) -> list[str]:
        """None: a decision model has no temperature."""
        return []

    @property
    def sdk(self) -> Any:
        """The client that sends."""
        return self._asker.sdk

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask all questions of a call.

        Raises:
            GradingError: No reply; the subclass says why.
        """
        asked = _decision_call(call)
        with self._asker.exchange(asked, meter) as exchange:
            work = partial(_answered, self._asker.asking(asked, exchange), self._create)
            return JudgeReply(call_within(meter, work), exchange.usage)


class AsyncDecisionJudge:
    """Asks a decision model when awaited.

    Args:
        sdk: A client of OpenAI's SDK for the endpoint's address, sync or async as the judge.
        endpoint: Who is asked, on which wire.
        model: Model to ask; None takes the endpoint's.
        options: How often what is wrong is asked again; settings are refused.
        limiter: What each request passes and each reply teaches; None for a single grading.
    """

    def __init__(
        self,
        sdk: Any,
        endpoint: Endpoint,
        model: str | None,
        options: AskOptions,
        *,
        limiter: "RequestLimiter | None" = None,
    ) -> None:
        self._asker = _Asker(sdk, endpoint, model, options)
        send = partial(_send_async, sdk, self._asker.wire.path, limiter)
        self._create = repeating_async(send, limiter, teaches=True)

    @property
    def identity(self) -> str:
        """Which model of which endpoint answers on which wire."""
        return self._asker.identity

    @property
    def models_without_temperature(self) -> list[str]:
        """None: a decision model has no temperature."""
        return []

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask all questions of a call; as `DecisionJudge`."""
        asked = _decision_call(call)
        with self._asker.exchange(asked, meter) as exchange:
            asking = self._asker.asking(asked, exchange)
            if meter.row_seconds is None:
                return JudgeReply(await self._answered(asking), exchange.usage)
            async with RowTime(meter, meter.row_seconds):
                return JudgeReply(await self._answered(asking), exchange.usage)

    async def _answered(self, asking: Asking) -> Decisions:
        try:
            body = next(asking)
            while True:
                body = asking.send(await self._create(**body))
        except StopIteration as stop:
            decisions: Decisions = stop.value
            return decisions


def _answered(asking: Asking, create: Callable[..., Any]) -> Decisions:
    try:
        body = next(asking)
        while True:
            body = asking.send(create(**body))
    except StopIteration as stop:
        decisions: Decisions = stop.value
        return decisions


def _decision_call(call: JudgeCall[Any]) -> DecisionCall:
    if isinstance(call, DecisionCall):
        return call
    raise ConfigurationError(
        "a decision model answers typed questions and writes no text, which this grader needs; "
        "name a chat model, such as 'openai/gpt-4o-mini'"
    )


# The SDK's own types say nothing of a path that it does not know.
def _send(sdk: Any, path: str, reply_seconds: float, body: dict[str, Any]) -> Any:
    from httpx2 import Response, Timeout  # noqa: PLC0415 - loaded with the client

    one_try = Timeout(seconds_for_one_try(reply_seconds), connect=5.0)
    options = {"max_retries": 0, "timeout": one_try}
    return read_reply(
        sdk.post(path, cast_to=Response, content=to_json(body), options=options).content
    )


async def _send_async(
    sdk: Any, path: str, limiter: "RequestLimiter | None", body: dict[str, Any]
) -> Any:
    from httpx2 import Response  # noqa: PLC0415 - loaded with the client

    options = {"max_retries": 0}
    response = await sdk.post(path, cast_to=Response, content=to_json(body), options=options)
    if limiter is not None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        limiter.after_response(response.status_code, limit_headers(headers))
    return read_reply(response.content)
