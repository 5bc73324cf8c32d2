"""What may a judge fill? Statements, audited statements, rubrics."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.response_models.statements import (
    FaithfulnessResult,
    NoClaimSentence,
    PassedOverSentence,
    StatementEvaluation,
    check_every_sentence,
)

if TYPE_CHECKING:
    from rag_evals.response_models.audited import (
        AuditedClaim,
        AuditedFaithfulnessResult,
        AuditedStatement,
        AuditReply,
        CanaryVerdict,
        ClaimedQuote,
        CountsAgainst,
        NumberedVerdict,
        VerdictOfThree,
        VerdictsReply,
        quotes_of,
    )
    from rag_evals.response_models.rubrics import (
        ChecklistResult,
        ChunkLabel,
        ChunkLabelsResult,
        CriterionCheck,
        PassFailResult,
        RatingResult,
    )

_HOMES = {
    "AuditReply": "rag_evals.response_models.audited",
    "AuditedClaim": "rag_evals.response_models.audited",
    "AuditedFaithfulnessResult": "rag_evals.response_models.audited",
    "AuditedStatement": "rag_evals.response_models.audited",
    "CanaryVerdict": "rag_evals.response_models.audited",
    "ChecklistResult": "rag_evals.response_models.rubrics",
    "ChunkLabel": "rag_evals.response_models.rubrics",
    "ChunkLabelsResult": "rag_evals.response_models.rubrics",
    "ClaimedQuote": "rag_evals.response_models.audited",
    "CountsAgainst": "rag_evals.response_models.audited",
    "CriterionCheck": "rag_evals.response_models.rubrics",
    "NumberedVerdict": "rag_evals.response_models.audited",
    "PassFailResult": "rag_evals.response_models.rubrics",
    "RatingResult": "rag_evals.response_models.rubrics",
    "VerdictOfThree": "rag_evals.response_models.audited",
    "VerdictsReply": "rag_evals.response_models.audited",
    "quotes_of": "rag_evals.response_models.audited",
}

__all__ = [
    "AuditReply",
    "AuditedClaim",
    "AuditedFaithfulnessResult",
    "AuditedStatement",
    "CanaryVerdict",
    "ChecklistResult",
    "ChunkLabel",
    "ChunkLabelsResult",
    "ClaimedQuote",
    "CountsAgainst",
    "CriterionCheck",
    "FaithfulnessResult",
    "NoClaimSentence",
    "NumberedVerdict",
    "PassFailResult",
    "PassedOverSentence",
    "RatingResult",
    "StatementEvaluation",
    "VerdictOfThree",
    "VerdictsReply",
    "check_every_sentence",
    "quotes_of",
]


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.response_models' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
