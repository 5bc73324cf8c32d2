"""SDK clients: those we make from judge strings, and those users bring.

Providers' own SDKs are optional, so they have no types here.
"""

import inspect
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from rag_evals.errors import ConfigurationError, MissingExtraError, RagEvalsError
from rag_evals.judge.clients.decisions import DECISIONS_PATH, read_decisions
from rag_evals.judge.clients.strings import Endpoint, read_endpoint
from rag_evals.judge.pace.row_time import call_in_thread
from rag_evals.judge.wire.direct import CHAT_PATH, DirectPost, Post, StatusError, read_chat, unsent
from rag_evals.judge.wire.exchange import packed
from rag_evals.judge.wire.sending import (
    CONNECT_SECONDS,
    Answering,
    ClientUse,
    bind_to_policy,
    redact,
    repeating,
    translate,
    trusted_certificates,
)

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor
    from openai import AsyncOpenAI, OpenAI


_FILE_SECONDS = 600.0
_OK = 200


class BuiltClient(NamedTuple):
    """A client made for a judge string; `post` is None for providers' own SDKs."""

    client: Any
    post: Post | None
    close: Callable[[], Awaitable[None]]


def build_client(endpoint: Endpoint, use: ClientUse) -> BuiltClient:
    """Return an endpoint's client; raise `ConfigurationError` if there can be none."""
    _require_usable(endpoint)
    try:
        build = _build_own_sdk if endpoint.provider in OWN_SDKS else _build_openai
        return build(endpoint, use)
    except RagEvalsError:
        raise
    # SDKs also load proxies and certificates here, and raise anything.
    except Exception as error:  # noqa: BLE001 - see above
        said = " ".join(redact(str(error), endpoint.key).split())[:300]
        where = "; check HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE and the like"
        raise ConfigurationError(
            f"provider {endpoint.provider!r}: no client can be made: {said}"
            + where * isinstance(error, OSError | ValueError)
        ) from None


def _require_usable(endpoint: Endpoint) -> None:
    provider = endpoint.provider
    # Importing the module would take seconds.
    if provider in OWN_SDKS and not _is_installed(OWN_SDKS[provider][0]):
        raise MissingExtraError(
            f"provider {provider!r} needs its own library; run: pip install {OWN_SDKS[provider][1]}"
        )
    if endpoint.key_name and endpoint.key is None:
        local = " (any text for a local server that checks none)" if provider == "openai" else ""
        raise no_key(" or ".join(endpoint.host.key_variables.split()) + local)


