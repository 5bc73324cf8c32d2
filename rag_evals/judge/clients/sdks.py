"""How is a client made of a string, and which clients of a user's own are taken?

Each function for an SDK of a provider's own makes its client and says how it sends a request; all
else is shared. The types of these SDKs are unknown here: none of them need be installed. Clients of
OpenAI's travel on aiohttp where they are async: its pool costs the same at any concurrency, where
httpx scans all its connections for each request. Proxies and the time-out of one try are the
SDKs'; retries are ours, because only we know the whole run.
"""

import inspect
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError

from rag_evals.errors import ConfigurationError, MissingExtraError, RagEvalsError
from rag_evals.judge.clients.strings import OPENAI_HOSTS, Endpoint
from rag_evals.judge.pace.retry import call_in_thread
from rag_evals.judge.wire.direct import CHAT_PATH, DirectPost, Post, read_reply
from rag_evals.judge.wire.exchange import packed, usable
from rag_evals.judge.wire.sending import (
    CONNECT_SECONDS,
    Answering,
    ClientUse,
    bind_to_policy,
    http_client,
    redact,
)

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor
    from openai import AsyncOpenAI, OpenAI


_FILE_SECONDS = 600.0


class Made(NamedTuple):
    """A client of an SDK, what sends a request through it, and instructor's names for it.

    `asks` is the client's method that asks a model; set where it takes another transport.
    """

    sdk: Any
    send: Callable[[dict[str, Any]], Any]
    provider: str
    mode: str = "TOOLS"
    asks: str = ""


Make = Callable[[Endpoint, ClientUse], Made]


def build_own_sdk(endpoint: Endpoint, use: ClientUse) -> Any:
    """Make an instructor client over a provider's own SDK, one of `OWN_SDKS`.

    Raises:
        MissingExtraError: The SDK is not installed.
        ConfigurationError: There is no key, or the SDK makes no client.
    """
    made = _made(endpoint, use)
    import instructor  # noqa: PLC0415 - loads its runtime
    from instructor import Provider  # noqa: PLC0415 - as above

    if use.answer is not None:
        sdk = made.sdk.with_options(http_client=_answering_http(made.sdk, use.answer))
        made = made._replace(sdk=sdk)
        create: Any = attrgetter(made.asks)(sdk)
    else:
        create = use.repeating(made.send)
    bind_to_policy(made.sdk)
    provider, mode = Provider(made.provider), instructor.Mode[made.mode]
    kind: Any = instructor.AsyncInstructor if use.asynchronous else instructor.Instructor
    patched = instructor.patch(create=create, mode=mode, provider=provider)
    return kind(client=made.sdk, create=patched, mode=mode, provider=provider)


def _made(endpoint: Endpoint, use: ClientUse) -> Made:
    module, package, make = OWN_SDKS[endpoint.provider]
    # Looked for, not loaded: that takes seconds.
    if not _is_installed(module):
        raise MissingExtraError(
            f"provider {endpoint.provider!r} needs its own library; run: pip install {package}"
        )
    if endpoint.key_name and endpoint.key is None:
        raise no_key(" or ".join(endpoint.host.key_variables.split()))
    try:
        return make(endpoint, use)
    except RagEvalsError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises, it makes no client
        said = " ".join(redact(str(error), endpoint.key).split())
        raise ConfigurationError(f"provider {endpoint.provider!r}: {said[:300]}") from None


