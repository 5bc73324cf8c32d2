"""Which statement cache do the environment variables ask for?"""

import os
import threading
from pathlib import Path
from typing import Literal

from rag_evals.cache.database import default_path, max_megabytes
from rag_evals.cache.statements import StatementCache
from rag_evals.core.arguments import number_in_variable
from rag_evals.errors import ConfigurationError

MODE_VARIABLE = "RAG_EVALS_STATEMENT_CACHE"
THRESHOLD_VARIABLE = "RAG_EVALS_SIMILARITY_THRESHOLD"
MODEL_VARIABLE = "RAG_EVALS_EMBEDDING_MODEL"
EQUIVALENCE_VARIABLE = "RAG_EVALS_EQUIVALENCE"
DEFAULT_MODEL = "openai/text-embedding-3-small"

_DEFAULT_THRESHOLD = 0.95
_MODES = ("off", "exact", "semantic")
_lock = threading.Lock()
_opened: dict[tuple[Path, str, float, str, str], StatementCache] = {}


def configured_cache(
    default: Literal["off", "exact"] = "off", path: Path | None = None
) -> StatementCache | None:
    """Open the cache that the environment asks for; one for all graders of this process.

    Args:
        default: What `RAG_EVALS_STATEMENT_CACHE` says where it is not set.
        path: The cache file; None takes the user's own.

    Returns:
        None when it is off.

    Raises:
        ConfigurationError: A variable has no meaning, or the file cannot be used.
    """
    threshold = check_cache_variables()
    mode = os.environ.get(MODE_VARIABLE) or default
    if mode == "off":
        return None
    model = os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL
    equivalence = os.environ.get(EQUIVALENCE_VARIABLE) or ""
    key = (path or default_path(), mode, threshold, model, equivalence)
    with _lock:
        cache = _opened.get(key)
        # Someone may have cleared the file since; SQLite would go on writing to the removed one.
        if cache is None or not key[0].exists():
            cache = _opened[key] = (
                StatementCache(key[0])
                if mode == "exact"
                else _semantic(model, threshold, key[0], equivalence)
            )
        return cache


def check_cache_variables() -> float:
    """Find out whether the variables mean something, also where no cache is opened.

    Returns:
        The least similarity of two statements that share a verdict, 0 to 1.

    Raises:
        ConfigurationError: A variable has no meaning.
    """
    max_megabytes()
    mode = os.environ.get(MODE_VARIABLE)
    if mode and mode not in _MODES:
        raise ConfigurationError(f"{MODE_VARIABLE} is {mode!r}; expected {', '.join(_MODES)}")
    return _threshold()


def _semantic(model: str, threshold: float, path: Path, equivalence: str) -> StatementCache:
    # Loaded only when it is asked for: importing the package has a budget.
    from rag_evals.cache.semantic import DEFAULT_EQUIVALENCE, SemanticCache  # noqa: PLC0415

    return SemanticCache(model, threshold, path, equivalence=equivalence or DEFAULT_EQUIVALENCE)


def _threshold() -> float:
    return number_in_variable(
        THRESHOLD_VARIABLE,
        _DEFAULT_THRESHOLD,
        lambda threshold: 0 <= threshold <= 1,
        "a number from 0 to 1",
    )
