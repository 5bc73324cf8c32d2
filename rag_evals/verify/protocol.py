"""What is a verifier? A name, a fingerprint and a flow; the rest it may say of itself."""

from collections.abc import Sequence
from typing import Literal, Protocol

from rag_evals.verify.flow import Flow
from rag_evals.verify.verdict import Verdict

CacheMode = Literal["exact", "semantic"]
"""Which statements share a verdict: equal ones, or also ones that say the same."""


class Verifier(Protocol):
    """Decides statements against chunks; its flow says what it needs for that.

    It may also have:

    - `asks_judge`: True when it needs the client that grades; False where it is absent.
    - `calls_for(statements)`: the judge calls that so many statements take at most.
    - `deciders`: names of the verifiers that it hands statements to.
    - `endpoints`: judges of its own that it asks, such as `openai/gpt-4o`.
    - `cache_mode`: how it looks for verdicts before it decides; None where none are kept.
    - `in_language(code)`: the same verifier, asking in another language.
    - `in_answer(statements)`: the same verifier for an answer of so many statements.
    - `check()`: raises a `ConfigurationError` for what would stop it, before anything is paid.
    """

    @property
    def name(self) -> str:
        """What results and manifests call it."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that can change a verdict, the client that grades left out."""
        ...

    def flow(self, statements: Sequence[str], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work; returns one verdict for each statement, in order."""
        ...


def asks_judge(part: object) -> bool:
    """Say whether a verifier or an extractor needs the client that grades."""
    return bool(getattr(part, "asks_judge", False))


def calls_for(verifier: Verifier, statements: int) -> int:
    """Return the judge calls that so many statements take at most; 0 for local verifiers."""
    count = getattr(verifier, "calls_for", None)
    return 0 if count is None else int(count(statements))


def deciders_of(verifier: Verifier) -> list[str]:
    """Return the names of the verifiers that share the work; empty for one that does it alone."""
    return list(getattr(verifier, "deciders", ()))


def endpoints_of(verifier: Verifier) -> list[str]:
    """Return the judges of its own that a verifier asks; empty for most."""
    return list(getattr(verifier, "endpoints", ()))


def cache_mode_of(verifier: Verifier) -> CacheMode | None:
    """Say how a verifier, or a part of it, looks for verdicts before; None where none are kept."""
    mode: CacheMode | None = getattr(verifier, "cache_mode", None)
    return mode


def in_language(verifier: Verifier, language: str) -> Verifier:
    """Return the verifier that asks in a language; one that asks nobody stays as it is."""
    change = getattr(verifier, "in_language", None)
    return verifier if change is None else change(language)


def in_answer(verifier: Verifier, statements: int) -> Verifier:
    """Return the verifier for an answer of so many statements; most stay as they are."""
    change = getattr(verifier, "in_answer", None)
    return verifier if change is None else change(statements)


def check_verifier(verifier: Verifier) -> None:
    """Find out before the first call whether a verifier can work.

    Raises:
        ConfigurationError: It says that it cannot.
    """
    check = getattr(verifier, "check", None)
    if check is not None:
        check()
