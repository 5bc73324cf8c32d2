"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
"""

from rag_evals.text.sentences import Span, split_sentences
from rag_evals.text.surrogates import lone_surrogate

__all__ = ["Span", "lone_surrogate", "split_sentences"]
