"""Prompts: from a template file to the text sent to a judge."""

from rag_evals import lazy_names

NAMES = {
    "escaping": ("TagEscaper",),
    "rendering": (
        "Criterion",
        "Example",
        "ExampleInput",
        "check_language",
        "check_shown",
        "examples_of",
        "shown_examples",
    ),
    "template": ("Prompt", "search_folders", "shipped_names"),
}
"""Names for other rooms, by file."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
