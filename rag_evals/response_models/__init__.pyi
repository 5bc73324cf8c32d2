# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.response_models.drift import DRIFT_NAMES as DRIFT_NAMES
from rag_evals.response_models.drift import Extracted as Extracted
from rag_evals.response_models.drift import check_drift as check_drift
from rag_evals.response_models.drift import distinct_statements as distinct_statements
from rag_evals.response_models.rubrics import ChecklistResult as ChecklistResult
from rag_evals.response_models.rubrics import ChunkLabel as ChunkLabel
from rag_evals.response_models.rubrics import ChunkLabelsResult as ChunkLabelsResult
from rag_evals.response_models.rubrics import CriterionCheck as CriterionCheck
from rag_evals.response_models.rubrics import LabelledChunk as LabelledChunk
from rag_evals.response_models.rubrics import PassFailResult as PassFailResult
from rag_evals.response_models.rubrics import PerChunkResult as PerChunkResult
from rag_evals.response_models.rubrics import RatingResult as RatingResult
from rag_evals.response_models.statements import FaithfulnessResult as FaithfulnessResult
from rag_evals.response_models.statements import NoClaimSentence as NoClaimSentence
from rag_evals.response_models.statements import PassedOverSentence as PassedOverSentence
from rag_evals.response_models.statements import StatementEvaluation as StatementEvaluation
from rag_evals.response_models.statements import check_every_sentence as check_every_sentence

__all__: list[str]
