"""Judges from strings such as "openai/gpt-4o-mini", or from users' own clients."""

import atexit
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from pydantic_core import from_json

from rag_evals.core import JudgeCall, JudgeReply, Meter
from rag_evals.errors import ConfigurationError, JudgeOutputError
from rag_evals.judge.clients.decisions import DECISIONS_PATH, DecisionJudge, read_decisions
from rag_evals.judge.clients.sdks import (
    OWN_SDKS,
    Client,
    build_openai,
    build_own_sdk,
    close_client,
    is_async,
    load_handlers,
    no_key,
)
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
from rag_evals.judge.wire.direct import (
    CHAT_PATH,
    EMBEDDINGS_PATH,
    DirectJudge,
    DirectPost,
    Post,
    read_chat,
)
from rag_evals.judge.wire.exchange import OF_A_CLIENT, no_reply
from rag_evals.judge.wire.sending import ClientUse, bind_to_policy, redact, translate
from rag_evals.response_models.statements import EXACT, ReplyForm

if TYPE_CHECKING:
    import asyncio

_COMPILED = ReplyForm(padded=True, lengths=False)
REPLY_FORMS: Mapping[str, ReplyForm] = {
    "api.openai.com": _COMPILED,
    "azure_openai": _COMPILED,
    # Their schemas allow no bounds.
    "anthropic": _COMPILED._replace(counts=False),
    "bedrock": _COMPILED._replace(counts=False),
    # They make a grammar from a schema within milliseconds.
    "vllm": EXACT,
    "ollama": EXACT,
    # There, choices must be texts.
    **dict.fromkeys(
        ("gemini", "genai", "google", "vertexai"), ReplyForm(lengths=False, choices=False)
    ),
}
"""Forms of a reply by sentence, by name of host or provider."""

# Bounds of text lengths are refused most often.
_ANY_HOST = ReplyForm(lengths=False, known=False)

STRICT_HOSTS = frozenset({"api.openai.com"})
"""Hosts known to take strict schemas; others get the plain form."""

_USE = ClientUse(DEFAULT_TIMEOUT_SECONDS)


@dataclass(frozen=True, slots=True)
class BuiltClient:
    """A client that we made for a judge string, in one event loop.

    Attributes:
        client: An instructor client.
        strict: True if its host takes strict schemas.
        post: Sends a request without instructor; None for providers' own SDKs.
    """

    client: Any
    strict: bool = False
    post: Post | None = None
    direct: DirectPost | None = None

    async def close(self) -> None:
        if self.direct is not None:
            await self.direct.close()
        else:
            await close_client(self.client)


_Clients = dict[tuple[str, ...], BuiltClient]
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients]" = WeakKeyDictionary()
# Without this reference a generator would end, and close its clients, at once.
_closers: "WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]" = WeakKeyDictionary()


class BlockingJudge:
    """Waits for a judge in another thread's event loop."""

    def __init__(self, host: JudgeHost, loop: LoopThread) -> None:
        self._host = host
        self._loop = loop

    @property
    def identity(self) -> str | None:
        """As in `JudgeHost`."""
        return self._host.identity

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """As in `Judge`."""
        return self._loop.run(self._host.ask(call, meter))


_lock = threading.Lock()
_loop: LoopThread | None = None


def _shared_loop() -> LoopThread:
    """Return the event loop that serves sync callers."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = LoopThread()
        return _loop


@atexit.register
def close_shared_loop() -> None:
    """Close the clients of sync callers; a later call makes new ones."""
    global _loop
    with _lock:
        loop, _loop = _loop, None
    if loop is not None:
        loop.close()


def _forget_shared_loop() -> None:
    """Start over in a forked process, which has none of its parent's threads."""
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
        model: None leaves the model to the client.
        options: Settings of its calls, and the number of re-asks.

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
        built = await _client_in_loop(endpoint, *_wire_of(endpoint))
        return _async_judge(endpoint, built, model, options)
    if not is_async(client):
        raise ConfigurationError(
            "a sync client cannot be awaited; use grade, or instructor.from_openai(AsyncOpenAI())"
        )
    return client_judge(client, model, options)


async def _client_in_loop(
    endpoint: Endpoint, path: str, read: Callable[[bytes], Any]
) -> BuiltClient:
    """Return the running loop's client, as its connections would fail in another loop."""
    import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

    loop = asyncio.get_running_loop()
    kept = _clients.get(loop)
    if kept is None:
        kept = _clients[loop] = {}
        closer = _closers[loop] = _closed_with_the_loop(kept)
        await anext(closer)
    # Everything that shapes a client.
    address, key = endpoint.address or "", endpoint.key or ""
    name = (endpoint.provider, endpoint.model, address, key, path)
    if name not in kept:
        kept[name] = _build(endpoint, _USE, path, read)
    return kept[name]


