"""How does a tuned verifier decide? As the verifier itself does, with supports that mean shares."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rag_evals.core import (
    Claim,
    Flow,
    Verdict,
    VerifiedTexts,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    fingerprint,
)
from rag_evals.errors import ConfigurationError
from rag_evals.text import LANGUAGE_NAMES, has_russian, language_of

if TYPE_CHECKING:
    from rag_evals.stats import SupportMap
    from rag_evals.verify.tuning_file import Promise, Tuning

_TUNED = {
    True: "засчитано по порогу {limit:.2f}, настроенному по разметке: {reason}",
    False: "counted so by the threshold {limit:.2f} that labels chose: {reason}",
}


@dataclass(frozen=True, eq=False)
class TunedVerifier:
    """Turns the supports of another verifier into probabilities, and decides by a tuned threshold.

    Args:
        verifier: The one that was tuned.
        tuning: What labels say of it; answers in other languages are decided as without it.
        goes_first: Another verifier comes after it and gets what the promise does not cover.

    Raises:
        ConfigurationError: It goes first, and there is no side on which the promise holds.
    """

    verifier: Verifier
    tuning: "Tuning"
    _: KW_ONLY
    goes_first: bool = False

    def __post_init__(self) -> None:
        """Refuse a promise that is not there."""
        if self.goes_first:
            promise_of(self.tuning)

    @property
    def name(self) -> str:
        """The tuned verifier's."""
        return self.verifier.name

    @property
    def traits(self) -> VerifierTraits:
        """Those of the tuned verifier, with a threshold that labels chose, as a probability."""
        return replace(
            self.verifier.traits,
            threshold=self._map(self._limit),
            stages=(self,),
            untuned=(),
            warn=self._warnings,
        )

    def adapt(self, changes: VerifierChanges) -> "TunedVerifier":
        """Return the tuned verifier with changes, tuned in the same way."""
        return replace(self, verifier=self.verifier.adapt(changes))

    @cached_property
    def _map(self) -> "SupportMap":
        return self.tuning.support_map

    @cached_property
    def _promise(self) -> "Promise | None":
        return promise_of(self.tuning) if self.goes_first else None

    @cached_property
    def _limit(self) -> float:
        limit = self.tuning.threshold
        return limit if self._promise is None else _within(limit, self._promise)

    def _warnings(self, texts: VerifiedTexts) -> list[str]:
        """Say first that an answer is in a language that nobody labelled."""
        warn, language, own = self.verifier.traits.warn, texts.language, []
        if not self._knows(language):
            names = " and ".join(LANGUAGE_NAMES.get(one, one) for one in self.tuning.languages)
            name = LANGUAGE_NAMES.get(language or "", language)
            own = [f"the answer is in {name}, and {self.name} was tuned on {names}: not calibrated"]
            texts = replace(texts, language=None)
        return own + list(warn(texts) if warn else ())

    def fingerprint(self) -> str:
        """Return a hash of the verifier and what labels say of it."""
        own = self.verifier.fingerprint()
        return fingerprint("tuned", own, self.tuning.fingerprint(), self.goes_first)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Let the verifier decide, and read its supports as the labels say."""
        verdicts = yield from self.verifier.flow(claims, chunks)
        language = language_of(" ".join(claim.text for claim in claims))
        if not self._knows(language):
            return [replace(one, is_sure=False) for one in verdicts]
        pairs = zip(claims, verdicts, strict=True)
        return [self._tuned(claim, verdict) for claim, verdict in pairs]

    def _knows(self, language: str | None) -> bool:
        known = self.tuning.languages
        return language is None or not known or language in known

    def _tuned(self, claim: Claim, verdict: Verdict) -> Verdict:
        raw, own = verdict.support, self.verifier.traits.threshold
        is_supported, reason = verdict.is_supported, verdict.reason
        # What was decided for another reason than the threshold is not the threshold's to change.
        if own is None or is_supported == (raw >= own):
            is_supported = raw >= self._limit
        if verdict.doubt is not None:
            is_supported = verdict.is_supported
        ids = verdict.chunk_ids if is_supported else ()
        if is_supported != verdict.is_supported:
            words = _TUNED[has_russian(claim.text)]
            reason = words.format(limit=self._map(self._limit), reason=reason)
            if is_supported:
                ids = tuple(dict.fromkeys(one.chunk_id for one in verdict.evidence))
        return replace(
            verdict,
            support=self._map(raw),
            is_supported=is_supported,
            chunk_ids=ids,
            reason=reason,
            is_sure=self._is_sure(raw, is_supported=is_supported) and verdict.doubt is None,
        )

    def _is_sure(self, raw: float, *, is_supported: bool) -> bool:
        if self._promise is None:
            return True
        limit = self._promise.supported_from if is_supported else self._promise.unsupported_up_to
        if limit is None:
            return False
        return raw >= limit if is_supported else raw <= limit


def promise_of(tuning: "Tuning") -> "Promise":
    """Return the promise of a tuning.

    Raises:
        ConfigurationError: There is none to keep.
    """
    promise = tuning.promise
    if promise is None:
        raise ConfigurationError(
            f"the tuned file of {tuning.stage!r} promises nothing, for it has labels of whole rows "
            "only; label statements, or rows of one statement, and tune again"
        )
    if not promise.is_kept:
        raise ConfigurationError(
            f"the {tuning.stage} judge decides nothing here: {tuning.source} show no support from "
            f"which at most {promise.max_error:.1%} of its verdicts are wrong; use the judge after "
            "it alone, give more labels, or allow a larger --max-error"
        )
    return promise


def _within(threshold: float, promise: "Promise") -> float:
    """Move the threshold to where no statement is left to the next verifier and yet decided."""
    low = promise.unsupported_up_to
    high = promise.supported_from
    if high is not None:
        threshold = min(threshold, high)
    # Up to the lower limit "not supported" is decided, the limit itself among it.
    if low is not None and threshold <= low:
        threshold = high if high is not None else (low + 1) / 2
    return threshold
