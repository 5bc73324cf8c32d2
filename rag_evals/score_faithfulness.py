"""Does the context support what the answer says? Statement by statement, with chunk ids."""

import hashlib

from rag_evals.base import ContextEvaluation
from rag_evals.grader import Grader, require_fields
from rag_evals.prompt import Prompt
from rag_evals.sample import Sample
from rag_evals.statements import FaithfulnessResult, StatementEvaluation
from rag_evals.verify import Flow, Verifier, claims_of

__all__ = ["Faithfulness", "FaithfulnessResult", "StatementEvaluation", "VerifiedFaithfulness"]


class VerifiedFaithfulness(Grader[FaithfulnessResult]):
    """Faithfulness without a judge: the answer's own sentences, each decided by a verifier."""

    requires = FaithfulnessResult.requires
    result_model = FaithfulnessResult

    def __init__(self, verifier: Verifier) -> None:
        self.name = "faithfulness"
        self.verifier = verifier

    def fingerprint(self) -> str:
        """Return a hash of the way of grading and of the verifier."""
        return hashlib.sha256(f"sentences {self.verifier.fingerprint()}".encode()).hexdigest()

    def flow(self, sample: Sample) -> Flow[FaithfulnessResult]:
        """Verify the sentences that claim something; an answer without any needs no step."""
        require_fields(sample, self.requires)
        statements = [span.text for span in claims_of(sample.answer or "")]
        if not statements:
            return FaithfulnessResult(statements=[])
        verdicts = yield from self.verifier.flow(
            statements, [chunk.text for chunk in sample.context]
        )
        return FaithfulnessResult(
            statements=[
                StatementEvaluation(
                    statement=statement,
                    reasoning=verdict.reason,
                    supporting_chunk_ids=list(verdict.chunk_ids),
                    is_supported=verdict.is_supported,
                )
                for statement, verdict in zip(statements, verdicts, strict=True)
            ]
        )


Faithfulness = ContextEvaluation(
    prompt=Prompt.shipped("score_faithfulness"),
    response_model=FaithfulnessResult,
    verified=VerifiedFaithfulness,
)
"""The share of the answer's statements that the context supports."""
