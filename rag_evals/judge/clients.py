"""How does "openai/gpt-4o-mini" become a client? The only place that builds one."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from rag_evals.errors import ConfigurationError, MissingExtraError, UnknownNameError
from rag_evals.judge.ask import AskSettings, AsyncInstructorJudge, InstructorJudge
from rag_evals.judge.redact import redact

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor

    Client = str | Instructor | AsyncInstructor | None
else:
    Client = Any

STRICT_HOSTS = frozenset({"api.openai.com"})
"""Hosts known to take strict schemas; any other gets the plain form, which all understand."""

_CONNECT_SECONDS = 5.0
_REPLY_SECONDS = 90.0
_TRANSPORT_RETRIES = 4
_INSTALL = {
    "anthropic": "anthropic",
    "google": "google-genai jsonref",
    "mistral": "mistralai",
    "cohere": "cohere",
    "groq": "groq",
    "litellm": "litellm",
}


@dataclass(frozen=True, slots=True)
class BuiltClient:
    """A client that we made, and whether its host takes strict schemas."""

    client: Any
    strict: bool


_lock = threading.Lock()
_sync_clients: dict[tuple[str, ...], BuiltClient] = {}
_async_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], BuiltClient]]"
_async_clients = WeakKeyDictionary()
# Kept alive here: a generator that nobody holds would end, and close its clients, at once.
_closers: "WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]" = WeakKeyDictionary()


def judge_for(client: Client, model: str | None = None) -> InstructorJudge:
    """Make a judge that answers at once.

    Args:
        client: A sync instructor client, or a string such as `"openai/gpt-4o-mini"`.
        model: Model to ask; None leaves it to the client.

    Raises:
        ConfigurationError: An async client, no client at all, or a string that names none.
    """
    if isinstance(client, str):
        provider, named = split_spec(client)
        with _lock:
            key = _cache_key(provider, named)
            built = _sync_clients.get(key)
            if built is None:
                built = _sync_clients[key] = _build(provider, named, asynchronous=False)
        return InstructorJudge(built.client, AskSettings(model, named, strict=built.strict))
    if is_async(client):
        raise ConfigurationError(
            "an async client cannot be used by grade; use agrade, or a sync client such as "
            "instructor.from_openai(OpenAI())"
        )
    return InstructorJudge(client, AskSettings(model))  # type: ignore[arg-type]  # checked by is_async


async def async_judge_for(client: Client, model: str | None = None) -> AsyncInstructorJudge:
    """Make a judge that answers when awaited, for the running loop; as `judge_for` otherwise."""
    if isinstance(client, str):
        provider, named = split_spec(client)
        # A client holds connections of one event loop; used from another it fails.
        loop = asyncio.get_running_loop()
        kept = _async_clients.get(loop)
        if kept is None:
            kept = _async_clients[loop] = {}
            closer = _closers[loop] = _closed_with_the_loop(kept)
            await anext(closer)
        key = _cache_key(provider, named)
        built = kept.get(key)
        if built is None:
            built = kept[key] = _build(provider, named, asynchronous=True)
        return AsyncInstructorJudge(built.client, AskSettings(model, named, strict=built.strict))
    if not is_async(client):
        raise ConfigurationError(
            "a sync client cannot be awaited; use grade, or instructor.from_openai(AsyncOpenAI())"
        )
    return AsyncInstructorJudge(client, AskSettings(model))  # type: ignore[arg-type]  # checked by is_async


async def _closed_with_the_loop(kept: dict[tuple[str, ...], BuiltClient]) -> AsyncGenerator[None]:
    """Wait, as a started generator: `asyncio.run` ends those before it closes its loop."""
    try:
        yield
    finally:
        for built in kept.values():
            await _close(built)


async def _close(built: BuiltClient) -> None:
    close = getattr(getattr(built.client, "client", None), "close", None)
    if close is not None:
        await close()


@asynccontextmanager
async def async_judge_session(
    client: Client, model: str | None = None
) -> AsyncIterator[AsyncInstructorJudge | None]:
    """Make a judge for one run; a client made for it is closed behind it.

    Args:
        client: An async instructor client, a string, or None for a run that asks no judge.
        model: As for `judge_for`.
    """
    if client is None:
        yield None
        return
    if not isinstance(client, str):
        yield await async_judge_for(client, model)
        return
    provider, named = split_spec(client)
    built = _build(provider, named, asynchronous=True)
    try:
        yield AsyncInstructorJudge(built.client, AskSettings(model, named, strict=built.strict))
    finally:
        await _close(built)


def is_async(client: object) -> bool:
    """Say which kind of instructor client this is.

    Raises:
        ConfigurationError: It is none.
    """
    from instructor import AsyncInstructor, Instructor  # noqa: PLC0415 - loads instructor's runtime

    if isinstance(client, AsyncInstructor):
        return True
    if isinstance(client, Instructor):
        return False
    raise ConfigurationError(
        f"client is {type(client).__name__}; expected an instructor client, such as "
        "instructor.from_openai(OpenAI()), or a string, such as 'openai/gpt-4o-mini' or 'embedded'"
    )


def split_spec(spec: str) -> tuple[str, str]:
    """Split "provider/model" and check the provider's name.

    Raises:
        ConfigurationError: No slash, an empty part, or a provider that instructor does not know.
    """
    provider, slash, model = spec.partition("/")
    if not slash or not provider or not model:
        raise ConfigurationError(
            f"judge {spec!r} is not 'embedded' and not PROVIDER/MODEL, such as 'openai/gpt-4o-mini'"
        )
    if provider != "openai":
        from instructor.auto_client import supported_providers  # noqa: PLC0415 - as above

        if provider not in supported_providers:
            raise UnknownNameError.of("provider", provider, supported_providers)
    return provider, model


def _cache_key(provider: str, model: str) -> tuple[str, ...]:
    """Name a client by all that shapes it; only OpenAI's environment is read by us."""
    environment = ("OPENAI_BASE_URL", "OPENAI_API_KEY") if provider == "openai" else ()
    return (provider, model, *(os.environ.get(name, "") for name in environment))


