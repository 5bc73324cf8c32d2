"""How is an OpenAI-like endpoint asked for next to nothing? Without instructor's layers around it.

What is asked, read and asked again is the same, byte for byte; so are settings, retries, waits,
time-outs and errors. A client of a user's own always goes through instructor.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rag_evals.core import JudgeCall, JudgeReply, Meter, TextReply
from rag_evals.judge.ask import (
    AskSettings,
    AsyncInstructorJudge,
    exchanged,
    model_for,
    settings_for,
)
from rag_evals.judge.call_settings import CallSettings
from rag_evals.judge.chat import ChatReply, answer_in, reask, request_body
from rag_evals.judge.deadline import RowTime
from rag_evals.judge.exchange import Exchange
from rag_evals.judge.retry import wrong_replies
from rag_evals.judge.schema import prepared
from rag_evals.judge.tokens import text_reply

if TYPE_CHECKING:
    from instructor import AsyncInstructor

Post = Callable[..., Awaitable[ChatReply]]
"""Sends the fields of a request body, again where that may help, and returns the reply."""


class AsyncDirectJudge(AsyncInstructorJudge):
    """Asks without instructor an endpoint whose wire we know.

    Args:
        client: The instructor client that would ask otherwise; it knows address, mode and key.
        settings: How it is used.
        post: Sends a request.
    """

    def __init__(self, client: "AsyncInstructor", settings: AskSettings, post: Post) -> None:
        super().__init__(client, settings)
        self._post = post

    def posting(self, post: Post) -> "AsyncDirectJudge":
        """Return a judge that asks alike, over something else that sends."""
        return AsyncDirectJudge(self._client, self._settings, post)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the reply is invalid; as `AsyncInstructorJudge` otherwise."""
        of_call = settings_for(self._client, call, self._settings)
        while True:
            with (
                of_call,
                exchanged(call, meter, self._client, self._settings, enveloped=False) as exchange,
            ):
                if meter.row_seconds is None:
                    return await self._answer(exchange, of_call)
                async with RowTime(meter, meter.row_seconds):
                    return await self._answer(exchange, of_call)

    async def _answer(self, exchange: Exchange, of_call: CallSettings) -> JudgeReply:
        call, mode = exchange.call, self._client.mode.name
        model = model_for(call, self._settings)
        assert model is not None, "the string of an endpoint names its model"
        body = request_body(
            call,
            mode=mode,
            strict=self._settings.strict,
            model=model,
            settings=of_call.to_send(),
        )
        while True:
            reply = await self._post(**body)
            exchange.take_response(reply)
            try:
                return JudgeReply(_read(exchange, reply, mode), exchange.usage)
            except wrong_replies() as fault:
                if exchange.is_last_attempt or not exchange.may_ask_again(fault):
                    raise
                body["messages"] = [*body["messages"], *reask(mode, reply, fault)]


def _read(exchange: Exchange, reply: ChatReply, mode: str) -> Any:
    call, fault = exchange.call, exchange.fault
    if call.reply_model is TextReply:
        if fault is not None:
            raise fault
        return text_reply(reply)
    # What broke off is not asked again: it would break off there once more.
    if fault is not None and (not reply.choices or _is_cut_off(reply)):
        raise fault
    asked: Any = prepared(call.reply_model, schema_only=True)  # type: ignore[arg-type]  # mypy: a class is hashable
    return asked.model_validate_json(answer_in(reply, mode), strict=True).value


def _is_cut_off(reply: ChatReply) -> bool:
    return bool(reply.choices[0].get("finish_reason") == "length")
