"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
"""

from rag_evals import lazy_names

NAMES = {
    "citations": (
        "CitingSentence",
        "citing_sentences",
    ),
    "language": (
        "LANGUAGE_CODES",
        "LANGUAGE_NAMES",
        "READ_WELL",
        "SCRIPT_NAMES",
        "denials",
        "has_russian",
        "UNKNOWN_LANGUAGE",
        "as_typed",
        "language_in",
        "language_of",
        "script_of",
        "small_words",
        "token_counter",
        "typed_offsets",
    ),
    "lexicon": ("pairs_in", "rivals_in", "words_in"),
    "quotes": ("MIN_QUOTE_LETTERS", "Quotable"),
    "sentences": (
        "Leaning",
        "Span",
        "leaning_of",
        "split_sentences",
        "stands_alone",
    ),
    "markup": ("plain_form",),
    "word_forms": (
        "NUMBER_WORDS",
        "expand_dates",
        "normalise_numbers",
        "numbers_of",
        "unit_at",
        "DENIES",
        "DENIES_ABROAD",
        "DENIES_SOFTLY",
        "INSISTS",
        "MARKS",
        "QUANTIFIERS",
        "QUANTIFIES",
        "WEAKENS",
        "Word",
        "is_name_at",
        "is_stop_word",
        "stem",
        "synonyms",
        "words",
        "words_of",
    ),
    "screen": (
        "MOST_ITEMS",
        "and_more",
        "html_head",
        "html_note",
        "html_table",
        "html_text",
        "is_obeyed",
        "one_line",
        "printable",
        "shortened",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
