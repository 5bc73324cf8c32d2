"""How is a request sent, and sent again? In one way for every SDK, whose own retries are off.

And what may an endpoint do to our own clients? A few redirects on its host, a bounded reply.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_evals.errors import JudgeOutputError, JudgeRejectedError
from rag_evals.judge.pace.deadline import row_clock_stopped
from rag_evals.judge.pace.retry import (
    DEFAULT_MAX_WAIT_SECONDS,
    Tries,
    read_fault,
    try_again,
    try_again_async,
)
from rag_evals.judge.wire.exchange import current_exchange
from rag_evals.judge.wire.failures import address_name

if TYPE_CHECKING:
    import ssl

    import openai

    from rag_evals.judge.pace.limits import RequestLimiter

# What an SDK takes and returns has no type here: it need not be installed.
Send = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class ClientUse:
    """How a client of a string is used.

    Attributes:
        asynchronous: It is awaited.
        seconds: Time-out of one try.
        limiter: What the requests of a run pass; None for a single grading.
        answer: Stands in for the network of an async client of a provider's own library; each
            request is sent once.
    """

    asynchronous: bool
    seconds: float
    limiter: "RequestLimiter | None" = None
    answer: "Answering | None" = None

    def one_try(self) -> float:
        """Return the time-out of a request; no sync one is longer than its row has left."""
        if self.asynchronous:
            return self.seconds
        left = _seconds_left()
        return min(self.seconds, max(1.0, DEFAULT_MAX_WAIT_SECONDS if left is None else left))

    def repeating(self, send: Send, *, teaches: bool = False) -> Callable[..., Any]:
        """Return what sends a request, again where that may help.

        Args:
            send: Sends one request; awaited where the client is.
            teaches: `send` tells the limiter of each reply; else the function returned does.
        """
        if self.asynchronous:
            return _repeating_async(send, self.limiter, teaches=teaches)
        return repeating(send)


class Answered(NamedTuple):
    """Status and body of a reply that comes from elsewhere than the network."""

    status: int
    content: bytes


Answering = Callable[[bytes], Awaitable[Answered]]
"""Answers the body of a request."""


def repeating(send: Send) -> Callable[..., Any]:
    """Return a function that sends a request, and sends it again where that may help."""

    def create(**body: Any) -> Any:
        def send_once() -> Any:
            _count_request()
            return send(body)

        return try_again(send_once, Tries(None, seconds_left=_seconds_left).after_request)

    return create


def _repeating_async(
    send: Send, limiter: "RequestLimiter | None", *, teaches: bool
) -> Callable[..., Awaitable[Any]]:
    async def create(**body: Any) -> Any:
        async def send_once() -> Any:
            is_retry = _count_request()
            if limiter is None:
                return await send(body)
            if limiter.is_paused:
                # The time that the endpoint asked for is not the row's.
                with row_clock_stopped():
                    await limiter.before_request(is_retry=is_retry)
            else:
                await limiter.before_request(is_retry=is_retry)
            try:
                reply = await send(body)
            except Exception as error:
                fault = read_fault(error)
                if fault.status is not None:
                    limiter.after_response(fault.status, limit_headers(fault.headers))
                raise
            if not teaches:
                limiter.after_response(200, {})
            return reply

        tries = Tries(limiter, seconds_left=_seconds_left)
        return await try_again_async(send_once, tries.after_request)

    return create


def limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Pick the headers that a limiter reads, from names in lower case."""
    return {
        name: value
        for name, value in headers.items()
        if name.startswith(("x-ratelimit-", "retry-after"))
    }


def _seconds_left() -> float | None:
    exchange = current_exchange.get()
    return None if exchange is None else exchange.seconds_left


def _count_request() -> bool:
    exchange = current_exchange.get()
    return exchange is not None and exchange.count_request()


CONNECT_SECONDS = 5.0
MAX_REPLY_BYTES = 16_000_000
# Vectors are numbers in words: a batch of them is far longer than any judgement.
_MAX_VECTOR_BYTES = 256_000_000
MAX_REDIRECTS = 3

_KEEP_THE_BODY = frozenset({307, 308})
_REDIRECTS = _KEEP_THE_BODY | {301, 302, 303}
_DEFAULT_PORTS = {"http": 80, "https": 443}


# Of httpx2, or of OpenAI's SDK over aiohttp.
def http_client(timeout: "openai.Timeout", *, asynchronous: bool) -> Any:
    """Make the HTTP client of one of our SDK clients; an async one travels on aiohttp."""
    kind = _async_class() if asynchronous else _sync_class()
    return kind(timeout=timeout, verify=trusted_certificates())


def trusted_certificates() -> "ssl.SSLContext":
    """Return what connections to an endpoint trust, as the SDKs do.

    That is what they ship with, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name. Reading it takes
    30 ms, so it is read once, and again when these say something else or their files change.
    """
    named = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _certificates(*((name, _changed_at(name)) for name in named))


