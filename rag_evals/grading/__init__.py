"""How does a grader do its work? The base class, the drivers, and the parts of two steps."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.grading.drivers import drive_async
from rag_evals.grading.grader import Grader, R, default_judge, require_fields, resolve

if TYPE_CHECKING:
    from rag_evals.grading.canary import Planted, plant
    from rag_evals.grading.extract import Extractor, SentenceExtractor, StatementExtractor
    from rag_evals.grading.two_step import (
        VerifiedFaithfulness,
        VerifiedFaithfulnessResult,
        VerifiedStatement,
    )

_HOMES = {
    "Extractor": "rag_evals.grading.extract",
    "Planted": "rag_evals.grading.canary",
    "SentenceExtractor": "rag_evals.grading.extract",
    "StatementExtractor": "rag_evals.grading.extract",
    "VerifiedFaithfulness": "rag_evals.grading.two_step",
    "VerifiedFaithfulnessResult": "rag_evals.grading.two_step",
    "VerifiedStatement": "rag_evals.grading.two_step",
    "plant": "rag_evals.grading.canary",
}

__all__ = [
    "Extractor",
    "Grader",
    "Planted",
    "R",
    "SentenceExtractor",
    "StatementExtractor",
    "VerifiedFaithfulness",
    "VerifiedFaithfulnessResult",
    "VerifiedStatement",
    "default_judge",
    "drive_async",
    "plant",
    "require_fields",
    "resolve",
]


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.grading' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
