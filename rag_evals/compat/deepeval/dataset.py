"""Where do deepeval scripts find data sets? In `dataset`."""

from rag_evals.compat.deepeval.cases import CaseGolden as Golden
from rag_evals.compat.deepeval.cases import GoldenDataset as EvaluationDataset

__all__ = ["EvaluationDataset", "Golden"]
