"""Cascades: a better verifier judges only the claims that a cheap verifier is unsure about."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from rag_evals.core import (
    Claim,
    Flow,
    Verdict,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    check_verdicts,
    fingerprint,
    stages_in,
)
from rag_evals.errors import ConfigurationError
from rag_evals.verify.tuned import TunedVerifier, Tuning

# On labelled data, "not supported" is too often wrong at any support: up to 52 % below 0.2.
DEFAULT_UNSURE = (0.0, 0.8)


@dataclass(frozen=True, eq=False)
class CascadeVerifier:
    """Calls the second verifier only for claims that the first one is unsure about.

    Args:
        first: Judges every claim; its verdict is final if the support is outside the band.
        then: Judges the remaining claims.
        unsure: The inclusive support band, from 0 to 1, which must include the threshold of
            `first`. If `first` is tuned, the band learned from its labels applies instead.

    Raises:
        ConfigurationError: The band is invalid, or `first` is never unsure.
    """

    first: Verifier
    then: Verifier
    unsure: tuple[float, float] = DEFAULT_UNSURE

    def __post_init__(self) -> None:
        try:
            low, high = self.unsure
            is_band = 0 <= low <= high <= 1
        except (TypeError, ValueError):
            is_band = False
        if not is_band:
            raise ConfigurationError(
                f"unsure is {self.unsure!r}; expected two numbers from 0 to 1, the lower one first"
            )
        threshold, name = self.first.traits.threshold, self.first.name
        is_tuned = isinstance(self.first, TunedVerifier) and self.first.goes_first
        # A decision model calls an endpoint too, but its support is a probability.
        if self.first.traits.batches and threshold is None and (low > 0 or high < 1):
            raise ConfigurationError(
                f"{name!r} comes first, and a judge is never unsure: its support is 0 or 1; put a "
                "local verifier first, such as EmbeddedVerifier()"
            )
        if threshold is not None and not low <= threshold <= high and not is_tuned:
            raise ConfigurationError(
                f"the threshold of {name!r} is {threshold:g}, outside unsure={(low, high)!r}: "
                "confident verdicts would be wrong; choose a threshold inside, or widen unsure"
            )
        first = self.first.adapt(VerifierChanges(may_decline=True))
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "unsure", (float(low), float(high)))

    @property
    def name(self) -> str:
        """The verifiers' names, such as `embedded>judge`."""
        return f"{self.first.name}>{self.then.name}"

    @property
    def traits(self) -> VerifierTraits:
        """The combined traits; warnings come from the first verifier, which judges most claims."""
        one, other = self.first.traits, self.then.traits
        modes = {one.cache_mode, other.cache_mode}
        return VerifierTraits(
            asks_judge=one.asks_judge or other.asks_judge,
            reads_question=one.reads_question or other.reads_question,
            endpoints=one.endpoints + other.endpoints,
            batches=one.batches + other.batches,
            untuned=one.untuned + other.untuned,
            stages=stages_in(self.first) + stages_in(self.then),
            unsure=(*one.unsure, self.unsure, *other.unsure),
            cache_mode=next((mode for mode in ("semantic", "exact") if mode in modes), None),
            warn=one.warn,
            check=self._check,
            # The second verifier judges claims in languages that the first does not support.
            languages=other.languages,
        )

    def adapt(self, changes: VerifierChanges) -> "CascadeVerifier":
        """Return a copy with the changes applied to both verifiers."""
        return replace(self, first=self.first.adapt(changes), then=self.then.adapt(changes))

    def _check(self) -> None:
        for part in (self.first, self.then):
            if check := part.traits.check:
                check()

    def fingerprint(self) -> str:
        """Return a hash of both verifiers and the band."""
        parts = (self.first.fingerprint(), self.then.fingerprint(), self.unsure)
        return fingerprint("cascade", *parts)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Judge all claims with the first verifier, then the uncertain ones with the second."""
        verdicts = yield from _named(self.first, claims, chunks)
        unsure = [place for place, one in enumerate(verdicts) if not self._is_sure(one)]
        if unsure:
            again = yield from _named(self.then, [claims[place] for place in unsure], chunks)
            for place, verdict in zip(unsure, again, strict=True):
                verdicts[place] = verdict
        return verdicts

    def _is_sure(self, verdict: Verdict) -> bool:
        if verdict.doubt is not None or verdict.is_sure is not None:
            return verdict.doubt is None and bool(verdict.is_sure)
        low, high = self.unsure
        return verdict.support > high if verdict.is_supported else verdict.support < low


def _named(
    verifier: Verifier, claims: Sequence[Claim], chunks: Sequence[str]
) -> Flow[list[Verdict]]:
    verdicts = yield from verifier.flow(claims, chunks)
    check_verdicts(claims, chunks, verdicts)
    return [replace(one, decided_by=one.decided_by or verifier.name) for one in verdicts]


def with_tunings(verifier: Verifier, tunings: Sequence[Tuning], *, prompt: str) -> Verifier:
    """Return a verifier in which each tuning is applied to the stage that it names."""
    names = [stage.name for stage in stages_in(verifier)]
    for one in tunings:
        if one.stage not in names:
            raise ConfigurationError(
                f"the tuned file is for {one.stage!r}, but the judge has no such stage; expected "
                f"one of {', '.join(map(repr, names))}"
            )
    by_stage = {one.stage: one for one in tunings}
    return _tuned(verifier, by_stage, prompt, ()) if tunings else verifier


def described_stages(verifier: Verifier) -> list[dict[str, Any]]:
    """Describe each stage for the manifest."""
    stages = []
    for stage, band in zip_longest(stages_in(verifier), verifier.traits.unsure):
        tuned = stage if isinstance(stage, TunedVerifier) else None
        own = stage if tuned is None else tuned.verifier
        described: dict[str, Any] = {
            "name": stage.name,
            "fingerprint": own.fingerprint(),
            "as_used": stage.fingerprint(),
            "has_support": own.traits.threshold is not None,
            "tuned": tuned and tuned.described(),
        }
        if tuned is None and band is not None:
            described["unsure"] = list(band)
        stages.append(described)
    return stages


def _tuned(
    verifier: Verifier, by_stage: dict[str, Tuning], prompt: str, before: tuple[str, ...]
) -> Verifier:
    if isinstance(verifier, CascadeVerifier):
        first = _tuned(verifier.first, by_stage, prompt, before)
        if isinstance(first, TunedVerifier):
            first = replace(first, goes_first=True)
        then = _tuned(verifier.then, by_stage, prompt, (*before, first.fingerprint()))
        return replace(verifier, first=first, then=then)
    tuning = by_stage.get(verifier.name)
    if tuning is None:
        return verifier
    if tuning.judge != verifier.fingerprint():
        changed = "for another version of the verifier (its model, settings or threshold differ)"
    elif tuning.prompt != prompt:
        changed = "for statements extracted differently (prompt, language or extractor)"
    elif tuning.before != before:
        changed = "for a cascade with other verifiers before this one, or with other tunings"
    else:
        return TunedVerifier(verifier, tuning)
    raise ConfigurationError(
        f"the tuned file for {tuning.stage!r} does not match this judge: it was made {changed}; "
        "run `rag-evals judge tune` again on a run of this judge"
    )
