"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file. It is parsed once, its
variables are checked against the ones that exist, and data enters it as values only.
"""

from rag_evals.prompt.escaping import escape_tags
from rag_evals.prompt.files import (
    PromptHeader,
    search_folders,
    shipped_languages,
    shipped_names,
    shipped_source,
)
from rag_evals.prompt.rendering import (
    Criterion,
    Example,
    ExampleInput,
    Rendering,
    check_criteria,
    check_language,
    check_numbered,
    examples_of,
    read_criteria,
    read_example,
    sentences_of,
    shown_examples,
)
from rag_evals.prompt.template import VARIABLES, Prompt

__all__ = [
    "VARIABLES",
    "Criterion",
    "Example",
    "ExampleInput",
    "Prompt",
    "PromptHeader",
    "Rendering",
    "check_criteria",
    "check_language",
    "check_numbered",
    "escape_tags",
    "examples_of",
    "read_criteria",
    "read_example",
    "search_folders",
    "sentences_of",
    "shipped_languages",
    "shipped_names",
    "shipped_source",
    "shown_examples",
]
