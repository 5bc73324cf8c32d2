"""Faithfulness: checks whether the context supports each statement, and cites the chunks."""

from typing import TYPE_CHECKING, Never

from rag_evals.base import ContextEvaluation
from rag_evals.core import Verifier
from rag_evals.prompt import Prompt
from rag_evals.response_models import FaithfulnessResult, StatementEvaluation

if TYPE_CHECKING:
    from rag_evals.grading import VerifiedFaithfulness

__all__ = ["Faithfulness", "FaithfulnessResult", "StatementEvaluation"]


class _Faithfulness(ContextEvaluation[FaithfulnessResult]):
    def _verified_form(self, verifier: Verifier) -> "VerifiedFaithfulness":
        # Imported here to keep the package's import fast; most graders call a judge.
        from rag_evals.grading import SentenceExtractor, VerifiedFaithfulness  # noqa: PLC0415

        return VerifiedFaithfulness(extractor=SentenceExtractor(), verifier=verifier)

    def __call__(self, *_: object, **__: object) -> Never:
        usage = "Faithfulness.grade(question, answer, context, client)"
        raise TypeError(f"Faithfulness is ready to use: call {usage}")


Faithfulness = _Faithfulness(
    prompt=Prompt.shipped("score_faithfulness"), response_model=FaithfulnessResult
)
"""The share of the answer's statements that are supported by the context."""
