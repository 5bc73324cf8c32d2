"""Does the context support what the answer says? Statement by statement, with chunk ids."""

import hashlib

from pydantic import BaseModel, Field

from rag_evals.base import ContextEvaluation
from rag_evals.grader import Grader, require_fields
from rag_evals.prompt import Prompt
from rag_evals.sample import Sample
from rag_evals.statements import FaithfulnessResult, StatementEvaluation
from rag_evals.verify import Flow, NoClaim, Verifier, prepare_answer

__all__ = [
    "Faithfulness",
    "FaithfulnessResult",
    "NoClaimSentence",
    "StatementEvaluation",
    "VerifiedFaithfulness",
    "VerifiedFaithfulnessResult",
]


class NoClaimSentence(BaseModel):
    """A sentence of the answer that claims nothing, so nothing was decided.

    Attributes:
        sentence: The answer's own words.
        why: Such as `question`, or `about_sources` for "The context does not mention it."
    """

    sentence: str
    why: NoClaim


class VerifiedFaithfulnessResult(FaithfulnessResult):
    """Faithfulness decided by a verifier, with the sentences that were passed over."""

    no_claims: list[NoClaimSentence] = Field(
        default_factory=list, description="Sentences that claim nothing, in order."
    )


class VerifiedFaithfulness(Grader[FaithfulnessResult]):
    """Faithfulness without a judge: the answer's own sentences, each decided by a verifier."""

    requires = FaithfulnessResult.requires
    result_model = VerifiedFaithfulnessResult

    def __init__(self, verifier: Verifier) -> None:
        self.name = "faithfulness"
        self.verifier = verifier

    def fingerprint(self) -> str:
        """Return a hash of the way of grading and of the verifier."""
        return hashlib.sha256(f"sentences {self.verifier.fingerprint()}".encode()).hexdigest()

    def flow(self, sample: Sample) -> Flow[FaithfulnessResult]:
        """Verify the sentences that claim something; an answer without any needs no step."""
        require_fields(sample, self.requires)
        prepared = prepare_answer(sample.answer or "")
        statements = [statement for statement in prepared if statement.no_claim is None]
        passed_over = [
            NoClaimSentence(sentence=statement.text, why=statement.no_claim)
            for statement in prepared
            if statement.no_claim is not None
        ]
        if not statements:
            return VerifiedFaithfulnessResult(statements=[], no_claims=passed_over)
        verdicts = yield from self.verifier.flow(
            [statement.claim for statement in statements],
            [chunk.text for chunk in sample.context],
        )
        return VerifiedFaithfulnessResult(
            statements=[
                StatementEvaluation(
                    statement=statement.text,
                    reasoning=verdict.reason,
                    supporting_chunk_ids=list(verdict.chunk_ids),
                    is_supported=verdict.is_supported,
                )
                for statement, verdict in zip(statements, verdicts, strict=True)
            ],
            no_claims=passed_over,
        )


Faithfulness = ContextEvaluation(
    prompt=Prompt.shipped("score_faithfulness"),
    response_model=FaithfulnessResult,
    verified=VerifiedFaithfulness,
)
"""The share of the answer's statements that the context supports."""
