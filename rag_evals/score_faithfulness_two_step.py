"""Does the context support the answer? First its statements, then a verdict on each of them."""

from rag_evals.grading import (
    VerifiedFaithfulness,
    VerifiedFaithfulnessResult,
    VerifiedStatement,
)
from rag_evals.verify import HHEM, ClassifierVerifier

__all__ = [
    "HHEMFaithfulness",
    "TwoStepFaithfulness",
    "VerifiedFaithfulnessResult",
    "VerifiedStatement",
]

TwoStepFaithfulness = VerifiedFaithfulness(
    name="faithfulness_two_step",
    description="Is every statement supported? Extracted first, then verified.",
)
"""The share of the answer's statements that a verifier supports; a judge extracts them first."""

HHEMFaithfulness = VerifiedFaithfulness(
    verifier=ClassifierVerifier(HHEM),
    name="faithfulness_hhem",
    description="Is every statement supported? Decided by HHEM-2.1-Open, locally.",
)
"""The share of the answer's statements that HHEM-2.1-Open supports; runs locally."""
