"""What is in a text? Pure functions on strings, for Russian as well as English.

Offsets count code points; nothing here changes a text that it was given.
"""

from rag_evals import lazy_names

NAMES = {
    "citations": (
        "CitationMark",
        "CitingSentence",
        "citation_marks",
        "citations_of",
        "citing_sentences",
        "without_citations",
    ),
    "keys": ("plain_keys",),
    "language": (
        "LANGUAGE_NAMES",
        "READ_WELL",
        "SCRIPT_NAMES",
        "denials",
        "has_russian",
        "language_of",
        "script_of",
        "small_words",
    ),
    "leaning": ("Leaning", "leaning_of", "stands_alone"),
    "lexicon": ("pairs_in", "rivals_in", "words_in"),
    "look_alikes": ("LOOK_ALIKES", "STROKES"),
    "marks": (
        "DENIES",
        "DENIES_ABROAD",
        "DENIES_SOFTLY",
        "INSISTS",
        "MARKS",
        "QUANTIFIERS",
        "QUANTIFIES",
        "WEAKENS",
    ),
    "numbers": (
        "NUMBER_WORDS",
        "expand_dates",
        "normalise_numbers",
        "numbers_of",
        "unit_at",
    ),
    "plain": ("plain_form",),
    "quotes": ("MIN_QUOTE_LETTERS", "Quotable"),
    "screen": ("is_obeyed", "one_line", "printable"),
    "sentences": ("Span", "split_sentences"),
    "small_html": (
        "MOST_ITEMS",
        "and_more",
        "html_head",
        "html_note",
        "html_table",
        "html_text",
        "shortened",
    ),
    "surrogates": ("lone_surrogate",),
    "tokens": ("token_counter",),
    "word_forms": (
        "Word",
        "is_name_at",
        "is_stop_word",
        "stem",
        "synonyms",
        "words",
        "words_of",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
