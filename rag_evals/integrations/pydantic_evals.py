"""How does a pydantic-evals data set grade faithfulness? With an evaluator over our graders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rag_evals.integrations.rows import ToolGrader, explanation, tool
from rag_evals.judge import Client
from rag_evals.run import Graders


def read_case(case: Any) -> dict[str, Any]:
    """Read a case: texts as they are, mappings by the usual names, context from any of them."""
    found: dict[str, Any] = {}
    for value, name in (
        (case.metadata, "metadata"),
        (case.inputs, "question"),
        (case.expected_output, "reference"),
        (case.output, "answer"),
    ):
        found |= value if isinstance(value, Mapping) else {name: value}
    return {name: value for name, value in found.items() if value is not None}


def evaluator(
    grader: Graders = "faithfulness",
    client: Client = None,
    *,
    read: Callable[[Any], object] = read_case,
) -> Any:
    """Make an evaluator for `pydantic_evals.Dataset(cases=..., evaluators=[...])`.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
        read: Makes a row of the evaluator's context.
    """
    evals = tool("pydantic_evals.evaluators")
    rows = ToolGrader(grader, client)

    @dataclass
    class RagEvals(evals.Evaluator):  # type: ignore[misc,name-defined]  # known when it is installed
        """One score for each case."""

        def get_default_evaluation_name(self) -> str:
            return rows.name

        def evaluate(self, ctx: Any) -> Any:
            outcome = rows.score(read(ctx))
            return evals.EvaluationReason(value=outcome.score, reason=explanation(outcome))

    return RagEvals()
