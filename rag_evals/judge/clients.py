"""How does "openai/gpt-4o-mini" become a client? The only place that builds one."""

import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from rag_evals.errors import ConfigurationError
from rag_evals.judge.ask import (
    DEFAULT_OPTIONS,
    AskOptions,
    AskSettings,
    AsyncInstructorJudge,
    InstructorJudge,
)
from rag_evals.judge.call_settings import check_taken
from rag_evals.judge.closing import close_client
from rag_evals.judge.decisions import AsyncDecisionJudge, DecisionJudge
from rag_evals.judge.endpoint import check_address, check_endpoint
from rag_evals.judge.own_settings import own_model, settings_of
from rag_evals.judge.providers import CHAT, OPENAI_HOSTS, Endpoint, read_endpoint
from rag_evals.judge.redact import redact
from rag_evals.judge.reply_types import build_reply_types
from rag_evals.judge.sdks import (
    build_own_sdk,
    no_key,
    own_sdk,
)
from rag_evals.judge.transport import build_async_openai, build_openai

if TYPE_CHECKING:
    import asyncio

    from instructor import AsyncInstructor, Instructor
    from openai import AsyncOpenAI, OpenAI

    from rag_evals.judge.answering_http import Answering
    from rag_evals.judge.direct import Post
    from rag_evals.judge.limits import RequestLimiter
    from rag_evals.judge.raw_clients import AnthropicClient, GoogleClient

    SdkClient = OpenAI | AsyncOpenAI | AnthropicClient | GoogleClient
    Client = str | Instructor | AsyncInstructor | SdkClient | None
else:
    Client = Any

STRICT_HOSTS = frozenset({"api.openai.com"})
"""Hosts known to take strict schemas; any other gets the plain form, which all understand."""

_REPLY_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class BuiltClient:
    """A client that we made.

    Attributes:
        client: One of instructor's.
        strict: Its host takes strict schemas.
        post: Sends a request past instructor; None where only instructor knows the wire.
    """

    client: Any
    strict: bool
    post: "Post | None" = None


_lock = threading.Lock()
_sync_clients: dict[tuple[str, ...], BuiltClient] = {}
_async_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], BuiltClient]]"
_async_clients = WeakKeyDictionary()
# Kept alive here: a generator that nobody holds would end, and close its clients, at once.
_closers: "WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]" = WeakKeyDictionary()


def judge_for(
    client: Client, model: str | None = None, options: AskOptions = DEFAULT_OPTIONS
) -> InstructorJudge | DecisionJudge:
    """Make a judge that answers at once.

    Args:
        client: A sync instructor client, or a string such as `"openai/gpt-4o-mini"`.
        model: Model to ask; None leaves it to the client.
        options: Settings of its calls, and how often it is asked again.

    Raises:
        ConfigurationError: An async client, no client at all, a string that names none, or a
            setting that the provider does not take.
    """
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        with _lock:
            key = _cache_key(endpoint)
            built = _sync_clients.get(key)
            if built is None:
                built = _sync_clients[key] = _build(endpoint, asynchronous=False)
        if endpoint.wire != CHAT:
            return DecisionJudge(
                built.client, endpoint, model, options, reply_seconds=_REPLY_SECONDS
            )
        build_reply_types(built.client)
        return InstructorJudge(built.client, _settings_at(endpoint, built, model, options))
    if is_async(client):
        raise ConfigurationError(
            "an async client cannot be used by grade; use agrade, or a sync client such as "
            "instructor.from_openai(OpenAI())"
        )
    check_endpoint(client)
    build_reply_types(client)
    check_taken(client, options.settings, model or own_model(client))
    settings = _settings(client, model, options)
    return InstructorJudge(client, settings)  # type: ignore[arg-type]  # checked by is_async


