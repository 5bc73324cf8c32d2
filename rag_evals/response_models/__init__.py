"""Which models does a judge fill? Statements, what drifts from the answer, and rubrics."""

from rag_evals import lazy_names

NAMES = {
    "replies": (
        "DRIFT_NAMES",
        "EXACT",
        "MOST_SENTENCES",
        "Fault",
        "Guard",
        "JudgedClaim",
        "KeyedReply",
        "ReplyForm",
        "ReplyShape",
        "Stated",
        "VerdictUnit",
        "distinct",
        "keyed_reply",
    ),
    "rubrics": (
        "ChecklistResult",
        "ChunkLabelsResult",
        "LabelledChunk",
        "PassFailResult",
        "PerChunkResult",
        "RatingResult",
    ),
    "statements": (
        "ByStatement",
        "FaithfulnessResult",
        "NoClaimSentence",
        "PassedOverSentence",
        "StatementEvaluation",
        "TurnVerdict",
        "check_every_sentence",
        "each_once",
        "finding_of",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
