"""What did the judge cost? Calls, re-asks and tokens, counted per reply."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of what was asked and answered.

    Attributes:
        calls: Replies received from the endpoint, re-asks among them.
        reasks: Replies that were invalid and asked again.
        retries: Requests that the transport sent again; known for clients that we build.
        prompt_tokens: Tokens sent, as the endpoint counted them; 0 where it does not say.
        completion_tokens: Tokens received.
        cached_tokens: The part of `prompt_tokens` that the provider had cached.
        cache_hits: Calls that were answered from our own cache; they cost nothing.
    """

    calls: int = 0
    reasks: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_hits: int = 0

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
        )


class Meter:
    """Adds up the usage of one grading, also of calls that failed in the end.

    Attributes:
        by_judge: What was used so far, by endpoint and model as calls name them; None stands for
            the judge that grades, and for the model that it asks by itself.
        waited_seconds: How long replies were waited for so far, the run's gate left out.
        row_seconds: For all calls of the grading together; None where somebody else, such as the
            session of a run, sees to that.
    """

    def __init__(self, row_seconds: float | None = None) -> None:
        self.by_judge: dict[tuple[str | None, str | None], Usage] = {}
        self.waited_seconds = 0.0
        self.row_seconds = row_seconds

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for further calls of the grading; None without a limit."""
        return None if self.row_seconds is None else self.row_seconds - self.waited_seconds

    @property
    def total(self) -> Usage:
        """What was used so far, of all judges."""
        return sum(self.by_judge.values(), Usage())

    def add(self, usage: Usage, *, endpoint: str | None = None, model: str | None = None) -> None:
        """Count one reply, or several, of a call that names this endpoint and this model."""
        asked = (endpoint, model)
        self.by_judge[asked] = self.by_judge.get(asked, Usage()) + usage
