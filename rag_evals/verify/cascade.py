"""Who decides when one verifier is cheap and another is good? The cheap one, where it is sure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_evals.core import CacheMode, Claim, Flow, Verdict, Verifier, check_verdicts, fingerprint
from rag_evals.errors import ConfigurationError
from rag_evals.verify.tuned import TunedVerifier

# On labelled sets "not supported" is wrong too often at any support: up to 52 of 100 below 0.2.
DEFAULT_UNSURE = (0.0, 0.8)


class CascadeVerifier(Verifier):
    """Sends only those claims to the second verifier that leave the first one unsure.

    Args:
        first: Decides alone where its support is outside the band.
        then: Decides the rest.
        unsure: The band of support, both ends included, 0 to 1; the threshold of `first` lies in
            it, or what is sure would be decided wrong. A tuned verifier made to go first has a
            band of its own.

    Raises:
        ConfigurationError: The band is none, or `first` is never unsure or errs where it is sure.
    """

    def __init__(
        self, first: Verifier, then: Verifier, unsure: tuple[float, float] = DEFAULT_UNSURE
    ) -> None:
        try:
            low, high = unsure
            is_band = 0 <= low <= high <= 1
        except (TypeError, ValueError):
            is_band = False
        if not is_band:
            raise ConfigurationError(
                f"unsure is {unsure!r}; expected two numbers from 0 to 1, the lower one first"
            )
        if not (isinstance(first, TunedVerifier) and first.goes_first):
            _check_first(first, low, high)
        self.first = first.passing_on()
        self.then = then
        self.name = f"{first.name}>{then.name}"
        self.unsure = (float(low), float(high))

    @property
    def asks_judge(self) -> bool:
        """True when one of the two asks the client that grades."""
        return self.first.asks_judge or self.then.asks_judge

    @property
    def reads_question(self) -> bool:
        """True when one of the two reads it."""
        return self.first.reads_question or self.then.reads_question

    @property
    def deciders(self) -> list[str]:
        """Names of all that may decide a statement, the cheapest first."""
        parts = (self.first, self.then)
        return [name for part in parts for name in part.deciders or [part.name]]

    @property
    def stages(self) -> list[Verifier]:
        """All that may decide a statement, the cheapest first."""
        return self.first.stages + self.then.stages

    @property
    def callers(self) -> list[str]:
        """Names of those that make calls."""
        return self.first.callers + self.then.callers

    @property
    def endpoints(self) -> list[str]:
        """Judges of their own that the two ask."""
        return self.first.endpoints + self.then.endpoints

    @property
    def cache_mode(self) -> CacheMode | None:
        """How the parts look for verdicts before; None where neither does."""
        modes = {part.cache_mode for part in (self.first, self.then)}
        return "semantic" if "semantic" in modes else "exact" if "exact" in modes else None

    @property
    def untuned(self) -> list[str]:
        """Those of the two whose threshold nobody has fitted."""
        return self.first.untuned + self.then.untuned

    def passing_on(self) -> "CascadeVerifier":
        """Return the cascade for the first place of another one."""
        return CascadeVerifier(self.first, self.then.passing_on(), self.unsure)

    def without_hardening(self) -> "CascadeVerifier":
        """Return the cascade with both parts asking without escaped data."""
        first, then = (part.without_hardening() for part in (self.first, self.then))
        return CascadeVerifier(first, then, self.unsure)

    def in_language(self, language: str) -> "CascadeVerifier":
        """Return the cascade with both parts asking in a language."""
        return self.with_parts(self.first.in_language(language), self.then.in_language(language))

    def with_parts(self, first: Verifier, then: Verifier) -> "CascadeVerifier":
        """Return the same cascade of other verifiers."""
        return CascadeVerifier(first, then, self.unsure)

    def language_warning(self, language: str | None) -> str | None:
        """Return what the first verifier says, which decides most."""
        return self.first.language_warning(language)

    def script_warning(
        self, question: str | None, answer: str, chunks: Sequence[str]
    ) -> str | None:
        """Return what the first verifier says, which decides most."""
        return self.first.script_warning(question, answer, chunks)

    def with_settings(self, settings: Mapping[str, Any]) -> "CascadeVerifier":
        """Return the cascade with both parts asking with these settings."""
        return self.with_parts(
            self.first.with_settings(settings), self.then.with_settings(settings)
        )

    def check(self) -> None:
        """Check both parts: the second may be asked long after the first was paid."""
        self.first.check()
        self.then.check()

    def fingerprint(self) -> str:
        """Return a hash of both verifiers and the band."""
        parts = (self.first.fingerprint(), self.then.fingerprint(), self.unsure)
        return fingerprint("cascade", *parts)

    def calls_for(self, statements: int) -> int:
        """Return the judge calls that so many statements take where none is decided first."""
        return self.first.calls_for(statements) + self.then.calls_for(statements)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Decide all with the first verifier, then the unsure ones with the second."""
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


def _check_first(first: Verifier, low: float, high: float) -> None:
    # A checker with a threshold gives probabilities, whoever it asks.
    if first.calls_for(1) and first.threshold is None and (low > 0 or high < 1):
        raise ConfigurationError(
            f"{first.name!r} comes first, and a judge is never unsure: its support is 0 or 1; "
            "put a local verifier first, such as EmbeddedVerifier()"
        )
    threshold = first.threshold
    if threshold is not None and not low <= threshold <= high:
        raise ConfigurationError(
            f"the threshold of {first.name!r} is {threshold:g}, outside of unsure={(low, high)!r}: "
            "sure statements would get wrong verdicts; choose a threshold inside, or widen unsure"
        )


def _named(
    verifier: Verifier, claims: Sequence[Claim], chunks: Sequence[str]
) -> Flow[list[Verdict]]:
    """Let a verifier decide, and note who it was."""
    verdicts = yield from verifier.flow(claims, chunks)
    check_verdicts(claims, chunks, verdicts)
    return [replace(one, decided_by=one.decided_by or verifier.name) for one in verdicts]
