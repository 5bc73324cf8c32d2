"""What does a verifier that stands around another one say? What the other one says."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from rag_evals.core.verifier import CacheMode, Verifier


class WrappedVerifier(Verifier):
    """Base of verifiers that pass on what another one says.

    Attributes:
        verifier: The other one.
    """

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self.name = verifier.name

    @abstractmethod
    def around(self, verifier: Verifier) -> Self:
        """Return the same around another verifier."""

    @property
    def threshold(self) -> float | None:
        """What the other verifier says."""
        return self.verifier.threshold

    @property
    def asks_judge(self) -> bool:
        """What the other verifier says."""
        return self.verifier.asks_judge

    @property
    def reads_question(self) -> bool:
        """What the other verifier says."""
        return self.verifier.reads_question

    @property
    def deciders(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.deciders

    @property
    def callers(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.callers

    @property
    def untuned(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.untuned

    @property
    def endpoints(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.endpoints

    @property
    def cache_mode(self) -> CacheMode | None:
        """What the other verifier says."""
        return self.verifier.cache_mode

    @property
    def stages(self) -> list[Verifier]:
        """What the other verifier says."""
        return self.verifier.stages

    def passing_on(self) -> Self:
        """Return the same around the other verifier for the first place of a cascade."""
        return self.around(self.verifier.passing_on())

    def without_hardening(self) -> Self:
        """Return the same around the other verifier without escaped data."""
        return self.around(self.verifier.without_hardening())

    def in_language(self, language: str) -> Self:
        """Return the same around the other verifier in a language."""
        return self.around(self.verifier.in_language(language))

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the same around the other verifier asking with these settings."""
        return self.around(self.verifier.with_settings(settings))

    def answer_support(self, supports: Iterable[float]) -> float | None:
        """Return what the other verifier says."""
        return self.verifier.answer_support(supports)

    def language_warning(self, language: str | None) -> str | None:
        """Return what the other verifier says."""
        return self.verifier.language_warning(language)

    def script_warning(
        self, question: str | None, answer: str, chunks: Sequence[str]
    ) -> str | None:
        """Return what the other verifier says."""
        return self.verifier.script_warning(question, answer, chunks)

    def calls_for(self, statements: int) -> int:
        """Return the calls that the other verifier would make."""
        return self.verifier.calls_for(statements)

    def check(self) -> None:
        """Check the other verifier."""
        self.verifier.check()
