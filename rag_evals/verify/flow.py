"""What may a grader ask for? Steps that a driver carries out, and the replies it brings back."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rag_evals.errors import VerifierError
from rag_evals.judge.call import JudgeCall, JudgeReply
from rag_evals.verify.verdict import Verdict

R = TypeVar("R")
T = TypeVar("T")


class LocalVerifier(Protocol):
    """Decides statements on this machine, without a judge."""

    def verify(self, statements: Sequence[str], chunks: Sequence[str]) -> list[Verdict]:
        """Return one verdict for each statement, in order."""
        ...


@dataclass(frozen=True, slots=True)
class VerifyReply:
    """One verdict for each statement, in order."""

    verdicts: list[Verdict]


@dataclass(frozen=True, slots=True)
class VerifyCall:
    """Statements to decide against chunks on this machine."""

    verifier: LocalVerifier
    statements: Sequence[str]
    chunks: Sequence[str]

    def run(self) -> VerifyReply:
        """Do the work; slow, so drivers do it in a thread.

        Raises:
            VerifierError: The verifier returned fewer or more verdicts than statements.
        """
        verdicts = self.verifier.verify(self.statements, self.chunks)
        check_count(self.statements, verdicts)
        return VerifyReply(verdicts)

    def read(self, reply: object) -> list[Verdict]:
        """Take the reply to this call, typed.

        Raises:
            TypeError: The driver handed over the reply to another call.
        """
        if isinstance(reply, VerifyReply):
            return reply.verdicts
        raise TypeError(f"expected verdicts, got {reply!r}")


@dataclass(frozen=True, slots=True)
class LocalReply:
    """What a piece of local work returned."""

    value: object


@dataclass(frozen=True, slots=True)
class LocalCall(Generic[T]):
    """Work on this machine that is not verifying, such as looking into a cache file.

    Attributes:
        work: Is given the identity of the judge that the driver asks (None where it has none, or
            does not know), and returns the reply.
    """

    work: Callable[[str | None], T]

    def run(self, judge: str | None) -> LocalReply:
        """Do the work; it may wait for a file or a server, so drivers do it in a thread."""
        return LocalReply(self.work(judge))

    def read(self, reply: object) -> T:
        """Take the reply to this call, typed.

        Raises:
            TypeError: The driver handed over the reply to another call.
        """
        if isinstance(reply, LocalReply):
            # What `work` returned went through the driver untyped.
            return reply.value  # type: ignore[return-value]
        raise TypeError(f"expected the reply of local work, got {reply!r}")


def check_count(statements: Sequence[str], verdicts: Sequence[Verdict]) -> None:
    """Refuse verdicts that do not stand one to one with the statements.

    Raises:
        VerifierError: There are fewer or more.
    """
    if len(verdicts) != len(statements):
        raise VerifierError(
            f"the verifier returned {len(verdicts)} verdicts for {len(statements)} statements; "
            "expected one for each, in order"
        )


Step = JudgeCall[Any] | VerifyCall | LocalCall[Any]
Reply = JudgeReply | VerifyReply | LocalReply
Flow = Generator[Sequence[Step], Sequence[Reply], R]
"""Yields steps that may be done side by side, receives their replies in order, returns a result."""
