"""How is a judge asked in a run? With limits, a deadline, and retries where no other layer does."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from rag_evals.core import JudgeCall, JudgeReply, Meter
from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.ask import DEFAULT_OPTIONS, AskOptions, AsyncJudge, Judge
from rag_evals.judge.call_settings import check_taken
from rag_evals.judge.clients import Client, async_judge_for, is_async, judge_for, own_async_judge
from rag_evals.judge.deadline import DEFAULT_TIMEOUT_SECONDS, RowTime, call_in_thread
from rag_evals.judge.limits import RequestLimiter
from rag_evals.judge.retry import call_retrying
from rag_evals.judge.wait_headers import DEFAULT_MAX_WAIT_SECONDS

# What a reply will hold is not known before; statements with their reasons are about this long.
_REPLY_TOKENS = 300
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How the judge of a run is used.

    Attributes:
        concurrency: Calls in flight, at most.
        timeout_seconds: For all calls of one row together, waiting at the limiter left out.
        requests_per_minute: None learns it from the endpoint, where it says.
        tokens_per_minute: As above.
        max_wait_seconds: The longest single wait that an endpoint may ask for.
        options: Settings of its calls, and how often it is asked again.
    """

    concurrency: int = 16
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_wait_seconds: float = DEFAULT_MAX_WAIT_SECONDS
    options: AskOptions = DEFAULT_OPTIONS


@asynccontextmanager
async def judge_session(
    client: Client, model: str | None, settings: SessionSettings
) -> "AsyncIterator[LimitedJudge | None]":
    """Make the judge of one run; a client made for it is closed behind it.

    Args:
        client: An instructor client, sync or async, a string, or None for a run that asks no judge.
        model: Model to ask; None takes the grader's, else the client's own.
        settings: Limits and time-outs.
    """
    if client is None:
        yield None
        return
    limiter = RequestLimiter(
        settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
        max_wait_seconds=settings.max_wait_seconds,
    )
    if isinstance(client, str):
        seconds = settings.timeout_seconds
        async with own_async_judge(
            client, model, limiter=limiter, reply_seconds=seconds, options=settings.options
        ) as (inner, own):
            yield LimitedJudge(inner, own, limiter, seconds, watched=True)
    elif is_async(client):
        inner = await async_judge_for(client, model, settings.options)
        yield LimitedJudge(inner, client, limiter, settings.timeout_seconds)
    else:
        threaded = ThreadedJudge(judge_for(client, model, settings.options))
        yield LimitedJudge(threaded, client, limiter, settings.timeout_seconds)


class ThreadedJudge:
    """Asks a sync judge in a thread, so that a run awaits it like any other."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when the judge below does not say."""
        return getattr(self._judge, "identity", None)

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return list(getattr(self._judge, "models_without_temperature", ()))

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask in a thread; one that is past its row's time holds neither the run nor its end."""
        return await asyncio.wrap_future(call_in_thread(lambda: self._judge.ask(call, meter)))


class LimitedJudge:
    """Asks another judge when the limiter lets it, for as long as the row has time.

    Args:
        judge: Who is asked.
        client: The client under it, which says whether it retries by itself.
        limiter: What all calls of the run pass.
        timeout_seconds: For all calls of one row together.
        watched: The client's transport teaches the limiter; without it, errors do.
    """

    def __init__(
        self,
        judge: AsyncJudge,
        client: object,
        limiter: RequestLimiter,
        timeout_seconds: float,
        *,
        watched: bool = False,
    ) -> None:
        self._judge = judge
        self._client = client
        self._limiter = limiter
        self._timeout_seconds = timeout_seconds
        self._watched = watched

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when the judge below does not say."""
        return getattr(self._judge, "identity", None)

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return list(getattr(self._judge, "models_without_temperature", ()))

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Refuse settings that the provider of this judge does not take.

        Args:
            settings: Of a grader, whose calls are made later.
            model: Who will be asked.
        """
        check_taken(self._client, settings, model)

    @property
    def waiting_seconds(self) -> float:
        """How long the endpoint has asked to wait, from now; 0 when it has not."""
        return self._limiter.waiting_seconds

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Wait for a place, ask within the row's time, and try again where the client does not.

        Raises:
            JudgeUnavailableError: The row's time is up, or nothing came after all tries.
        """
        # The transport of a client that we built tries again by itself.
        if self._watched:
            return await self._ask_once(call, meter)
        return await call_retrying(self._client)(self._ask_once, call, meter)

    async def _ask_once(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        async with self._limiter.slot(estimated_tokens(call)) as used:
            try:
                async with RowTime(meter, self._timeout_seconds):
                    reply = await self._judge.ask(call, meter)
            except JudgeUnavailableError as error:
                if not self._watched and error.status == 429:
                    self._limiter.slow_down(error.retry_after_seconds)
                raise
            used(reply.usage.prompt_tokens + reply.usage.completion_tokens)
            if not self._watched:
                self._limiter.after_response(200, {})
            return reply


def estimated_tokens(call: JudgeCall[Any]) -> int:
    """Guess what a call will use, prompt and reply: four characters a token."""
    characters = sum(len(message["content"]) for message in call.messages)
    return characters // _CHARACTERS_PER_TOKEN + _REPLY_TOKENS
