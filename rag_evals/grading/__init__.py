"""How does a grader do its work? The base class, the drivers, and the parts of two steps."""

from rag_evals import lazy_names

NAMES = {
    "extract": ("ExtractedStatement", "Extractor", "SentenceExtractor"),
    "grader": (
        "Grader",
        "default_judge",
        "require_fields",
        "resolve",
        "sample_flow",
    ),
    "guarding": ("grade_by_sentence",),
    "two_step": (
        "VerifiedFaithfulness",
        "VerifiedFaithfulnessResult",
        "VerifiedStatement",
        "language_warning",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
