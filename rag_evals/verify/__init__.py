"""Verifiers: decide whether chunks support a statement, with or without a judge."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
