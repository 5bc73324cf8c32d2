"""How does "openai/gpt-4o-mini" become a client? The only place that builds one."""

import atexit
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from rag_evals.errors import ConfigurationError, JudgeOutputError
from rag_evals.judge.clients.decisions import AsyncDecisionJudge, DecisionJudge
from rag_evals.judge.clients.sdks import (
    Client,
    build_openai,
    build_own_sdk,
    build_reply_types,
    close_client,
    close_sync_client,
    is_async,
    load_handlers,
    no_key,
)
from rag_evals.judge.clients.strings import OPENAI_HOSTS, Endpoint, read_endpoint
from rag_evals.judge.pace.retry import DEFAULT_TIMEOUT_SECONDS
from rag_evals.judge.wire.ask import (
    DEFAULT_OPTIONS,
    AskOptions,
    AskSettings,
    AsyncInstructorJudge,
    InstructorJudge,
    check_taken,
    own_model,
    settings_of,
)
from rag_evals.judge.wire.direct import AsyncDirectJudge, Post
from rag_evals.judge.wire.exchange import OF_A_CLIENT
from rag_evals.judge.wire.sending import (
    ClientUse,
    bind_to_policy,
    redact,
    repeating,
    translate,
)
from rag_evals.response_models.statements import EXACT, ReplyForm

if TYPE_CHECKING:
    import asyncio

_COMPILED = ReplyForm(padded=True, lengths=False)
REPLY_FORMS: Mapping[str, ReplyForm] = {
    "api.openai.com": _COMPILED,
    "azure_openai": _COMPILED,
    # Their schemas take no bounds at all.
    "anthropic": _COMPILED._replace(counts=False),
    "bedrock": _COMPILED._replace(counts=False),
    # They make a grammar of each schema, within milliseconds.
    "vllm": EXACT,
    "ollama": EXACT,
    # A choice is one of texts there.
    **dict.fromkeys(
        ("gemini", "genai", "google", "vertexai"), ReplyForm(lengths=False, choices=False)
    ),
}
"""Which form of a reply by sentence a host gets, by its name or by that of its provider."""

# Bounds of texts are what hosts refuse most often.
_ANY_HOST = ReplyForm(lengths=False, known=False)

STRICT_HOSTS = frozenset({"api.openai.com"})
"""Hosts known to take strict schemas; any other gets the plain form, which all understand."""

_SYNC = ClientUse(asynchronous=False, seconds=DEFAULT_TIMEOUT_SECONDS)
_ASYNC = replace(_SYNC, asynchronous=True)


@dataclass(frozen=True, slots=True)
class BuiltClient:
    """A client that we made, of instructor's, and whether its host takes strict schemas.

    `post` sends a request past instructor; None where only instructor knows the wire.
    """

    client: Any
    strict: bool
    post: Post | None = None


_lock = threading.Lock()
_sync_clients: dict[tuple[str, ...], BuiltClient] = {}
_async_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], BuiltClient]]"
_async_clients = WeakKeyDictionary()
# Kept alive here: a generator that nobody holds would end, and close its clients, at once.
_closers: "WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]" = WeakKeyDictionary()


def judge_for(
    client: Client, model: str | None = None, options: AskOptions = DEFAULT_OPTIONS
) -> InstructorJudge | DecisionJudge:
    """Make a judge that answers in the calling thread.

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
                built = _sync_clients[key] = _build(endpoint, _SYNC)
        if endpoint.decides:
            return DecisionJudge(built.client, endpoint, model, options, _SYNC)
        load_handlers(built.client)
        build_reply_types(built.client)
        return InstructorJudge(built.client, _settings_at(endpoint, built, model, options))
    judge = client_judge(client, model, options)
    if isinstance(judge, InstructorJudge):
        return judge
    raise ConfigurationError(
        "an async client cannot be used by grade; use agrade, or a sync client such as "
        "instructor.from_openai(OpenAI())"
    )


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
            built = kept[key] = _build(endpoint, _ASYNC)
        return _async_judge(endpoint, built, model, options, _ASYNC)
    judge = client_judge(client, model, options)
    if isinstance(judge, AsyncInstructorJudge):
        return judge
    raise ConfigurationError(
        "a sync client cannot be awaited; use grade, or instructor.from_openai(AsyncOpenAI())"
    )


def client_judge(
    client: Client, model: str | None, options: AskOptions, *, repeats: bool = True
) -> InstructorJudge | AsyncInstructorJudge:
    """Make a judge over a client of the user's own, sync or async as that is."""
    asynchronous = is_async(client)
    check_endpoint(client)
    check_taken(client, options.settings, model or own_model(client))
    bind_to_policy(getattr(client, "client", None))
    load_handlers(client)
    settings = replace(_settings(client, model, options), repeats=repeats)
    if asynchronous:
        return AsyncInstructorJudge(client, settings)
    build_reply_types(client)
    return InstructorJudge(client, settings)


