# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.grading.extract import ExtractedStatement as ExtractedStatement
from rag_evals.grading.extract import Extractor as Extractor
from rag_evals.grading.extract import SentenceExtractor as SentenceExtractor
from rag_evals.grading.grader import Grader as Grader
from rag_evals.grading.grader import default_judge as default_judge
from rag_evals.grading.grader import require_fields as require_fields
from rag_evals.grading.grader import resolve as resolve
from rag_evals.grading.grader import sample_flow as sample_flow
from rag_evals.grading.guarding import grade_by_sentence as grade_by_sentence
from rag_evals.grading.two_step import VerifiedFaithfulness as VerifiedFaithfulness
from rag_evals.grading.two_step import VerifiedFaithfulnessResult as VerifiedFaithfulnessResult
from rag_evals.grading.two_step import VerifiedStatement as VerifiedStatement
from rag_evals.grading.two_step import language_warning as language_warning

__all__: list[str]
