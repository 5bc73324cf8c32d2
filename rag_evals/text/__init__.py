"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
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
        "expand_dates",
        "normalise_numbers",
        "numbers_of",
        "DENIES",
        "DENIES_SOFTLY",
        "Word",
        "is_name_at",
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
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