def no_key(where: str) -> ConfigurationError:
    return ConfigurationError(
        f"no API key: set {where}, or use the judge 'embedded', which needs no key"
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Made(NamedTuple):
    sdk: Any
    send: Callable[[dict[str, Any]], Any]
    provider: str
    mode: str = "TOOLS"


Make = Callable[[Endpoint, ClientUse], Made]


def _build_own_sdk(endpoint: Endpoint, use: ClientUse) -> BuiltClient:
    import instructor  # noqa: PLC0415 - slow import

    made = OWN_SDKS[endpoint.provider][2](endpoint, use)
    bind_to_policy(made.sdk)

    async def once(**body: Any) -> Any:
        return await made.send(body)

    create: Any = repeating(made.send, use.limiter) if use.answer is None else once
    provider, mode = instructor.Provider(made.provider), instructor.Mode[made.mode]
    patched = instructor.patch(create=create, mode=mode, provider=provider)
    client = instructor.AsyncInstructor(
        client=made.sdk, create=patched, mode=mode, provider=provider
    )
    return BuiltClient(client, None, partial(close_client, client))


def _generated(library: str, name: str, path: str, provider: str) -> Make:
    """Return a maker for the SDKs that Stainless generates; they are all alike."""

    def make(_: Endpoint, use: ClientUse) -> Made:
        module = import_module(library)
        http = None if use.answer is None else _answering_http(module, use.answer)
        kind = getattr(module, f"Async{name}")
        sdk = kind(max_retries=0, timeout=use.seconds, http_client=http)

        def send(body: dict[str, Any]) -> Any:
            return attrgetter(path)(sdk)(**body, timeout=use.one_try())

        return Made(sdk, send, provider)

    return make


def _responses(endpoint: Endpoint, use: ClientUse) -> Made:
    import openai  # noqa: PLC0415 - slow import

    http = openai.DefaultAsyncHttpxClient(verify=trusted_certificates(), timeout=use.seconds)
    where = _where(endpoint)
    sdk = openai.AsyncOpenAI(max_retries=0, timeout=use.seconds, http_client=http, **where)

    def send(body: dict[str, Any]) -> Any:
        asked = {"model": endpoint.model, **body}
        if "messages" in asked:
            asked["input"] = asked.pop("messages")
        return sdk.responses.create(**asked, timeout=use.one_try())

    return Made(sdk, send, "openai", "RESPONSES_TOOLS")


def _mistral(endpoint: Endpoint, use: ClientUse) -> Made:
    try:
        from mistralai.client import Mistral  # noqa: PLC0415 - optional library
    except ImportError:
        from mistralai import Mistral  # noqa: PLC0415 - older versions

    sdk = Mistral(api_key=endpoint.key, server_url=endpoint.address)

    def send(body: dict[str, Any]) -> Any:
        return sdk.chat.complete_async(**body, timeout_ms=int(use.one_try() * 1000))

    return Made(sdk, send, "mistral")


def _cohere(endpoint: Endpoint, use: ClientUse) -> Made:
    import cohere  # noqa: PLC0415 - optional library

    sdk = cohere.AsyncClientV2(
        api_key=endpoint.key,
        base_url=endpoint.address,
        timeout=use.seconds,
        # Its warning says that schemas are experimental.
        log_warning_experimental_features=False,
    )

    def send(body: dict[str, Any]) -> Any:
        # instructor adds the API version to bodies.
        asked = {name: value for name, value in body.items() if not name.startswith("_cohere")}
        options = {"max_retries": 0, "timeout_in_seconds": int(use.one_try())}
        return sdk.chat(**asked, request_options=options)

    return Made(sdk, send, "cohere", "JSON_SCHEMA")


def _genai(endpoint: Endpoint, use: ClientUse) -> Made:
    from google import genai  # noqa: PLC0415 - optional library
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

    def send(body: dict[str, Any]) -> Any:
        http = types.HttpOptions(
            timeout=int(use.one_try() * 1000), retry_options=types.HttpRetryOptions(attempts=1)
        )
        config = body["config"].model_copy(update={"http_options": http})
        return sdk.aio.models.generate_content(**{**body, "config": config})

    return Made(sdk, send, "genai")


def _bedrock(endpoint: Endpoint, use: ClientUse) -> Made:
    import boto3  # noqa: PLC0415 - optional library
    from botocore.config import Config  # noqa: PLC0415 - as above

    session = boto3.Session()
    if not os.environ.get("AWS_BEARER_TOKEN_BEDROCK") and session.get_credentials() is None:
        raise no_key(
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, or log in "
            "with `aws configure`"
        )
    config = Config(
        connect_timeout=5,
        # boto3 has no time-out per request; the row's own time-out ends a call earlier.
        read_timeout=max(use.seconds, _FILE_SECONDS),
        retries={"total_max_attempts": 1},
        # The default pool is smaller than a run's number of threads.
        max_pool_connections=64,
    )
    region = session.region_name or os.environ.get("AWS_REGION") or "us-east-1"
    sdk = session.client("bedrock-runtime", region_name=region, config=config)

    async def send(body: dict[str, Any]) -> Any:
        import asyncio  # noqa: PLC0415 - slow import

        # The SDK is sync and would block the event loop.
        return await asyncio.wrap_future(call_in_thread(lambda: sdk.converse(**body)))

    # Other models may not support tools; instructor does the same.
    takes_tools = "anthropic" in endpoint.model or "claude" in endpoint.model
    mode = "TOOLS" if takes_tools else "MD_JSON"
    return Made(sdk, send, "bedrock", mode)


def _litellm(endpoint: Endpoint, use: ClientUse) -> Made:
    # Keeps the import from downloading a price list.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # noqa: PLC0415 - optional library

    missing = litellm.validate_environment(endpoint.model)
    if not missing["keys_in_environment"] and missing["missing_keys"]:
        raise no_key(" and ".join(missing["missing_keys"]))
    # Keeps it from printing advice on every error.
    litellm.suppress_debug_info = True

    def send(body: dict[str, Any]) -> Any:
        return litellm.acompletion(**body, timeout=use.one_try(), num_retries=0, max_retries=0)

    return Made(None, send, "openai")


OWN_SDKS: dict[str, tuple[str, str, Make]] = {
    "anthropic": (
        "anthropic",
        "anthropic",
        _generated("anthropic", "Anthropic", "messages.create", "anthropic"),
    ),
    "bedrock": ("boto3", "boto3", _bedrock),
    "cohere": ("cohere", "cohere", _cohere),
    "google": ("google.genai", "google-genai jsonref", _genai),
    "groq": ("groq", "groq", _generated("groq", "Groq", "chat.completions.create", "groq")),
    # The library checks the key, which depends on the model.
    "litellm": ("litellm", "litellm", _litellm),
    "mistral": ("mistralai", "mistralai", _mistral),
    "openai-responses": ("openai", "openai", _responses),
    "vertexai": ("google.genai", "google-genai jsonref", _genai),
    "writer": ("writerai", "writer-sdk", _generated("writerai", "Writer", "chat.chat", "writer")),
}
"""Module, packages to install and maker, by provider."""


def _answering_http(library: Any, answer: Answering) -> Any:
    """Return an HTTP client that answers without a network; exceptions of `answer` pass through."""
    client = library.DefaultAsyncHttpxClient
    # Some versions use httpx, others httpx2.
    bases = (base.__module__.partition(".")[0] for base in client.__mro__)
    http = sys.modules[next(name for name in bases if name.startswith("httpx"))]

    async def handle(request: Any) -> Any:
        answered = await answer(await request.aread())
        headers = {"content-type": "application/json"}
        return http.Response(answered.status, content=answered.content, headers=headers)

    return client(transport=http.MockTransport(handle))


# The oldest version with response schemas.
_AZURE_API_VERSION = "2024-10-21"


def _build_openai(endpoint: Endpoint, use: ClientUse) -> BuiltClient:
    import instructor  # noqa: PLC0415 - slow import
    import openai  # noqa: PLC0415 - slow import

    timeout = openai.Timeout(use.seconds, connect=CONNECT_SECONDS)
    is_azure = endpoint.provider == "azure_openai"
    kind: Any = openai.AsyncAzureOpenAI if is_azure else openai.AsyncOpenAI
    sdk = kind(timeout=timeout, max_retries=0, http_client=unsent(), **_where(endpoint))
    # Load certificates now, so that faults show before the first row.
    trusted_certificates()
    path, read = (DECISIONS_PATH, read_decisions) if endpoint.decides else (CHAT_PATH, read_chat)
    direct = DirectPost(sdk, use.seconds, path, read, model=endpoint.model, limiter=use.limiter)
    if use.answer is None:
        post = repeating(direct.send, use.limiter, teaches=True)
    else:
        post = _answered_by(use.answer, read, endpoint.model)
    mode = instructor.Mode[endpoint.host.mode]
    client = instructor.AsyncInstructor(client=sdk, create=post, mode=mode)
    return BuiltClient(client, post, direct.close)


def _answered_by(answer: Answering, read: Callable[[bytes], Any], model: str) -> Post:
    async def post(**body: Any) -> Any:
        status, content = await answer(packed(body, model))
        if status != _OK:
            raise StatusError(status, content)
        return read(content)

    return post


def client_for_files(endpoint: Endpoint) -> Any:
    _require_usable(endpoint)
    if endpoint.provider in OWN_SDKS:
        library = import_module(OWN_SDKS[endpoint.provider][0])
        # No other provider with its own SDK takes batches.
        kind = library.Groq if endpoint.provider == "groq" else library.Anthropic
        return kind(max_retries=0, timeout=_FILE_SECONDS)
    import openai  # noqa: PLC0415 - slow import

    where = _where(endpoint)
    kind = openai.OpenAI
    if endpoint.provider == "azure_openai":
        kind = openai.AzureOpenAI
        # Files are not part of a deployment.
        del where["azure_deployment"]
    return kind(max_retries=0, **where)


_TEXTS_A_REQUEST = 256


def embed_texts(spec: str, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of texts from `/v1/embeddings` at a judge string's address."""
    endpoint = read_endpoint(spec)
    sdk = _embedding_client(endpoint, endpoint.address, endpoint.key)
    vectors: list[list[float]] = []
    try:
        for first in range(0, len(texts), _TEXTS_A_REQUEST):
            part = list(texts[first : first + _TEXTS_A_REQUEST])
            # Not every server returns packed text.
            made = sdk.embeddings.create(model=endpoint.model, input=part, encoding_format="float")
            vectors += [one.embedding for one in sorted(made.data, key=attrgetter("index"))]
    except Exception as error:  # noqa: BLE001 - SDKs raise anything
        raise translate(error, attempts=1, key=endpoint.key) from None
    return vectors


@cache
def _embedding_client(endpoint: Endpoint, *_named: str | None) -> Any:
    import openai  # noqa: PLC0415 - slow import

    http = openai.DefaultHttpxClient(follow_redirects=False)
    return client_for_files(endpoint).with_options(max_retries=4, http_client=http)


def _where(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.provider != "azure_openai":
        return {"base_url": endpoint.address, "api_key": endpoint.key}
    return {
        "azure_endpoint": endpoint.address,
        # Without it the SDK would read the deployment from the body, which is bytes here.
        "azure_deployment": endpoint.model,
        "api_version": os.environ.get("OPENAI_API_VERSION") or _AZURE_API_VERSION,
        "api_key": endpoint.key,
    }


class AnthropicClient(Protocol):
    """An `anthropic.Anthropic` or `AsyncAnthropic`."""

    @property
    def messages(self) -> Any: ...


class GoogleClient(Protocol):
    """A `google.genai.Client`."""

    @property
    def models(self) -> Any: ...

    @property
    def aio(self) -> Any: ...


if TYPE_CHECKING:
    SdkClient = OpenAI | AsyncOpenAI | AnthropicClient | GoogleClient
    Client = str | Instructor | AsyncInstructor | SdkClient | None
else:
    Client = Any


def is_async(client: object) -> bool:
    """True for an async instructor client, False for a sync one; else `ConfigurationError`."""
    from instructor import AsyncInstructor, Instructor  # noqa: PLC0415 - slow import

    sdk = getattr(client, "client", client)
    if type(sdk).__module__.partition(".")[0] == "xai_sdk":
        # It uses gRPC; the same models have an OpenAI-compatible API.
        raise ConfigurationError(
            "clients of xai-sdk are not supported; pass 'xai/MODEL', or "
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


# By library: instructor's function, the mode (a schema if the library supports it, else a tool
# call), and the client classes.
_WRAPPINGS = {
    "openai": ("from_openai", "JSON_SCHEMA", "OpenAI AsyncOpenAI AzureOpenAI AsyncAzureOpenAI"),
    "anthropic": ("from_anthropic", "TOOLS", "Anthropic AsyncAnthropic"),
    "google": ("from_genai", "TOOLS", "Client"),
}
_NO_WRAPPING = ("", "", "")

# Kept, as lessons about models belong to the wrapped client.
_wrapped: "WeakKeyDictionary[Any, dict[bool, Any]]" = WeakKeyDictionary()


def as_instructor(client: Any, *, asynchronous: bool) -> Any:
    """Wrap an SDK client in instructor; return anything else unchanged.

    Args:
        client: `OpenAI()`, `AzureOpenAI()`, `Anthropic()`, `genai.Client()`, or any other client.
        asynchronous: Make an async wrapper of a client that is both, such as Google's.
    """
    library, name = type(client).__module__.partition(".")[0], type(client).__name__
    function, mode, classes = _WRAPPINGS.get(library, _NO_WRAPPING)
    if name not in classes.split():
        return client
    # Other classes are either sync or async.
    is_both = name == "Client"
    kind = asynchronous and is_both
    made = _wrapped.setdefault(client, {})
    if kind not in made:
        import instructor  # noqa: PLC0415 - slow import

        options = {"use_async": asynchronous} if is_both else {}
        wrap = getattr(instructor, function)
        made[kind] = wrap(client, mode=instructor.Mode[mode], **options)
    return made[kind]


def load_handlers(client: Any) -> None:
    """Load what instructor and the SDK would load during the first call."""
    from instructor.v2.core.registry import mode_registry  # noqa: PLC0415 - slow import

    mode_registry.get_handlers(client.provider, client.mode)
    if not is_async(client):
        _build_reply_types(client)
    elif find_spec("anyio") is not None:
        import_module("anyio._backends._asyncio")


_lock = threading.Lock()
_built: set[type[BaseModel]] = set()


def _build_reply_types(client: Any) -> None:
    """Build deferred pydantic models now: several threads that build one at a time race.

    Only openai and anthropic defer them.
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


# Gemini's client has an async half; Cohere's and Mistral's keep an HTTP client.
_CLOSERS = (
    "close",
    "aio.aclose",
    "_client_wrapper.httpx_client.httpx_client.aclose",
    "sdk_configuration.async_client.aclose",
)


async def close_client(client: Any) -> None:
    """Close a client's connections; a failure is only logged."""
    sdk = getattr(client, "client", None)
    for path in _CLOSERS:
        close = sdk
        for name in path.split("."):
            close = getattr(close, name, None)
        if not callable(close):
            continue
        try:
            ended = close()
            if inspect.isawaitable(ended):
                await ended
        except Exception as error:  # noqa: BLE001 - the work is done
            _log.debug("closing %s failed: %r", client, error)
