"""How is a provider asked that has a wire and an SDK of its own? With its SDK's retries off.

Each function below makes one SDK's client and says how it sends a request; all else is shared. The
types of these SDKs are unknown here: none of them need be installed.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

from rag_evals.errors import ConfigurationError, MissingExtraError, RagEvalsError
from rag_evals.judge.clients.strings import Endpoint
from rag_evals.judge.pace.deadline import call_in_thread
from rag_evals.judge.wire.failures import redact
from rag_evals.judge.wire.sending import Answering, ClientUse

_FILE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Made:
    """A client of an SDK, and how it is used.

    Attributes:
        sdk: The client.
        send: Sends one request; awaited for an async client.
        provider: Whose wire it is; a name of instructor's.
        mode: How a reply is asked for; a name of instructor's.
    """

    sdk: Any
    send: Callable[[dict[str, Any]], Any]
    provider: str
    mode: str = "TOOLS"


Make = Callable[[str, ClientUse], Made]


@dataclass(frozen=True, slots=True)
class OwnSdk:
    """What a provider with an SDK of its own needs.

    Attributes:
        module: What is imported.
        package: What `pip install` takes.
        make: Makes the client, given the model and how it is used.
        keys: Environment variables that may hold the key; empty where the SDK looks for it.
        addresses: Environment variables that may name another address.
        asks: Where its client asks a model; only for those whose client takes another transport.
    """

    module: str
    package: str
    make: Make
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    asks: str = ""

    @property
    def key(self) -> str | None:
        """The key that the environment holds."""
        return os.environ.get(self.key_name) or None

    @property
    def key_name(self) -> str:
        """Which variable holds the key: the first that is set."""
        return _first_set(self.keys)

    @property
    def address(self) -> str:
        """The address that the environment names; empty where it is the SDK's own."""
        return os.environ.get(self.address_name, "")

    @property
    def address_name(self) -> str:
        """What a user changes to have another address."""
        return _first_set(self.addresses) or "the one that its library has"


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
        made = replace(made, sdk=sdk)
        create: Any = attrgetter(OWN_SDKS[endpoint.provider].asks)(sdk)
    else:
        create = use.repeating(made.send)
    provider, mode = Provider(made.provider), instructor.Mode[made.mode]
    kind: Any = instructor.AsyncInstructor if use.asynchronous else instructor.Instructor
    patched = instructor.patch(create=create, mode=mode, provider=provider)
    return kind(client=made.sdk, create=patched, mode=mode, provider=provider)


def sdk_for_files(endpoint: Endpoint) -> Any:
    """Make a provider's own client for what is no chat: files and batches."""
    return _made(endpoint, ClientUse(asynchronous=False, seconds=_FILE_SECONDS)).sdk


def _made(endpoint: Endpoint, use: ClientUse) -> Made:
    own = OWN_SDKS[endpoint.provider]
    check_own_sdk(endpoint.provider)
    try:
        return own.make(endpoint.model, use)
    except RagEvalsError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises, it makes no client
        said = " ".join(redact(str(error), own.key).split())
        raise ConfigurationError(f"provider {endpoint.provider!r}: {said[:300]}") from None


def _first_set(names: tuple[str, ...]) -> str:
    """Return the first variable that is set, else the first; empty where there is none."""
    return next((name for name in names if os.environ.get(name)), next(iter(names), ""))


def own_sdk(endpoint: Endpoint) -> OwnSdk:
    """Return what a provider with an SDK of its own needs."""
    own = OWN_SDKS[endpoint.provider]
    if endpoint.provider != "litellm":
        return own
    first, slash, _ = endpoint.model.partition("/")
    behind = (first if slash else "openai").upper().replace("-", "_")
    names = (f"{behind}_API_BASE", f"{behind}_BASE_URL")
    # The order in which it reads them: for OpenAI another one than for all others.
    return replace(own, addresses=names[::-1] if behind == "OPENAI" else names)


def check_own_sdk(provider: str) -> None:
    """Check that a provider's SDK is installed, and that there is a key.

    Raises:
        MissingExtraError: The SDK is not installed.
        ConfigurationError: There is no key.
    """
    own = OWN_SDKS[provider]
    # Looked for, not loaded: that takes seconds.
    if not _is_installed(own.module):
        raise MissingExtraError(
            f"provider {provider!r} needs its own library; run: pip install {own.package}"
        )
    if own.keys and own.key is None:
        raise no_key(" or ".join(own.keys))


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

    def make(_: str, use: ClientUse) -> Made:
        kind = getattr(import_module(library), f"Async{name}" if use.asynchronous else name)
        sdk = kind(max_retries=0, timeout=use.seconds)
        return Made(sdk, _timed(attrgetter(path)(sdk), "timeout", use), provider)

    return make


def _mistral(_: str, use: ClientUse) -> Made:
    try:
        from mistralai.client import Mistral  # noqa: PLC0415 - only where it is asked
    except ImportError:
        from mistralai import Mistral  # noqa: PLC0415 - the first version has it here

    own = OWN_SDKS["mistral"]
    sdk = Mistral(api_key=own.key, server_url=own.address or None)
    chat = sdk.chat.complete_async if use.asynchronous else sdk.chat.complete
    return Made(sdk, _timed(chat, "timeout_ms", use, unit=1000), "mistral")


