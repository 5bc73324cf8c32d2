"""Do these chunks support this statement? A verifier decides it, with or without a judge."""

from rag_evals import lazy_names

NAMES = {
    "cascade": ("CascadeVerifier",),
    "classifier": ("HHEM", "ClassifierVerifier"),
    "judge_string": (
        "EMBEDDED",
        "EMBEDDED_GRADERS",
        "from_string",
        "read_judge",
        "verifier_from_string",
    ),
    "confidence": ("Confidence", "read_signals", "sureness"),
    "decisions": ("DecisionVerifier",),
    "llm": ("LLMVerifier",),
    "tuned": (
        "AgreementFigures",
        "Promise",
        "Tuned",
        "TunedVerifier",
        "Tuning",
        "read_tunings",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
