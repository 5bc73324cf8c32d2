"""Do these chunks support this statement? A verifier decides it, with or without a judge.

The names of `classifier` are loaded when they are first used: importing the package has a budget,
and most programs need none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.verify.cascade import CascadeVerifier
from rag_evals.verify.judge_string import (
    EMBEDDED,
    JudgeSpec,
    from_string,
    names_classifier,
    read_judge,
    verifier_from_string,
    with_options,
)
from rag_evals.verify.llm import LLMVerifier

if TYPE_CHECKING:
    from rag_evals.verify.classifier.verifier import HHEM, ClassifierVerifier

_HOMES = {
    "ClassifierVerifier": "rag_evals.verify.classifier.verifier",
    "HHEM": "rag_evals.verify.classifier.verifier",
}

__all__ = [
    "EMBEDDED",
    "EMBEDDED_GRADERS",
    "HHEM",
    "CascadeVerifier",
    "ClassifierVerifier",
    "JudgeSpec",
    "LLMVerifier",
    "from_string",
    "names_classifier",
    "read_judge",
    "verifier_from_string",
    "with_options",
]

EMBEDDED_GRADERS = ("faithfulness", "faithfulness_two_step", "faithfulness_hhem")
"""Names of the shipped graders that a verifier can stand in for."""


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.verify' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
