"""Network policy for all clients, and the errors that SDK failures become.

The SDKs' own retries are off. No client follows a redirect, not even a user's own, as that would
send the prompt to another host.
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from pydantic import ValidationError

from rag_evals.errors import (
    ConfigurationError,
    EventLoopError,
    GradingError,
    JudgeOutputError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeRequestError,
    JudgeUnavailableError,
    JudgeUnreachableError,
    RagEvalsError,
)
from rag_evals.judge.pace.retry import (
    SdkFault,
    Tries,
    beneath_litellm,
    distrusts,
    read_fault,
    try_again_async,
)
from rag_evals.judge.pace.row_time import row_clock_stopped
from rag_evals.judge.wire.exchange import Exchange, address_name, current_exchange, no_reply

if TYPE_CHECKING:
    import ssl

    from rag_evals.judge.pace.limits import RequestLimiter


# Arguments and results of SDKs that need not be installed have no types here.
Send = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class ClientUse:
    """How a client of a judge string is used.

    `seconds` is a try's time-out if the row has none. `answer` replaces the network, without
    retries.
    """

    seconds: float
    limiter: "RequestLimiter | None" = None
    answer: "Answering | None" = None

    def one_try(self) -> float:
        left = seconds_left()
        # A little more: the row's own clock ends it with a better message.
        return self.seconds if left is None else max(0.0, left) + 1.0


class Answered(NamedTuple):
    """A reply that does not come from the network."""

    status: int
    content: bytes


Answering = Callable[[bytes], Awaitable[Answered]]
"""Answers the body of a request."""


def repeating(
    send: Send, limiter: "RequestLimiter | None", *, teaches: bool = False
) -> Callable[..., Awaitable[Any]]:
    """Return a function that sends a request with retries.

    `teaches` says that `send` reports replies to the limiter itself.
    """

    async def create(**body: Any) -> Any:
        async def send_once() -> Any:
            exchange = current_exchange.get()
            is_retry = exchange is not None and exchange.count_request()
            if limiter is not None:
                # A pause that the endpoint asked for does not count against the row.
                with row_clock_stopped() if limiter.is_paused else nullcontext():
                    await limiter.before_request(is_retry=is_retry)
            try:
                reply = await send(body)
            except Exception as error:
                fault = read_fault(error)
                if exchange is not None:
                    exchange.meter.last_fault = _fault_words(error, fault, exchange.key)
                if limiter is not None and fault.status is not None:
                    limiter.after_response(fault.status, fault.headers)
                raise
            if limiter is not None and not teaches:
                limiter.after_response(200, {})
            return reply

        tries = Tries(limiter, seconds_left=seconds_left)
        return await try_again_async(send_once, tries.after_request)

    return create


def limit_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers that a limiter reads; decoding all of them is slow."""
    lowered = ((name.lower(), value) for name, value in raw)
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in lowered
        if name.startswith((b"x-ratelimit-", b"retry-after"))
    }


def _fault_words(error: Exception, fault: SdkFault, key: str | None) -> str:
    said = _short(fault.message, key)
    is_ours = fault.status is None or isinstance(error, RagEvalsError)
    return said if is_ours else f"HTTP {fault.status}: {said}"


def seconds_left() -> float | None:
    """Return the running row's remaining seconds; None without a limit."""
    exchange = current_exchange.get()
    return None if exchange is None else exchange.seconds_left


CONNECT_SECONDS = 5.0
MAX_REPLY_BYTES = 16_000_000
# Vectors are numbers in text, far longer than any judgement.
MAX_VECTOR_BYTES = 256_000_000
_BAD_REQUEST = 400
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def trusted_certificates() -> "ssl.SSLContext":
    """Return the TLS context; loading it takes 30 ms, so it is kept until its files change."""
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


# HTTP clients in SDKs: OpenAI and similar ones, Cohere, Mistral, Gemini.
_HTTP_CLIENTS = (
    "_client",
    "_client_wrapper.httpx_client.httpx_client",
    "sdk_configuration.client",
    "sdk_configuration.async_client",
    "_api_client._httpx_client",
    "_api_client._async_httpx_client",
)


def bind_to_policy(sdk: Any) -> None:
    """Make a client's HTTP clients refuse redirects and huge replies during our calls."""
    for path in _HTTP_CLIENTS:
        http = sdk
        for name in path.split("."):
            http = getattr(http, name, None)
        if isinstance(getattr(http, "event_hooks", None), dict):
            _bind(http)
    # Gemini's async client can use aiohttp, which has no such hook.
    gemini: Any = getattr(sdk, "_api_client", None)
    if (on_aiohttp := getattr(gemini, "_use_aiohttp", None)) and not hasattr(on_aiohttp, "bound"):
        gemini._use_aiohttp = _outside_our_calls(on_aiohttp)


