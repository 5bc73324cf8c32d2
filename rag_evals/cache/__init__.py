"""Caches of judges' replies and verifiers' verdicts, in one SQLite file."""

from rag_evals import lazy_names

NAMES = {
    "semantic": ("SemanticCache",),
    "statements": ("StatementCache", "cached", "configured_cache"),
}
"""The public names of this package, by module."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
