"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
"""

from rag_evals.text.citations import (
    CitationMark,
    CitingSentence,
    citation_marks,
    citations_of,
    citing_sentences,
    without_citations,
)
from rag_evals.text.language import (
    LANGUAGE_NAMES,
    READ_WELL,
    denials,
    has_russian,
    language_of,
    script_of,
    small_words,
)
from rag_evals.text.leaning import Leaning, leaning_of
from rag_evals.text.lexicon import pairs_in, rivals_in, words_in
from rag_evals.text.look_alikes import LOOK_ALIKES, STROKES
from rag_evals.text.marks import (
    DENIES,
    DENIES_ABROAD,
    DENIES_SOFTLY,
    INSISTS,
    MARKS,
    QUANTIFIERS,
    QUANTIFIES,
    WEAKENS,
)
from rag_evals.text.numbers import (
    NUMBER_WORDS,
    expand_dates,
    may_hold_date,
    normalise_numbers,
    numbers_of,
    unit_at,
)
from rag_evals.text.plain import plain_form
from rag_evals.text.quotes import MIN_QUOTE_LETTERS, Quotable
from rag_evals.text.screen import is_obeyed, one_line, printable
from rag_evals.text.sentences import Span, split_sentences
from rag_evals.text.surrogates import lone_surrogate
from rag_evals.text.tokens import token_counter
from rag_evals.text.words import (
    Word,
    is_name_at,
    is_stop_word,
    may_hold_spaced_number,
    stem,
    synonyms,
    words,
    words_of,
    words_of_pieces,
)

__all__ = [
    "DENIES",
    "DENIES_ABROAD",
    "DENIES_SOFTLY",
    "INSISTS",
    "LANGUAGE_NAMES",
    "LOOK_ALIKES",
    "MARKS",
    "MIN_QUOTE_LETTERS",
    "NUMBER_WORDS",
    "QUANTIFIERS",
    "QUANTIFIES",
    "READ_WELL",
    "STROKES",
    "WEAKENS",
    "CitationMark",
    "CitingSentence",
    "Leaning",
    "Quotable",
    "Span",
    "Word",
    "citation_marks",
    "citations_of",
    "citing_sentences",
    "denials",
    "expand_dates",
    "has_russian",
    "is_name_at",
    "is_obeyed",
    "is_stop_word",
    "language_of",
    "leaning_of",
    "lone_surrogate",
    "may_hold_date",
    "may_hold_spaced_number",
    "normalise_numbers",
    "numbers_of",
    "one_line",
    "pairs_in",
    "plain_form",
    "printable",
    "rivals_in",
    "script_of",
    "small_words",
    "split_sentences",
    "stem",
    "synonyms",
    "token_counter",
    "unit_at",
    "without_citations",
    "words",
    "words_in",
    "words_of",
    "words_of_pieces",
]
