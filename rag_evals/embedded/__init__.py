"""Who decides statements offline? The embedded verifier, in milliseconds, without a model file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.embedded.verifier import EmbeddedVerifier

if TYPE_CHECKING:
    from rag_evals.embedded.claims import NoClaim, PreparedStatement, claims_of, prepare_answer

_HOMES = {
    "NoClaim": "rag_evals.embedded.claims",
    "PreparedStatement": "rag_evals.embedded.claims",
    "claims_of": "rag_evals.embedded.claims",
    "prepare_answer": "rag_evals.embedded.claims",
}

__all__ = [
    "EmbeddedVerifier",
    "NoClaim",
    "PreparedStatement",
    "claims_of",
    "prepare_answer",
]


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.embedded' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
