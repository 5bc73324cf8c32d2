"""Which metrics of `ragas.metrics.collections` run here? The same, under its names."""

from rag_evals.compat.ragas.metric import (
    RagasContextPrecision as ContextPrecision,
)
from rag_evals.compat.ragas.metric import (
    RagasContextRecall as ContextRecall,
)
from rag_evals.compat.ragas.metric import (
    RagasContextUtilization as ContextUtilization,
)
from rag_evals.compat.ragas.metric import (
    RagasFaithfulness as Faithfulness,
)
from rag_evals.compat.ragas.metric import (
    RagasPrecisionWithoutReference as ContextPrecisionWithoutReference,
)
from rag_evals.compat.ragas.metric import (
    RagasPrecisionWithReference as ContextPrecisionWithReference,
)
from rag_evals.compat.ragas.metric import (
    RagasResponseRelevancy as AnswerRelevancy,
)

__all__ = [
    "AnswerRelevancy",
    "ContextPrecision",
    "ContextPrecisionWithReference",
    "ContextPrecisionWithoutReference",
    "ContextRecall",
    "ContextUtilization",
    "Faithfulness",
]
