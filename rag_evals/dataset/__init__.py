"""Samples from files, tables and rows, whose columns are mapped to fields."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
