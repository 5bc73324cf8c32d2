"""What does a verifier say of one statement?"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rag_evals.text import Leaning


class Evidence(NamedTuple):
    """A sentence of a chunk: `chunk.text[start:end] == text`."""

    chunk_id: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the chunks support one statement.

    Attributes:
        support: From 0 (nothing speaks for it) to 1; the embedded verifier's is calibrated, so that
            about that share of such statements is supported.
        is_supported: The support reaches the verifier's threshold, and something carries it.
        chunk_ids: The chunks that carry the evidence, best first, from 0; may be empty.
        reason: Why, in words, in the statement's language.
        evidence: The sentences that were read as evidence, best first.
        decided_by: Name of the verifier that decided; None until one of several has said so.
        windows: Pieces of context that a classifier read for it; None for other verifiers.
        from_cache: True when it was decided earlier and kept.
        taken_from: The statement it was decided for, where that is another one.
        similarity: Cosine between the two statements, -1 to 1; None for the same statement.
        doubt: What kept the verifier from deciding the claim: how its words lean on others, or
            `declined`; None where nothing did. A cascade asks its second verifier, whatever the
            support.
        is_sure: Whether a cascade may leave it at that; None leaves it to the band of support.
    """

    support: float
    is_supported: bool
    chunk_ids: tuple[int, ...]
    reason: str
    evidence: tuple[Evidence, ...] = ()
    decided_by: str | None = None
    windows: int | None = None
    from_cache: bool = False
    taken_from: str | None = None
    similarity: float | None = None
    doubt: Leaning | Literal["declined"] | None = None
    is_sure: bool | None = None
