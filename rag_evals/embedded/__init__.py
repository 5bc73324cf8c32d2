"""The embedded verifier: decides statements offline, in milliseconds, without a model file."""

from rag_evals import lazy_names

NAMES = {
    "claims": ("PreparedStatement", "prepare_answer"),
    "evidence": ("evidence_words",),
    "setting": ("claims_in_setting",),
    "verifier": ("EmbeddedVerifier",),
}
"""The public names of this package, by the file that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
