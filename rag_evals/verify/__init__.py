"""Do these chunks support this statement? A verifier decides it, with or without a judge."""

from rag_evals.verify.cascade import CascadeVerifier
from rag_evals.verify.classifier import ClassifierVerifier
from rag_evals.verify.embedded import EmbeddedVerifier
from rag_evals.verify.flow import (
    Flow,
    LocalCall,
    LocalReply,
    Reply,
    Step,
    VerifyCall,
    VerifyReply,
    check_count,
)
from rag_evals.verify.llm import LLMVerifier
from rag_evals.verify.prepare import NoClaim, PreparedStatement, claims_of, prepare_answer
from rag_evals.verify.protocol import Verifier, asks_judge, calls_for, deciders_of
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

__all__ = [
    "EMBEDDED",
    "EMBEDDED_GRADERS",
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
    "asks_judge",
    "calls_for",
    "check_count",
    "claims_of",
    "deciders_of",
    "from_string",
    "names_classifier",
    "prepare_answer",
    "read_judge",
    "verifier_from_string",
    "with_options",
]

EMBEDDED_GRADERS = ("faithfulness", "faithfulness_two_step", "faithfulness_hhem")
"""Names of the shipped graders that a verifier can stand in for."""
