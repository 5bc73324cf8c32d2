"""Does a Hugging Face classifier find the statement in the chunks? Extra `hf`.

`loading.py` is the only file that imports torch and transformers, inside functions.
"""

from rag_evals.verify.classifier.known import FORMS, KNOWN, known_model
from rag_evals.verify.classifier.verifier import HHEM, ClassifierVerifier

__all__ = ["FORMS", "HHEM", "KNOWN", "ClassifierVerifier", "known_model"]
