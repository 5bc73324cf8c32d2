"""How does a deepeval suite use our graders? As one more metric beside its own."""

import asyncio
from typing import Any

from rag_evals.integrations.rows import ToolGrader, explanation, tool
from rag_evals.judge import Client
from rag_evals.run import Graders


def deepeval_metric(
    grader: Graders = "faithfulness", client: Client = None, *, threshold: float = 0.5
) -> Any:
    """Make a metric for `deepeval.evaluate` and `deepeval.assert_test`.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
        threshold: Least score that passes.
    """
    metrics = tool("deepeval.metrics")
    rows = ToolGrader(grader, client)

    class RagEvalsMetric(metrics.BaseMetric):  # type: ignore[misc,name-defined]  # as it is installed
        """A grader of rag_evals."""

        async_mode = True
        include_reason = True
        evaluation_model = "rag_evals"

        def __init__(self) -> None:
            self.threshold = threshold

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            row = {
                "question": test_case.input,
                "answer": test_case.actual_output,
                "context": [str(one) for one in test_case.retrieval_context or ()],
                "reference": test_case.expected_output,
            }
            outcome = rows.score(row)
            self.score, self.reason = outcome.score, explanation(outcome)
            self.success = (outcome.score or 0.0) >= self.threshold
            return outcome.score or 0.0

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            return await asyncio.to_thread(self.measure, test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return f"rag_evals {rows.name}"

    return RagEvalsMetric()
