"""What is sent to a judge, and what comes back? Plain values, independent of any client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypedDict, TypeVar

from pydantic import BaseModel

from rag_evals.core.usage import Usage

M = TypeVar("M", bound=BaseModel)


class Message(TypedDict):
    """One chat message, rendered: its text is sent byte for byte."""

    role: Literal["system", "user"]
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
