"""Grade a data set and store the results: plan, run, outcomes, store and summary."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
