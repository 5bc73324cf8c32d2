"""Who decides statements offline? The embedded verifier, in milliseconds, without a model file."""

from rag_evals import lazy_names

NAMES = {
    "claims": ("PreparedStatement", "prepare_answer"),
    "evidence": ("evidence_words",),
    "setting": ("claims_in_setting",),
    "verifier": ("EmbeddedVerifier",),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