@atexit.register
def close_sync_clients() -> None:
    """Close the clients that strings have become outside runs; a later call makes them again."""
    with _lock:
        for built in _sync_clients.values():
            close_sync_client(built.client)
        _sync_clients.clear()


def model_of(client: Client) -> str | None:
    """Return the model that a client asks by itself; None when it does not say."""
    if isinstance(client, str):
        return read_endpoint(client).model
    return own_model(client)


def endpoint_of(client: Client) -> str:
    """Name where a client's calls go, and how: both may change the answer to the same call."""
    if isinstance(client, str):
        endpoint = read_endpoint(client)
        wire = " decisions" if endpoint.decides else ""
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
        address = read_endpoint(client).address or ""
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
    spec: str, model: str | None, options: AskOptions, use: ClientUse
) -> AsyncIterator[AsyncInstructorJudge | AsyncDecisionJudge]:
    """Make a judge for one run, and close its client behind it.

    Its arguments are those of `judge_for`.
    """
    endpoint = read_endpoint(spec)
    built = _build(endpoint, use)
    try:
        yield _async_judge(endpoint, built, model, options, use)
    finally:
        await close_client(built.client)


def _async_judge(
    endpoint: Endpoint,
    built: BuiltClient,
    model: str | None,
    options: AskOptions,
    use: ClientUse,
) -> AsyncInstructorJudge | AsyncDecisionJudge:
    if endpoint.decides:
        return AsyncDecisionJudge(built.client, endpoint, model, options, use)
    settings = _settings_at(endpoint, built, model, options)
    if built.post is None:
        return AsyncInstructorJudge(built.client, settings)
    return AsyncDirectJudge(built.client, settings, built.post)


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
        # Handlers that use nothing of a model but schema and validation.
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


def _cache_key(endpoint: Endpoint) -> tuple[str, ...]:
    """Name a client by all that shapes it."""
    return (endpoint.provider, endpoint.model, endpoint.address or "", endpoint.key or "")


def _build(endpoint: Endpoint, use: ClientUse) -> BuiltClient:
    _check_endpoint(endpoint)
    if endpoint.provider not in OPENAI_HOSTS:
        return BuiltClient(build_own_sdk(endpoint, use), strict=False)
    if endpoint.key is None:
        local = " (any text for a local server that checks none)"
        raise no_key(endpoint.key_name + local * (endpoint.provider == "openai"))
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    try:
        client, post = build_openai(endpoint, use)
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
    strict = _host_of(client) in STRICT_HOSTS and client.mode.name == "JSON_SCHEMA"
    return BuiltClient(client, strict, post)


_SENT_BY_THE_LIBRARY = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""OpenAI's library sends them in headers, whichever host it asks."""

_LIKE = "expected an address such as 'http://localhost:8000/v1'"
_ADDED_PATHS = ("/chat/completions", "/responses", "/v1/messages")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/@]*@")


def check_endpoint(client: object) -> None:
    """Find what no request could get past: an address or a key that HTTP cannot carry.

    Raises:
        ConfigurationError: It says which of the two is wrong, and never shows a key; also where
            the address is missing.
    """
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
    # Of all white space only the plain space is printable.
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
        return f"{parts.hostname!r} is no name of a host"
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
    """Ask `/v1/embeddings` through the same client that judges are asked with.

    Raises:
        GradingError: The endpoint does not answer, refuses, or returns another number of vectors.
    """
    model = read_endpoint(spec).model
    sdk = judge_for(spec).sdk
    vectors: list[list[float]] = []
    for first in range(0, len(texts), _TEXTS_A_REQUEST):
        batch = list(texts[first : first + _TEXTS_A_REQUEST])
        vectors += _embed_batch(sdk, model, batch)
    return vectors


def _embed_batch(sdk: Any, model: str, batch: list[str]) -> list[list[float]]:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    try:
        # As numbers: the library's own default, packed text, is not spoken by every server.
        create = repeating(lambda body: sdk.embeddings.create(**body))
        reply = create(model=model, input=batch, encoding_format="float")
    except openai.OpenAIError as error:
        # Not `from error`: it may hold the request.
        raise translate(error, attempts=1, key=sdk.api_key) from None
    found = sorted(reply.data, key=lambda one: one.index)
    if len(found) != len(batch):
        raise JudgeOutputError(f"the endpoint returned {len(found)} vectors for {len(batch)} texts")
    return [list(one.embedding) for one in found]
