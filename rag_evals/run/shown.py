"""What does a notebook show of outcomes? Those to look at first, as a small table."""

import heapq
from collections.abc import Sequence

from rag_evals.core import more_said, notebook_phrases
from rag_evals.run.outcome import Outcome
from rag_evals.text import html_table

_MOST_ROWS = 5


def lowest_html(outcomes: Sequence[Outcome]) -> str:
    """Write the failed outcomes, then the lowest scores; a few, and how many there are more.

    Args:
        outcomes: All of them; those that are not scorable, or have the full score, are left out.
    """
    low = [one for one in outcomes if one.status == "failed" or (one.score or 0) < 1]
    low = [one for one in low if one.status != "not_scorable"]
    if not low:
        return ""
    first = heapq.nsmallest(_MOST_ROWS, low, key=lambda one: -1 if one.score is None else one.score)
    say = notebook_phrases()
    rows = [
        (one.sample_id, say.named("graders", one.grader), one.words(say), against(one))
        for one in first
    ]
    names = ("table.row", "table.grader", "notebook.outcome", "notebook.against")
    more = more_said("rows", len(low), len(first), say)
    return html_table(
        list(map(say, names)), rows, caption=say("notebook.lowest_rows"), left_out=more
    )


def against(outcome: Outcome) -> str:
    """List what lowers the score of an outcome."""
    return " · ".join(one.text for one in outcome.findings if one.counts_against)
