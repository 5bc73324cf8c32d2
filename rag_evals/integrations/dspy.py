"""How does a DSPy program use a grader as its metric? As a function of example and prediction."""

from collections.abc import Callable
from typing import Any

from rag_evals.integrations.rows import ToolGrader
from rag_evals.judge import Client
from rag_evals.run import Graders


def dspy_metric(
    grader: Graders = "faithfulness", client: Client = None, *, at_least: float = 1.0
) -> Callable[..., float | bool]:
    """Make a metric for `dspy.Evaluate` and optimisers.

    Fields are looked for by the usual names (`question`, `answer`, `context`, `reference`), in the
    prediction first. A row without a score raises: DSPy has a `failure_score` for it.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
        at_least: What passes while an optimiser collects demonstrations, where DSPy wants a bool.
    """
    rows = ToolGrader(grader, client)

    def rag_evals_metric(example: Any, pred: Any, trace: Any = None, *_: Any) -> float | bool:
        row: dict[str, Any] = {**dict(example.items()), **dict(pred.items())}
        score = rows.score(row).score
        assert score is not None, "a row without one raises"
        return score if trace is None else score >= at_least

    return rag_evals_metric
