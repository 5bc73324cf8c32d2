"""The embedded verifier and its settings.

The engine is imported when it is first used, because most programs use a model instead.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from rag_evals.core import (
    Claim,
    Evidence,
    Flow,
    Verdict,
    VerifiedTexts,
    VerifierChanges,
    VerifierTraits,
    VerifyCall,
    as_claims,
    fingerprint,
    require_fraction,
)
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.text import LANGUAGE_CODES, LANGUAGE_NAMES, READ_WELL, language_in, script_of
from rag_evals.text.language import SCRIPT_NAMES, UNKNOWN_LANGUAGE, as_typed, typed_offsets

if TYPE_CHECKING:
    from rag_evals.embedded.model import Model

THRESHOLDS = ("balanced", "screen", "strict")
"""The names of the thresholds in a weights file."""

SHIPPED_WEIGHTS = Path(__file__).resolve().parents[1] / "_data" / "embedded_weights.json"
_DEFAULT = "balanced"
# Increase this when the same weights may lead to a different verdict.
_ENGINE = 20
# Number of leading characters used to detect the script of a text.
_SCRIPT_READ = 300


class EmbeddedVerifier:
    """A trained groundedness screen that needs no key, network or model download.

    It checks whether chunks contain a statement, and detects changed numbers, dates, names,
    negations and opposites. It does not reason; see the model card in the documentation.

    Args:
        threshold: Minimum support at which a statement counts as supported, from 0 to the support
            of a verbatim copy (0.872 with the shipped weights), or a name: `"balanced"` gives both
            types of error equal weight; `"screen"` accepts about one in ten unsupported statements,
            and `"strict"` one in thirty. None means `"balanced"`.
        weights: A file written by the training command; None means the shipped file.
        languages: Codes of languages besides English and Russian in which verdicts count, such as
            `["de"]`; `["any"]` means every language. If a code is given, verdicts also count when
            the texts are too short to detect their language.

    Raises:
        ConfigurationError: The threshold, the weights file or a language is invalid.
    """

    def __init__(
        self,
        threshold: float | Literal["balanced", "screen", "strict"] | None = None,
        weights: str | Path | None = None,
        languages: Iterable[str] = (),
    ) -> None:
        self.languages = require_languages(languages)
        if isinstance(threshold, str):
            if threshold not in THRESHOLDS:
                raise UnknownNameError.of("threshold", threshold, THRESHOLDS)
        elif threshold is not None:
            names = ", ".join(map(repr, THRESHOLDS))
            threshold = require_fraction("threshold", threshold, otherwise=f", or one of {names}")
        self._threshold = _DEFAULT if threshold is None else threshold
        self._weights = None if weights is None else Path(weights)
        self.name = "embedded" if self._weights is None else f"embedded:{self._weights}"
        if self._weights is not None or not isinstance(self._threshold, str):
            # A verbatim copy has the highest possible feature values.
            most = floor(1000 * self._model().support((1.0, 1.0, 1.0))) / 1000
            if self.threshold > most:
                raise ConfigurationError(
                    f"threshold {self.threshold:g} is higher than the support of a verbatim copy, "
                    f"so no claim would be supported; choose at most {most:g}"
                )

    @property
    def threshold(self) -> float:
        """Minimum support at which a statement counts as supported, between 0 and 1."""
        if not isinstance(self._threshold, str):
            return float(self._threshold)
        return self._model().thresholds[self._threshold]

    @property
    def traits(self) -> VerifierTraits:
        """The traits of this verifier."""
        return VerifierTraits(
            is_instant=True,
            threshold=self.threshold,
            answer_support=self.answer_support,
            warn=self._warnings,
            languages=self.languages,
        )

    def adapt(self, changes: VerifierChanges) -> Self:
        """Return the verifier itself, because no change applies to it."""
        del changes
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def answer_support(self, supports: Iterable[float]) -> float:
        """Return the probability (0.1 to 0.8) that all statements in an answer are supported.

        It is above 0.5 if the weakest statement reaches the threshold for answers. Additional
        statements never raise it.
        """
        from rag_evals.embedded.model import answer_support  # noqa: PLC0415 - as in `verify`

        return answer_support(list(supports), self._model().answer_limit)

    def fingerprint(self) -> str:
        """Return a hash of the engine, the weights and the threshold."""
        more = (
            [] if self.languages == READ else ["any", *sorted(filter(None, self.languages or ()))]
        )
        return fingerprint(_ENGINE, self._model().digest, self._threshold, *more)

    def verify(self, statements: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Verify each statement against all chunks.

        Returns:
            One verdict per statement, in order. Verdicts refer to chunks by index.

        Raises:
            ConfigurationError: An argument is a single string instead of a list.
        """
        for name, texts in (("statements", statements), ("chunks", chunks)):
            if isinstance(texts, str):
                # A string is also a sequence, so each character would get a verdict.
                raise ConfigurationError(f"{name} is a string; expected a list, as in [{name}]")
        # Loading the word lists would slow down every import of the package.
        from rag_evals.embedded.decide import decide  # noqa: PLC0415

        typed = [as_typed(chunk) for chunk in chunks]
        claims = [_as_typed(claim) for claim in as_claims(statements)]
        verdicts = decide(self._model(), self.threshold, claims, typed)
        if typed == list(chunks):
            return verdicts
        offsets = cache(typed_offsets)
        return [_quoting(verdict, chunks, typed, offsets) for verdict in verdicts]

    def rank(self, statements: Sequence[str], chunks: Sequence[str]) -> list[list[int]]:
        """For each statement, return the indices of all chunks, ranked by the words they share."""
        from rag_evals.embedded.decide import rank  # noqa: PLC0415 - as above

        return rank(self._model(), statements, chunks)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Verify the claims in one local step."""
        call = VerifyCall(self, claims, chunks)
        (reply,) = yield [call]
        verdicts = call.read(reply)
        question = claims[0].question if claims else None
        if self.reads(language_in(" ".join(one.text for one in claims), question, chunks)):
            return verdicts
        return [replace(one, is_sure=False) for one in verdicts]

    def reads(self, language: str | None) -> bool:
        """True if verdicts count in this language, as returned by `language_in`."""
        return self.languages is None or language in self.languages

    def _warnings(self, texts: VerifiedTexts) -> list[str]:
        told = [] if self.reads(texts.language) else [unread_words(texts.language)]
        return [*told, *_script_warnings(texts)]

    def _model(self) -> "Model":
        if self._weights is None:
            return _shipped_model()
        from rag_evals.embedded.model import load  # noqa: PLC0415 - as above

        return load(self._weights)


@cache
def _shipped_model() -> "Model":
    from rag_evals.embedded.model import load  # noqa: PLC0415 - as above

    return load(SHIPPED_WEIGHTS)


def _quoting(
    verdict: Verdict,
    chunks: Sequence[str],
    typed: Sequence[str],
    read_offsets: Callable[[str], list[int]],
) -> Verdict:
    """Replace a verdict's quotes with those from the original chunks."""
    quotes = []
    for one in verdict.evidence:
        chunk = chunks[one.chunk_id]
        if chunk == typed[one.chunk_id]:
            quotes.append(one)
            continue
        offsets = read_offsets(chunk)
        start, end = offsets[one.start], offsets[one.end]
        quotes.append(Evidence(one.chunk_id, start, end, chunk[start:end]))
    return replace(verdict, evidence=tuple(quotes))


