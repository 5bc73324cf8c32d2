"""Plan and run the grading of a data set, store its outcomes, and summarise them."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
