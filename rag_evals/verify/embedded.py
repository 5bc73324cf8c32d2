"""Is this statement said anywhere in the chunks? Decided by counting words, in milliseconds.

It screens for claims that the context does not speak of, and for changed numbers and negations.
It does not reason: a paraphrase without shared words looks unsupported, a contradiction in the
same words may look supported.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from rag_evals.errors import ConfigurationError
from rag_evals.text import split_sentences
from rag_evals.text.words import content_stems, is_negated, names_of, numbers_of
from rag_evals.verify.flow import Flow, VerifyCall
from rag_evals.verify.prepare import claims_of
from rag_evals.verify.verdict import Evidence, Verdict

_DEFAULT_THRESHOLD = 0.5
_VERSION = "word-overlap 1"
# A number that the best chunk lacks, a name that none has, or a denial on one side only outweighs
# any shared words.
_MISMATCH_FACTOR = 0.4


class EmbeddedVerifier:
    """The offline default: no key, no network, no model file.

    Args:
        threshold: Support from which a statement counts as supported, 0 to 1; None takes 0.5.
    """

    def __init__(self, threshold: float | None = None) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise ConfigurationError(f"threshold is {threshold!r}; expected a number from 0 to 1")
        self.threshold = _DEFAULT_THRESHOLD if threshold is None else float(threshold)

    @property
    def name(self) -> str:
        """`embedded`."""
        return "embedded"

    def fingerprint(self) -> str:
        """Return a hash of the rules and the threshold."""
        return hashlib.sha256(f"{_VERSION} {self.threshold!r}".encode()).hexdigest()

    def verify(self, statements: Sequence[str], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each statement against all chunks.

        Args:
            statements: Sentences or claims.
            chunks: Texts; ids in the verdicts are their places, from 0.

        Returns:
            One verdict for each statement, in order.
        """
        pieces = [_Piece.of(number, text) for number, text in enumerate(chunks)]
        return [self._verdict(statement, pieces) for statement in statements]

    def verify_answer(
        self, answer: str, chunks: Sequence[str], question: str | None = None
    ) -> list[tuple[str, Verdict]]:
        """Decide each sentence of an answer that claims something.

        Args:
            answer: The whole answer.
            chunks: Texts, as for `verify`.
            question: Not read so far.

        Returns:
            Pairs of sentence and verdict, in order; empty for an answer that claims nothing.
        """
        del question
        statements = [span.text for span in claims_of(answer)]
        return list(zip(statements, self.verify(statements, chunks), strict=True))

    def flow(self, statements: Sequence[str], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work as one local step."""
        call = VerifyCall(self, statements, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def _verdict(self, statement: str, pieces: "list[_Piece]") -> Verdict:
        wanted = content_stems(statement)
        if not wanted or not pieces:
            return Verdict(0.0, False, (), "nothing to compare")
        best = max(pieces, key=lambda piece: (piece.share(wanted), -piece.chunk_id))
        support = best.share(wanted)
        missing = wanted - best.stems
        wrong_numbers = numbers_of(statement) - best.numbers
        strange_names = names_of(statement).difference(*(piece.stems for piece in pieces))
        sentence = best.nearest(wanted)
        reasons = []
        if wrong_numbers:
            support *= _MISMATCH_FACTOR
            reasons.append(f"{', '.join(sorted(wrong_numbers))} not in chunk {best.chunk_id}")
        if strange_names:
            support *= _MISMATCH_FACTOR
            reasons.append(f"{', '.join(sorted(strange_names))} not in any chunk")
        if is_negated(statement) != is_negated(sentence.text):
            support *= _MISMATCH_FACTOR
            reasons.append(f"negated on one side only, against chunk {best.chunk_id}")
        if not reasons:
            found = len(wanted) - len(missing)
            reasons.append(f"{found} of {len(wanted)} content words in chunk {best.chunk_id}")
        supported = support >= self.threshold
        return Verdict(
            support=support,
            is_supported=supported,
            chunk_ids=(best.chunk_id,) if supported else (),
            reason="; ".join(reasons),
            evidence=(sentence,) if support else (),
        )


class _Piece(NamedTuple):
    """One chunk, read once for all statements."""

    chunk_id: int
    stems: set[str]
    numbers: set[str]
    sentences: list[tuple[Evidence, set[str]]]

    @classmethod
    def of(cls, chunk_id: int, text: str) -> "_Piece":
        sentences = [
            (Evidence(chunk_id, *span), content_stems(span.text)) for span in split_sentences(text)
        ]
        stems = set().union(*(stems for _, stems in sentences))
        return cls(chunk_id, stems, numbers_of(text), sentences)

    def share(self, wanted: set[str]) -> float:
        return len(wanted & self.stems) / len(wanted)

    def nearest(self, wanted: set[str]) -> Evidence:
        if not self.sentences:
            return Evidence(self.chunk_id, 0, 0, "")
        return max(self.sentences, key=lambda pair: len(wanted & pair[1]))[0]
