"""The grader base class, the drivers that run graders, and two-step grading."""

from rag_evals import lazy_names

NAMES = {
    "extract": ("ExtractedStatement", "Extractor", "SentenceExtractor"),
    "grader": ("Grader", "default_judge", "require_fields", "resolve", "sample_flow"),
    "guarding": ("grade_by_sentence",),
    "two_step": (
        "VerifiedFaithfulness",
        "VerifiedFaithfulnessResult",
        "VerifiedStatement",
        "language_warning",
    ),
}
"""The public names of this package, grouped by the module that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
