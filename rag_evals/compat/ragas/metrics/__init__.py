"""Which of ragas' metrics run here? Those of this module; others say what to use instead."""

from rag_evals.compat.ragas.metric import (
    RagasAspectCritic as AspectCritic,
)
from rag_evals.compat.ragas.metric import (
    RagasContextPrecision as ContextPrecision,
)
from rag_evals.compat.ragas.metric import (
    RagasContextRecall as ContextRecall,
)
from rag_evals.compat.ragas.metric import (
    RagasContextRecall as LLMContextRecall,
)
from rag_evals.compat.ragas.metric import (
    RagasContextUtilization as ContextUtilization,
)
from rag_evals.compat.ragas.metric import (
    RagasFaithfulness as Faithfulness,
)
from rag_evals.compat.ragas.metric import (
    RagasFaithfulnesswithHHEM as FaithfulnesswithHHEM,
)
from rag_evals.compat.ragas.metric import (
    RagasPrecisionWithoutReference as LLMContextPrecisionWithoutReference,
)
from rag_evals.compat.ragas.metric import (
    RagasPrecisionWithReference as LLMContextPrecisionWithReference,
)
from rag_evals.compat.ragas.metric import (
    RagasResponseRelevancy as AnswerRelevancy,
)
from rag_evals.compat.ragas.metric import (
    RagasResponseRelevancy as ResponseRelevancy,
)
from rag_evals.compat.ragas.metric import (
    RagasScore as MetricResult,
)
from rag_evals.compat.spelling import refusing

__all__ = [
    "AnswerRelevancy",
    "AspectCritic",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "Faithfulness",
    "FaithfulnesswithHHEM",
    "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference",
    "LLMContextRecall",
    "MetricResult",
    "ResponseRelevancy",
    "answer_relevancy",
    "context_precision",
    "context_recall",
    "context_utilization",
    "faithfulness",
]

faithfulness = Faithfulness()
answer_relevancy = AnswerRelevancy()
context_precision = ContextPrecision()
context_recall = LLMContextRecall()
context_utilization = ContextUtilization()

_WORDS = "write the rule as a prompt, base.ContextEvaluation(prompt=..., response_model=...)"
_TEXTS = "it compares texts without a judge; keep ragas for it"

__getattr__ = refusing(
    __name__,
    "ragas",
    __all__,
    {
        "RubricsScore": f"{_WORDS} with RatingResult",
        "InstanceRubrics": f"{_WORDS} with ChecklistResult",
        "SimpleCriteriaScore": f"{_WORDS} with RatingResult",
        "DiscreteMetric": f"{_WORDS} with PassFailResult",
        "NumericMetric": f"{_WORDS} with RatingResult",
        "FactualCorrectness": "use ContextRecall, with the answer as the only context",
        "AnswerCorrectness": "use ContextRecall, with the answer as the only context",
        "ResponseGroundedness": "use Faithfulness",
        "ContextRelevance": "use ContextPrecision",
        "ContextEntityRecall": "use ContextRecall",
        "NoiseSensitivity": "use rag_evals' ChunkUtility, which says what each chunk does",
        "SemanticSimilarity": _TEXTS,
        "AnswerSimilarity": _TEXTS,
        "BleuScore": _TEXTS,
        "RougeScore": _TEXTS,
        "ExactMatch": _TEXTS,
        "ToolCallAccuracy": "it grades agents; keep ragas for it",
        "AgentGoalAccuracyWithReference": "it grades agents; keep ragas for it",
        "TopicAdherenceScore": "it grades conversations; keep ragas for it",
    },
)
