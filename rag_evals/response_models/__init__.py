"""Which models does a judge fill? Statements, audited statements, rubrics."""

from rag_evals import lazy_names

NAMES = {
    "audited": (
        "AuditReply",
        "AuditedClaim",
        "AuditedFaithfulnessResult",
        "AuditedStatement",
        "AuditedVerdict",
        "CanaryVerdict",
        "CountsAgainst",
        "NumberedVerdict",
        "VerdictsReply",
    ),
    "evidence": (
        "ClaimedQuote",
        "VerdictOfThree",
        "quotes_of",
        "why_unverified",
    ),
    "drift": (
        "DRIFT_NAMES",
        "Extracted",
        "check_drift",
        "drift_of",
        "passed_over_ids",
        "without_repeats",
    ),
    "per_chunk": (
        "ChunkLabel",
        "ChunkLabelsResult",
        "LabelledChunk",
        "PerChunkResult",
    ),
    "rubrics": (
        "ChecklistResult",
        "CriterionCheck",
        "PassFailResult",
        "RatingResult",
    ),
    "statements": (
        "FaithfulnessResult",
        "NoClaimSentence",
        "PassedOverSentence",
        "StatementEvaluation",
        "check_every_sentence",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
