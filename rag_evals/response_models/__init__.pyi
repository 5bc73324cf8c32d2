# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.response_models.rubrics import ChecklistResult as ChecklistResult
from rag_evals.response_models.rubrics import ChunkLabelsResult as ChunkLabelsResult
from rag_evals.response_models.rubrics import PassFailResult as PassFailResult
from rag_evals.response_models.rubrics import RatingResult as RatingResult
from rag_evals.response_models.statements import ByStatement as ByStatement
from rag_evals.response_models.statements import FaithfulnessResult as FaithfulnessResult
from rag_evals.response_models.statements import KeyedReply as KeyedReply
from rag_evals.response_models.statements import NoClaimSentence as NoClaimSentence
from rag_evals.response_models.statements import PassedOverSentence as PassedOverSentence
from rag_evals.response_models.statements import StatementEvaluation as StatementEvaluation
from rag_evals.response_models.statements import VerdictUnit as VerdictUnit
from rag_evals.response_models.statements import check_every_sentence as check_every_sentence
from rag_evals.response_models.statements import each_once as each_once

__all__: list[str]
