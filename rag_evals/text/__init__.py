"""Pure functions for English and Russian text: sentences, words, languages, quotes and citations.

Offsets are indices into the string.
"""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
