"""A cache that also finds verdicts on reworded statements.

The vectors of "rose by 12 %" and "rose by 21 %" are closer than those of many paraphrases. Two
statements therefore share a verdict only if they have the same numbers, units, signs, names,
negations and function words, their vectors are similar, and a local verifier judges that each
supports the other.
"""

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rag_evals.cache.database import STATEMENTS_TABLE
from rag_evals.cache.statements import StatementCache, StatementKey, unpack
from rag_evals.core import Claim, Verdict, Verifier, fingerprint, require_fraction
from rag_evals.core.flow import LocalVerifier
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.sdks import embed_texts
from rag_evals.text import plain_form
from rag_evals.text.word_forms import MARKS, NUMBER_WORDS, is_stop_word
from rag_evals.verify import read_judge

Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns one vector for each text; all vectors have the same length."""

# These limits keep look-ups fast.
_MOST_CANDIDATES = 32
_MOST_COMPARED = 4


@runtime_checkable
class _LocalVerifier(Verifier, LocalVerifier, Protocol): ...


class _Candidate(NamedTuple):
    name: str
    text: str
    verdict: str
    embedder: str | None
    vector: bytes | None


class SemanticCache(StatementCache):
    """Stores verdicts, and also reuses them for reworded statements that are self-contained.

    Args:
        embed: A function that maps texts to vectors, such as LangChain's
            `embeddings.embed_documents`, or a model such as `"openai/text-embedding-3-small"`.
        threshold: Minimum cosine similarity of the vectors, 0 to 1.
        path: As in `StatementCache`.
        equivalence: Verifier that judges whether two statements support each other, such as an NLI
            classifier (`"hf:MODEL"`); with `"embedded@strict"`, only contractions may differ.
    """

    mode = "semantic"

    def __init__(
        self,
        embed: Embed | str,
        threshold: float = 0.95,
        path: str | Path | None = None,
        *,
        equivalence: Verifier | str = "embedded@strict",
    ) -> None:
        self.threshold = require_fraction("threshold", threshold)
        self._embedder, self._embed = _named(embed)
        verifier = read_judge(equivalence).verifier if isinstance(equivalence, str) else equivalence
        if (
            not isinstance(verifier, _LocalVerifier)
            or verifier.traits.asks_judge
            or verifier.traits.endpoints
        ):
            raise ConfigurationError(
                f"equivalence is {equivalence!r}; expected a verifier that does not need a judge, "
                "such as 'embedded@strict' or 'hf:MODEL' for an NLI classifier"
            )
        self._verifier = verifier
        # The embedded verifier ignores word order, so it cannot tell subject from object.
        self._is_blind_to_order = isinstance(verifier, EmbeddedVerifier)
        super().__init__(path)

    @property
    def policy(self) -> str:
        """A hash of the settings that determine which statements share a verdict."""
        return fingerprint("semantic", self.threshold, self._embedder, self._verifier.fingerprint())

    def check(self) -> None:
        """Raise `ConfigurationError` if the verifier cannot be used."""
        if check := self._verifier.traits.check:
            check()

    def look_up(self, group: str, keys: Sequence[StatementKey]) -> list[Verdict | None]:
        """Return each statement's verdict, or a similar statement's; None if neither is stored."""
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
            verdict or self._similar(key, candidates.get(key, ()), vectors)
            for key, verdict in zip(keys, verdicts, strict=True)
        ]

    def are_equivalent(self, one: str, other: str) -> bool:
        """True if each of the two statements follows from the other."""
        return self._may_be_equivalent(one, other) and all(
            self._verifier.verify([Claim(claim)], [chunk])[0].is_supported
            for claim, chunk in ((one, other), (other, one))
        )

    def _may_be_equivalent(self, one: str, other: str) -> bool:
        return not self._is_blind_to_order or _written_out(one) == _written_out(other)

    def _frame(self, key: StatementKey) -> str | None:
        # Statements that depend on surrounding sentences or on the question must match exactly.
        return None if key.setting else frame_of(key.text)

    def _candidates(self, group: str, key: StatementKey) -> list[_Candidate]:
        rows = self._database.read(
            f"SELECT statement, text, verdict, embedder, vector FROM {STATEMENTS_TABLE} "
            "WHERE grp = ? AND frame = ? ORDER BY created DESC LIMIT ?",
            (group, self._frame(key), _MOST_CANDIDATES),
        )
        found = [_Candidate(*row) for row in rows]
        return [one for one in found if self._may_be_equivalent(key.text, one.text)]

    def _vectors(
        self, group: str, candidates: Mapping[StatementKey, Sequence[_Candidate]]
    ) -> dict[str, bytes]:
        """Return the vectors of statements and candidates; request all missing vectors at once."""
        own = self._embedder
        stored = {one.text: one for several in candidates.values() for one in several}
        vectors = {
            text: one.vector
            for text, one in stored.items()
            if one.vector is not None and one.embedder == own
        }
        wanted = dict.fromkeys([*(key.text for key in candidates), *stored])
        asked = [text for text in wanted if text not in vectors]
        made = self._embed(asked)
        if len(made) != len(asked):
            raise ConfigurationError(
                f"embedder {own!r} returned {len(made)} vectors for {len(asked)} texts; expected "
                "one per text"
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
            if verdict is not None and self.are_equivalent(key.text, one.text):
                return replace(
                    verdict, from_cache=True, taken_from=one.text, similarity=round(similarity, 4)
                )
        return None


def _named(embed: Any) -> tuple[str, Embed]:
    """Return the name under which vectors are stored, and the function that computes them."""
    if isinstance(embed, str) and embed.startswith("openai/") and embed != "openai/":
        return embed, partial(embed_texts, embed)
    if not callable(embed):
        raise ConfigurationError(
            f"embed is {embed!r}; expected a function that maps texts to vectors, such as a "
            "library's `embeddings.embed_documents`, or 'openai/MODEL'"
        )
    kind, owner = type(embed), getattr(embed, "__self__", embed)
    name = f"{getattr(embed, '__module__', kind.__module__)}."
    name += getattr(embed, "__qualname__", kind.__qualname__)
    models = (getattr(owner, one, None) for one in ("model", "model_name"))
    model = next((value for value in models if isinstance(value, str)), "")
    return f"{name} {model}".rstrip(), embed


def pack_vector(vector: Sequence[float]) -> bytes:
    """Scale a vector to length 1, and pack it into 16-bit floats."""
    numbers = [float(number) for number in vector]
    if not all(map(math.isfinite, numbers)):
        raise ConfigurationError("the embedder returned a vector that contains NaN or infinity")
    norm = math.hypot(*numbers) or 1.0
    return struct.pack(f"<{len(numbers)}e", *(number / norm for number in numbers))


def cosine(first: bytes, second: bytes) -> float:
    """Return the cosine similarity of two packed vectors; 0 if their lengths differ."""
    if len(first) != len(second):
        return 0.0
    one, other = (struct.unpack(f"<{len(first) // 2}e", packed) for packed in (first, second))
    norms = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / norms if norms else 0.0


# A word and the punctuation around it: "(12%," → "(", "12%", ",".
_PIECE = re.compile(r"^([^\w]*)(.*?)([^\w]*)$", re.DOTALL)
_CONTRACTIONS = (
    (re.compile(r"\b(c)an't\b", re.IGNORECASE), r"\1annot"),
    (re.compile(r"\b(w)on't\b", re.IGNORECASE), r"\1ill not"),
    (re.compile(r"(?<=\w)n't\b", re.IGNORECASE), " not"),
)


def _written_out(text: str) -> str:
    """Return the plain form of a statement, with contractions such as "isn't" written out."""
    plain = plain_form(text)
    for short, long in _CONTRACTIONS:
        plain = short.sub(long, plain)
    return plain


def frame_of(text: str) -> str:
    """Return a hash of the parts in which two statements must agree to share a verdict.

    In order: numbers and words after them, punctuation, capitalised and function words, negations.
    """
    pieces = [_PIECE.findall(piece)[0] for piece in _written_out(text).split(" ")]
    frame: list[str] = []
    for place, (before, word, after) in enumerate(pieces):
        low = word.lower()
        is_fixed = (
            (place > 0 and _is_number(pieces[place - 1][1]))
            or word != low
            or _is_number(low)
            or is_stop_word(low)
            or not word.isalpha()
            or low in MARKS
        )
        frame.extend(part for part in (before, word if is_fixed else "", after) if part)
    return fingerprint(1, frame)[:32]


def _is_number(word: str) -> bool:
    return any(letter.isdigit() for letter in word) or word.lower() in NUMBER_WORDS
