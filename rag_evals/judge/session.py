"""A run's judge: stored replies, shared calls, the limiter, row timeouts and the host."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from rag_evals.core import JudgeCall, JudgeReply, Meter
from rag_evals.errors import JudgeUnavailableError, PendingError
from rag_evals.judge.batches import ArrivedReplies, BatchReplay
from rag_evals.judge.clients.build import client_judge, own_async_judge
from rag_evals.judge.clients.sdks import Client
from rag_evals.judge.pace.retry import (
    DEFAULT_MAX_WAIT_SECONDS,
    RequestLimiter,
    Tries,
    try_again_async,
)
from rag_evals.judge.pace.row_time import DEFAULT_TIMEOUT_SECONDS, RowTime
from rag_evals.judge.wire.ask import DEFAULT_OPTIONS, AskOptions, JudgeHost
from rag_evals.judge.wire.sending import ClientUse

# The typical length of a reply that lists statements and reasons.
_REPLY_TOKENS = 300
_CHARACTERS_PER_TOKEN = 4
# Graders that share a call make it at about the same time, so few replies need to be kept.
_MOST_SHARED = 1000


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Limits and settings of a run's judge.

    Attributes:
        timeout_seconds: Timeout for all of a row's calls, excluding waits for the limiter.
        requests_per_minute: By default, the limit in the endpoint's headers; the same applies to
            `tokens_per_minute`.
    """

    concurrency: int = 16
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_wait_seconds: float = DEFAULT_MAX_WAIT_SECONDS
    options: AskOptions = DEFAULT_OPTIONS


class ReplyStore(Protocol):
    def find(self, call: JudgeCall[Any]) -> JudgeReply | None: ...

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None: ...


@dataclass(frozen=True, slots=True)
class JudgePipeline:
    """The stages of a judge call.

    Attributes:
        own_client: A client passed by the user. Its calls are retried here if its SDK does not
            retry them, and its errors are reported to the limiter. None if the transport does both.
        replay: Replies from batches, which take precedence over the store, because a row's usage
            must include the replies that it paid for.
        shared: Replies to recent calls that several graders share, so that each is made only once.
    """

    host: JudgeHost
    store: ReplyStore | None = None
    limiter: RequestLimiter | None = None
    row_seconds: float = DEFAULT_TIMEOUT_SECONDS
    own_client: object | None = None
    replay: BatchReplay | None = None
    shared: OrderedDict[Any, asyncio.Future[JudgeReply]] = field(default_factory=OrderedDict)

    @property
    def identity(self) -> str | None:
        return self.host.identity

    @property
    def waiting_seconds(self) -> float:
        return 0.0 if self.limiter is None else self.limiter.waiting_seconds

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return a stored or new reply; raise `PendingError` if a later batch will contain it."""
        if call.is_shared and self.replay is None:
            return await self._shared(call, meter)
        return await self._alone(call, meter)

    async def _shared(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Return the first identical call's reply, unless that call failed; charge only its row."""
        settings = tuple(sorted((name, repr(value)) for name, value in call.settings.items()))
        texts = tuple(message["content"] for message in call.messages)
        key = (texts, call.reply_model, settings, call.model, call.endpoint, call.sample_index)
        first = self.shared.get(key)
        if first is not None:
            # `wait` does not cancel the first call if this one is cancelled.
            await asyncio.wait([first])
            if not first.cancelled() and first.exception() is None:
                return first.result()
        own = asyncio.ensure_future(self._alone(call, meter))
        self.shared[key] = own
        if len(self.shared) > _MOST_SHARED:
            self.shared.popitem(last=False)
        return await own

    async def _alone(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        if self.replay is None and (found := self._stored(call, meter)) is not None:
            return found
        try:
            reply = await self._asked(call, meter)
        except PendingError as missing:
            if (found := self._stored(call, meter)) is not None:
                return found
            if self.replay is not None:
                self.replay.answers.note(missing)
            raise
        if self.store is not None:
            self.store.keep(call, reply)
        return reply

    def _stored(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply | None:
        found = None if self.store is None else self.store.find(call)
        if found is not None:
            meter.add(found.usage, endpoint=call.endpoint, model=call.model)
        return found

    # A plain function, like `_answer`, because coroutines are slower.
    def _asked(self, call: JudgeCall[Any], meter: Meter) -> Awaitable[JudgeReply]:
        if self.limiter is None:
            return self._answer(call, meter)
        if self.own_client is None:
            return self._limited(self.limiter, call, meter)
        tries = Tries(self.limiter)
        return try_again_async(
            partial(self._limited, self.limiter, call, meter),
            lambda error: tries.after_call(error, self.own_client),
        )

    async def _limited(
        self, limiter: RequestLimiter, call: JudgeCall[Any], meter: Meter
    ) -> JudgeReply:
        sent = sum(len(message["content"]) for message in call.messages)
        expected = sent // _CHARACTERS_PER_TOKEN + _REPLY_TOKENS
        await limiter.take_slot(expected)
        more = 0
        try:
            async with RowTime(meter, self.row_seconds):
                reply = await self._answer(call, meter)
            more = reply.usage.tokens - expected
        except JudgeUnavailableError as error:
            if self.own_client is not None and error.status == 429:
                limiter.slow_down(error.retry_after_seconds)
            raise
        finally:
            limiter.free_slot(more)
        if self.own_client is not None:
            limiter.after_response(200, {})
        return reply

    def _answer(self, call: JudgeCall[Any], meter: Meter) -> Awaitable[JudgeReply]:
        if self.replay is not None:
            return self.replay.ask(self.host, call, meter)
        return self.host.ask(call, meter)


@asynccontextmanager
async def judge_session(
    client: Client, model: str | None, settings: SessionSettings
) -> AsyncIterator[JudgePipeline]:
    """Open a run's judge; close its client afterwards if it was created here."""
    limiter = RequestLimiter(
        settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
        max_wait_seconds=settings.max_wait_seconds,
    )
    seconds = settings.timeout_seconds
    if isinstance(client, str):
        use = ClientUse(seconds, limiter)
        async with own_async_judge(client, model, settings.options, use) as host:
            yield JudgePipeline(host, limiter=limiter, row_seconds=seconds)
    else:
        judge = client_judge(client, model, settings.options, repeats=False)
        yield JudgePipeline(judge, limiter=limiter, row_seconds=seconds, own_client=client)


@asynccontextmanager
async def batch_session(
    spec: str, model: str | None, options: AskOptions, answers: ArrivedReplies
) -> AsyncIterator[JudgePipeline]:
    """Open the judge of a batch run; `answers` records requests without a reply."""
    replay = BatchReplay(spec, answers)
    async with replay.own_judge(model, options) as host:
        yield JudgePipeline(host, replay=replay)
