"""Functions that create judges from strings such as "openai/gpt-4o-mini" or from users' clients."""

import atexit
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from rag_evals.core import JudgeCall, JudgeReply, Meter
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.decisions import DecisionJudge
from rag_evals.judge.clients.sdks import BuiltClient, Client, build_client, is_async, load_handlers
from rag_evals.judge.clients.strings import OPENAI_HOSTS, Endpoint, read_endpoint
from rag_evals.judge.pace.row_time import DEFAULT_TIMEOUT_SECONDS, LoopThread
from rag_evals.judge.wire.ask import (
    DEFAULT_OPTIONS,
    AskOptions,
    AskSettings,
    InstructorJudge,
    JudgeHost,
    check_taken,
    own_model,
    settings_of,
)
from rag_evals.judge.wire.direct import DirectJudge
from rag_evals.judge.wire.exchange import OF_A_CLIENT
from rag_evals.judge.wire.sending import ClientUse, bind_to_policy
from rag_evals.response_models.statements import EXACT, ReplyForm

if TYPE_CHECKING:
    import asyncio

_COMPILED = ReplyForm(padded=True, lengths=False)
REPLY_FORMS: Mapping[str, ReplyForm] = {
    "api.openai.com": _COMPILED,
    "azure_openai": _COMPILED,
    # Anthropic's and Bedrock's schemas do not support bounds.
    "anthropic": _COMPILED._replace(counts=False),
    "bedrock": _COMPILED._replace(counts=False),
    # vLLM and Ollama compile schemas within milliseconds.
    "vllm": EXACT,
    "ollama": EXACT,
    # Enums in Google's schemas may contain only strings.
    **dict.fromkeys(
        ("gemini", "genai", "google", "vertexai"), ReplyForm(lengths=False, choices=False)
    ),
}
"""Reply forms by host or provider."""

# Of all schema features, hosts most often reject bounds on text length.
_ANY_HOST = ReplyForm(lengths=False, known=False)

_Clients = dict[tuple[Endpoint, str | None, str | None], BuiltClient]
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients]" = WeakKeyDictionary()
# References that keep the generators from being garbage-collected, which would close the clients.
_closers: "WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]" = WeakKeyDictionary()


class BlockingJudge:
    """Calls an async judge in another thread's event loop, and waits for the reply."""

    def __init__(self, host: JudgeHost, loop: LoopThread) -> None:
        self._host = host
        self._loop = loop

    @property
    def identity(self) -> str | None:
        return self._host.identity

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        return self._loop.run(self._host.ask(call, meter))


_lock = threading.Lock()
_loop: LoopThread | None = None


def _shared_loop() -> LoopThread:
    global _loop
    with _lock:
        if _loop is None:
            _loop = LoopThread()
        return _loop


@atexit.register
def close_shared_loop() -> None:
    """Close the clients of sync callers; a later call creates new ones."""
    global _loop
    with _lock:
        loop, _loop = _loop, None
    if loop is not None:
        loop.close()


def _forget_shared_loop() -> None:
    """Reset the shared loop in a forked process, which does not inherit its parent's threads."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared_loop)


def judge_for(
    client: Client, model: str | None = None, options: AskOptions = DEFAULT_OPTIONS
) -> BlockingJudge:
    """Return a judge for sync callers.

    Args:
        client: A sync instructor client, or a string such as `"openai/gpt-4o-mini"`.
        model: The model to call; None means the client's default.
        options: Settings for its calls, and the number of re-asks.

    Raises:
        ConfigurationError: The client or a setting cannot be used.
    """
    loop = _shared_loop()
    if isinstance(client, str):
        return BlockingJudge(loop.run(async_judge_for(client, model, options)), loop)
    if is_async(client):
        raise ConfigurationError(
            "an async client cannot be used by grade; use agrade, or a sync client such as "
            "instructor.from_openai(OpenAI())"
        )
    return BlockingJudge(client_judge(client, model, options), loop)


async def async_judge_for(
    client: Client, model: str | None = None, options: AskOptions = DEFAULT_OPTIONS
) -> JudgeHost:
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        return _host_for(endpoint, await _client_in_loop(endpoint), model, options)
    if not is_async(client):
        raise ConfigurationError(
            "a sync client cannot be awaited; use grade, or instructor.from_openai(AsyncOpenAI())"
        )
    return client_judge(client, model, options)


async def _client_in_loop(endpoint: Endpoint) -> BuiltClient:
    """Return a client for the running loop; its connections would fail in any other loop."""
    import asyncio  # noqa: PLC0415 - slow import

    loop = asyncio.get_running_loop()
    kept = _clients.get(loop)
    if kept is None:
        kept = _clients[loop] = {}
        closer = _closers[loop] = _closed_with_the_loop(kept)
        await anext(closer)
    # The environment variables with the address and key may change.
    name = (endpoint, endpoint.address, endpoint.key)
    if name not in kept:
        kept[name] = _build(endpoint, ClientUse(DEFAULT_TIMEOUT_SECONDS))
    return kept[name]


async def _closed_with_the_loop(kept: _Clients) -> AsyncGenerator[None]:
    """Close clients when `asyncio.run` closes open generators before it returns."""
    try:
        yield
    finally:
        for built in kept.values():
            await built.close()


def client_judge(
    client: Client, model: str | None, options: AskOptions, *, repeats: bool = True
) -> InstructorJudge:
    check_endpoint(client)
    check_taken(client, options.settings, model or own_model(client))
    bind_to_policy(getattr(client, "client", None))
    load_handlers(client)
    return InstructorJudge(client, replace(_settings(client, model, options), repeats=repeats))


def model_of(client: Client) -> str | None:
    """Return a client's default model; None if unknown."""
    if isinstance(client, str):
        return read_endpoint(client).model
    return own_model(client)


