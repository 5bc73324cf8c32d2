"""What may an endpoint do to our own clients? A few redirects on its host, a bounded reply."""

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evals.errors import JudgeOutputError, JudgeRejectedError
from rag_evals.judge.wire.failures import address_name

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai


MAX_REPLY_BYTES = 16_000_000
# Vectors are numbers in words: a batch of them is far longer than any judgement.
_MAX_VECTOR_BYTES = 256_000_000
MAX_REDIRECTS = 3

_KEEP_THE_BODY = frozenset({307, 308})
_REDIRECTS = _KEEP_THE_BODY | {301, 302, 303}
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Lengths and encodings of a body that has been read and decoded say nothing true any more.
_OF_THE_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")


def http_client(timeout: "openai.Timeout") -> "httpx2.Client":
    """Make the sync HTTP client of one of our SDK clients."""
    client: httpx2.Client = _sync_class()(timeout=timeout, verify=trusted_certificates())
    return client


def async_http_client(timeout: "openai.Timeout") -> "httpx2.AsyncClient":
    """Make the async HTTP client of one of our SDK clients, on aiohttp."""
    client: httpx2.AsyncClient = _async_class()(timeout=timeout, verify=trusted_certificates())
    return client


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
            raise _circle(request)

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
            raise _circle(request)

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


def redirects_in_a_circle(url: str) -> JudgeRejectedError:
    """Say that too many redirects were followed; `url` is where the next one leads."""
    import httpx2  # noqa: PLC0415 - as above

    return _circle(httpx2.Request("POST", url))


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


def _circle(request: Any) -> JudgeRejectedError:
    return JudgeRejectedError(
        f"the endpoint {_origin(request.url)} redirects in a circle: {MAX_REDIRECTS} redirects "
        f"were followed, the next leads to {request.url.path}"
    )


def _read(response: Any) -> Any:
    if _is_short(response):
        response.read()
        return response
    parts = _Parts(response)
    for part in response.iter_bytes():
        parts.add(part)
    return parts.as_response(response)


async def _aread(response: Any) -> Any:
    if _is_short(response):
        await response.aread()
        return response
    parts = _Parts(response)
    async for part in response.aiter_bytes():
        parts.add(part)
    return parts.as_response(response)


def _most(response: Any) -> int:
    is_vectors = response.request.url.path.endswith("/embeddings")
    return _MAX_VECTOR_BYTES if is_vectors else MAX_REPLY_BYTES


def _is_short(response: Any) -> bool:
    """Say whether the headers promise a short body, as it is; few bytes may unpack to many."""
    length = response.headers.get("content-length", "")
    is_plain = "content-encoding" not in response.headers
    return is_plain and length.isascii() and length.isdigit() and int(length) <= _most(response)


def too_long(most_bytes: int) -> JudgeOutputError:
    """Say that a reply was not read to its end."""
    return JudgeOutputError(
        f"the reply is longer than {most_bytes // 1_000_000} MB and was not read to its end"
    )


class _Parts:
    """A body that is being read, as far as it is not too long."""

    def __init__(self, response: Any) -> None:
        self._most = _most(response)
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._length += len(part)
        if self._length > self._most:
            raise too_long(self._most)

    def as_response(self, response: Any) -> Any:
        return type(response)(
            response.status_code,
            headers=list(_headers_left(response)),
            content=b"".join(self._parts),
            request=response.request,
        )


def _headers_left(response: Any) -> Iterator[tuple[bytes, bytes]]:
    for name, value in response.headers.raw:
        if name.lower() not in _OF_THE_BODY:
            yield name, value
