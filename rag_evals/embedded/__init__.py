"""The embedded verifier: judges statements offline, in milliseconds, without a model file."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
