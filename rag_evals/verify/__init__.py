"""Do these chunks support this statement? A verifier decides it, with or without a judge."""

from typing import Protocol

from rag_evals.verify.embedded import EmbeddedVerifier
from rag_evals.verify.flow import Flow, Reply, Step, VerifyCall, VerifyReply
from rag_evals.verify.prepare import claims_of
from rag_evals.verify.verdict import Evidence, Verdict

__all__ = [
    "EmbeddedVerifier",
    "Evidence",
    "Flow",
    "Reply",
    "Step",
    "Verdict",
    "Verifier",
    "VerifyCall",
    "VerifyReply",
    "claims_of",
    "from_string",
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
        spec: What a user wrote after `--judge` or as `client=`.

    Returns:
        None when the string names no verifier, and so must name a model endpoint.
    """
    return EmbeddedVerifier() if spec == EMBEDDED else None
