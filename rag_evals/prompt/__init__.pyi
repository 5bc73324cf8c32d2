# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.prompt.escaping import TagEscaper as TagEscaper
from rag_evals.prompt.escaping import escape_tags as escape_tags
from rag_evals.prompt.rendering import Criterion as Criterion
from rag_evals.prompt.rendering import Example as Example
from rag_evals.prompt.rendering import ExampleInput as ExampleInput
from rag_evals.prompt.rendering import Rendering as Rendering
from rag_evals.prompt.rendering import check_language as check_language
from rag_evals.prompt.rendering import check_lists as check_lists
from rag_evals.prompt.rendering import check_shown as check_shown
from rag_evals.prompt.rendering import count_arriving as count_arriving
from rag_evals.prompt.rendering import examples_of as examples_of
from rag_evals.prompt.rendering import missing_ends as missing_ends
from rag_evals.prompt.rendering import read_criteria as read_criteria
from rag_evals.prompt.rendering import read_example as read_example
from rag_evals.prompt.rendering import sentences_of as sentences_of
from rag_evals.prompt.rendering import shown_examples as shown_examples
from rag_evals.prompt.template import DATA_VARIABLES as DATA_VARIABLES
from rag_evals.prompt.template import Prompt as Prompt
from rag_evals.prompt.template import PromptHeader as PromptHeader
from rag_evals.prompt.template import search_folders as search_folders
from rag_evals.prompt.template import shipped_languages as shipped_languages
from rag_evals.prompt.template import shipped_names as shipped_names
from rag_evals.prompt.template import shipped_source as shipped_source

__all__: list[str]