def _build(provider: str, model: str, *, asynchronous: bool) -> BuiltClient:
    if provider == "openai":
        return _build_openai(model, asynchronous=asynchronous)
    import instructor  # noqa: PLC0415 - loads its runtime
    from instructor.core.exceptions import InstructorError  # noqa: PLC0415 - as above

    # Local servers constrain decoding by a schema; instructor's default for Ollama is plain JSON.
    options: dict[str, Any] = {"async_client": asynchronous}
    if provider == "ollama":
        options["mode"] = instructor.Mode.JSON_SCHEMA
    try:
        client = instructor.from_provider(f"{provider}/{model}", **options)
    except ImportError as error:
        package = _INSTALL.get(provider, provider)
        raise MissingExtraError(
            f"provider {provider!r} needs its own library; run: pip install {package}"
        ) from error
    except (InstructorError, ValueError) as error:
        raise ConfigurationError(f"provider {provider!r}: {redact(str(error))}") from None
    return BuiltClient(client, strict=False)


def _build_openai(model: str, *, asynchronous: bool) -> BuiltClient:
    import instructor  # noqa: PLC0415 - loads its runtime
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    options: dict[str, Any] = {
        "timeout": openai.Timeout(_REPLY_SECONDS, connect=_CONNECT_SECONDS),
        "max_retries": _TRANSPORT_RETRIES,
    }
    try:
        sdk = openai.AsyncOpenAI(**options) if asynchronous else openai.OpenAI(**options)
    except openai.OpenAIError as error:
        raise ConfigurationError(
            "no API key: set OPENAI_API_KEY (any text for a local server that checks none), or use "
            "the judge 'embedded', which needs no key"
        ) from error
    client = instructor.from_openai(sdk, mode=instructor.Mode.JSON_SCHEMA, model=model)
    return BuiltClient(client, strict=urlsplit(str(sdk.base_url)).hostname in STRICT_HOSTS)
