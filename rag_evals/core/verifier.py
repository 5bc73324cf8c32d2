"""What is a verifier? A name, a fingerprint and a flow; its other members have defaults."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rag_evals.core.claim import Claim
from rag_evals.core.flow import Flow
from rag_evals.core.verdict import Verdict

CacheMode = Literal["exact", "semantic"]
"""Which statements share a verdict: equal ones, or also ones that say the same."""


class Verifier(ABC):
    """Decides statements against chunks; its flow says what it needs for that.

    Attributes:
        name: What results and manifests call it.
    """

    name: str

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of all that can change a verdict, the client that grades left out."""

    @abstractmethod
    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work; returns one verdict for each claim, in order."""

    def __repr__(self) -> str:
        """One line: the class, and the name."""
        return f"{type(self).__name__}({getattr(self, 'name', '')!r})"

    @property
    def asks_judge(self) -> bool:
        """True when it needs the client that grades; False for most."""
        return False

    @property
    def reads_question(self) -> bool:
        """True when verdicts depend on the question also for claims that stand alone."""
        return False

    @property
    def deciders(self) -> list[str]:
        """Names of the verifiers that share the work; empty for one that does it alone."""
        return []

    @property
    def callers(self) -> list[str]:
        """Names of those of them that make calls."""
        return [self.name] if self.calls_for(1) else []

    @property
    def endpoints(self) -> list[str]:
        """The judges that it names itself, such as `openai/gpt-4o`; empty for most."""
        return []

    @property
    def cache_mode(self) -> CacheMode | None:
        """How it looks for verdicts before it decides; None where none are kept."""
        return None

    @property
    def threshold(self) -> float | None:
        """Support from which a statement counts as supported, 0 to 1; None where it has none."""
        return None

    @property
    def stages(self) -> "list[Verifier]":
        """The verifiers that decide, the first one first; itself for one that decides alone."""
        return [self]

    @property
    def untuned(self) -> list[str]:
        """Names of those that decide by a threshold nobody has fitted; empty for most."""
        return []

    def passing_on(self) -> "Verifier":
        """Return the verifier for the first place of a cascade: itself for most.

        One that can decline a claim then says so in the verdict's `doubt`, and fails no row.
        """
        return self

    def without_hardening(self) -> "Verifier":
        """Return the verifier without escaped data, to measure what escaping is worth."""
        return self

    def calls_for(self, statements: int) -> int:
        """Return the judge calls that so many statements take at most; 0 for local verifiers."""
        del statements
        return 0

    def in_language(self, language: str) -> "Verifier":
        """Return the verifier that asks in a language; itself if it asks no judge."""
        del language
        return self

    def answer_support(self, supports: Iterable[float]) -> float | None:
        """Return how surely all statements of an answer hold, 0 to 1; None for most verifiers.

        Args:
            supports: Of its statements, 0 to 1.
        """
        del supports
        return None

    def language_warning(self, language: str | None) -> str | None:
        """Say in one line that verdicts on a language are not to be trusted; None for most.

        Args:
            language: Two-letter code; None where it is not known.
        """
        del language
        return None

    def script_warning(
        self, question: str | None, answer: str, chunks: Sequence[str]
    ) -> str | None:
        """Say in one line that it cannot compare texts in different scripts; None for most.

        Args:
            question: What was asked; None where nothing was.
            answer: The whole answer.
            chunks: Texts, as for `verify`.
        """
        del question, answer, chunks
        return None

    def with_settings(self, settings: Mapping[str, Any]) -> "Verifier":
        """Return the verifier that asks with these settings; itself if it asks no judge."""
        del settings
        return self

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Find out before the first call whether it can work; nothing to find out for most.

        Raises:
            ConfigurationError: It cannot.
        """