def _outside_our_calls(before: Callable[[], bool]) -> Callable[[], bool]:
    def on_aiohttp() -> bool:
        return current_exchange.get() is None and before()

    on_aiohttp.bound = True  # type: ignore[attr-defined]  # a mark: a client is bound once
    return on_aiohttp


# Compressed bytes to decompress at once: gzip makes at most a thousand of each.
_PIECE = 4096


def _bind(http: Any) -> None:
    hook = _check_async if hasattr(http, "aclose") else _check
    before = http.event_hooks.get("response", [])
    if hook not in before:
        http.event_hooks = {**http.event_hooks, "response": [*before, hook]}
        # Gemini's makes a client for each event loop from these arguments.
        if isinstance(arguments := getattr(http, "_client_kwargs", None), dict):
            arguments["event_hooks"] = http.event_hooks


# An httpx client calls these with each reply before it reads it.
def _check(response: Any) -> None:
    if (exchange := current_exchange.get()) is None:
        return
    try:
        _refuse_redirect_of(response)
        # Another hook, or a replayed batch, may have read it.
        if not response.is_stream_consumed:
            body = _Body(response)
            for part in response.iter_raw():
                body.add(part)
            # As its own `read` does, but with a limit: few bytes may decompress to many.
            response._content = body.unpacked()
        _note_status(response, exchange)
    except GradingError as fault:
        response.close()
        _refuse(response, exchange, fault)


async def _check_async(response: Any) -> None:
    if (exchange := current_exchange.get()) is None:
        return
    try:
        _refuse_redirect_of(response)
        if not response.is_stream_consumed:
            body = _Body(response)
            async for part in response.aiter_raw():
                body.add(part)
            response._content = body.unpacked()
        _note_status(response, exchange)
    except GradingError as fault:
        await response.aclose()
        _refuse(response, exchange, fault)


def _note_status(response: Any, exchange: Exchange) -> None:
    """Note a fault that a user's own SDK will retry by itself."""
    if response.status_code >= _BAD_REQUEST:
        said = response.content.decode("utf-8", "replace")
        exchange.meter.last_fault = f"HTTP {response.status_code}: {_short(said, exchange.key)}"


def _refuse_redirect_of(response: Any) -> None:
    location = response.headers.get("location")
    refuse_redirect(str(response.request.url), response.status_code, location)


class _Body:
    """A reply's body, decompressed in small pieces so that it cannot fill the memory."""

    def __init__(self, response: Any) -> None:
        self._decoder = response._get_content_decoder()
        self._unpacked = bytearray()

    def add(self, part: bytes) -> None:
        for start in range(0, len(part), _PIECE):
            self._append(self._decoder.decode(part[start : start + _PIECE]))

    def unpacked(self) -> bytes:
        self._append(self._decoder.flush())
        return bytes(self._unpacked)

    def _append(self, pieces: bytes | Iterable[bytes]) -> None:
        # Newer versions of httpx2 yield pieces; older ones and httpx return bytes.
        for piece in (pieces,) if isinstance(pieces, bytes) else pieces:
            self._unpacked += piece
            if len(self._unpacked) > MAX_REPLY_BYTES:
                raise too_long(MAX_REPLY_BYTES)


def _refuse(response: Any, exchange: Exchange, fault: GradingError) -> None:
    exchange.fault = fault
    # Every SDK raises this without a retry; a broken connection would be retried.
    response.status_code = _BAD_REQUEST
    response.headers = type(response.headers)({"x-should-retry": "false"})
    response._content = b""


def refuse_redirect(url: str, status: int, location: str | None) -> None:
    """Raise `JudgeRejectedError` for a redirect, even to the same host."""
    if status not in _REDIRECTS or location is None:
        return
    here = urlsplit(url)
    try:
        there = urljoin(url, location).partition("?")[0].removesuffix("/chat/completions")
    except ValueError:
        there = repr(location)
    raise JudgeRejectedError(
        f"the endpoint {here.scheme}://{here.netloc} redirects to {there}; nothing was sent there; "
        f"if it is the right place, set {address_name.get()} to it"
    )


def too_long(most_bytes: int) -> JudgeOutputError:
    return JudgeOutputError(
        f"the reply is longer than {most_bytes // 1_000_000} MB and was not read to its end"
    )


