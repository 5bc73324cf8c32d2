"""How does a grader do its work? The base class, the drivers, and the parts of two steps."""

from rag_evals import lazy_names

NAMES = {
    "conversation": ("grades_turns",),
    "extract": ("ExtractedStatement", "Extractor", "SentenceExtractor"),
    "grader": (
        "JUDGE_VARIABLE",
        "Grader",
        "default_judge",
        "drive_async",
        "judge_name",
        "require_fields",
        "resolve",
        "sample_flow",
        "warn_of_default",
    ),
    "guarding": (
        "GuardedCall",
        "ask_guarded",
        "claiming_sentences",
        "grade_by_sentence",
        "grade_own_statements",
        "keyed_example",
    ),
    "repeat": ("Repeated",),
    "two_step": (
        "VerifiedFaithfulness",
        "VerifiedFaithfulnessResult",
        "VerifiedStatement",
        "language_warning",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