def no_key(where: str) -> ConfigurationError:
    """Say where a key that is missing is looked for."""
    return ConfigurationError(
        f"no API key: set {where}, or use the judge 'embedded', which needs no key"
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _generated(library: str, name: str, path: str, provider: str) -> Make:
    """Return what makes a client of a library that Stainless generated: all are made alike."""

    def make(_: Endpoint, use: ClientUse) -> Made:
        kind = getattr(import_module(library), f"Async{name}" if use.asynchronous else name)
        sdk = kind(max_retries=0, timeout=use.seconds)
        return Made(sdk, _timed(attrgetter(path)(sdk), "timeout", use), provider, asks=path)

    return make


def _mistral(endpoint: Endpoint, use: ClientUse) -> Made:
    try:
        from mistralai.client import Mistral  # noqa: PLC0415 - only where it is asked
    except ImportError:
        from mistralai import Mistral  # noqa: PLC0415 - the first version has it here

    sdk = Mistral(api_key=endpoint.key, server_url=endpoint.address)
    chat = sdk.chat.complete_async if use.asynchronous else sdk.chat.complete
    return Made(sdk, _timed(chat, "timeout_ms", use, unit=1000), "mistral")


def _cohere(endpoint: Endpoint, use: ClientUse) -> Made:
    import cohere  # noqa: PLC0415 - only where it is asked

    kind = cohere.AsyncClientV2 if use.asynchronous else cohere.ClientV2
    sdk = kind(
        api_key=endpoint.key,
        base_url=endpoint.address,
        timeout=use.seconds,
        # Else it tells every user that asking for JSON by schema is an experiment.
        log_warning_experimental_features=False,
    )
    options = {"max_retries": 0}

    def send(body: dict[str, Any]) -> Any:
        # A mark of instructor's, which tells the two versions of the interface apart.
        asked = {name: value for name, value in body.items() if not name.startswith("_cohere")}
        seconds = {"timeout_in_seconds": int(use.one_try())}
        return sdk.chat(**asked, request_options={**options, **seconds})

    return Made(sdk, send, "cohere", "JSON_SCHEMA")


def _genai(endpoint: Endpoint, use: ClientUse) -> Made:
    from google import genai  # noqa: PLC0415 - only where it is asked
    from google.genai import types  # noqa: PLC0415 - as above

    key, project = os.environ.get("GOOGLE_API_KEY"), os.environ.get("GOOGLE_CLOUD_PROJECT")
    if endpoint.provider != "vertexai":
        sdk = genai.Client(api_key=endpoint.key, vertexai=False)
    elif project:
        location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "us-central1"
        sdk = genai.Client(vertexai=True, project=project, location=location)
    elif key:
        sdk = genai.Client(vertexai=True, api_key=key)
    else:
        raise no_key("GOOGLE_CLOUD_PROJECT and log in with gcloud, or set GOOGLE_API_KEY")
    models = sdk.aio.models if use.asynchronous else sdk.models

    def send(body: dict[str, Any]) -> Any:
        http = types.HttpOptions(
            timeout=int(use.one_try() * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        config = body["config"].model_copy(update={"http_options": http})
        return models.generate_content(**{**body, "config": config})

    return Made(sdk, send, "genai")


def _bedrock(endpoint: Endpoint, use: ClientUse) -> Made:
    import boto3  # noqa: PLC0415 - only where it is asked
    from botocore.config import Config  # noqa: PLC0415 - as above

    session = boto3.Session()
    if not os.environ.get("AWS_BEARER_TOKEN_BEDROCK") and session.get_credentials() is None:
        raise no_key(
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, or log in "
            "with `aws configure`"
        )
    config = Config(
        connect_timeout=5,
        # The row's own time ends a call before; here nothing can be said of one request.
        read_timeout=max(use.seconds, _FILE_SECONDS),
        retries={"total_max_attempts": 1},
        # A run asks from more threads at a time than there are connections otherwise.
        max_pool_connections=64,
    )
    region = session.region_name or os.environ.get("AWS_REGION") or "us-east-1"
    sdk = session.client("bedrock-runtime", region_name=region, config=config)

    def send(body: dict[str, Any]) -> Any:
        return sdk.converse(**body)

    async def send_async(body: dict[str, Any]) -> Any:
        import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

        # The SDK is sync: in this thread it would stop the whole run.
        return await asyncio.wrap_future(call_in_thread(lambda: sdk.converse(**body)))

    # As instructor has it: what other models do with tools is unknown.
    takes_tools = "anthropic" in endpoint.model or "claude" in endpoint.model
    mode = "TOOLS" if takes_tools else "MD_JSON"
    return Made(sdk, send_async if use.asynchronous else send, "bedrock", mode)


def _litellm(endpoint: Endpoint, use: ClientUse) -> Made:
    # Else the import itself asks the network for a list of prices.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # noqa: PLC0415 - only where it is asked

    missing = litellm.validate_environment(endpoint.model)
    if not missing["keys_in_environment"] and missing["missing_keys"]:
        raise no_key(" and ".join(missing["missing_keys"]))
    # Else it prints advice on every error.
    litellm.suppress_debug_info = True
    function = litellm.acompletion if use.asynchronous else litellm.completion

    def send(body: dict[str, Any]) -> Any:
        return function(**body, timeout=use.one_try(), num_retries=0, max_retries=0)

    return Made(None, send, "openai")


def _timed(
    function: Callable[..., Any], name: str, use: ClientUse, *, unit: int = 1
) -> Callable[[dict[str, Any]], Any]:
    """Return a function that sends a request with a time-out, under the name that the SDK has."""

    def send(body: dict[str, Any]) -> Any:
        one_try = use.one_try()
        return function(**body, **{name: one_try if unit == 1 else int(one_try * unit)})

    return send


_GEMINI = ("google.genai", "google-genai jsonref", _genai)
OWN_SDKS: dict[str, tuple[str, str, Make]] = {
    "anthropic": (
        "anthropic",
        "anthropic",
        _generated("anthropic", "Anthropic", "messages.create", "anthropic"),
    ),
    "bedrock": ("boto3", "boto3", _bedrock),
    "cohere": ("cohere", "cohere", _cohere),
    "google": _GEMINI,
    "gemini": _GEMINI,
    "generative-ai": _GEMINI,
    "groq": ("groq", "groq", _generated("groq", "Groq", "chat.completions.create", "groq")),
    # Which key it needs depends on the model; it says so itself.
    "litellm": ("litellm", "litellm", _litellm),
    "mistral": ("mistralai", "mistralai", _mistral),
    "vertexai": _GEMINI,
    "writer": ("writerai", "writer-sdk", _generated("writerai", "Writer", "chat.chat", "writer")),
}
"""Providers with an SDK of their own: what is imported, what `pip install` takes, the maker."""


# Libraries that need not be installed have no types here.
def _answering_http(sdk: Any, answer: Answering) -> Any:
    """Return an HTTP client that answers by itself, for an async client that Stainless generated.

    What `answer` raises, the library raises.
    """
    client = sys.modules[type(sdk).__module__.partition(".")[0]].DefaultAsyncHttpxClient
    # Some of these libraries use httpx, others on httpx2.
    bases = (base.__module__.partition(".")[0] for base in client.__mro__)
    http = sys.modules[next(name for name in bases if name.startswith("httpx"))]

    async def handle(request: Any) -> Any:
        answered = await answer(await request.aread())
        headers = {"content-type": "application/json"}
        return http.Response(answered.status, content=answered.content, headers=headers)

    return client(transport=http.MockTransport(handle))


_RESPONSES = "openai-responses"
# The oldest one that takes schemas of replies; `OPENAI_API_VERSION` names another.
_AZURE_API_VERSION = "2024-10-21"


def build_openai(endpoint: Endpoint, use: ClientUse) -> tuple[Any, Post | None]:
    """Make an instructor client for an OpenAI-compatible host, and what posts without it.

    Returns:
        The client; and what sends a request body past it, of an async client: then the client
        only names address, mode and key. None where the client asks: a sync one, and OpenAI's
        other interface.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import instructor  # noqa: PLC0415 - loads its runtime

    sdk = _sdk(endpoint, use)
    mode = instructor.Mode[OPENAI_HOSTS[endpoint.provider].mode]
    kind: Any = instructor.AsyncInstructor if use.asynchronous else instructor.Instructor
    if use.asynchronous and endpoint.provider != _RESPONSES:
        direct = DirectPost(
            sdk, reply_seconds=use.seconds, model=endpoint.model, limiter=use.limiter
        )
        _close_with(sdk._client, direct.close)
        post = use.repeating(direct.send, teaches=True)
        return kind(client=sdk, create=post, mode=mode), post
    ask = _ask_responses if endpoint.provider == _RESPONSES else _ask_chat
    create = use.repeating(partial(ask, sdk, endpoint.model, use))
    return kind(client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode), None


def _close_with(http: Any, close: Callable[[], Awaitable[None]]) -> None:
    aclose = http.aclose

    async def close_both() -> None:
        await close()
        await aclose()

    http.aclose = close_both


def _ask_chat(sdk: Any, model: str, use: ClientUse, body: dict[str, Any]) -> Any:
    from httpx2 import Response, Timeout  # noqa: PLC0415 - loaded by now

    content, one_try = packed(body, model), Timeout(use.one_try(), connect=CONNECT_SECONDS)
    options = {"timeout": one_try}
    reply = sdk.post(CHAT_PATH, cast_to=Response, content=content, options=options)
    return _completion(reply.content)


def _ask_responses(sdk: Any, model: str, use: ClientUse, body: dict[str, Any]) -> Any:
    """Ask OpenAI's other interface; awaited where the client is async."""
    asked = {"model": model, **body}
    # What this interface calls the messages.
    messages = asked.pop("messages", None)
    if messages is not None:
        asked["input"] = messages
    return sdk.responses.create(**asked, timeout=use.one_try())


def client_for_files(endpoint: Endpoint) -> Any:
    """Make the SDK's client for what is no chat: files and batches.

    Raises:
        ConfigurationError: There is no key.
    """
    if endpoint.provider not in OPENAI_HOSTS:
        return _made(endpoint, ClientUse(asynchronous=False, seconds=_FILE_SECONDS)).sdk
    if endpoint.key is None:
        raise no_key(endpoint.key_name)
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    where = _where(endpoint)
    kind: Any = openai.OpenAI
    if endpoint.provider == "azure_openai":
        kind = openai.AzureOpenAI
        # Files belong to no deployment.
        del where["azure_deployment"]
    return kind(max_retries=0, **where)


# An SDK's client is of one of four kinds.
def _sdk(endpoint: Endpoint, use: ClientUse) -> Any:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    timeout = openai.Timeout(use.seconds, connect=CONNECT_SECONDS)
    http = http_client(timeout, asynchronous=use.asynchronous)
    name = "AzureOpenAI" if endpoint.provider == "azure_openai" else "OpenAI"
    kind: Any = getattr(openai, f"Async{name}" if use.asynchronous else name)
    return kind(timeout=timeout, max_retries=0, http_client=http, **_where(endpoint))


def _where(endpoint: Endpoint) -> dict[str, Any]:
    """Return the arguments of an SDK client that say where it asks, and with which key."""
    if endpoint.provider != "azure_openai":
        return {"base_url": endpoint.address, "api_key": endpoint.key}
    return {
        "azure_endpoint": endpoint.address,
        # Part of the path; else the SDK would look for it in a body that it cannot read.
        "azure_deployment": endpoint.model,
        "api_version": os.environ.get("OPENAI_API_VERSION") or _AZURE_API_VERSION,
        "api_key": endpoint.key,
    }


def _completion(content: bytes) -> Any:
    """Read the body of a reply, as the SDK does.

    Raises:
        JudgeUnavailableError: It is none, whatever its status says.
    """
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - loaded by now

    completion: Any
    try:
        completion = ChatCompletion.model_validate_json(content)
    except ValidationError:
        # Some hosts leave fields out; the SDK's own way takes what is there.
        completion = ChatCompletion.construct(**read_reply(content))
    return usable(completion)


class AnthropicClient(Protocol):
    """What a checker may see of a client of Anthropic, whose library need not be installed."""

    @property
    def messages(self) -> Any:
        """Where it is asked."""


class GoogleClient(Protocol):
    """What a checker may see of `genai.Client`, whose library need not be installed."""

    @property
    def models(self) -> Any:
        """Where it is asked."""

    @property
    def aio(self) -> Any:
        """Its async kind."""


if TYPE_CHECKING:
    SdkClient = OpenAI | AsyncOpenAI | AnthropicClient | GoogleClient
    Client = str | Instructor | AsyncInstructor | SdkClient | None
else:
    Client = Any


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


# By library: the function of instructor that wraps its clients, how the reply is asked for (by
# schema where the library can, else by tool call), and the names of the clients.
_WRAPPINGS = {
    "openai": ("from_openai", "JSON_SCHEMA", "OpenAI AsyncOpenAI AzureOpenAI AsyncAzureOpenAI"),
    "anthropic": ("from_anthropic", "TOOLS", "Anthropic AsyncAnthropic"),
    "google": ("from_genai", "TOOLS", "Client"),
}
_NO_WRAPPING = ("", "", "")

# By client and kind: what was learned of a model is kept with the wrapped client.
_wrapped: "WeakKeyDictionary[Any, dict[bool, Any]]" = WeakKeyDictionary()


def as_instructor(client: Any, *, asynchronous: bool) -> Any:
    """Wrap a provider's own client: `OpenAI()`, `AzureOpenAI()`, `Anthropic()`, `genai.Client()`.

    Args:
        client: What a user passed; anything else is returned as it is.
        asynchronous: Which kind to make of a client that is both sync and async, as Google's is.
    """
    library, name = type(client).__module__.partition(".")[0], type(client).__name__
    function, mode, classes = _WRAPPINGS.get(library, _NO_WRAPPING)
    if name not in classes.split():
        return client
    # The class says which kind it is, where it can.
    is_both = name == "Client"
    kind = asynchronous and is_both
    made = _wrapped.setdefault(client, {})
    if kind not in made:
        import instructor  # noqa: PLC0415 - loads its runtime

        options = {"use_async": asynchronous} if is_both else {}
        wrap = getattr(instructor, function)
        made[kind] = wrap(client, mode=instructor.Mode[mode], **options)
    return made[kind]


def load_handlers(client: Any) -> None:
    """Load what instructor and the SDK load with the first call, whose row would pay for it."""
    from instructor.v2.core.registry import mode_registry  # noqa: PLC0415 - loads its runtime

    mode_registry.get_handlers(client.provider, client.mode)
    if is_async(client) and find_spec("anyio") is not None:
        import_module("anyio._backends._asyncio")


_lock = threading.Lock()
_built: set[type[BaseModel]] = set()


def build_reply_types(client: Any) -> None:
    """Build the classes of a sync client's replies, once; threads wait for the first that asks.

    Those of SDKs other than openai and anthropic are built with their modules.
    """
    sdk = type(getattr(client, "client", None)).__module__.partition(".")[0]
    if sdk == "anthropic":
        module, name = "anthropic.types", "Message"
    elif sdk != "openai":
        return
    elif "RESPONSES" in client.mode.name:
        module, name = "openai.types.responses", "Response"
    else:
        module, name = "openai.types.chat", "ChatCompletion"
    reply = getattr(import_module(module), name)
    with _lock:
        _build_class(reply)


def _build_class(model: type[BaseModel]) -> None:
    if model in _built:
        return
    _built.add(model)
    model.model_rebuild()
    for field in model.model_fields.values():
        for part in _models_in(field.annotation):
            _build_class(part)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


_log = logging.getLogger(__name__)


# Clients of SDKs that may not be installed have no type here.
async def close_client(client: Any) -> None:
    """Close a client's connections; that this fails can cost nothing that was graded."""
    for close in _closers_of(getattr(client, "client", None)):
        try:
            ended = close()
            if inspect.isawaitable(ended):
                await ended
        except Exception as error:  # noqa: BLE001 - the work is done, and nobody can mend it
            _log.debug("closing %s failed: %r", client, error)


def close_sync_client(client: Any) -> None:
    """Close a sync client's connections; as `close_client`."""
    for close in _closers_of(getattr(client, "client", None)):
        if not inspect.iscoroutinefunction(close):
            with suppress(Exception):
                close()


def _closers_of(sdk: Any) -> Iterator[Callable[[], Any]]:
    """Find what closes a provider's client: each SDK has another place for it."""
    # Gemini's client has an async half; Cohere's and Mistral's keep an HTTP client.
    inside = _inside(sdk, "_client_wrapper.httpx_client.httpx_client")
    places = (
        (sdk, "close"),
        (getattr(sdk, "aio", None), "aclose"),
        (inside, "aclose" if hasattr(inside, "aclose") else "close"),
        (_inside(sdk, "sdk_configuration.client"), "close"),
        (_inside(sdk, "sdk_configuration.async_client"), "aclose"),
    )
    for owner, name in places:
        close = getattr(owner, name, None)
        if callable(close):
            yield close


def _inside(source: Any, path: str) -> Any:
    for name in path.split("."):
        source = getattr(source, name, None)
    return source
