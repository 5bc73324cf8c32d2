"""Which of deepeval's metrics run here? Those of this module; others say what to use instead."""

from rag_evals.compat.deepeval.metric import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    ContextualRelevancyMetric,
    FaithfulnessMetric,
    GEval,
)
from rag_evals.compat.deepeval.metric import DeepEvalMetric as BaseMetric
from rag_evals.compat.spelling import refusing

__all__ = [
    "AnswerRelevancyMetric",
    "BaseMetric",
    "ContextualPrecisionMetric",
    "ContextualRecallMetric",
    "ContextualRelevancyMetric",
    "FaithfulnessMetric",
    "GEval",
]

_RULE = "use GEval(name=..., criteria=...) with the rule in your own words"
_TALK = "it grades conversations or agents; keep deepeval for it"

__getattr__ = refusing(
    __name__,
    "deepeval",
    __all__,
    {
        "HallucinationMetric": "use FaithfulnessMetric(threshold=...): higher is better there",
        "SummarizationMetric": "use FaithfulnessMetric, with the source as retrieval_context",
        "BiasMetric": _RULE,
        "ToxicityMetric": _RULE,
        "PIILeakageMetric": _RULE,
        "PromptAlignmentMetric": _RULE,
        "DAGMetric": "use rag_evals' ChecklistResult, whose criteria are asked together",
        "JsonCorrectnessMetric": "check it in Python, without a judge",
        "ExactMatchMetric": "check it in Python, without a judge",
        "ToolCorrectnessMetric": _TALK,
        "TaskCompletionMetric": _TALK,
        "ConversationalGEval": _TALK,
        "TurnFaithfulnessMetric": _TALK,
        "KnowledgeRetentionMetric": _TALK,
        "RoleAdherenceMetric": _TALK,
    },
)
