"""How do scores reach Langfuse? `send_scores` writes one for each outcome to its trace."""

from typing import Any

from rag_evals.integrations.rows import explanation, marked
from rag_evals.run import Run


def send_scores(
    run: Run, client: Any, *, trace: str = "trace_id", observation: str | None = None
) -> int:
    """Write the scores of a run to the traces that its rows come from.

    Args:
        run: What was graded; outcomes without a score are not sent.
        client: `langfuse.Langfuse()`; flush it before the program ends.
        trace: Column with the id of the trace.
        observation: Column with the id of the observation, where scores belong to one.

    Returns:
        How many were sent.

    Raises:
        DataError: No row has such a column.
    """
    observations = {} if observation is None else run.column(observation)
    sent = 0
    for outcome, trace_id in marked(run, trace):
        if outcome.score is not None:
            client.create_score(
                trace_id=trace_id,
                observation_id=observations.get(outcome.sample_id),
                name=outcome.grader,
                value=outcome.score,
                data_type="NUMERIC",
                comment=explanation(outcome),
            )
            sent += 1
    return sent
