"""Which models does a judge fill? Statements, sentence by sentence, and rubrics."""

from rag_evals import lazy_names

NAMES = {
    "rubrics": (
        "ChecklistResult",
        "ChunkLabelsResult",
        "PassFailResult",
        "RatingResult",
    ),
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
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
