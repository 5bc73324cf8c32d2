"""How do scores reach Phoenix? `send_annotations` writes one for each outcome to its span."""

from typing import Any

from rag_evals.integrations.rows import explanation, marked
from rag_evals.run import Run


def send_annotations(run: Run, client: Any, *, span: str = "context.span_id") -> int:
    """Annotate the spans that a run's rows come from.

    Args:
        run: What was graded; a row without a score is annotated with its reason as the label.
        client: `phoenix.client.Client()`.
        span: Column with the id of the span, as Phoenix exports it.

    Returns:
        How many were sent.

    Raises:
        DataError: No row has such a column.
    """
    sent = [
        {
            "name": outcome.grader,
            "annotator_kind": "LLM" if outcome.usage.calls else "CODE",
            "span_id": span_id,
            "result": {
                "score": outcome.score,
                "label": outcome.reason or outcome.status,
                "explanation": explanation(outcome),
            },
        }
        for outcome, span_id in marked(run, span)
    ]
    if sent:
        client.spans.log_span_annotations(span_annotations=sent)
    return len(sent)
