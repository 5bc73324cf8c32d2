"""Hugging Face classifiers as verifiers; needs the extra `hf`.

Only `model.py` imports torch and transformers, inside functions.
"""

from rag_evals.verify.classifier.verifier import HHEM, ClassifierVerifier

__all__ = ["HHEM", "ClassifierVerifier"]
