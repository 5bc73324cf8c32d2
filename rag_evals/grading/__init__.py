"""How does a grader do its work? The base class, the drivers, and the parts of two steps."""

from rag_evals import lazy_names

NAMES = {
    "canary": ("PlantedSample", "plant"),
    "drivers": ("NamedJudge", "drive_async"),
    "extract": ("Extractor", "SentenceExtractor", "StatementExtractor", "claiming_sentences"),
    "given": ("require_fields",),
    "grader": ("Grader", "default_judge", "resolve"),
    "repeat": ("Repeated", "RepeatedResult"),
    "two_step": ("VerifiedFaithfulness",),
    "verified_result": ("VerifiedFaithfulnessResult", "VerifiedStatement"),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
