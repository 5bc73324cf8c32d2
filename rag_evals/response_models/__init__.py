"""Response models that judges fill in: statements, sentence by sentence, and rubrics."""

from rag_evals import lazy_names

NAMES = {
    "rubrics": ("ChecklistResult", "ChunkLabelsResult", "PassFailResult", "RatingResult"),
    "statements": (
        "KeyedReply",
        "VerdictUnit",
        "ByStatement",
        "FaithfulnessResult",
        "NoClaimSentence",
        "PassedOverSentence",
        "StatementEvaluation",
        "check_every_sentence",
        "each_once",
    ),
}
"""Names for other subpackages, grouped by file."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
