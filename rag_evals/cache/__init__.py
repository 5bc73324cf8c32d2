"""Caches of judges' replies and verifiers' verdicts, in one SQLite file."""

from rag_evals import lazy_names

NAMES = {
    "semantic": ("SemanticCache",),
    "statements": ("StatementCache", "cached", "configured_cache"),
}
"""Names for other rooms, by file."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
