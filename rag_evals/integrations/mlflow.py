"""How do scores reach MLflow? As feedback of traces, or by a scorer of `mlflow.genai.evaluate`."""

from typing import Any

from rag_evals.integrations.rows import ToolGrader, explanation, marked, tool
from rag_evals.judge import Client
from rag_evals.run import Graders, Outcome, Run


def log_feedback(run: Run, *, trace: str = "trace_id") -> int:
    """Write the outcomes of a run as feedback to the traces that its rows come from.

    Args:
        run: What was graded; one without a score is logged with the reason as its error.
        trace: Column with the id of the trace.

    Returns:
        How many were logged.

    Raises:
        DataError: No row has such a column.
        MissingExtraError: MLflow is not installed.
    """
    mlflow = tool("mlflow")
    logged = 0
    for outcome, trace_id in marked(run, trace):
        mlflow.log_feedback(trace_id=trace_id, name=outcome.grader, **_fields(outcome))
        logged += 1
    return logged


def scorer(grader: Graders = "faithfulness", client: Client = None) -> Any:
    """Make a scorer for `mlflow.genai.evaluate(data, scorers=[...])`.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
    """
    entities = tool("mlflow.entities")
    rows = ToolGrader(grader, client)

    def rag_evals_scorer(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        row = {"inputs": inputs, "outputs": outputs, "expectations": expectations}
        return entities.Feedback(name=rows.name, **_fields(rows.grade(row)))

    made = tool("mlflow.genai.scorers")
    return made.scorer(rag_evals_scorer, name=rows.name)


def _fields(outcome: Outcome) -> dict[str, Any]:
    entities = tool("mlflow.entities")
    kind = "LLM_JUDGE" if outcome.usage.calls else "CODE"
    source = entities.AssessmentSource(source_type=kind, source_id="rag_evals")
    found: dict[str, Any] = {"source": source, "rationale": explanation(outcome)}
    if outcome.score is None:
        return found | {"error": entities.AssessmentError(outcome.status, outcome.words())}
    return found | {"value": outcome.score}
