"""Pure functions for English and Russian text: sentences, words, languages, quotes and citations.

Offsets are indices into the string.
"""

from rag_evals import lazy_names

NAMES = {
    "language": (
        "LANGUAGE_CODES",
        "LANGUAGE_NAMES",
        "READ_WELL",
        "has_russian",
        "language_in",
        "language_of",
        "script_of",
        "token_counter",
    ),
    "sentences": (
        "Leaning",
        "Span",
        "leaning_of",
        "split_sentences",
    ),
    "markup": ("plain_form",),
    "word_forms": (
        "numbers_of",
        "DENIES",
        "DENIES_SOFTLY",
        "Word",
        "is_name_at",
        "read_words",
        "words",
        "words_of",
    ),
    "screen": (
        "MOST_ITEMS",
        "html_head",
        "html_note",
        "html_table",
        "html_text",
        "one_line",
        "shortened",
    ),
}
"""The public names of this package, by the file that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
