# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.grading.conversation import grades_turns as grades_turns
from rag_evals.grading.extract import ExtractedStatement as ExtractedStatement
from rag_evals.grading.extract import Extractor as Extractor
from rag_evals.grading.extract import SentenceExtractor as SentenceExtractor
from rag_evals.grading.grader import JUDGE_VARIABLE as JUDGE_VARIABLE
from rag_evals.grading.grader import Grader as Grader
from rag_evals.grading.grader import default_judge as default_judge
from rag_evals.grading.grader import drive_async as drive_async
from rag_evals.grading.grader import judge_name as judge_name
from rag_evals.grading.grader import require_fields as require_fields
from rag_evals.grading.grader import resolve as resolve
from rag_evals.grading.grader import sample_flow as sample_flow
from rag_evals.grading.grader import warn_of_default as warn_of_default
from rag_evals.grading.guarding import GuardedCall as GuardedCall
from rag_evals.grading.guarding import ask_guarded as ask_guarded
from rag_evals.grading.guarding import claiming_sentences as claiming_sentences
from rag_evals.grading.guarding import grade_by_sentence as grade_by_sentence
from rag_evals.grading.guarding import grade_own_statements as grade_own_statements
from rag_evals.grading.guarding import keyed_example as keyed_example
from rag_evals.grading.repeat import Repeated as Repeated
from rag_evals.grading.two_step import VerifiedFaithfulness as VerifiedFaithfulness
from rag_evals.grading.two_step import VerifiedFaithfulnessResult as VerifiedFaithfulnessResult
from rag_evals.grading.two_step import VerifiedStatement as VerifiedStatement
from rag_evals.grading.two_step import language_warning as language_warning

__all__: list[str]