_MAX_MESSAGE_CHARS = 300
_NO_SERVER = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError ConnectionRefusedError ClientConnectorError "
    "EndpointConnectionError NewConnectionError".split()
)
_NO_CREDENTIALS = frozenset({"NoCredentialsError", "PartialCredentialsError", "RefreshError"})
_SERVER_HUNG_UP = frozenset({"ClientOSError", "ServerDisconnectedError", "ConnectionResetError"})
_NO_MODEL = (
    "no model named: pass model= to grade, or model= to the grader, or use a client that has one, "
    "such as instructor.from_provider('openai/gpt-4o-mini')"
)

_OTHER_LOOP = (
    "this async client was used in another event loop before, and its connections belong to that "
    "one; make a client in each loop that uses it (each asyncio.run, and each evaluate, has its "
    "own), or pass a string such as 'openai/gpt-4o-mini'"
)

_CLOSED = "this client has been closed; grade before you close it, or make a new one"


def _invalid(attempts: int, fault: str, *, repeated: bool) -> JudgeOutputError:
    if repeated:
        return JudgeOutputError(
            f"invalid after {attempts} attempts, the last two with the same fault: {fault}"
        )
    return JudgeOutputError(f"invalid after {attempts} attempts: {fault}")


def translate(
    error: BaseException, *, attempts: int, key: str | None = None, repeated: bool = False
) -> RagEvalsError:
    """Return our error for an exception of a client, without the key.

    `attempts` counts the replies so far; `repeated` says that the last two have the same fault.
    """
    cause = _cause(error)
    names = {kind.__name__ for kind in type(cause).__mro__}
    if isinstance(cause, RagEvalsError):
        return cleaned(cause, key)
    if "IncompleteOutputException" in names:
        return JudgeOutputError(
            "the reply was cut off at the token limit; allow more output tokens"
        )
    if isinstance(cause, ValidationError):
        return _invalid(attempts, _first_fault(cause), repeated=repeated)
    if names & {"ResponseParsingError", "JSONDecodeError", "AsyncValidationError"}:
        return _invalid(attempts, _short(str(cause), key), repeated=repeated)
    if isinstance(cause, UnicodeDecodeError | RecursionError):
        # The client could not read the body.
        return no_reply(getattr(cause, "object", "JSON of too many levels"))
    if isinstance(cause, AssertionError):
        return _by_assertion(_short(str(cause), key))
    if isinstance(cause, TypeError) and "'model'" in str(cause):
        return ConfigurationError(_NO_MODEL)
    fault = read_fault(cause)
    if names & _NO_CREDENTIALS:
        return JudgeRejectedError(f"no valid credentials: {_short(fault.message, key)}")
    if fault.not_connected:
        return _by_connection(cause, fault, key)
    return _by_status(cause, fault, key)


def cleaned(error: RagEvalsError, key: str | None) -> RagEvalsError:
    if error.args and isinstance(error.args[0], str):
        error.args = (redact(error.args[0], key), *error.args[1:])
    return error


def _by_assertion(said: str) -> GradingError:
    if "Unable to generate" in said:
        return JudgeRefusedError(f"the judge refused: {said}")
    # instructor's handlers assert that a reply of Gemini or Vertex has one function call.
    return JudgeOutputError(f"the reply is not what was asked for: {said}")


def _by_connection(cause: BaseException, fault: SdkFault, key: str | None) -> RagEvalsError:
    reason = cause.__cause__ or cause
    if isinstance(reason, RagEvalsError):
        return cleaned(reason, key)
    if _is_about_the_loop(reason):
        return EventLoopError(_OTHER_LOOP)
    said = _short(str(reason), key)
    if isinstance(reason, RuntimeError) and "client has been closed" in said:
        return ConfigurationError(_CLOSED)
    if distrusts(reason):
        return JudgeUnreachableError(
            f"the endpoint's certificate is not trusted: {said}; SSL_CERT_FILE names a file with "
            "the certificates to trust"
        )
    # The aiohttp transport reports every connection fault as a connect time-out.
    names_no_server = bool({type(reason).__name__, type(cause).__name__} & _NO_SERVER)
    if names_no_server and type(reason.__cause__).__name__ not in _SERVER_HUNG_UP:
        return JudgeUnreachableError(
            f"no connection to the endpoint: {said}; check its address ({address_name.get()}) and "
            "that it runs"
        )
    if names_no_server:
        return JudgeUnavailableError(f"the connection broke, after all retries: {said}")
    if fault.timed_out:
        return JudgeUnavailableError("no reply within the time-out, after all retries")
    return JudgeUnavailableError(f"the connection broke, after all retries: {said}")


def _is_about_the_loop(reason: BaseException | None) -> bool:
    """True if connections of one event loop were used in another."""
    while reason is not None:
        words = ("Event loop is closed", "different loop", "different event loop")
        if isinstance(reason, RuntimeError) and any(word in str(reason) for word in words):
            return True
        reason = reason.__cause__ or reason.__context__
    return False


