"""Calls to model endpoints.

`openai` and `instructor` take 1.4 s to import, so functions import them only when needed.
"""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
