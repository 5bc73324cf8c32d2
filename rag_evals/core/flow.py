"""What may a grader ask for? Steps that a driver runs, and the replies that it returns."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, Self, TypedDict, TypeVar

from pydantic import BaseModel

from rag_evals.core.claim import Claim
from rag_evals.core.verdict import Verdict
from rag_evals.errors import VerifierError

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of what was asked and answered.

    Attributes:
        calls: Replies received from the endpoint, re-asks among them.
        reasks: Replies that were invalid and asked again.
        retries: Requests that the transport sent again; known for clients that we build.
        prompt_tokens: Tokens sent, as the endpoint counted them; see `uncounted`.
        completion_tokens: Tokens received.
        cached_tokens: The part of `prompt_tokens` that the provider had cached.
        cache_hits: Calls that were answered from our own cache; they cost nothing.
        uncounted: Replies whose tokens the endpoint did not count: what they cost is unknown.
    """

    calls: int = 0
    reasks: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_hits: int = 0
    uncounted: int = 0

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> Self:
        """Add field by field."""
        return type(self)(
            self.calls + other.calls,
            self.reasks + other.reasks,
            self.retries + other.retries,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_hits + other.cache_hits,
            self.uncounted + other.uncounted,
        )


class Message(TypedDict):
    """One chat message, rendered: its text is sent byte for byte."""

    # Checkers grade an assistant's turn; Granite Guardian has a role of its own for the context.
    role: Literal["system", "user", "assistant", "context"]
    content: str


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A validated reply.

    Attributes:
        parsed: An instance of the call's reply model.
        usage: What the reply cost, re-asks included.
    """

    parsed: BaseModel
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class JudgeCall(Generic[M]):
    """One question to a judge.

    Attributes:
        messages: What it reads.
        reply_model: What it must fill.
        facts: What validators of the reply may know, as `info.context`; never sent.
        settings: Sampling settings to send, such as `temperature`.
        model: Model that the grader wants to be asked; None leaves it to the client.
        sample_index: Number of this call among equal ones, from 0, where one is asked several
            times on purpose; a cache keeps their answers apart.
        endpoint: Judge of its own, such as `"openai/gpt-4o"`; None asks the one that grades.
    """

    messages: tuple[Message, ...]
    reply_model: type[M]
    facts: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    sample_index: int = 0
    endpoint: str | None = None

    def read(self, reply: object) -> M:
        """Take the reply to this call, typed.

        Raises:
            TypeError: The driver handed over the reply to another call.
        """
        if isinstance(reply, JudgeReply) and isinstance(reply.parsed, self.reply_model):
            return reply.parsed
        raise TypeError(f"expected a reply of {self.reply_model.__name__}, got {reply!r}")


class LocalVerifier(Protocol):
    """Decides claims on this machine, without a judge."""

    def verify(self, claims: Sequence[Claim], chunks: Sequence[str], /) -> list[Verdict]:
        """Return one verdict for each claim, in order."""
        ...


@dataclass(frozen=True, slots=True)
class VerifyReply:
    """One verdict for each statement, in order."""

    verdicts: list[Verdict]


@dataclass(frozen=True, slots=True)
class VerifyCall:
    """Claims to decide against chunks on this machine."""

    verifier: LocalVerifier
    claims: Sequence[Claim]
    chunks: Sequence[str]

    def run(self) -> VerifyReply:
        """Do the work; slow, so drivers do it in a thread.

        Raises:
            VerifierError: The verdicts are not one for each claim, or cannot be.
        """
        verdicts = self.verifier.verify(self.claims, self.chunks)
        check_verdicts(self.claims, self.chunks, verdicts)
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
    claims: Sequence[Claim], chunks: Sequence[str], verdicts: Sequence[Verdict]
) -> None:
    """Refuse verdicts that do not match the claims one to one, or are impossible.

    Raises:
        VerifierError: There are fewer or more, a support is no number from 0 to 1, or a chunk id
            does not exist.
    """
    if len(verdicts) != len(claims):
        raise VerifierError(
            f"the verifier returned {len(verdicts)} verdicts for {len(claims)} statements; "
            "expected one for each, in order"
        )
    for claim, verdict in zip(claims, verdicts, strict=True):
        # Written so that NaN is refused as well.
        if not 0 <= verdict.support <= 1:
            raise VerifierError(
                f"the verifier gave {claim.text!r} a support of {verdict.support!r}; expected a "
                "number from 0 to 1"
            )
        unknown = [number for number in verdict.chunk_ids if not 0 <= number < len(chunks)]
        if unknown:
            raise VerifierError(
                f"the verifier gave {claim.text!r} the chunk ids {unknown}; there are "
                f"{len(chunks)} chunks, numbered from 0"
            )


Step = JudgeCall[Any] | VerifyCall | LocalCall[Any]
StepReply = JudgeReply | VerifyReply | LocalReply
Flow = Generator[Sequence[Step], Sequence[StepReply], R]
"""Yields steps that may be done side by side, receives their replies in order, returns a result."""
