"""What is a verifier? Five members: a name, traits, a fingerprint, a flow, and how it adapts."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from rag_evals.core.flow import Claim, Flow, Verdict

CacheMode = Literal["exact", "semantic"]
"""Which statements share a verdict: equal ones, or also ones that say the same."""

ALL_AT_ONCE = sys.maxsize
"""Statements of one call, where one call decides however many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierTraits:
    """What a verifier declares about itself; the defaults hold for one that works alone and here.

    Attributes:
        asks_judge: It needs the client that grades.
        reads_question: Verdicts depend on the question also for claims that stand alone.
        is_instant: It decides faster than a cache could look the verdict up.
        threshold: Support from which a statement counts as supported, 0 to 1; None where its
            support is only 0 or 1.
        endpoints: The judges that it names itself, such as `openai/gpt-4o`.
        batches: Who makes calls, and how many statements one call decides.
        untuned: Names of those that decide by a threshold that nobody has fitted.
        stages: The verifiers that decide, the first one first; empty for one that decides alone.
        unsure: For each stage of a cascade but the last, the band of support, both ends included,
            that is left to the next one.
        cache_mode: How it looks for verdicts before it decides; None where none are stored.
        answer_support: Returns how surely all statements of an answer hold, from their supports,
            all 0 to 1; None where nothing is known of that.
        warn: Returns why verdicts on these texts are not to be trusted, a line for each reason.
        check: Finds out before the first call whether it can work; else a `ConfigurationError`.
    """

    asks_judge: bool = False
    reads_question: bool = False
    is_instant: bool = False
    threshold: float | None = None
    endpoints: tuple[str, ...] = ()
    batches: tuple[tuple[str, int], ...] = ()
    untuned: tuple[str, ...] = ()
    stages: tuple["Verifier", ...] = ()
    unsure: tuple[tuple[float, float], ...] = ()
    cache_mode: CacheMode | None = None
    answer_support: Callable[[Iterable[float]], float] | None = None
    warn: Callable[["VerifiedTexts"], Sequence[str]] | None = None
    check: Callable[[], None] | None = None

    @property
    def deciders(self) -> list[str]:
        """Names of the verifiers that share the work; empty for one that does it alone."""
        return [stage.name for stage in self.stages] if len(self.stages) > 1 else []

    def calls_for(self, statements: int) -> int:
        """Return the judge calls that so many statements take at most; 0 for local verifiers."""
        return sum(-(-statements // size) for _, size in self.batches)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedTexts:
    """What a verifier reads of one row; `language` is the answer's two-letter code, if known."""

    question: str | None
    answer: str
    chunks: Sequence[str]
    language: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierChanges:
    """What is to differ in a verifier; it ignores what means nothing to it.

    Attributes:
        language: Language to ask in, such as `ru`; None leaves it.
        settings: What a judge is asked with, such as `{"temperature": 0}`; others stay.
        hardened: False leaves data unescaped, to measure what escaping is worth.
        may_decline: True for the first place of a cascade: a claim that it declines gets a verdict
            with `doubt`, and fails no row.
    """

    language: str | None = None
    settings: Mapping[str, Any] | None = None
    hardened: bool = True
    may_decline: bool = False


@runtime_checkable
class Verifier(Protocol):
    """Decides statements against chunks; its flow says what it needs for that.

    Any object with these five members is one; ours are frozen dataclasses.
    """

    @property
    def name(self) -> str:
        """What results and manifests call it."""

    @property
    def traits(self) -> VerifierTraits:
        """What it declares about itself."""

    def fingerprint(self) -> str:
        """Return a hash of all that can change a verdict, the client that grades left out."""

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work; returns one verdict for each claim, in order."""

    def adapt(self, changes: VerifierChanges) -> "Verifier":
        """Return the verifier with changes; itself where none of them means anything to it."""


def stages_in(verifier: Verifier) -> tuple[Verifier, ...]:
    """Return the verifiers that decide, the first one first; itself for one that decides alone."""
    return verifier.traits.stages or (verifier,)
