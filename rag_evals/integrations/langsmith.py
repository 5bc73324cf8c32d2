"""How do scores reach LangSmith? As feedback of a run that is graded, or by an evaluator."""

from collections.abc import Callable
from typing import Any

from rag_evals.integrations.rows import ToolGrader, explanation, marked
from rag_evals.judge import Client
from rag_evals.run import Graders, Run


def send_feedback(run: Run, client: Any, *, traced_run: str = "run_id") -> int:
    """Write the scores of a run as feedback to the runs that were traced.

    Args:
        run: What was graded; outcomes without a score are not sent.
        client: `langsmith.Client()`.
        traced_run: Column with the id of LangSmith's run.

    Returns:
        How many were sent.

    Raises:
        DataError: No row has such a column.
    """
    found = [(o, run_id) for o, run_id in marked(run, traced_run) if o.score is not None]
    for outcome, run_id in found:
        client.create_feedback(
            run_id, outcome.grader, score=outcome.score, comment=explanation(outcome)
        )
    return len(found)


def evaluator(
    grader: Graders = "faithfulness", client: Client = None
) -> Callable[..., dict[str, Any]]:
    """Make an evaluator for `langsmith.evaluate(..., evaluators=[...])`.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
    """
    rows = ToolGrader(grader, client)

    def rag_evals_evaluator(
        inputs: Any, outputs: Any, reference_outputs: Any = None
    ) -> dict[str, Any]:
        row = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        outcome = rows.grade(row)
        return {"key": outcome.grader, "score": outcome.score, "comment": explanation(outcome)}

    return rag_evals_evaluator
