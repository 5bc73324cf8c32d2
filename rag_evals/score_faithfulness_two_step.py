"""Two-step faithfulness: extracts the answer's statements first, then verifies each one."""

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
"""The share of the answer's statements, extracted by a judge, that a verifier finds supported."""

HHEMFaithfulness = VerifiedFaithfulness(
    verifier=ClassifierVerifier(HHEM),
    name="faithfulness_hhem",
    description="Is every statement supported? Judged locally by HHEM-2.1-Open.",
)
"""The share of the answer's statements that HHEM-2.1-Open finds supported; runs locally."""
