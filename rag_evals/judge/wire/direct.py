"""Calls to OpenAI-compatible endpoints without the CPU cost of instructor and the SDK.

A test checks that requests and re-asks are identical to instructor's, byte for byte. The SDK builds
one request that is not sent; all others copy its address, headers and key. TLS, timeouts,
connection limits, proxies and errors work as in the SDK.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from rag_evals.core import JudgeCall, JudgeReply
from rag_evals.judge.pace.retry import RequestLimiter
from rag_evals.judge.pace.row_time import seconds_left
from rag_evals.judge.wire.ask import (
    AskSettings,
    CallSettings,
    InstructorJudge,
    wrong_replies,
)
from rag_evals.judge.wire.exchange import (
    OTHER_FORMS,
    Exchange,
    message_of,
    missing_message,
    no_reply,
    packed,
    prepared,
    strict_response_format,
)
from rag_evals.judge.wire.sending import (
    CONNECT_SECONDS,
    extend,
    limit_headers,
    refuse_redirect,
    trusted_certificates,
)

if TYPE_CHECKING:
    import httpx2
    from aiohttp import ClientSession
    from instructor import AsyncInstructor


TOOLS = "TOOLS"
CHAT_PATH = "/chat/completions"

# instructor's field order.
_OF_A_TOOL_CALL = ("id", "function", "type")
_OF_A_FUNCTION = ("arguments", "name")


def request_body(
    call: JudgeCall[Any], *, mode: str, strict: bool, model: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    messages = [dict(message) for message in call.messages]
    body = {"messages": messages, **settings, "model": model}
    if mode in OTHER_FORMS:
        return {**body, "response_format": {"type": mode}}
    asked: Any = prepared(call.reply_model, schema_only=True, mode=mode)  # type: ignore[arg-type]  # mypy: a class is hashable
    if mode == TOOLS:
        function = asked.openai_schema
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": function["name"]}}
        return body
    plain = {"name": asked.__name__, "schema": asked.model_json_schema()}
    closed = strict_response_format(call.reply_model) if strict else None  # type: ignore[arg-type]  # as above
    body["response_format"] = closed or {"type": "json_schema", "json_schema": plain}
    return body


def read_chat(content: bytes) -> dict[str, Any]:
    """Parse a body with status 200; raise `JudgeUnavailableError` if it contains no message."""
    try:
        found = from_json(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise no_reply(content)
    reply = {"choices": None, **found}
    if (missing := missing_message(reply)) is not None:
        raise missing
    return reply


def answer_in(reply: dict[str, Any], mode: str) -> str:
    """Return the reply's JSON text; raise the same exceptions as instructor."""
    message = message_of(reply)
    if mode != TOOLS:
        return message.get("content") or ""
    if (refusal := message.get("refusal")) is not None:
        raise AssertionError(f"Unable to generate a response due to {refusal}")
    calls = message.get("tool_calls") or []
    called = calls[0].get("function") if calls else message.get("function_call")
    if called is None:
        raise _unreadable("No tool calls or function call found in response", reply)
    arguments = called.get("arguments")
    if arguments is None:
        raise _unreadable("Tool call arguments missing in response", reply)
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def reask(mode: str, reply: dict[str, Any], fault: Exception) -> list[dict[str, Any]]:
    message = message_of(reply)
    said = _said(message)
    if mode != TOOLS:
        wrong = f"Correct your JSON ONLY RESPONSE, based on the following errors:\n{fault}"
        return [said, {"role": "user", "content": wrong}]
    wrong = f"Validation Error found:\n{fault}\nRecall the function correctly, fix the errors"
    calls = message.get("tool_calls") or []
    return [
        said,
        *(
            {
                "role": "tool",
                "tool_call_id": call.get("id"),
                "name": call["function"].get("name"),
                "content": wrong,
            }
            for call in calls
        ),
        *([] if calls else [{"role": "user", "content": wrong}]),
    ]


def _said(message: dict[str, Any]) -> dict[str, Any]:
    said = {"role": message.get("role", "assistant"), "content": message.get("content") or ""}
    if (calls := message.get("tool_calls")) is not None:
        said["tool_calls"] = [
            _ordered(
                call | {"function": _ordered(call["function"], _OF_A_FUNCTION)}, _OF_A_TOOL_CALL
            )
            for call in calls
        ]
    if (called := message.get("function_call")) is not None:
        said["content"] += json.dumps(_ordered(called, _OF_A_FUNCTION))
    return said