async def _closed_with_the_loop(kept: _Clients) -> AsyncGenerator[None]:
    """Close clients with the loop: `asyncio.run` closes open generators first."""
    try:
        yield
    finally:
        for built in kept.values():
            await built.close()


def _wire_of(endpoint: Endpoint) -> tuple[str, Callable[[bytes], Any]]:
    return (DECISIONS_PATH, read_decisions) if endpoint.decides else (CHAT_PATH, read_chat)


def client_judge(
    client: Client, model: str | None, options: AskOptions, *, repeats: bool = True
) -> InstructorJudge:
    is_async(client)
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
    """Return a text that names address, provider and settings of a client, for cache keys."""
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        wire = " decisions" if endpoint.decides else ""
        return f"{endpoint.provider} {address_of(client)}{wire}"
    return f"{getattr(client, 'provider', '')} {address_of(client)} {settings_of(client)}"


def address_of(client: Client) -> str:
    """Return the address of a client without credentials; empty if unknown."""
    # Making a client for a string would take seconds, and a key.
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
    """Open a judge for one run, and close its client."""
    endpoint = read_endpoint(spec)
    built = _build(endpoint, use, *_wire_of(endpoint))
    try:
        yield _async_judge(endpoint, built, model, options)
    finally:
        await built.close()


def _async_judge(
    endpoint: Endpoint, built: BuiltClient, model: str | None, options: AskOptions
) -> JudgeHost:
    if built.post is not None and endpoint.decides:
        return DecisionJudge(built.client, built.post, endpoint, model, options)
    settings = _settings_at(endpoint, built, model, options)
    if built.post is None:
        load_handlers(built.client)
        return InstructorJudge(built.client, settings)
    return DirectJudge(built.client, settings, built.post)


def _settings_at(
    endpoint: Endpoint, built: BuiltClient, model: str | None, options: AskOptions
) -> AskSettings:
    check_taken(built.client, options.settings, model or endpoint.model)
    return replace(
        _settings(built.client, model, options),
        default_model=endpoint.model,
        strict=built.strict,
        address_name=endpoint.address_name,
        form=_reply_form(endpoint.provider, built.client),
    )


def _settings(client: Any, model: str | None, options: AskOptions) -> AskSettings:
    if "PARALLEL" in client.mode.name:
        raise ConfigurationError(
            f"the client's mode {client.mode.name} returns several replies, and a grading reads "
            "one; use a mode such as TOOLS"
        )
    return AskSettings(
        model,
        # These handlers use only schema and validation of a model.
        schema_only=client.provider.value == "openai"
        and client.mode.name in ("TOOLS", "JSON_SCHEMA"),
        reasks=options.reasks,
        given=options.settings,
        form=_reply_form(client.provider.value, client),
    )


def _reply_form(provider: str, client: Any) -> ReplyForm:
    host = _host_of(client) or ""
    named = (host, "azure_openai" if host.endswith(".openai.azure.com") else provider)
    return next((REPLY_FORMS[name] for name in named if name in REPLY_FORMS), _ANY_HOST)


def _host_of(client: Any) -> str | None:
    return urlsplit(str(getattr(getattr(client, "client", None), "base_url", ""))).hostname


def _build(
    endpoint: Endpoint, use: ClientUse, path: str, read: Callable[[bytes], Any]
) -> BuiltClient:
    _check_endpoint(endpoint)
    if endpoint.provider in OWN_SDKS:
        return BuiltClient(build_own_sdk(endpoint, use))
    if endpoint.key is None:
        local = " (any text for a local server that checks none)"
        names = " or ".join(endpoint.host.key_variables.split())
        raise no_key(names + local * (endpoint.provider == "openai"))
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    try:
        client, direct, post = build_openai(endpoint, use, path, read)
    except openai.OpenAIError as error:
        raise ConfigurationError(
            f"provider {endpoint.provider!r}: {redact(str(error), endpoint.key)}"
        ) from None
    except (OSError, ValueError) as error:
        # Proxies and certificates are read when a client is made.
        raise ConfigurationError(
            f"no client for {endpoint.provider!r} can be made here: "
            f"{redact(str(error), endpoint.key)}; look at the variables HTTP_PROXY, HTTPS_PROXY, "
            "SSL_CERT_FILE and the like"
        ) from None
    strict = _host_of(client) in STRICT_HOSTS and client.mode.name == "JSON_SCHEMA"
    return BuiltClient(client, strict, post, direct)


_SENT_BY_THE_LIBRARY = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""OpenAI's library sends them in headers, to any host."""

_LIKE = "expected an address such as 'http://localhost:8000/v1'"
_ADDED_PATHS = ("/chat/completions", "/responses", "/v1/messages")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/@]*@")