def _by_status(cause: BaseException, fault: SdkFault, key: str | None) -> GradingError:
    status = fault.status
    message = _short(fault.message, key)
    if status is None:
        return GradingError(f"{type(cause).__name__}: {message}")
    said = f"HTTP {status}: {message}"
    if status in (401, 403) or (status == 400 and _is_about("key", fault)):
        return JudgeRejectedError(f"the endpoint refuses the key or its rights ({said})")
    if status in _REDIRECTS:
        return JudgeRejectedError(
            f"the endpoint redirects elsewhere; nothing was sent there ({said})"
        )
    if status in (404, 405, 410, 501) or (status in (400, 422) and _is_about("model", fault)):
        return JudgeRejectedError(f"the endpoint does not know this model or path ({said})")
    if status == 402 or (status == 429 and "insufficient_quota" in fault.code + message):
        return JudgeRejectedError(f"the account has no quota left ({said})")
    if status in (408, 409, 429) or status >= 500:
        failing = JudgeUnavailableError(f"still failing after all retries ({said})")
        failing.status = status
        failing.retry_after_seconds = fault.wait_seconds
        return failing
    if status in (400, 413, 422) and _is_about("window", fault):
        error = too_long_for(said)
        window = _WINDOW.search(fault.message)
        error.window_tokens = int(window[1].replace(",", "")) if window else None
        return error
    if status in (400, 422) and _is_about_every_call(fault):
        return JudgeRejectedError(f"the endpoint refuses this kind of request ({said})")
    return JudgeRequestError(f"the endpoint refuses this request ({said})")


_WORDS = {
    # Gemini and Bedrock send 400 instead of 401.
    "key": ("api key not valid", "api_key_invalid", "api key expired", "security token"),
    # Mistral and Bedrock send 400 instead of 404.
    "model": (
        "invalid_model",
        "model_not_found",
        "invalid model",
        "model identifier is invalid",
        "unknown model",
    ),
    "window": (
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "prompt is too long",
        "context size",
    ),
}


def _is_about(what: str, fault: SdkFault) -> bool:
    said = f"{fault.code} {fault.message}".lower()
    return any(word in said for word in _WORDS[what])


_WINDOW = re.compile(
    r"(?:maximum context length|context (?:window|length|size)|n_ctx)\D{0,24}?([\d,]{3,9})",
    re.IGNORECASE,
)


def too_long_for(said: str) -> JudgeRequestError:
    return JudgeRequestError(
        f"the prompt is longer than the judge's window ({said}); give fewer or shorter chunks, or "
        "name a judge with a larger window"
    )


def _is_about_every_call(fault: SdkFault) -> bool:
    """True if a 400 is about something that all rows share: the schema, tools or a setting."""
    shared = ("response_format", "tools", "tool_choice", "temperature", "max_tokens", "model")
    return fault.parameter.startswith(shared) or "schema" in fault.message.lower()


def _cause(error: BaseException) -> BaseException:
    """Unwrap the exceptions of instructor and tenacity."""
    while type(error).__name__ in ("InstructorRetryException", "RetryError") and error.__cause__:
        error = error.__cause__
    return beneath_litellm(error)


def _first_fault(error: ValidationError) -> str:
    """Describe the first fault without its input, which may quote the user's data."""
    faults = error.errors(include_input=False, include_url=False)
    place = ".".join(str(part) for part in faults[0]["loc"]) or "reply"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{place}: {faults[0]['msg']}{more}"


def _short(message: str, key: str | None) -> str:
    line = " ".join(redact(message, key).split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else line[: _MAX_MESSAGE_CHARS - 1] + "…"


# A shorter key is a placeholder such as "k" or "none", which also occurs inside words.
_KEY_CHARS = 8
_SECRETS = re.compile(r"\b(?:sk|pk|rk|gsk|key)-[\w*.-]{3,}|(?i:bearer)\s+\S+|\bAIza[\w-]{10,}")


def redact(text: str, *secrets: str | None) -> str:
    """Replace the secrets, and anything else that looks like a key."""
    for secret in secrets:
        if secret and len(secret) >= _KEY_CHARS:
            text = text.replace(secret, "[key]")
        elif secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[key]", text)
    return _SECRETS.sub("[key]", text)


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = ()
        return True


def clean_instructor_logs() -> None:
    """Keep instructor's log of failed attempts off the screen, and keys out of it."""
    listener = logging.getLogger("instructor")
    if any(isinstance(handler, logging.NullHandler) for handler in listener.handlers):
        return
    listener.addHandler(logging.NullHandler())
    for name in ("instructor", "instructor.v2", "instructor.v2.retry"):
        logging.getLogger(name).addFilter(_Redacting())
