"""Response models that judges fill in: statements, sentence by sentence, and rubrics."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