@cache
def _certificates(*_named: object) -> "ssl.SSLContext":
    import httpx2  # noqa: PLC0415 - loaded by now

    return httpx2.create_ssl_context()


def _changed_at(path: str | None) -> int | None:
    try:
        return Path(path).stat().st_mtime_ns if path else None
    except (OSError, ValueError):
        return None


@cache
def _sync_class() -> Any:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    class GuardedHttpClient(openai.DefaultHttpxClient):
        def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            options["follow_redirects"] = False
            for _ in range(MAX_REDIRECTS + 1):
                response = super().send(request, stream=True, **options)
                target = None
                try:
                    target = _redirected(request, response)
                    if target is None:
                        return response if stream else _read(response)
                finally:
                    if not ((stream and target is None) or response.is_closed):
                        response.close()
                request = target
            raise redirects_in_a_circle(request.url)

    return GuardedHttpClient


@cache
def _async_class() -> Any:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    class AsyncGuardedHttpClient(openai.DefaultAioHttpClient):
        _close: Any = None

        def closes_with(self, close: Any) -> None:
            self._close = close

        async def aclose(self) -> None:
            if self._close is not None:
                await self._close()
            await super().aclose()

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            options["follow_redirects"] = False
            for _ in range(MAX_REDIRECTS + 1):
                response = await super().send(request, stream=True, **options)
                target = None
                try:
                    target = _redirected(request, response)
                    if target is None:
                        return response if stream else await _aread(response)
                finally:
                    if not ((stream and target is None) or response.is_closed):
                        await response.aclose()
                request = target
            raise redirects_in_a_circle(request.url)

    return AsyncGuardedHttpClient


def _redirected(request: Any, response: Any) -> Any:
    """Return the request to send instead; None when there is no redirect.

    Raises:
        JudgeRejectedError: It leads to another host, or would leave the prompt behind.
    """
    if not response.has_redirect_location:
        return None
    target = response.next_request
    here = _origin(request.url)
    if target is None:
        raise JudgeRejectedError(f"the endpoint {here} redirects to an address that is none")
    there = _origin(target.url)
    if there != here and not _is_upgrade(request.url, target.url):
        raise JudgeRejectedError(
            f"the endpoint {here} redirects to another host, {there}; nothing was sent there; if "
            f"it is the right one, set {address_name.get()} to it"
        )
    if target.method != request.method:
        raise JudgeRejectedError(
            f"the endpoint {here} redirects with status {response.status_code}, which leaves the "
            f"prompt behind; set {address_name.get()} to where it leads, {there}{target.url.path}"
        )
    return target


def redirected_post(url: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the address to post to instead; None when there is no redirect.

    Raises:
        JudgeRejectedError: As for redirects of an SDK's requests.
    """
    if status not in _REDIRECTS:
        return None
    import httpx2  # noqa: PLC0415 - loaded by now

    request = httpx2.Request("POST", url)
    response = httpx2.Response(status, headers=list(headers), request=request)
    if not response.has_redirect_location:
        return None
    method = "POST" if status in _KEEP_THE_BODY else "GET"
    try:
        target = request.url.join(response.headers["location"])
        response.next_request = httpx2.Request(method, target)
    except (httpx2.InvalidURL, ValueError):
        response.next_request = None
    return str(_redirected(request, response).url)


# A URL of httpx2, or of aiohttp.
def redirects_in_a_circle(url: Any) -> JudgeRejectedError:
    """Say that too many redirects were followed; `url` is where the next one leads."""
    return JudgeRejectedError(
        f"the endpoint {_origin(url)} redirects in a circle: {MAX_REDIRECTS} redirects "
        f"were followed, the next leads to {url.path}"
    )


def _origin(url: Any) -> str:
    port = url.port or _DEFAULT_PORTS.get(url.scheme)
    return f"{url.scheme}://{url.host}:{port}"


def _is_upgrade(here: Any, there: Any) -> bool:
    """Say whether only http became https, on the usual ports."""
    return (
        here.host == there.host
        and (here.scheme, here.port) == ("http", None)
        and (there.scheme, there.port) == ("https", None)
    )


def _read(response: Any) -> Any:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        _check_size(body, response)
    # As its own `read` does, which has no limit: few bytes may unpack to many.
    response._content = bytes(body)
    return response


async def _aread(response: Any) -> Any:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        _check_size(body, response)
    response._content = bytes(body)
    return response


def _check_size(body: bytearray, response: Any) -> None:
    is_vectors = response.request.url.path.endswith("/embeddings")
    most = _MAX_VECTOR_BYTES if is_vectors else MAX_REPLY_BYTES
    if len(body) > most:
        raise too_long(most)


def too_long(most_bytes: int) -> JudgeOutputError:
    """Say that a reply was not read to its end."""
    return JudgeOutputError(
        f"the reply is longer than {most_bytes // 1_000_000} MB and was not read to its end"
    )
