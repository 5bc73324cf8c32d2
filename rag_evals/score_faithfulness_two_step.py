"""Does the context support the answer? First its statements, then a verdict on each of them."""

from dataclasses import replace
from typing import Any, Self

from rag_evals.grading import (
    Extractor,
    VerifiedFaithfulness,
    VerifiedFaithfulnessResult,
    VerifiedStatement,
)
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier import HHEM
from rag_evals.verify.classifier.verifier import DEFAULT_BATCH_SIZE

__all__ = [
    "HHEMFaithfulness",
    "HHEMGrader",
    "TwoStepFaithfulness",
    "TwoStepGrader",
    "VerifiedFaithfulnessResult",
    "VerifiedStatement",
]


class TwoStepGrader(VerifiedFaithfulness):
    """Extracts the answer's statements, then verifies each, as in the ragas paper."""

    usual_name = "faithfulness_two_step"
    description = "Is every statement supported? Extracted first, then verified."


class HHEMGrader(VerifiedFaithfulness):
    """Faithfulness decided by Vectara's HHEM-2.1-Open, a classifier that runs locally.

    Args:
        device: As for `ClassifierVerifier`.
        batch_size: As for `ClassifierVerifier`.
        extractor: As for `VerifiedFaithfulness`.
        model: Model id on the hub, or a local folder.
        threshold: Support from which a statement counts as supported, 0 to 1.
        name: As for `VerifiedFaithfulness`.
        language: As for `VerifiedFaithfulness`.
    """

    description = "Is every statement supported? Decided by HHEM-2.1-Open, locally."

    def __init__(
        self,
        *,
        device: str = "cpu",
        batch_size: int = DEFAULT_BATCH_SIZE,
        extractor: Extractor | None = None,
        model: str = HHEM,
        threshold: float = 0.5,
        name: str = "faithfulness_hhem",
        language: str | None = None,
    ) -> None:
        self._hhem = ClassifierVerifier(
            model, device=device, batch_size=batch_size, threshold=threshold
        )
        super().__init__(extractor=extractor, verifier=self._hhem, name=name, language=language)

    def with_options(
        self,
        *,
        device: str | None = None,
        batch_size: int | None = None,
        model: str | None = None,
        threshold: float | None = None,
    ) -> Self:
        """Return the same grader with different options of HHEM; None keeps an option."""
        given: dict[str, Any] = {
            "device": device,
            "batch_size": batch_size,
            "model": model,
            "threshold": threshold,
        }
        hhem = replace(self._hhem, **{name: v for name, v in given.items() if v is not None})
        changed = self.with_parts(verifier=hhem)
        changed._hhem = hhem
        return changed


TwoStepFaithfulness = TwoStepGrader()
"""The share of the answer's statements that a verifier supports; a judge extracts them first."""

HHEMFaithfulness = HHEMGrader()
"""The share of the answer's statements that HHEM-2.1-Open supports; runs locally."""
