"""What may a grader ask for? Steps that a driver runs, and the replies that it returns."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rag_evals.core.calls import JudgeCall, JudgeReply
from rag_evals.core.verdict import Verdict
from rag_evals.errors import VerifierError

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
            VerifierError: The verdicts are not one for each statement, or cannot be.
        """
        verdicts = self.verifier.verify(self.statements, self.chunks)
        check_verdicts(self.statements, self.chunks, verdicts)
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
        reply_when_skipped: The reply of a driver that only estimates and does no work.
    """

    work: Callable[[str | None], T]
    reply_when_skipped: T

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


def check_verdicts(
    statements: Sequence[str], chunks: Sequence[str], verdicts: Sequence[Verdict]
) -> None:
    """Refuse verdicts that do not match the statements one to one, or are impossible.

    Raises:
        VerifierError: There are fewer or more, a support is no number from 0 to 1, or a chunk id
            does not exist.
    """
    if len(verdicts) != len(statements):
        raise VerifierError(
            f"the verifier returned {len(verdicts)} verdicts for {len(statements)} statements; "
            "expected one for each, in order"
        )
    for statement, verdict in zip(statements, verdicts, strict=True):
        # Written so that NaN is refused as well.
        if not 0 <= verdict.support <= 1:
            raise VerifierError(
                f"the verifier gave {statement!r} a support of {verdict.support!r}; expected a "
                "number from 0 to 1"
            )
        unknown = [number for number in verdict.chunk_ids if not 0 <= number < len(chunks)]
        if unknown:
            raise VerifierError(
                f"the verifier gave {statement!r} the chunk ids {unknown}; there are "
                f"{len(chunks)} chunks, numbered from 0"
            )


Step = JudgeCall[Any] | VerifyCall | LocalCall[Any]
StepReply = JudgeReply | VerifyReply | LocalReply
Flow = Generator[Sequence[Step], Sequence[StepReply], R]
"""Yields steps that may be done side by side, receives their replies in order, returns a result."""