def _as_typed(claim: Claim) -> Claim:
    parts = (claim.sentence, claim.before, claim.question)
    return Claim(as_typed(claim.text), *(part and as_typed(part) for part in parts))


READ: frozenset[str | None] = frozenset(READ_WELL)
_ANY = "any"


def require_languages(languages: Iterable[str]) -> frozenset[str | None] | None:
    """Return the codes of the languages in which verdicts count, or None for every language.

    If the user names languages, the set contains None, so that very short texts count as well.
    """
    given = [languages] if isinstance(languages, str) else list(languages)
    for code in given:
        if code != _ANY and code not in LANGUAGE_CODES:
            raise ConfigurationError(f"language {code!r} is not a two-letter code such as 'de'")
    return None if _ANY in given else READ.union(given, [None] * bool(given))


def unread_words(language: str | None) -> str:
    code = language if language in LANGUAGE_CODES else _ANY
    named = f"the answer is in {LANGUAGE_NAMES.get(language or '', language)}"
    if language is None:
        named, code = "the texts are too short to detect their language", "en"
    elif language == UNKNOWN_LANGUAGE:
        named = "the language of the answer was not recognised"
    return (
        f"{named}, so no verdict counts unless you name the language (embedded?languages={code}); "
        "the embedded judge was built for English and Russian and makes more errors in others"
    )


def _script_warnings(texts: VerifiedTexts) -> Iterator[str]:
    scripts = [script_of(chunk[:_SCRIPT_READ]) for chunk in texts.chunks]
    for name, text in (("question", texts.question or ""), ("answer", texts.answer)):
        own = script_of(text[:_SCRIPT_READ])
        other = next((one for one in scripts if None not in (own, one) and one != own), None)
        if own is not None and other is not None:
            yield (
                f"the {name} is in {SCRIPT_NAMES[own]} letters, but chunk {scripts.index(other)} "
                f"is in {SCRIPT_NAMES[other]} letters; the embedded judge compares words as they "
                "are written, so it cannot match words across scripts"
            )
            return
