"""Prompts: from a template file to the text sent to a judge."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
