"""Is the verdict on a reworded statement known? Only where vectors, code and a verifier agree.

Similar vectors alone do not mean equal claims: "rose by 12 %" and "rose by 21 %" are closer than
many paraphrases. So candidates are only statements with the same numbers, units, signs, names,
negations and small words, which an index finds; and a verifier must find each in the other.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rag_evals.cache.alike import frame_of, written_out
from rag_evals.cache.database import STATEMENTS_TABLE
from rag_evals.cache.statements import StatementCache, StatementKey, unpack
from rag_evals.core import Claim, Verdict, Verifier, fingerprint, require_fraction
from rag_evals.core.flow import LocalVerifier
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.build import embed_texts
from rag_evals.verify import from_string

Embed = Callable[[list[str]], Sequence[Sequence[float]]]


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """What vectors are kept under: other names are other vectors."""
        ...

    def embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, in order."""
        ...


@dataclass(frozen=True)
class NamedEmbedder:
    """A function of any origin that makes vectors, with a name to store them under."""

    name: str
    embed: Embed


AnyEmbedder = Embed | Embedder | str
"""What may be given as `embed=`."""


def as_embedder(given: AnyEmbedder) -> Embedder:
    """Return an embedder, whatever was given.

    Raises:
        ConfigurationError: It cannot make vectors.
    """
    if isinstance(given, str):
        return embedder_from_string(given)
    # A protocol cannot be told from a function by isinstance here: each may be callable.
    found: Any = given
    if hasattr(found, "embed") and isinstance(getattr(found, "name", None), str):
        return found  # type: ignore[no-any-return]  # as above
    if callable(found):
        return NamedEmbedder(_function_name(found), found)
    raise ConfigurationError(
        f"embed is {given!r}; expected a function from texts to vectors, such as a library's "
        "`embeddings.embed_documents`, an object with name and embed, or a name such as "
        "'openai/text-embedding-3-small'"
    )


def _function_name(function: Any) -> str:
    """Name a function and, where it is a method of something with a model, the model."""
    kind, owner = type(function), getattr(function, "__self__", function)
    name = f"{getattr(function, '__module__', kind.__module__)}."
    name += getattr(function, "__qualname__", kind.__qualname__)
    models = (getattr(owner, one, None) for one in ("model", "model_name"))
    model = next((value for value in models if isinstance(value, str)), "")
    return f"{name} {model}".rstrip()


def embedder_from_string(spec: str) -> Embedder:
    """Make the embedder that `openai/MODEL` names.

    Raises:
        ConfigurationError: The string is not such a name.
    """
    if spec.startswith("openai/") and spec != "openai/":
        return NamedEmbedder(spec, partial(embed_texts, spec))
    raise ConfigurationError(
        f"embedding model is {spec!r}; expected 'openai/MODEL', such as "
        "'openai/text-embedding-3-small', or a function from texts to vectors"
    )


_EXPECTED = (
    "a verifier that needs no judge, such as 'embedded@strict' or 'hf:MODEL' for an NLI classifier"
)


@runtime_checkable
class _Local(LocalVerifier, Protocol):
    """Has `verify`."""


class Equivalence:
    """Asks a verifier on this machine about two statements, in both directions.

    Raises:
        ConfigurationError: It is no verifier, or asks a judge.
    """

    def __init__(self, verifier: Verifier | str) -> None:
        found = from_string(verifier) if isinstance(verifier, str) else verifier
        if (
            not isinstance(found, Verifier)
            or not isinstance(found, _Local)
            or found.traits.asks_judge
            or found.traits.endpoints
        ):
            raise ConfigurationError(f"equivalence is {verifier!r}; expected {_EXPECTED}")
        self._verifier: Verifier = found
        self._local: LocalVerifier = found
        # It counts words: it cannot tell who bit whom, nor a lake that grew from one that rose.
        self._is_blind_to_order = isinstance(found, EmbeddedVerifier)

    def check(self) -> None:
        """Find out before the first call whether the verifier can work.

        Raises:
            ConfigurationError: It cannot.
        """
        if check := self._verifier.traits.check:
            check()

    def fingerprint(self) -> str:
        """Return a hash of all that can change a decision."""
        return fingerprint(self._verifier.fingerprint(), self._is_blind_to_order)

    def may_hold(self, one: str, other: str) -> bool:
        """Say at little cost whether it is worth while to compare vectors."""
        return not self._is_blind_to_order or written_out(one) == written_out(other)

    def holds(self, one: str, other: str) -> bool:
        """Say whether each of two statements follows from the other."""
        return self.may_hold(one, other) and all(
            self._local.verify([Claim(claim)], [chunk])[0].is_supported
            for claim, chunk in ((one, other), (other, one))
        )


DEFAULT_THRESHOLD = 0.95
"""Cosine from which two statements are similar enough."""

DEFAULT_EQUIVALENCE = "embedded@strict"
"""Verifier that must find each of two statements in the other."""

# The newest of a frame: a look-up takes the same time however many there are.
_MOST_CANDIDATES = 32
_MOST_COMPARED = 4


class _Candidate(NamedTuple):
    """A stored statement with the frame of the one that is looked up."""

    name: str
    text: str
    verdict: str
    embedder: str | None
    vector: bytes | None