def _cohere(_: str, use: ClientUse) -> Made:
    import cohere  # noqa: PLC0415 - only where it is asked

    own = OWN_SDKS["cohere"]
    kind = cohere.AsyncClientV2 if use.asynchronous else cohere.ClientV2
    sdk = kind(
        api_key=own.key,
        base_url=own.address or None,
        timeout=use.seconds,
        # Else it tells every user that asking for JSON by schema is an experiment.
        log_warning_experimental_features=False,
    )
    options = {"max_retries": 0}

    def send(body: dict[str, Any]) -> Any:
        # A mark of instructor's, which tells the two versions of the interface apart.
        asked = {name: value for name, value in body.items() if not name.startswith("_cohere")}
        if not use.asynchronous:
            options["timeout_in_seconds"] = int(use.one_try()) or 1
        return sdk.chat(**asked, request_options=options)

    return Made(sdk, send, "cohere", "JSON_SCHEMA")


def _google(_: str, use: ClientUse) -> Made:
    from google import genai  # noqa: PLC0415 - only where it is asked

    own = OWN_SDKS["google"]
    return _genai(genai.Client(api_key=own.key, vertexai=False), use)


def _vertex(_: str, use: ClientUse) -> Made:
    from google import genai  # noqa: PLC0415 - only where it is asked

    key, project = os.environ.get("GOOGLE_API_KEY"), os.environ.get("GOOGLE_CLOUD_PROJECT")
    if project:
        location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "us-central1"
        sdk = genai.Client(vertexai=True, project=project, location=location)
    elif key:
        sdk = genai.Client(vertexai=True, api_key=key)
    else:
        raise no_key("GOOGLE_CLOUD_PROJECT and log in with gcloud, or set GOOGLE_API_KEY")
    return _genai(sdk, use)


def _genai(sdk: Any, use: ClientUse) -> Made:
    from google.genai import types  # noqa: PLC0415 - loaded by now

    models = sdk.aio.models if use.asynchronous else sdk.models

    def send(body: dict[str, Any]) -> Any:
        http = types.HttpOptions(
            timeout=int(use.one_try() * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        config = body["config"].model_copy(update={"http_options": http})
        return models.generate_content(**{**body, "config": config})

    return Made(sdk, send, "genai")


def _bedrock(model: str, use: ClientUse) -> Made:
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
        read_timeout=use.seconds,
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
    mode = "TOOLS" if "anthropic" in model or "claude" in model else "MD_JSON"
    return Made(sdk, send_async if use.asynchronous else send, "bedrock", mode)


def _litellm(model: str, use: ClientUse) -> Made:
    # Else the import itself asks the network for a list of prices.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # noqa: PLC0415 - only where it is asked

    missing = litellm.validate_environment(model)
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


_GENAI = ("google.genai", "google-genai jsonref")
_GEMINI = OwnSdk(
    *_GENAI, _google, ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)
)
OWN_SDKS: dict[str, OwnSdk] = {
    "anthropic": OwnSdk(
        "anthropic",
        "anthropic",
        _generated("anthropic", "Anthropic", "messages.create", "anthropic"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        ("ANTHROPIC_BASE_URL",),
        asks="messages.create",
    ),
    "bedrock": OwnSdk("boto3", "boto3", _bedrock, (), ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)),
    "cohere": OwnSdk(
        "cohere", "cohere", _cohere, ("CO_API_KEY", "COHERE_API_KEY"), ("CO_API_URL",)
    ),
    "google": _GEMINI,
    "gemini": _GEMINI,
    "generative-ai": _GEMINI,
    "groq": OwnSdk(
        "groq",
        "groq",
        _generated("groq", "Groq", "chat.completions.create", "groq"),
        ("GROQ_API_KEY",),
        ("GROQ_BASE_URL",),
        asks="chat.completions.create",
    ),
    # Which key it needs depends on the model; it says so itself.
    "litellm": OwnSdk("litellm", "litellm", _litellm),
    "mistral": OwnSdk(
        "mistralai", "mistralai", _mistral, ("MISTRAL_API_KEY",), ("MISTRAL_BASE_URL",)
    ),
    "vertexai": OwnSdk(*_GENAI, _vertex, (), ("GOOGLE_VERTEX_BASE_URL",)),
    "writer": OwnSdk(
        "writerai",
        "writer-sdk",
        _generated("writerai", "Writer", "chat.chat", "writer"),
        ("WRITER_API_KEY",),
    ),
}
"""Providers that are asked with an SDK of their own."""


# Libraries that need not be installed have no types here.
def _answering_http(sdk: Any, answer: Answering) -> Any:
    """Return an HTTP client for an async client of a library, which answers by itself.

    Args:
        sdk: The client; it was generated by Stainless, as those of Anthropic and Groq.
        answer: Is given the body of each request; what it raises, the library raises.
    """
    client = sys.modules[type(sdk).__module__.partition(".")[0]].DefaultAsyncHttpxClient
    # Some of these libraries stand on httpx, others on httpx2.
    bases = (base.__module__.partition(".")[0] for base in client.__mro__)
    http = sys.modules[next(name for name in bases if name.startswith("httpx"))]

    async def handle(request: Any) -> Any:
        answered = await answer(await request.aread())
        headers = {"content-type": "application/json"}
        return http.Response(answered.status, content=answered.content, headers=headers)

    return client(transport=http.MockTransport(handle))