async def async_judge_for(
    client: Client, model: str | None = None, options: AskOptions = DEFAULT_OPTIONS
) -> AsyncInstructorJudge | AsyncDecisionJudge:
    """Make a judge that answers when awaited, for the running loop; as `judge_for` otherwise."""
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        # A client holds connections of one event loop; used from another it fails.
        import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

        loop = asyncio.get_running_loop()
        kept = _async_clients.get(loop)
        if kept is None:
            kept = _async_clients[loop] = {}
            closer = _closers[loop] = _closed_with_the_loop(kept)
            await anext(closer)
        key = _cache_key(endpoint)
        built = kept.get(key)
        if built is None:
            built = kept[key] = _build(endpoint, asynchronous=True)
        if endpoint.wire != CHAT:
            return AsyncDecisionJudge(built.client, endpoint, model, options)
        return _async_judge(endpoint, built, model, options)
    if not is_async(client):
        raise ConfigurationError(
            "a sync client cannot be awaited; use grade, or instructor.from_openai(AsyncOpenAI())"
        )
    check_endpoint(client)
    check_taken(client, options.settings, model or own_model(client))
    settings = _settings(client, model, options)
    return AsyncInstructorJudge(client, settings)  # type: ignore[arg-type]  # checked by is_async


def model_of(client: Client) -> str | None:
    """Return the model that a client asks by itself; None when it does not say."""
    if isinstance(client, str):
        return read_endpoint(client).model
    return own_model(client)


def endpoint_of(client: Client) -> str:
    """Name where a client's calls go, and how: both may change the answer to the same call."""
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        wire = "" if endpoint.wire == CHAT else f" {endpoint.wire}"
        return f"{endpoint.provider} {address_of(client)}{wire}"
    return f"{getattr(client, 'provider', '')} {address_of(client)} {settings_of(client)}"


def address_of(client: Client) -> str:
    """Return the address that a client's calls go to; empty where its SDK does not say.

    A user name, a password or a key in it is left out.

    Raises:
        ConfigurationError: The client that the string names cannot be made.
    """
    # Without a client of a string's own: it takes seconds to load, and a key.
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        address = endpoint.address or own_sdk(endpoint).address
    else:
        address = str(getattr(getattr(client, "client", None), "base_url", None) or "")
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


async def _closed_with_the_loop(kept: dict[tuple[str, ...], BuiltClient]) -> AsyncGenerator[None]:
    """Wait, as a started generator: `asyncio.run` ends those before it closes its loop."""
    try:
        yield
    finally:
        for built in kept.values():
            await close_client(built.client)


@asynccontextmanager
async def own_async_judge(
    spec: str,
    model: str | None,
    *,
    limiter: "RequestLimiter",
    reply_seconds: float,
    options: AskOptions = DEFAULT_OPTIONS,
    answer: "Answering | None" = None,
) -> AsyncIterator[tuple[AsyncInstructorJudge | AsyncDecisionJudge, object]]:
    """Make a judge and its client for one run, and close the client behind it.

    Args:
        spec: Such as `"openai/gpt-4o-mini"`.
        model: As for `judge_for`.
        limiter: What the run's requests pass.
        reply_seconds: Time-out of one try, at most.
        options: As for `judge_for`.
        answer: Stands in for the network of a provider's own library.
    """
    endpoint = read_endpoint(spec)
    built = _build(
        endpoint,
        asynchronous=True,
        limiter=limiter,
        reply_seconds=min(reply_seconds, _REPLY_SECONDS),
        answer=answer,
    )
    try:
        if endpoint.wire != CHAT:
            client = built.client
            yield AsyncDecisionJudge(client, endpoint, model, options, limiter=limiter), client
        else:
            yield _async_judge(endpoint, built, model, options), built.client
    finally:
        await close_client(built.client)


def _async_judge(
    endpoint: Endpoint, built: BuiltClient, model: str | None, options: AskOptions
) -> AsyncInstructorJudge:
    settings = _settings_at(endpoint, built, model, options)
    if built.post is None:
        return AsyncInstructorJudge(built.client, settings)
    from rag_evals.judge.direct import AsyncDirectJudge  # noqa: PLC0415 - loads asyncio

    return AsyncDirectJudge(built.client, settings, built.post)


def _settings_at(
    endpoint: Endpoint, built: BuiltClient, model: str | None, options: AskOptions
) -> AskSettings:
    is_openai = endpoint.provider in OPENAI_HOSTS
    named = endpoint if is_openai else own_sdk(endpoint)
    check_taken(built.client, options.settings, model or endpoint.model)
    return replace(
        _settings(built.client, model, options),
        default_model=endpoint.model,
        strict=built.strict,
        address_name=named.address_name,
    )


