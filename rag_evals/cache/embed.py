"""Who turns a statement into a vector? An OpenAI-like endpoint, or a model on this machine."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
    """Has the method of LangChain's `Embeddings`."""

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """Return one vector for each text."""
        ...


class LlamaIndexShaped(Protocol):
    """Has the method of LlamaIndex's `BaseEmbedding`."""

    def get_text_embedding_batch(self, texts: list[str], /) -> list[list[float]]:
        """Return one vector for each text."""
        ...


@dataclass(frozen=True)
class NamedEmbedder:
    """A function of any origin that makes vectors, with a name to store them under."""

    name: str
    embed: Embed


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
    for method in _LIBRARY_METHODS:
        if hasattr(found, method):
            return NamedEmbedder(_library_name(found), partial(_embed_list, found, method))
    if callable(found):
        kind = type(found)
        module = getattr(found, "__module__", kind.__module__)
        return NamedEmbedder(f"{module}.{getattr(found, '__qualname__', kind.__qualname__)}", found)
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
        return NamedEmbedder(spec, partial(embed_texts, spec))
    raise ConfigurationError(
        f"embedding model is {spec!r}; expected 'openai/MODEL', such as "
        "'openai/text-embedding-3-small', or 'local:MODEL' for sentence-transformers"
    )


def _embed_list(embedder: Any, method: str, texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Ask an embedder of a library; all statements are documents, and none is a query."""
    vectors: Sequence[Sequence[float]] = getattr(embedder, method)(list(texts))
    return vectors


def _library_name(embedder: Any) -> str:
    """Return the class and, where the object says so, the model."""
    kind = type(embedder)
    named = (getattr(embedder, name, None) for name in ("model", "model_name"))
    model = next((value for value in named if isinstance(value, str)), "")
    return f"{kind.__module__}.{kind.__qualname__} {model}".rstrip()
