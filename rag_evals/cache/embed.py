"""Who turns a statement into a vector? An OpenAI-like endpoint, or a model on this machine."""

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Protocol

from rag_evals.errors import ConfigurationError, MissingExtraError
from rag_evals.judge import embed_texts

LOCAL_PREFIX = "local:"
"""What stands before the name or the folder of a sentence-transformers model."""

_LIBRARY_METHODS = ("embed_documents", "get_text_embedding_batch")

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """What vectors are kept under: other names are other vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, in order."""
        ...


class LangChainShaped(Protocol):
    """Has the methods of LangChain's `Embeddings`."""

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """Return one vector for each text."""
        ...

    def embed_query(self, text: str, /) -> list[float]:
        """Return the vector of a query; not used."""
        ...


class LlamaIndexShaped(Protocol):
    """Has the method of LlamaIndex's `BaseEmbedding`."""

    def get_text_embedding_batch(self, texts: list[str], /) -> list[list[float]]:
        """Return one vector for each text."""
        ...


class EndpointEmbedder:
    """Asks `/v1/embeddings` of an OpenAI-compatible endpoint, in batches.

    Args:
        name: Such as `openai/text-embedding-3-small`; the address is `OPENAI_BASE_URL`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in order.

        Raises:
            GradingError: The endpoint does not answer, or refuses.
        """
        return embed_texts(self.name, texts)


class LocalEmbedder:
    """Runs a sentence-transformers model on this machine; extra `local`.

    Args:
        model: Name on the Hugging Face hub, or a folder.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Load the model again in another process."""
        return type(self), (self.model,)

    @property
    def name(self) -> str:
        """`local:` and the model."""
        return f"{LOCAL_PREFIX}{self.model}"

    def check(self) -> None:
        """Look for the library; the model itself is loaded when first used.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
        """
        if find_spec("sentence_transformers") is None:
            raise _missing_extra()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in order.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            ConfigurationError: The model cannot be loaded.
        """
        with self._lock:
            vectors = self._loaded.encode(list(texts), show_progress_bar=False)
        return [[float(number) for number in vector] for vector in vectors]

    @cached_property
    def _loaded(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - optional, slow
        except ImportError as error:
            raise _missing_extra() from error
        try:
            return SentenceTransformer(self.model)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"embedding model {self.model!r} cannot be loaded: {str(error)[:300]}; give a name "
                "on the Hugging Face hub that this machine can reach, or a folder"
            ) from error


def _missing_extra() -> MissingExtraError:
    return MissingExtraError(
        "local embeddings need sentence-transformers; run: pip install 'rag-evals[local]'"
    )


class FunctionEmbedder:
    """Wraps a function of the user's own.

    Args:
        function: Takes a list of texts and returns one vector for each.
    """

    def __init__(self, function: Embed) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """The function's name, with its module."""
        kind = type(self._function)
        module = getattr(self._function, "__module__", kind.__module__)
        return f"{module}.{getattr(self._function, '__qualname__', kind.__qualname__)}"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return what the function returns."""
        return self._function(texts)


class LibraryEmbedder:
    """Wraps an embedder of LangChain or LlamaIndex, whichever the object is shaped like.

    Args:
        embedder: Has `embed_documents`, or `get_text_embedding_batch`.
    """

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The class and, where the object says so, the model."""
        kind = type(self._embedder)
        named = (getattr(self._embedder, name, None) for name in ("model", "model_name"))
        model = next((value for value in named if isinstance(value, str)), "")
        return f"{kind.__module__}.{kind.__qualname__} {model}".rstrip()

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, in order.

        Statements are compared with each other: all are documents, and none is a query.
        """
        for method in _LIBRARY_METHODS:
            embed = getattr(self._embedder, method, None)
            if embed is not None:
                vectors: Sequence[Sequence[float]] = embed(list(texts))
                return vectors
        raise AssertionError("as_embedder has looked for one of the methods")


AnyEmbedder = Embed | Embedder | LangChainShaped | LlamaIndexShaped | str
"""What may be given as `embed=`."""


def as_embedder(given: AnyEmbedder) -> Embedder:
    """Return an embedder, whatever was given.

    Raises:
        ConfigurationError: It cannot make vectors.
    """
    if isinstance(given, str):
        return embedder_from_string(given)
    # Protocols cannot be told from functions by isinstance here: each may be callable.
    found: Any = given
    if hasattr(found, "embed") and isinstance(getattr(found, "name", None), str):
        return found  # type: ignore[no-any-return]  # as above
    if any(hasattr(found, method) for method in _LIBRARY_METHODS):
        return LibraryEmbedder(found)
    if callable(found):
        return FunctionEmbedder(found)
    raise ConfigurationError(
        f"embed is {given!r}; expected a function from texts to vectors, an object with name and "
        "embed, with embed_documents (LangChain) or get_text_embedding_batch (LlamaIndex), or a "
        "name such as 'openai/text-embedding-3-small'"
    )


def embedder_from_string(spec: str) -> Embedder:
    """Make the embedder that a string names.

    Args:
        spec: `openai/MODEL`, or `local:MODEL` for sentence-transformers.

    Raises:
        ConfigurationError: The string names neither.
    """
    if spec.startswith(LOCAL_PREFIX) and spec != LOCAL_PREFIX:
        return LocalEmbedder(spec.removeprefix(LOCAL_PREFIX))
    if spec.startswith("openai/") and spec != "openai/":
        return EndpointEmbedder(spec)
    raise ConfigurationError(
        f"embedding model is {spec!r}; expected 'openai/MODEL', such as "
        "'openai/text-embedding-3-small', or 'local:MODEL' for sentence-transformers"
    )
