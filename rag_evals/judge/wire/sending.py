"""Network policy for all clients, and the mapping from SDK failures to this package's errors.

The SDKs' own retries are turned off. No client, not even a user's own, follows a redirect, because
that would send the prompt to another host.
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
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
    RequestLimiter,
    SdkFault,
    Tries,
    beneath_litellm,
    chain,
    distrusts,
    read_fault,
    try_again_async,
)
from rag_evals.judge.pace.row_time import row_clock_stopped, seconds_left
from rag_evals.judge.wire import NO_KEY
from rag_evals.judge.wire.exchange import Exchange, address_name, current_exchange, follow, no_reply

if TYPE_CHECKING:
    import ssl


Send = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class ClientUse:
    """How a client created for a judge string is used.

    `seconds` is the timeout of a single attempt if the row does not have a timeout. `answer`, if
    given, replies in place of the network, and is not retried.
    """

    seconds: float
    limiter: RequestLimiter | None = None
    answer: "Answering | None" = None

    def one_try(self) -> float:
        left = seconds_left()
        # Add a second, so that the row's timeout, whose message is more helpful, fires first.
        return self.seconds if left is None else max(0.0, left) + 1.0


class Answered(NamedTuple):
    """A reply that did not come from the network."""

    status: int
    content: bytes


Answering = Callable[[bytes], Awaitable[Answered]]
"""Returns the reply to a request body."""


def repeating(
    send: Send, limiter: RequestLimiter | None, *, teaches: bool = False
) -> Callable[..., Awaitable[Any]]:
    """Return a function that sends a request with retries.

    Set `teaches` if `send` itself reports replies to the limiter.
    """

    async def create(**body: Any) -> Any:
        async def send_once() -> Any:
            exchange = current_exchange.get()
            is_retry = exchange is not None and exchange.count_request()
            if limiter is not None and (is_retry or limiter.is_paused):
                # Pauses requested by the endpoint do not count toward the row's timeout.
                with row_clock_stopped():
                    await limiter.before_request(is_retry=is_retry)
            try:
                reply = await send(body)
            except Exception as error:
                fault = read_fault(error)
                if exchange is not None:
                    is_ours = fault.status is None or isinstance(error, RagEvalsError)
                    status = "" if is_ours else f"HTTP {fault.status}: "
                    exchange.meter.last_fault = status + _short(fault.message, exchange.key)
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
    """Return the headers that limiters use; decoding all headers is slow."""
    lowered = ((name.lower(), value) for name, value in raw)
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in lowered
        if name.startswith((b"x-ratelimit-", b"retry-after"))
    }


CONNECT_SECONDS = 5.0
_MAX_REPLY_BYTES = 16_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def trusted_certificates() -> "ssl.SSLContext":
    """Return a TLS context from `SSL_CERT_FILE` and `SSL_CERT_DIR`, like the SDKs."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


# Loading certificates takes 30 ms.
@cache
def _certificates(*_named: str | None) -> "ssl.SSLContext":
    import httpx2  # noqa: PLC0415 - loaded by now

    return httpx2.create_ssl_context()


# Paths to the SDKs' HTTP clients: OpenAI and similar SDKs, Cohere, Mistral, Gemini.
_HTTP_CLIENTS = (
    "_client",
    "_client_wrapper.httpx_client.httpx_client",
    "sdk_configuration.client",
    "sdk_configuration.async_client",
    "_api_client._httpx_client",
    "_api_client._async_httpx_client",
)


def bind_to_policy(sdk: Any) -> None:
    """Make an SDK's HTTP clients reject redirects and huge replies during our calls."""
    for path in _HTTP_CLIENTS:
        http = follow(sdk, path.split("."))
        if isinstance(getattr(http, "event_hooks", None), dict):
            _bind(http)
    # Gemini's async client may use aiohttp, which does not support hooks.
    gemini: Any = getattr(sdk, "_api_client", None)
    if (on_aiohttp := getattr(gemini, "_use_aiohttp", None)) and not hasattr(on_aiohttp, "bound"):
        gemini._use_aiohttp = _outside_our_calls(on_aiohttp)


def _outside_our_calls(before: Callable[[], bool]) -> Callable[[], bool]:
    def on_aiohttp() -> bool:
        return current_exchange.get() is None and before()

    on_aiohttp.bound = True  # type: ignore[attr-defined]  # marks the client as bound
    return on_aiohttp


def _bind(http: Any) -> None:
    hook = _check_async if hasattr(http, "aclose") else _check
    before = http.event_hooks.get("response", [])
    if hook not in before:
        http.event_hooks = {**http.event_hooks, "response": [*before, hook]}
        # Gemini creates further clients from these arguments, one for each event loop.
        if isinstance(arguments := getattr(http, "_client_kwargs", None), dict):
            arguments["event_hooks"] = http.event_hooks


