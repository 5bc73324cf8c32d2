# The public names: `rag_evals.lazy_names` and type checkers read them here.
from collections.abc import Callable
from typing import Any

from rag_evals import base as base
from rag_evals import errors as errors
from rag_evals import testing as testing
from rag_evals.analysis import agreement as agreement
from rag_evals.analysis import compare as compare
from rag_evals.analysis.agreement import correct as correct
from rag_evals.analysis.tuning import tune as tune
from rag_evals.base import ContextEvaluation as ContextEvaluation
from rag_evals.core import Chunk as Chunk
from rag_evals.core import Result as Result
from rag_evals.core import Sample as Sample
from rag_evals.dataset import ColumnMap as ColumnMap
from rag_evals.grading import Grader as Grader
from rag_evals.report.html_page import write_report as write_report
from rag_evals.response_models import FaithfulnessResult as FaithfulnessResult
from rag_evals.response_models import StatementEvaluation as StatementEvaluation
from rag_evals.run import Outcome as Outcome
from rag_evals.run import Run as Run
from rag_evals.run import Sampling as Sampling
from rag_evals.run import evaluate as evaluate
from rag_evals.run import load_run as load_run
from rag_evals.run import merge as merge
from rag_evals.run import open_session as open_session
from rag_evals.run.engine.evaluate import aevaluate as aevaluate
from rag_evals.run.engine.evaluate import astream as astream
from rag_evals.run.engine.evaluate import stream as stream
from rag_evals.score_abstention import Abstention as Abstention
from rag_evals.score_citations import CitationFaithfulness as CitationFaithfulness
from rag_evals.score_correctness import AnswerCorrectness as AnswerCorrectness
from rag_evals.score_faithfulness import Faithfulness as Faithfulness
from rag_evals.score_faithfulness_audited import AuditedFaithfulness as AuditedFaithfulness
from rag_evals.score_faithfulness_two_step import TwoStepFaithfulness as TwoStepFaithfulness
from rag_evals.score_precision import ChunkPrecision as ChunkPrecision
from rag_evals.score_recall import ContextRecall as ContextRecall
from rag_evals.score_relevance import AnswerRelevance as AnswerRelevance
from rag_evals.score_utility import ChunkUtility as ChunkUtility
from rag_evals.verify.guarding import guard as guard
from rag_evals.verify.guarding import guard_stream as guard_stream
from rag_evals.verify.guarding import guard_sync as guard_sync

__version__: str
__all__: list[str]

def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]: ...
