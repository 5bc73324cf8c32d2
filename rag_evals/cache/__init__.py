"""Caches of judges' replies and verifiers' verdicts, in one SQLite file."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
