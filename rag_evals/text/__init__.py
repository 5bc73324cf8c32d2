"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
"""

from rag_evals.text.citations import citations_of, without_citations
from rag_evals.text.look_alikes import LOOK_ALIKES, STROKES
from rag_evals.text.numbers import numbers_of
from rag_evals.text.quotes import MIN_QUOTE_LETTERS, Quotable
from rag_evals.text.screen import is_obeyed, one_line, printable
from rag_evals.text.sentences import Span, split_sentences
from rag_evals.text.surrogates import lone_surrogate
from rag_evals.text.tokens import token_counter

__all__ = [
    "LOOK_ALIKES",
    "MIN_QUOTE_LETTERS",
    "STROKES",
    "Quotable",
    "Span",
    "citations_of",
    "is_obeyed",
    "lone_surrogate",
    "numbers_of",
    "one_line",
    "printable",
    "split_sentences",
    "token_counter",
    "without_citations",
]
