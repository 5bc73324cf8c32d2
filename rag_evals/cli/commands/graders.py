"""`rag-evals graders`: list what can be graded."""

from rag_evals.catalog import GRADERS
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.options import Json, Quiet
from rag_evals.cli.shared.searched import Entry, SearchWords, show_list
from rag_evals.verify import EMBEDDED_GRADERS


def graders(
    words: SearchWords = None,
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the graders: what they measure, what a row must have, and which run without a model.

    [bold]Examples[/bold]

      rag-evals graders
      rag-evals graders chunk
    """
    entries: list[Entry] = [
        {
            "grader": name,
            "what it measures": one.description or "",
            "needs": one.requires,
            "embedded judge": name in EMBEDDED_GRADERS,
        }
        for name, one in GRADERS.items()
    ]
    shown = show_list("grader", entries, words or [], as_json=json_output)
    offer_next("grade", "DATA", "--grader", shown[0], quiet=quiet, json_output=json_output)
