"""May a user pass `OpenAI()` itself? A provider's own client is wrapped as instructor would."""

from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary


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


class _Wrapping(NamedTuple):
    """How clients of one library are wrapped.

    Attributes:
        function: Of instructor.
        mode: How the reply is asked for: by schema where the library can, else by tool call.
        classes: Names of the clients, the async ones as well.
    """

    function: str
    mode: str
    classes: tuple[str, ...]


_WRAPPINGS = {
    "openai": _Wrapping(
        "from_openai", "JSON_SCHEMA", ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI")
    ),
    "anthropic": _Wrapping("from_anthropic", "TOOLS", ("Anthropic", "AsyncAnthropic")),
    "google": _Wrapping("from_genai", "TOOLS", ("Client",)),
}

# By client and kind: what was learned of a model is kept with the wrapped client.
_wrapped: "WeakKeyDictionary[Any, dict[bool, Any]]" = WeakKeyDictionary()


def as_instructor(client: Any, *, asynchronous: bool) -> Any:
    """Wrap a provider's own client: `OpenAI()`, `AzureOpenAI()`, `Anthropic()`, `genai.Client()`.

    Args:
        client: What a user passed; anything else is returned as it is.
        asynchronous: Which kind to make of a client that is both, as Google's is.
    """
    wrapping = _WRAPPINGS.get(type(client).__module__.partition(".")[0])
    name = type(client).__name__
    if wrapping is None or name not in wrapping.classes:
        return client
    # The class says which kind it is, where it can.
    is_both = name == "Client"
    kind = asynchronous and is_both
    made = _wrapped.setdefault(client, {})
    if kind not in made:
        import instructor  # noqa: PLC0415 - loads its runtime

        mode = instructor.Mode[wrapping.mode]
        options = {"use_async": asynchronous} if is_both else {}
        made[kind] = getattr(instructor, wrapping.function)(client, mode=mode, **options)
    return made[kind]
