"""What may a grader ask for? Steps that a driver carries out, and the replies it brings back."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from rag_evals.judge.call import JudgeCall, JudgeReply
from rag_evals.verify.verdict import Verdict

R = TypeVar("R")


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
            ValueError: The verifier returned fewer or more verdicts than statements.
        """
        verdicts = self.verifier.verify(self.statements, self.chunks)
        if len(verdicts) != len(self.statements):
            raise ValueError(f"{len(self.statements)} statements, {len(verdicts)} verdicts")
        return VerifyReply(verdicts)

    def read(self, reply: object) -> list[Verdict]:
        """Take the reply to this call, typed.

        Raises:
            TypeError: The driver handed over the reply to another call.
        """
        if isinstance(reply, VerifyReply):
            return reply.verdicts
        raise TypeError(f"expected verdicts, got {reply!r}")


Step = JudgeCall[Any] | VerifyCall
Reply = JudgeReply | VerifyReply
Flow = Generator[Sequence[Step], Sequence[Reply], R]
"""Yields steps that may be done side by side, receives their replies in order, returns a result."""
