"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file. It is parsed once, its
variables are checked against the ones that exist, and data enters it as values only.
"""

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
    "template": (
        "Prompt",
        "search_folders",
        "shipped_names",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
