"""Do two statements say the same? A verifier must find each one in the other."""

from typing import Protocol, runtime_checkable

from rag_evals.cache.alike import written_out
from rag_evals.core import Claim, LocalVerifier, Verifier, fingerprint
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.verify import from_string

_EXPECTED = (
    "a verifier that needs no judge, such as 'embedded@strict' or 'hf:MODEL' for an NLI classifier"
)


@runtime_checkable
class _Local(LocalVerifier, Protocol):
    """Has `verify`."""


class Equivalence:
    """Asks a verifier on this machine about two statements, in both directions.

    Args:
        verifier: The verifier, or its string.

    Raises:
        ConfigurationError: It is no verifier, or asks a judge.
    """

    def __init__(self, verifier: Verifier | str) -> None:
        found = from_string(verifier) if isinstance(verifier, str) else verifier
        if (
            not isinstance(found, Verifier)
            or not isinstance(found, _Local)
            or found.traits.asks_judge
            or found.traits.endpoints
        ):
            raise ConfigurationError(f"equivalence is {verifier!r}; expected {_EXPECTED}")
        self._verifier: Verifier = found
        self._local: LocalVerifier = found
        # It counts words: it cannot tell who bit whom, nor a lake that grew from one that rose.
        self._is_blind_to_order = isinstance(found, EmbeddedVerifier)

    def check(self) -> None:
        """Find out before the first call whether the verifier can work.

        Raises:
            ConfigurationError: It cannot.
        """
        if check := self._verifier.traits.check:
            check()

    def fingerprint(self) -> str:
        """Return a hash of all that can change a decision."""
        return fingerprint(self._verifier.fingerprint(), self._is_blind_to_order)

    def may_hold(self, one: str, other: str) -> bool:
        """Say at little cost whether it is worth while to compare vectors."""
        return not self._is_blind_to_order or written_out(one) == written_out(other)

    def holds(self, one: str, other: str) -> bool:
        """Say whether each of two statements follows from the other."""
        return self.may_hold(one, other) and all(
            self._local.verify([Claim(claim)], [chunk])[0].is_supported
            for claim, chunk in ((one, other), (other, one))
        )
