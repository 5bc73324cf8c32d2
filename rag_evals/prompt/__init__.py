"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file. It is parsed once, its
variables are checked against the ones that exist, and data enters it as values only.
"""

from rag_evals.prompt.escaping import escape_tags
from rag_evals.prompt.examples import (
    Example,
    ExampleInput,
    examples_of,
    read_example,
    shown_examples,
)
from rag_evals.prompt.header import PromptHeader
from rag_evals.prompt.rendering import Criterion, Rendering, check_language, sentences_of
from rag_evals.prompt.shipped import (
    FOLDERS_VARIABLE,
    search_folders,
    shipped_languages,
    shipped_names,
    shipped_source,
)
from rag_evals.prompt.shows import check_criteria, check_numbered, read_criteria
from rag_evals.prompt.template import DATA_VARIABLES, VARIABLES, Prompt

__all__ = [
    "DATA_VARIABLES",
    "FOLDERS_VARIABLE",
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
