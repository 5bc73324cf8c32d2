"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file. It is parsed once, its
variables are checked against the ones that exist, and data enters it as values only.
"""

from rag_evals import lazy_names

NAMES = {
    "escaping": ("TagEscaper", "escape_tags"),
    "rendering": (
        "Criterion",
        "Example",
        "ExampleInput",
        "Rendering",
        "check_language",
        "check_lists",
        "check_shown",
        "count_arriving",
        "missing_ends",
        "examples_of",
        "read_criteria",
        "read_example",
        "sentences_of",
        "shown_examples",
    ),
    "template": (
        "DATA_VARIABLES",
        "Prompt",
        "PromptHeader",
        "search_folders",
        "shipped_languages",
        "shipped_names",
        "shipped_source",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
