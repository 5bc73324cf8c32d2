"""What was decided before? Answers of judges and verdicts of verifiers, kept in one SQLite file.

The semantic cache and its guard are loaded when they are first used: importing the package has a
budget, and few graders need them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.cache.calls import CALLS_TABLE, CachedJudge, open_calls
from rag_evals.cache.configured import configured_cache
from rag_evals.cache.database import Database, count_rows, default_path, remove, size_of
from rag_evals.cache.statements import STATEMENTS_TABLE, StatementCache, cached

if TYPE_CHECKING:
    from rag_evals.cache.embed import Embed, Embedder, embedder_from_string
    from rag_evals.cache.guard import may_share_verdict
    from rag_evals.cache.semantic import SemanticCache

_HOMES = {
    "Embed": "rag_evals.cache.embed",
    "Embedder": "rag_evals.cache.embed",
    "SemanticCache": "rag_evals.cache.semantic",
    "embedder_from_string": "rag_evals.cache.embed",
    "may_share_verdict": "rag_evals.cache.guard",
}

__all__ = [
    "CALLS_TABLE",
    "STATEMENTS_TABLE",
    "CachedJudge",
    "Database",
    "Embed",
    "Embedder",
    "SemanticCache",
    "StatementCache",
    "cached",
    "configured_cache",
    "count_rows",
    "default_path",
    "embedder_from_string",
    "may_share_verdict",
    "open_calls",
    "remove",
    "size_of",
]


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.cache' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