def endpoint_of(client: Client) -> str:
    """Return a string that identifies a client's address, provider and settings, for cache keys."""
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        wire = " decisions" if endpoint.decides else ""
        return f"{endpoint.provider} {address_of(client)}{wire}"
    return f"{getattr(client, 'provider', '')} {address_of(client)} {settings_of(client)}"


def address_of(client: Client) -> str:
    """Return a client's address without credentials; empty if unknown."""
    # Creating a client from a string takes seconds and needs a key.
    if isinstance(client, str):
        address = read_endpoint(client).address or ""
    else:
        address = str(getattr(getattr(client, "client", None), "base_url", None) or "")
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


@asynccontextmanager
async def own_async_judge(
    spec: str, model: str | None, options: AskOptions, use: ClientUse
) -> AsyncIterator[JudgeHost]:
    endpoint = read_endpoint(spec)
    built = _build(endpoint, use)
    try:
        yield _host_for(endpoint, built, model, options)
    finally:
        await built.close()


def _host_for(
    endpoint: Endpoint, built: BuiltClient, model: str | None, options: AskOptions
) -> JudgeHost:
    client, post = built.client, built.post
    if post is not None and endpoint.decides:
        return DecisionJudge(client, post, endpoint, model, options)
    check_taken(client, options.settings, model or endpoint.model)
    settings = replace(
        _settings(client, model, options),
        default_model=endpoint.model,
        # Other hosts may reject strict schemas.
        strict=_host_in(client) == "api.openai.com" and client.mode.name == "JSON_SCHEMA",
        address_name=endpoint.address_name,
        form=_reply_form(endpoint.provider, client),
    )
    if post is None:
        load_handlers(client)
        return InstructorJudge(client, settings)
    return DirectJudge(client, settings, post)


def _settings(client: Any, model: str | None, options: AskOptions) -> AskSettings:
    if "PARALLEL" in client.mode.name:
        raise ConfigurationError(
            f"the client's mode {client.mode.name} returns several replies; use a mode "
            "such as TOOLS"
        )
    return AskSettings(
        options,
        model,
        # instructor's handlers for these modes need only a model's schema and validation.
        schema_only=client.provider.value == "openai"
        and client.mode.name in ("TOOLS", "JSON_SCHEMA"),
        form=_reply_form(client.provider.value, client),
    )


def _reply_form(provider: str, client: Any) -> ReplyForm:
    host = _host_in(client)
    named = (host, "azure_openai" if host.endswith(".openai.azure.com") else provider)
    return next((REPLY_FORMS[name] for name in named if name in REPLY_FORMS), _ANY_HOST)


def _host_in(client: Any) -> str:
    return urlsplit(str(getattr(getattr(client, "client", None), "base_url", ""))).hostname or ""


def _build(endpoint: Endpoint, use: ClientUse) -> BuiltClient:
    _check_endpoint(endpoint)
    return build_client(endpoint, use)


_SENT_BY_THE_LIBRARY = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Variables that OpenAI's library sends to every host, as headers."""

_ADDED_PATHS = ("/chat/completions", "/responses", "/v1/messages")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/@]*@")


def check_endpoint(client: object) -> None:
    """Raise `ConfigurationError` for an invalid address, or a key that headers cannot contain."""
    if isinstance(client, str):
        _check_endpoint(read_endpoint(client))
        return
    sdk: Any = getattr(client, "client", None)
    url, key = getattr(sdk, "base_url", None), getattr(sdk, "api_key", None)
    _check_address(None if url is None else str(url), OF_A_CLIENT)
    _check_key(key if isinstance(key, str) else None, "api_key of the client")


def _check_endpoint(endpoint: Endpoint) -> None:
    is_openai = endpoint.provider in OPENAI_HOSTS
    if is_openai and endpoint.address is None:
        raise ConfigurationError(
            f"no address for {endpoint.provider!r}: set {endpoint.address_name}, or put it in the "
            f"judge string, as in '{endpoint.provider}/{endpoint.model}@https://HOST'"
        )
    _check_address(endpoint.address, endpoint.address_name)
    _check_key(endpoint.key, endpoint.key_name)
    for name in _SENT_BY_THE_LIBRARY if is_openai else ():
        _check_key(os.environ.get(name), name)


def _check_address(address: str | None, name: str) -> None:
    fault = None if address is None else _fault_of_address(address)
    if address is not None and fault is not None:
        shown = _CREDENTIALS.sub("[hidden]@", address.partition("?")[0])
        raise ConfigurationError(
            f"{name} is {shown!r}: {fault}; expected an address such as 'http://localhost:8000/v1'"
        )


def _fault_of_address(address: str) -> str | None:
    # `isprintable` is false for all other whitespace.
    if " " in address or not address.isprintable():
        return "it contains a space or a control character"
    try:
        parts = urlsplit(address)
        _ = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if not _HOST.fullmatch(host) and ":" not in host:
        return f"{host!r} is not a host name"
    if "@" in parts.netloc:
        return "it contains a user name or a password; set OPENAI_API_KEY or its equivalent"
    # The SDK appends a path.
    if "?" in address or "#" in address:
        return "a '?' or '#' would cut off the path that is appended"
    added = next((path for path in _ADDED_PATHS if parts.path.rstrip("/").endswith(path)), None)
    return added and f"leave out {added!r}, which is appended"


def _check_key(key: str | None, name: str) -> None:
    for index, character in enumerate(key or "", 1):
        if not "!" <= character <= "~":
            raise ConfigurationError(
                f"{name} contains U+{ord(character):04X} at position {index}; expected ASCII "
                "letters, digits and punctuation"
            )