# httpx calls these hooks before it reads the reply's body.
def _check(response: Any) -> None:
    if (exchange := current_exchange.get()) is not None:
        with _policed(response, exchange) as body:
            _refuse_redirect_of(response)
            for part in response.iter_bytes():
                extend(body, part)
        response.close()


async def _check_async(response: Any) -> None:
    if (exchange := current_exchange.get()) is not None:
        with _policed(response, exchange) as body:
            _refuse_redirect_of(response)
            async for part in response.aiter_bytes():
                extend(body, part)
        await response.aclose()


@contextmanager
def _policed(response: Any, exchange: Exchange) -> Iterator[bytearray]:
    """Yield a buffer for the body, and turn a rejected reply into an empty one with status 400."""
    body = bytearray()
    try:
        yield body
        response._content = bytes(body)
        if response.status_code >= 400:
            # The SDK of a user's own client may retry an error silently.
            said = _short(body.decode("utf-8", "replace"), exchange.key)
            exchange.meter.last_fault = f"HTTP {response.status_code}: {said}"
    except GradingError as fault:
        exchange.fault = fault
        # SDKs retry broken connections, but not a 400.
        response.status_code = 400
        response.headers = type(response.headers)({"x-should-retry": "false"})
        response._content = b""


def _refuse_redirect_of(response: Any) -> None:
    location = response.headers.get("location")
    refuse_redirect(str(response.request.url), response.status_code, location)


def refuse_redirect(url: str, status: int, location: str | None) -> None:
    """Raise `JudgeRejectedError` for a redirect, even one to the same host."""
    if status not in _REDIRECTS or location is None:
        return
    here = urlsplit(url)
    try:
        there = urljoin(url, location).partition("?")[0].removesuffix("/chat/completions")
    except ValueError:
        there = repr(location)
    raise JudgeRejectedError(
        f"the endpoint {here.scheme}://{here.netloc} redirects to {there}; nothing was sent there; "
        f"if that is the right address, set {address_name.get()} to it"
    )


def extend(body: bytearray, part: bytes) -> None:
    """Add a decompressed part to a reply's body; raise `JudgeOutputError` if it gets too long."""
    body += part
    if len(body) > _MAX_REPLY_BYTES:
        raise JudgeOutputError(
            f"the reply is longer than {_MAX_REPLY_BYTES // 1_000_000} MB and was not read "
            "completely"
        )


_MAX_MESSAGE_CHARS = 300
_NO_SERVER = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError ConnectionRefusedError ClientConnectorError "
    "ConnectionTimeoutError "
    "EndpointConnectionError NewConnectionError".split()
)
_NO_CREDENTIALS = frozenset({"NoCredentialsError", "PartialCredentialsError", "RefreshError"})
_SERVER_HUNG_UP = frozenset({"ClientOSError", "ServerDisconnectedError", "ConnectionResetError"})
_NO_MODEL = (
    "no model given: pass model= to grade, or model= to the grader, or use a client with a model, "
    "such as instructor.from_provider('openai/gpt-4o-mini')"
)

_OTHER_LOOP = (
    "this async client was used in another event loop before, and its connections belong to that "
    "loop; create a client in each event loop (each asyncio.run and each evaluate starts a new "
    "loop), or pass a string such as 'openai/gpt-4o-mini'"
)

_LOOP_ENDED = re.compile("Event loop is closed|different loop|different event loop")
_CLOSED = "this client is closed; grade before closing it, or create a new one"


def translate(
    error: BaseException, *, attempts: int, key: str | None = None, repeated: bool = False
) -> RagEvalsError:
    """Convert a client's exception to one of our errors, with the key redacted.

    `attempts` is the number of replies so far. Set `repeated` if the last two have the same fault.
    """
    cause = _cause(error)
    names = {kind.__name__ for kind in type(cause).__mro__}
    if isinstance(cause, RagEvalsError):
        return cleaned(cause, key)
    if "IncompleteOutputException" in names:
        return JudgeOutputError(
            "the reply was cut off at the token limit; allow more output tokens"
        )
    fault_in = _first_fault(cause) if isinstance(cause, ValidationError) else None
    if fault_in or names & {"ResponseParsingError", "JSONDecodeError", "AsyncValidationError"}:
        said = fault_in or _short(str(cause), key)
        same = ", the last two with the same fault" if repeated else ""
        return JudgeOutputError(f"invalid after {attempts} attempts{same}: {said}")
    if isinstance(cause, UnicodeDecodeError | RecursionError):
        # The client could not parse the reply's body.
        return no_reply(getattr(cause, "object", "JSON of too many levels"))
    if isinstance(cause, AssertionError):
        said = _short(str(cause), key)
        if "Unable to generate" in said:
            return JudgeRefusedError(f"the judge refused: {said}")
        # instructor asserts that a reply from Gemini or Vertex contains exactly one function call.
        return JudgeOutputError(f"the reply is not what was asked for: {said}")
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


