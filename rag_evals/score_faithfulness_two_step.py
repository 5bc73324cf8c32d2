"""Does the context support the answer? First its statements, then a verdict on each of them."""

from rag_evals.extract import Extractor
from rag_evals.verified import VerifiedFaithfulness, VerifiedFaithfulnessResult, VerifiedStatement
from rag_evals.verify import ClassifierVerifier, Verifier
from rag_evals.verify.classifier import HHEM
from rag_evals.verify.classifier.verifier import DEFAULT_BATCH_SIZE

__all__ = [
    "HHEMFaithfulness",
    "TwoStepFaithfulness",
    "VerifiedFaithfulnessResult",
    "VerifiedStatement",
]


class TwoStepFaithfulness(VerifiedFaithfulness):
    """Faithfulness as its inventors graded it: extract the statements, then verify each.

    Args:
        extractor: Finds the statements; None takes a judge's statements where there is a judge,
            else the answer's own sentences.
        verifier: Decides them; None takes the judge, in batches, or the verifier that stands in
            for it.
        name: What results call it; two of them in one run need two names.
        language: Language of samples that name none, such as `ru`; None is English.
    """

    description = "Is every statement supported? Extracted first, then verified."

    def __init__(
        self,
        *,
        extractor: Extractor | None = None,
        verifier: Verifier | None = None,
        name: str = "faithfulness_two_step",
        language: str | None = None,
    ) -> None:
        super().__init__(extractor=extractor, verifier=verifier, name=name, language=language)


class HHEMFaithfulness(VerifiedFaithfulness):
    """Faithfulness with verdicts of Vectara's HHEM-2.1-Open, a classifier that runs here.

    Args:
        device: As for `ClassifierVerifier`.
        batch_size: As for `ClassifierVerifier`.
        extractor: As for `TwoStepFaithfulness`.
        model: A copy of the model elsewhere, or its folder.
        threshold: Support from which a statement counts as supported, 0 to 1.
        name: As for `TwoStepFaithfulness`.
        language: As for `TwoStepFaithfulness`.
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
        verifier = ClassifierVerifier(
            model, device=device, batch_size=batch_size, threshold=threshold
        )
        super().__init__(extractor=extractor, verifier=verifier, name=name, language=language)
