"""How does an Inspect task grade faithfulness? With a scorer that reads the sample's context."""

import asyncio
from typing import Any

from rag_evals.integrations.rows import ToolGrader, explanation, tool
from rag_evals.judge import Client
from rag_evals.run import Graders


def rag_evals_scorer(
    grader: Graders = "faithfulness", client: Client = None, *, context: str = "context"
) -> Any:
    """Make a scorer for `inspect_ai.Task(..., scorer=...)`.

    Args:
        grader: As for `rag_evals.open_session`.
        client: Who judges.
        context: Where the sample's metadata have the chunks.
    """
    scorers = tool("inspect_ai.scorer")
    rows = ToolGrader(grader, client)

    async def score(state: Any, target: Any) -> Any:
        row = {
            "question": state.input_text,
            "answer": state.output.completion,
            "context": state.metadata.get(context),
            "reference": target.text or None,
        }
        outcome = await asyncio.to_thread(rows.grade, row)
        why = explanation(outcome)
        if outcome.score is None:
            reason = outcome.reason or "grader_failed"
            return scorers.Score.unscored(reason=reason, explanation=why)
        return scorers.Score(value=outcome.score, answer=row["answer"], explanation=why)

    @scorers.scorer(metrics=[scorers.mean(), scorers.stderr()], name=f"rag_evals_{rows.name}")  # type: ignore[untyped-decorator]  # of a library without types here
    def made() -> Any:
        return score

    return made()
