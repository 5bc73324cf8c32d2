"""Do these chunks support this statement? A verifier decides it, with or without a judge.

Names of `prepare` and `classifier` are loaded when they are first used: importing the package has a
budget, and most programs need neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.verify.cascade import CascadeVerifier
from rag_evals.verify.embedded import EmbeddedVerifier
from rag_evals.verify.flow import (
    Flow,
    LocalCall,
    LocalReply,
    Reply,
    Step,
    VerifyCall,
    VerifyReply,
    check_verdicts,
)
from rag_evals.verify.llm import LLMVerifier
from rag_evals.verify.protocol import (
    CacheMode,
    Verifier,
)
from rag_evals.verify.spec import (
    EMBEDDED,
    JudgeSpec,
    from_string,
    names_classifier,
    read_judge,
    verifier_from_string,
    with_options,
)
from rag_evals.verify.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from rag_evals.verify.classifier import ClassifierVerifier
    from rag_evals.verify.prepare import NoClaim, PreparedStatement, claims_of, prepare_answer

_HOMES = {
    "ClassifierVerifier": "classifier",
    "NoClaim": "prepare",
    "PreparedStatement": "prepare",
    "claims_of": "prepare",
    "prepare_answer": "prepare",
}

__all__ = [
    "EMBEDDED",
    "EMBEDDED_GRADERS",
    "CacheMode",
    "CascadeVerifier",
    "ClassifierVerifier",
    "EmbeddedVerifier",
    "Evidence",
    "Flow",
    "JudgeSpec",
    "LLMVerifier",
    "LocalCall",
    "LocalReply",
    "NoClaim",
    "PreparedStatement",
    "Reply",
    "Step",
    "Verdict",
    "Verifier",
    "VerifyCall",
    "VerifyReply",
    "check_verdicts",
    "claims_of",
    "from_string",
    "names_classifier",
    "prepare_answer",
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
    return getattr(import_module(f"rag_evals.verify.{_HOMES[name]}"), name)