def _settings(client: Any, model: str | None, options: AskOptions) -> AskSettings:
    if "PARALLEL" in client.mode.name:
        raise ConfigurationError(
            f"the client's mode {client.mode.name} returns several replies, and a grading reads "
            "one; use a mode such as TOOLS"
        )
    return AskSettings(
        model,
        schema_only=_needs_schema_only(client),
        reasks=options.reasks,
        given=options.settings,
    )


def _needs_schema_only(client: Any) -> bool:
    """Say whether a client's handlers use nothing of a model but schema and validation."""
    names = (str(client.provider.value), client.mode.name)
    return names in {("openai", "TOOLS"), ("openai", "JSON_SCHEMA")}


def is_async(client: object) -> bool:
    """Say which kind of instructor client this is.

    Raises:
        ConfigurationError: It is none.
    """
    from instructor import AsyncInstructor, Instructor  # noqa: PLC0415 - loads instructor's runtime

    sdk = getattr(client, "client", client)
    if type(sdk).__module__.partition(".")[0] == "xai_sdk":
        # Its replies and errors are gRPC's; the same models answer at a compatible address.
        raise ConfigurationError(
            "clients of xai-sdk are not used here: pass 'xai/MODEL', or "
            "OpenAI(base_url='https://api.x.ai/v1', api_key=...)"
        )
    if isinstance(client, AsyncInstructor):
        return True
    if isinstance(client, Instructor):
        return False
    raise ConfigurationError(
        f"client is {type(client).__name__}; expected a string, such as 'openai/gpt-4o-mini' or "
        "'embedded', OpenAI(), Anthropic(), genai.Client(), or an instructor client, such as "
        "instructor.from_openai(OpenAI())"
    )


def _cache_key(endpoint: Endpoint) -> tuple[str, ...]:
    """Name a client by all that shapes it."""
    if endpoint.provider in OPENAI_HOSTS:
        return (endpoint.provider, endpoint.model, endpoint.address or "", endpoint.key or "")
    own = own_sdk(endpoint)
    return (endpoint.provider, endpoint.model, own.address, own.key or "")


def _build(
    endpoint: Endpoint,
    *,
    asynchronous: bool,
    limiter: "RequestLimiter | None" = None,
    reply_seconds: float = _REPLY_SECONDS,
    answer: "Answering | None" = None,
) -> BuiltClient:
    check_address(endpoint)
    if endpoint.provider in OPENAI_HOSTS:
        return _build_openai(
            endpoint, asynchronous=asynchronous, limiter=limiter, seconds=reply_seconds
        )
    client = build_own_sdk(
        endpoint,
        asynchronous=asynchronous,
        limiter=limiter,
        seconds=reply_seconds,
        answer=answer,
    )
    return BuiltClient(client, strict=False)


def _build_openai(
    endpoint: Endpoint, *, asynchronous: bool, limiter: "RequestLimiter | None", seconds: float
) -> BuiltClient:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    host = OPENAI_HOSTS[endpoint.provider]
    if endpoint.key is None:
        local = " (any text for a local server that checks none)"
        raise no_key(host.key_variable + local * (endpoint.provider == "openai"))
    client: Any
    post = None
    try:
        if asynchronous:
            client, post = build_async_openai(endpoint, reply_seconds=seconds, limiter=limiter)
        else:
            client = build_openai(endpoint, reply_seconds=seconds)
    except openai.OpenAIError as error:
        raise ConfigurationError(
            f"provider {endpoint.provider!r}: {redact(str(error), endpoint.key)}"
        ) from None
    except (ImportError, OSError, ValueError) as error:
        # Proxies and certificates are read when a client is made.
        raise ConfigurationError(
            f"no client for {endpoint.provider!r} can be made here: "
            f"{redact(str(error), endpoint.key)}; look at the variables HTTP_PROXY, HTTPS_PROXY, "
            "SSL_CERT_FILE and the like"
        ) from None
    asked = urlsplit(str(client.client.base_url)).hostname
    strict = asked in STRICT_HOSTS and client.mode.name == "JSON_SCHEMA"
    return BuiltClient(client, strict, post)
