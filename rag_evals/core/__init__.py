"""Shared types: samples, results, findings, steps, verdicts and verifiers."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
