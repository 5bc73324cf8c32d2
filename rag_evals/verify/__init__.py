"""Verifiers: decide whether chunks support a statement, with or without a judge."""

from rag_evals import lazy_names

NAMES = {
    "cascade": ("CascadeVerifier",),
    "classifier": ("HHEM", "ClassifierVerifier"),
    "judge_string": ("EMBEDDED", "EMBEDDED_GRADERS", "read_judge", "verifier_from_string"),
    "decisions": ("DecisionVerifier",),
    "llm": ("LLMVerifier",),
    "tuned": (
        "AgreementFigures",
        "Confidence",
        "Promise",
        "Tuned",
        "TunedVerifier",
        "Tuning",
        "read_signals",
        "read_tunings",
        "sureness",
    ),
}
"""Names for other subpackages, grouped by file."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
