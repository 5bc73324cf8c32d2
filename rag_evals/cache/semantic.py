"""May a verdict be reused for another statement? Only where vectors and the guard both agree.

Similar vectors alone do not: "rose by 12 %" and "rose by 21 %" are closer than many paraphrases.
So the guard must prove that one statement is a rewording of the other; see `rag_evals.cache.guard`.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_evals.cache.embed import Embed, Embedder, FunctionEmbedder, embedder_from_string
from rag_evals.cache.guard import may_share_verdict
from rag_evals.cache.statements import STATEMENTS_TABLE, CacheLookup, StatementCache, unpack
from rag_evals.core import Verdict, require_fraction
from rag_evals.errors import ConfigurationError

__all__ = ["DEFAULT_THRESHOLD", "SemanticCache", "may_share_verdict"]

DEFAULT_THRESHOLD = 0.95
"""Cosine from which two statements are similar enough; the guard has to agree at any threshold."""


class SemanticCache(StatementCache):
    """Stores verdicts, and also finds them for reworded statements.

    Args:
        embed: Who makes vectors: a function, an `Embedder`, or a name such as
            `"openai/text-embedding-3-small"`.
        threshold: Least cosine of the vectors, 0 to 1.
        path: As for `StatementCache`.

    Raises:
        ConfigurationError: The threshold is out of range, or the name means nothing.
    """

    mode = "semantic"

    def __init__(
        self,
        embed: Embed | Embedder | str,
        threshold: float = DEFAULT_THRESHOLD,
        path: str | Path | None = None,
    ) -> None:
        self.threshold = require_fraction("threshold", threshold)
        self.embedder = _embedder(embed)
        self.embedder_name = self.embedder.name
        self.policy = f"semantic {self.threshold!r} {self.embedder_name}"
        super().__init__(path)

    def check(self) -> None:
        """Ask the embedder, where it can say so, whether it can work.

        Raises:
            ConfigurationError: It cannot.
        """
        check = getattr(self.embedder, "check", None)
        if check is not None:
            check()

    def look_up(self, group: str, statements: Sequence[str]) -> CacheLookup:
        """Look up each statement itself, then one that may share its verdict."""
        verdicts = super().look_up(group, statements).verdicts
        misses = [
            statement
            for statement, verdict in zip(statements, verdicts, strict=True)
            if verdict is None
        ]
        if not misses:
            return CacheLookup(verdicts, {})
        vectors = self._vectors(misses)
        rows = self._database.read(
            f"SELECT statement, verdict, vector FROM {STATEMENTS_TABLE} "
            "WHERE grp = ? AND embedder = ? AND vector IS NOT NULL",
            (group, self.embedder_name),
        )
        similar = [
            verdict or self._similar(statement, vectors[statement], rows)
            for statement, verdict in zip(statements, verdicts, strict=True)
        ]
        return CacheLookup(similar, vectors)

    def _similar(
        self, statement: str, vector: bytes, rows: Sequence[tuple[str, str, bytes]]
    ) -> Verdict | None:
        allowed = [
            row
            for row in rows
            # Another length is another model under the same name.
            if len(row[2]) == len(vector) and may_share_verdict(statement, row[0])
        ]
        scored = [(cosine(vector, row[2]), row) for row in allowed]
        similarity, row = max(scored, default=(-1.0, None), key=lambda pair: pair[0])
        if row is None or similarity < self.threshold:
            return None
        return replace(
            unpack(row[1]), from_cache=True, taken_from=row[0], similarity=round(similarity, 4)
        )

    def _vectors(self, statements: Sequence[str]) -> dict[str, bytes]:
        distinct = list(dict.fromkeys(statements))
        made = self.embedder.embed(distinct)
        if len(made) != len(distinct):
            raise ConfigurationError(
                f"embedder {self.embedder_name!r} returned {len(made)} vectors for "
                f"{len(distinct)} texts; expected one for each"
            )
        return {text: pack_vector(vector) for text, vector in zip(distinct, made, strict=True)}


def pack_vector(vector: Sequence[float]) -> bytes:
    """Write a vector of length 1 as 16-bit floats, two bytes a number.

    Raises:
        ConfigurationError: A number is infinite or none.
    """
    if not all(map(math.isfinite, vector)):
        raise ConfigurationError("the embedder returned a vector with NaN or infinite numbers")
    norm = math.sqrt(math.fsum(number * number for number in vector)) or 1.0
    return struct.pack(f"<{len(vector)}e", *(number / norm for number in vector))


def cosine(first: bytes, second: bytes) -> float:
    """Return the cosine of two packed vectors, -1 to 1; 0 where their lengths differ."""
    if len(first) != len(second):
        return 0.0
    try:
        import numpy  # noqa: PLC0415 - optional, and 0.1 s to import
    except ImportError:
        pairs = zip(_unpacked(first), _unpacked(second), strict=True)
        dot = math.fsum(one * other for one, other in pairs)
        norms = math.fsum(n * n for n in _unpacked(first)) * math.fsum(
            n * n for n in _unpacked(second)
        )
        return dot / math.sqrt(norms) if norms else 0.0
    one, other = (numpy.frombuffer(packed, "<f2").astype("f4") for packed in (first, second))
    norms = float(one @ one) * float(other @ other)
    return float(one @ other) / math.sqrt(norms) if norms else 0.0


def _unpacked(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 2}e", packed)


def _embedder(embed: Embed | Embedder | str) -> Embedder:
    if isinstance(embed, str):
        return embedder_from_string(embed)
    # A protocol cannot be told from a function by isinstance here: both may be callable.
    return embed if hasattr(embed, "embed") else FunctionEmbedder(embed)  # type: ignore[return-value]