def check_endpoint(client: object) -> None:
    """Raise `ConfigurationError` for a bad address or a key that HTTP cannot carry."""
    if isinstance(client, str):
        _check_endpoint(read_endpoint(client))
        return
    sdk: Any = getattr(client, "client", None)
    url, key = getattr(sdk, "base_url", None), getattr(sdk, "api_key", None)
    _check(
        None if url is None else str(url),
        OF_A_CLIENT,
        key if isinstance(key, str) else None,
        "api_key of the client",
    )


def _check_endpoint(endpoint: Endpoint) -> None:
    is_openai = endpoint.provider in OPENAI_HOSTS
    if is_openai and endpoint.address is None:
        raise ConfigurationError(
            f"no address for {endpoint.provider!r}: set {endpoint.address_name}, or name it in the "
            f"judge, as in '{endpoint.provider}/{endpoint.model}@https://HOST'"
        )
    _check(endpoint.address, endpoint.address_name, endpoint.key, endpoint.key_name)
    for name in _SENT_BY_THE_LIBRARY if is_openai else ():
        _check(None, "", os.environ.get(name), name)


def _check(address: str | None, address_name: str, key: str | None, key_name: str) -> None:
    if address is not None:
        fault = _fault_of_address(address)
        if fault is not None:
            shown = _CREDENTIALS.sub("[hidden]@", address.partition("?")[0])
            raise ConfigurationError(f"{address_name} is {shown!r}: {fault}; {_LIKE}")
    if key is not None:
        fault = _fault_of_key(key)
        if fault is not None:
            raise ConfigurationError(
                f"{key_name} holds {fault}, which HTTP cannot send; set it alone, ASCII "
                "letters, digits and signs without spaces around them"
            )


def _fault_of_address(address: str) -> str | None:
    # The plain space is the only printable white space.
    if " " in address or not address.isprintable():
        return "it holds a space or a control character"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if not parts.hostname:
        return "it names no host"
    if not _is_host(parts.hostname):
        return f"{parts.hostname!r} is not a host name"
    if port == 0:
        return "port 0 cannot be asked"
    if parts.username is not None or parts.password is not None:
        return "it holds a user name or a password; the key belongs into OPENAI_API_KEY or the like"
    # A path is added behind it.
    if "?" in address or "#" in address:
        return "a '?' or a '#' in it would swallow the path that is added"
    added = next((path for path in _ADDED_PATHS if parts.path.rstrip("/").endswith(path)), None)
    return added and f"leave out {added!r}, which is added to it"


def _is_host(name: str) -> bool:
    if _HOST.fullmatch(name) or ":" in name:
        return True
    try:
        return bool(_HOST.fullmatch(name.encode("idna").decode()))
    except UnicodeError:
        return False


def _fault_of_key(key: str) -> str | None:
    if key.isascii() and key.isprintable() and " " not in key:
        return None
    for place, character in enumerate(key, 1):
        if character in "\r\n":
            return f"a line break at place {place} of {len(key)}"
        if not character.isascii():
            return f"U+{ord(character):04X} at place {place} of {len(key)}, which is not ASCII"
        if not character.isprintable():
            return f"the control character U+{ord(character):04X} at place {place} of {len(key)}"
    if key != key.strip():
        return "a space at its start or end"
    return None


_TEXTS_A_REQUEST = 256


def embed_texts(spec: str, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of texts from an endpoint's `/embeddings`."""
    return _shared_loop().run(_embed(read_endpoint(spec), texts))


async def _embed(endpoint: Endpoint, texts: Sequence[str]) -> list[list[float]]:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    built = await _client_in_loop(endpoint, EMBEDDINGS_PATH, _read_vectors)
    if built.post is None:
        raise ConfigurationError(f"provider {endpoint.provider!r} has no /embeddings of OpenAI's")
    vectors: list[list[float]] = []
    for first in range(0, len(texts), _TEXTS_A_REQUEST):
        batch = list(texts[first : first + _TEXTS_A_REQUEST])
        # Not every server returns packed text.
        body = {"input": batch, "encoding_format": "float"}
        try:
            found = await built.post(**body)
        except openai.OpenAIError as error:
            # Not `from error`, which may contain the request.
            raise translate(error, attempts=1, key=endpoint.key) from None
        if len(found) != len(batch):
            raise JudgeOutputError(
                f"the endpoint returned {len(found)} vectors for {len(batch)} texts"
            )
        vectors += found
    return vectors


def _read_vectors(content: bytes) -> list[list[float]]:
    try:
        found = sorted(from_json(content)["data"], key=lambda one: int(one["index"]))
        return [list(map(float, one["embedding"])) for one in found]
    except (ValueError, KeyError, TypeError):
        raise no_reply(content) from None
