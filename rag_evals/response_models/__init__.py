"""Which models does a judge fill? Statements, what drifts from the answer, and rubrics."""

from rag_evals import lazy_names

NAMES = {
    "drift": ("DRIFT_NAMES", "Extracted", "check_drift", "distinct_statements"),
    "rubrics": (
        "ChecklistResult",
        "ChunkLabel",
        "ChunkLabelsResult",
        "CriterionCheck",
        "LabelledChunk",
        "PassFailResult",
        "PerChunkResult",
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