def _ordered(fields: Mapping[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in first if name in fields} | dict(fields)


def _unreadable(what: str, reply: dict[str, Any]) -> Exception:
    from instructor.core.exceptions import ResponseParsingError  # noqa: PLC0415 - slow import

    return ResponseParsingError(what, mode=TOOLS, raw_response=reply)


Post = Callable[..., Awaitable[Any]]
"""Sends a request with retries and returns the reply; the arguments are the fields of the body."""


class DirectJudge(InstructorJudge):
    """Calls an endpoint without instructor; the client provides only the address, mode and key."""

    _enveloped = False

    def __init__(self, client: "AsyncInstructor", settings: AskSettings, post: Post) -> None:
        super().__init__(client, settings)
        self._post = post

    async def _answer(self, exchange: Exchange, of_call: CallSettings) -> JudgeReply:
        call, mode = exchange.call, exchange.mode
        model = self._settings.model_for(call)
        assert model is not None, "a judge string specifies a model"
        body = request_body(
            call, mode=mode, strict=self._settings.strict, model=model, settings=of_call.to_send()
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


def _read(exchange: Exchange, reply: dict[str, Any], mode: str) -> Any:
    call, fault = exchange.call, exchange.fault
    # Do not re-ask after a truncated reply, because the next reply would also be truncated.
    if fault is not None and (
        not reply["choices"] or reply["choices"][0].get("finish_reason") == "length"
    ):
        raise fault
    asked: Any = prepared(call.reply_model, schema_only=True, mode=mode)  # type: ignore[arg-type]  # mypy: a class is hashable
    return asked.model_validate_json(answer_in(reply, mode), strict=True).value


_MOST_CONNECTIONS = 1000
_KEPT_ALIVE_SECONDS = 5.0
_PART_BYTES = 65536
# Headers that are set by the connection, or separately for each body.
_NOT_REPEATED = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
)


def unsent() -> "httpx2.AsyncClient":
    """Return an HTTP client for an SDK that is only used to build requests."""
    import httpx2  # noqa: PLC0415 - loaded by now

    taken = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"{}"))
    return httpx2.AsyncClient(transport=taken)


@dataclass(eq=False)
class DirectPost:
    """Posts request bodies to one path of an endpoint, in one event loop.

    Args:
        sdk: Async client that builds the request whose address and headers all others copy.
        reply_seconds: Timeout for a reply, unless the row has more time left.
        read: Parses the body of a successful reply.
        model: Model to set in bodies that do not specify one.
    """

    sdk: Any
    reply_seconds: float
    path: str = CHAT_PATH
    read: Callable[[bytes], Any] = read_chat
    model: str = ""
    limiter: RequestLimiter | None = None
    connect_seconds: float = CONNECT_SECONDS

    def __post_init__(self) -> None:
        import asyncio  # noqa: PLC0415 - slow import

        self._proxy = _proxy_for(self.sdk.base_url)
        # A run starts with many requests at once, but the SDK needs to build only one.
        self._writing = asyncio.Lock()
        self._session: ClientSession | None = None
        self._url: Any = None

    async def send(self, body: dict[str, Any]) -> Any:
        """Send a request body and parse the reply; raise `StatusError` or aiohttp's exceptions."""
        session = self._session or await self._open()
        import aiohttp  # noqa: PLC0415 - loaded by now

        left = seconds_left()
        seconds = self.reply_seconds if left is None else max(self.reply_seconds, left)
        times = aiohttp.ClientTimeout(None, seconds, seconds, self.connect_seconds)
        sent = session.post(
            self._url,
            data=packed(body, self.model),
            allow_redirects=False,
            timeout=times,
            proxy=self._proxy,
        )
        try:
            async with sent as response:
                location = response.headers.get("location")
                refuse_redirect(str(self._url), response.status, location)
                content = bytearray()
                async for part in response.content.iter_chunked(_PART_BYTES):
                    extend(content, part)
        except aiohttp.ClientResponseError as error:
            # The reply is not HTTP, so do not raise aiohttp's error, which has a status.
            raise aiohttp.ClientPayloadError(str(error)) from error
        if not 200 <= response.status < 300:
            raise StatusError(response.status, bytes(content), response.headers)
        if self.limiter is not None:
            self.limiter.after_response(response.status, limit_headers(response.raw_headers))
        return self.read(bytes(content))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _open(self) -> "ClientSession":
        import httpx2  # noqa: PLC0415 - loaded by now

        async with self._writing:
            if self._session is None:
                written = await self.sdk.post(self.path, cast_to=httpx2.Response, content=b"{}")
                self._session = self._session_for(written.request)
            return self._session

    def _session_for(self, request: "httpx2.Request") -> "ClientSession":
        import aiohttp  # noqa: PLC0415 - only with a client that asks
        from yarl import URL  # noqa: PLC0415 - comes with aiohttp

        self._url = URL(str(request.url), encoded=True)
        tls: Any = trusted_certificates() if self._url.scheme == "https" else True
        headers = {
            name: value for name, value in request.headers.items() if name not in _NOT_REPEATED
        }
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=_MOST_CONNECTIONS, keepalive_timeout=_KEPT_ALIVE_SECONDS, ssl=tls
            ),
            headers={**headers, "accept-encoding": "gzip, deflate"},
            # Like the SDK, also accept cookies from IP addresses; aiohttp's default does not.
            cookie_jar=aiohttp.CookieJar(unsafe=True),
        )


def _proxy_for(url: "httpx2.URL") -> str | None:
    # This import is slow, because it loads http.client and ssl.
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is None or proxy_bypass(url.host):
        return None
    if not proxy.startswith(("http://", "https://")):
        raise ValueError(f"proxy {proxy!r} does not begin with http:// or https://")
    return proxy


class StatusError(Exception):
    """An HTTP error with the attributes that `read_fault` reads from an SDK's exception."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(body.decode("utf-8", "replace").strip() or f"Error code: {status}")
        self.status_code, self.body, self.headers = status, body, headers or {}
