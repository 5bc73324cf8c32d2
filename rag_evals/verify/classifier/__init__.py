"""Does a Hugging Face classifier find the statement in the chunks? Extra `hf`.

`model.py` is the only file that imports torch and transformers, inside functions.
"""

from rag_evals.verify.classifier.verifier import HHEM, ClassifierVerifier

__all__ = ["HHEM", "ClassifierVerifier"]