def _by_connection(cause: BaseException, fault: SdkFault, key: str | None) -> RagEvalsError:
    # SDKs wrap connection errors; `DirectPost` does not.
    is_raw = type(cause).__module__.startswith("aiohttp")
    reason = cause if is_raw else cause.__cause__ or cause
    if isinstance(reason, RagEvalsError):
        return cleaned(reason, key)
    # The client was used in more than one event loop.
    if any(isinstance(one, RuntimeError) and _LOOP_ENDED.search(str(one)) for one in chain(reason)):
        return EventLoopError(_OTHER_LOOP)
    said = _short(str(reason), key)
    if isinstance(reason, RuntimeError) and "client has been closed" in said:
        return ConfigurationError(_CLOSED)
    if distrusts(reason):
        return JudgeUnreachableError(
            f"the endpoint's certificate is not trusted: {said}; set SSL_CERT_FILE to a file with "
            "the certificates to trust"
        )
    # The aiohttp transport reports all connection errors as connect timeouts.
    names_no_server = bool({type(reason).__name__, type(cause).__name__} & _NO_SERVER)
    if names_no_server and type(reason.__cause__).__name__ not in _SERVER_HUNG_UP:
        return JudgeUnreachableError(
            f"no connection to the endpoint: {said}; check its address ({address_name.get()}) and "
            "that it is running"
        )
    if fault.timed_out and not names_no_server:
        return JudgeUnavailableError("no reply within the timeout, after all retries")
    return JudgeUnavailableError(f"the connection was lost, after all retries: {said}")


def _by_status(cause: BaseException, fault: SdkFault, key: str | None) -> GradingError:
    status = fault.status
    message = _short(fault.message, key)
    if status is None:
        return GradingError(f"{type(cause).__name__}: {message}")
    said = f"HTTP {status}: {message}"
    if status in (401, 403) or (status == 400 and _is_about("key", fault)):
        return JudgeRejectedError(f"the endpoint rejects the key or its permissions ({said})")
    if status in _REDIRECTS:
        return JudgeRejectedError(
            f"the endpoint redirects elsewhere; nothing was sent there ({said})"
        )
    if status in (404, 405, 410, 501) or (status in (400, 422) and _is_about("model", fault)):
        return JudgeRejectedError(f"the endpoint does not recognise this model or path ({said})")
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
        return JudgeRejectedError(f"the endpoint rejects this kind of request ({said})")
    return JudgeRequestError(f"the endpoint rejects this request ({said})")


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
        f"the prompt is longer than the judge's window ({said}); pass fewer or shorter chunks, or "
        "use a judge with a larger window"
    )


def _is_about_every_call(fault: SdkFault) -> bool:
    """True if the error concerns the schema, the tools or a setting, which all rows share."""
    shared = ("response_format", "tools", "tool_choice", "temperature", "max_tokens", "model")
    return fault.parameter.startswith(shared) or "schema" in fault.message.lower()


def _cause(error: BaseException) -> BaseException:
    while type(error).__name__ in ("InstructorRetryException", "RetryError") and error.__cause__:
        error = error.__cause__
    return beneath_litellm(error)


def _first_fault(error: ValidationError) -> str:
    """Describe the first fault, omitting its input, which may contain the user's data."""
    faults = error.errors(include_input=False, include_url=False)
    place = ".".join(str(part) for part in faults[0]["loc"]) or "reply"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{place}: {faults[0]['msg']}{more}"


def _short(message: str, key: str | None) -> str:
    line = " ".join(redact(message, key).split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else line[: _MAX_MESSAGE_CHARS - 1] + "…"


# Shorter keys are placeholders such as "k", which may also occur within words.
_KEY_CHARS = 8
_SECRETS = re.compile(r"\b(?:sk|pk|rk|gsk|key)-[\w*.-]{3,}|(?i:bearer)\s+\S+|\bAIza[\w-]{10,}")


def redact(text: str, *secrets: str | None) -> str:
    """Replace the given secrets, and anything else that looks like a key."""
    for secret in secrets:
        if secret and len(secret) >= _KEY_CHARS:
            text = text.replace(secret, "[key]")
        elif secret and secret != NO_KEY:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[key]", text)
    return _SECRETS.sub("[key]", text)


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = ()
        return True


def clean_instructor_logs() -> None:
    """Keep instructor's log of failed attempts off the screen, and redact keys in it."""
    listener = logging.getLogger("instructor")
    if any(isinstance(handler, logging.NullHandler) for handler in listener.handlers):
        return
    listener.addHandler(logging.NullHandler())
    for name in ("instructor", "instructor.v2", "instructor.v2.retry"):
        logging.getLogger(name).addFilter(_Redacting())
