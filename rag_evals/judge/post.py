"""How does a request travel without an SDK's layers? As the SDK would send it, over aiohttp.

The SDK writes one request, which is not sent: it decides on address, headers and key, and all
requests have the same. TLS, time-outs, limits of connections, redirects and errors are as there.
Where a proxy is set, requests go through the SDK itself.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from rag_evals.judge.wire import (
    MAX_REDIRECTS,
    MAX_REPLY_BYTES,
    redirected_post,
    redirects_in_a_circle,
    too_long,
    trusted_certificates,
)

if TYPE_CHECKING:
    import httpx2
    from aiohttp import ClientResponse, ClientSession

_MOST_CONNECTIONS = 1000
_KEPT_ALIVE_SECONDS = 5.0
_PART_BYTES = 65536
# The connection's own affair, or said anew for each body.
_NOT_REPEATED = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
)


class Posted(NamedTuple):
    """A reply to a request that was posted.

    Attributes:
        status: Of HTTP, from 200 to 299.
        headers: As they came.
        content: The body.
    """

    status: int
    headers: Iterable[tuple[bytes, bytes]]
    content: bytes


class DirectPost:
    """Posts bodies to the place that an SDK's client asks, in one event loop.

    Args:
        sdk: An async client of OpenAI's.
        path: Behind the SDK's address.
        connect_seconds: Time-out of connecting.
        reply_seconds: Time-out of a reply.
    """

    def __init__(
        self, sdk: Any, path: str, *, connect_seconds: float, reply_seconds: float
    ) -> None:
        self._sdk = sdk
        self._path = path
        self._connect_seconds = connect_seconds
        self._reply_seconds = reply_seconds
        # Brings http.client and ssl, which importing this package must not cost.
        from urllib.request import getproxies  # noqa: PLC0415

        self._is_proxied = not {"http", "https", "all"}.isdisjoint(getproxies())
        self._request: httpx2.Request | None = None
        import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

        # A run begins with many requests at once, and the SDK takes 1 ms to write one.
        self._writing = asyncio.Lock()
        self._session: ClientSession | None = None
        self._url: Any = None

    async def post(self, content: bytes) -> Posted | None:
        """Post one body.

        Returns:
            None where the SDK has to send it: through a proxy.

        Raises:
            openai.APIError: As the SDK raises.
            JudgeOutputError: The reply is too long.
            JudgeRejectedError: The endpoint leads elsewhere, or in a circle.
        """
        if self._is_proxied:
            return None
        session = self._session or await self._open()
        import aiohttp  # noqa: PLC0415 - loaded by now

        try:
            url = self._url
            for _ in range(MAX_REDIRECTS + 1):
                async with session.post(url, data=content, allow_redirects=False) as response:
                    other = redirected_post(str(url), response.status, response.raw_headers)
                    if other is None:
                        return self._checked(response, await _read(response))
                url = other
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raised = self._as_sdk(error)
            raise raised from raised.__cause__
        raise redirects_in_a_circle(str(url))

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _written_by_the_sdk(self) -> "httpx2.Request":
        import httpx2  # noqa: PLC0415 - loaded by now

        written: list[httpx2.Request] = []

        def take(request: httpx2.Request) -> httpx2.Response:
            written.append(request)
            return httpx2.Response(200, content=b"{}")

        async with httpx2.AsyncClient(transport=httpx2.MockTransport(take)) as nowhere:
            sdk = self._sdk.with_options(http_client=nowhere, max_retries=0)
            await sdk.post(self._path, cast_to=httpx2.Response, content=b"{}")
        return written[0]

    async def _open(self) -> "ClientSession":
        async with self._writing:
            if self._session is None:
                self._request = await self._written_by_the_sdk()
                self._session = self._session_for(self._request)
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
            # As the SDK does; by default, cookies of a host without a name are dropped.
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=self._reply_seconds,
                sock_connect=self._connect_seconds,
                sock_read=self._reply_seconds,
            ),
        )

    def _checked(self, response: "ClientResponse", content: bytes) -> Posted:
        if 200 <= response.status < 300:
            return Posted(response.status, response.raw_headers, content)
        # The body has been unpacked: what the headers say of its length is true no more.
        headers = [
            (name, value)
            for name, value in response.raw_headers
            if not name.lower().startswith(b"content-")
        ]
        raise status_error(response.status, content, headers, self._request)

    def _as_sdk(self, error: Exception) -> Exception:
        """Put a fault of a connection into the exceptions in which the SDK reports it."""
        import aiohttp  # noqa: PLC0415 - as above
        import httpx2  # noqa: PLC0415 - as above
        import openai  # noqa: PLC0415 - as above

        request = self._request
        inner: Exception
        if isinstance(error, aiohttp.ClientConnectorError):
            inner = httpx2.ConnectError(str(error))
        elif isinstance(error, aiohttp.SocketTimeoutError):
            inner = httpx2.ReadTimeout(str(error))
        elif isinstance(error, aiohttp.ClientConnectionError):
            inner = httpx2.ConnectTimeout(str(error))
        elif isinstance(error, TimeoutError):
            inner = httpx2.PoolTimeout(str(error))
        elif isinstance(error, aiohttp.ClientPayloadError):
            inner = httpx2.ReadError(str(error))
        else:
            inner = error
        if inner is not error:
            inner.__cause__ = error
        timed_out = isinstance(inner, httpx2.TimeoutException)
        kind: Any = openai.APITimeoutError if timed_out else openai.APIConnectionError
        raised: Exception = kind(request=request)
        raised.__cause__ = inner
        return raised


def status_error(
    status: int,
    content: bytes,
    headers: Iterable[tuple[bytes, bytes]] = (),
    request: "httpx2.Request | None" = None,
) -> Exception:
    """Make the exception in which the SDK reports a status of HTTP that is no success.

    Args:
        status: Such as 429.
        content: The body that came with it.
        headers: What else came with it.
        request: What was sent; None where nobody knows it any more.
    """
    import httpx2  # noqa: PLC0415 - loaded by now
    import openai  # noqa: PLC0415 - as above

    said: Any
    try:
        said = from_json(content)
        message = f"Error code: {status} - {said}"
    except ValueError:
        said = content.decode("utf-8", "replace").strip()
        message = said or f"Error code: {status}"
    body = said.get("error", said) if isinstance(said, dict) else said
    asked = request or httpx2.Request("POST", "http://batch")
    as_sdk = httpx2.Response(status, headers=list(headers), content=content, request=asked)
    return openai.APIStatusError(message, response=as_sdk, body=body)


async def _read(response: "ClientResponse") -> bytes:
    length = response.content_length
    is_plain = "content-encoding" not in response.headers
    if is_plain and length is not None and length <= MAX_REPLY_BYTES:
        return await response.read()
    parts: list[bytes] = []
    left = MAX_REPLY_BYTES
    async for part in response.content.iter_chunked(_PART_BYTES):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise too_long(MAX_REPLY_BYTES)
    return b"".join(parts)
