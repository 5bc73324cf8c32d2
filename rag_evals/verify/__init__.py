"""Do these chunks support this statement? A verifier decides it, with or without a judge."""

from typing import Any, Protocol

from rag_evals.errors import ConfigurationError
from rag_evals.verify.embedded import EmbeddedVerifier
from rag_evals.verify.flow import Flow, Reply, Step, VerifyCall, VerifyReply
from rag_evals.verify.prepare import NoClaim, PreparedStatement, claims_of, prepare_answer
from rag_evals.verify.verdict import Evidence, Verdict

__all__ = [
    "EmbeddedVerifier",
    "Evidence",
    "Flow",
    "NoClaim",
    "PreparedStatement",
    "Reply",
    "Step",
    "Verdict",
    "Verifier",
    "VerifyCall",
    "VerifyReply",
    "claims_of",
    "from_string",
    "prepare_answer",
]

EMBEDDED = "embedded"
"""The judge that needs no key, no network and no model file."""

EMBEDDED_GRADERS = ("faithfulness",)
"""Names of the shipped graders that a verifier can stand in for."""


class Verifier(Protocol):
    """Decides statements against chunks; its flow says what it needs for that."""

    @property
    def name(self) -> str:
        """What results and manifests call it."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that can change a verdict."""
        ...

    def flow(self, statements: "list[str]", chunks: "list[str]") -> Flow[list[Verdict]]:
        """Describe the work; returns one verdict for each statement, in order."""
        ...


def from_string(spec: str) -> Verifier | None:
    """Make the verifier that a judge string names.

    Args:
        spec: What a user wrote after `--judge` or as `client=`: `embedded`, or `embedded:FILE` with
            weights made by the training command; `@strict` or `@0.8` behind either sets the
            threshold, as in `embedded@strict`.

    Returns:
        None when the string names no verifier, and so must name a model endpoint.

    Raises:
        ConfigurationError: The weights file or the threshold cannot be used.
    """
    named, at, threshold = spec.rpartition("@") if "@" in spec else (spec, "", "")
    kind, colon, weights = named.partition(":")
    if kind != EMBEDDED:
        return None
    if colon and not weights:
        raise ConfigurationError(f"judge {spec!r} names no file; expected embedded:weights.json")
    return EmbeddedVerifier(_threshold(threshold) if at else None, weights=weights or None)


def _threshold(text: str) -> Any:
    """Read a number; anything else is a name, which the verifier checks."""
    try:
        return float(text)
    except ValueError:
        return text
