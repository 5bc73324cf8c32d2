"""Which models does a judge fill? Statements, what drifts from the answer, and rubrics."""

from rag_evals import lazy_names

NAMES = {
    "guard": ("DRIFT_NAMES", "Fault", "Guard", "Stated", "distinct"),
    "keyed": (
        "EXACT",
        "MOST_SENTENCES",
        "JudgedClaim",
        "KeyedReply",
        "ReplyForm",
        "ReplyShape",
        "VerdictUnit",
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
        "check_every_sentence",
        "each_once",
        "finding_of",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
