# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.prompt.escaping import TagEscaper as TagEscaper
from rag_evals.prompt.rendering import Criterion as Criterion
from rag_evals.prompt.rendering import Example as Example
from rag_evals.prompt.rendering import ExampleInput as ExampleInput
from rag_evals.prompt.rendering import check_language as check_language
from rag_evals.prompt.rendering import check_shown as check_shown
from rag_evals.prompt.rendering import examples_of as examples_of
from rag_evals.prompt.rendering import shown_examples as shown_examples
from rag_evals.prompt.template import Prompt as Prompt
from rag_evals.prompt.template import search_folders as search_folders
from rag_evals.prompt.template import shipped_names as shipped_names

__all__: list[str]