class SemanticCache(StatementCache):
    """Stores verdicts, and also finds them for reworded statements that stand alone.

    Args:
        embed: Who makes vectors: a function, such as LangChain's `embeddings.embed_documents`, an
            `Embedder`, or a name such as `"openai/text-embedding-3-small"`.
        threshold: Least cosine of the vectors, 0 to 1.
        path: As for `StatementCache`.
        equivalence: Verifier that must find each of two statements in the other: an NLI
            classifier such as `"hf:MODEL"`; `"embedded@strict"` lets only contractions differ.

    Raises:
        ConfigurationError: The threshold is out of range, a name means nothing, or the verifier
            asks a judge.
    """

    mode = "semantic"

    def __init__(
        self,
        embed: AnyEmbedder,
        threshold: float = DEFAULT_THRESHOLD,
        path: str | Path | None = None,
        *,
        equivalence: Verifier | str = DEFAULT_EQUIVALENCE,
    ) -> None:
        self.threshold = require_fraction("threshold", threshold)
        self.embedder = as_embedder(embed)
        self.equivalence = Equivalence(equivalence)
        super().__init__(path)

    @property
    def policy(self) -> str:
        """What about this cache can change a verdict."""
        embedder = self.embedder.name
        return fingerprint("semantic", self.threshold, embedder, self.equivalence.fingerprint())

    def check(self) -> None:
        """Refuse a verifier that cannot work (`ConfigurationError`)."""
        self.equivalence.check()

    def look_up(self, group: str, keys: Sequence[StatementKey]) -> list[Verdict | None]:
        """Look up each statement itself, then one that may share its verdict."""
        verdicts = super().look_up(group, keys)
        candidates = {
            key: found
            for key, verdict in zip(keys, verdicts, strict=True)
            if verdict is None and not key.setting and (found := self._candidates(group, key))
        }
        if not candidates:
            return verdicts
        vectors = self._vectors(group, candidates)
        return [
            self._similar(key, candidates[key], vectors) if key in candidates else verdict
            for key, verdict in zip(keys, verdicts, strict=True)
        ]

    def _candidates(self, group: str, key: StatementKey) -> list[_Candidate]:
        rows = self._database.read(
            f"SELECT statement, text, verdict, embedder, vector FROM {STATEMENTS_TABLE} "
            "WHERE grp = ? AND frame = ? ORDER BY created DESC LIMIT ?",
            (group, frame_of(key.text), _MOST_CANDIDATES),
        )
        found = [_Candidate(*row) for row in rows]
        return [one for one in found if self.equivalence.may_hold(key.text, one.text)]

    def _vectors(
        self, group: str, candidates: Mapping[StatementKey, Sequence[_Candidate]]
    ) -> dict[str, bytes]:
        """Return the vectors of statements and candidates; new ones come from one request."""
        own = self.embedder.name
        stored = {one.text: one for several in candidates.values() for one in several}
        vectors = {
            text: one.vector
            for text, one in stored.items()
            if one.vector is not None and one.embedder == own
        }
        asked = [key.text for key in candidates if key.text not in vectors]
        asked += [text for text in stored if text not in vectors and text not in asked]
        made = self.embedder.embed(asked)
        if len(made) != len(asked):
            raise ConfigurationError(
                f"embedder {own!r} returned {len(made)} vectors for {len(asked)} texts; expected "
                "one for each"
            )
        new = {text: pack_vector(vector) for text, vector in zip(asked, made, strict=True)}
        self._database.write(
            f"UPDATE {STATEMENTS_TABLE} SET embedder = ?, vector = ? "
            "WHERE grp = ? AND statement = ?",
            [(own, new[text], group, one.name) for text, one in stored.items() if text in new],
        )
        return vectors | new

    def _similar(
        self, key: StatementKey, candidates: Sequence[_Candidate], vectors: Mapping[str, bytes]
    ) -> Verdict | None:
        scored = [(cosine(vectors[key.text], vectors[one.text]), one) for one in candidates]
        near = [pair for pair in scored if pair[0] >= self.threshold]
        near.sort(key=lambda pair: pair[0], reverse=True)
        for similarity, one in near[:_MOST_COMPARED]:
            verdict = unpack(one.verdict)
            if verdict is not None and self.equivalence.holds(key.text, one.text):
                return replace(
                    verdict, from_cache=True, taken_from=one.text, similarity=round(similarity, 4)
                )
        return None


def pack_vector(vector: Sequence[float]) -> bytes:
    """Write a vector of length 1 as 16-bit floats, two bytes a number.

    Raises:
        ConfigurationError: A number is infinite or none.
    """
    numbers = [float(number) for number in vector]
    if not all(map(math.isfinite, numbers)):
        raise ConfigurationError("the embedder returned a vector with NaN or infinite numbers")
    norm = math.hypot(*numbers) or 1.0
    return struct.pack(f"<{len(numbers)}e", *(number / norm for number in numbers))


def cosine(first: bytes, second: bytes) -> float:
    """Return the cosine of two packed vectors, -1 to 1; 0 where their lengths differ."""
    if len(first) != len(second):
        return 0.0
    one, other = _unpacked(first), _unpacked(second)
    norms = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / norms if norms else 0.0


def _unpacked(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 2}e", packed)
