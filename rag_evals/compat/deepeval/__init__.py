"""How does a deepeval script run here? With `rag_evals.compat.deepeval` for `deepeval`."""

from rag_evals.compat.deepeval import dataset, metrics, test_case
from rag_evals.compat.deepeval.evaluation import DeepEvalResult as EvaluationResult
from rag_evals.compat.deepeval.evaluation import assert_test, evaluate

__all__ = [
    "EvaluationResult",
    "assert_test",
    "dataset",
    "evaluate",
    "metrics",
    "test_case",
]
