"""Which clients of a user's own are taken? Of instructor, or a provider's own, such as `OpenAI()`.

Also what any client needs before its first call and behind its last one, whoever made it.
"""

import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from rag_evals.errors import ConfigurationError

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor
    from openai import AsyncOpenAI, OpenAI


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
        asynchronous: Which kind to make of a client that is both, as Google's is.
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
