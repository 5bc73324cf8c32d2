"""Hugging Face classifiers as verifiers; only `model.py` imports torch and transformers."""

from rag_evals.verify.classifier.verifier import HHEM, ClassifierVerifier

__all__ = ["HHEM", "ClassifierVerifier"]
