"""What is known of a running call? Its replies so far, and their faults.

Instructor's validators and the transport find it in `current_exchange`.
"""

import time
from contextvars import ContextVar
from dataclasses import replace
from json import JSONDecodeError
from typing import Any

from rag_evals.core import JudgeCall, TextReply, Usage
from rag_evals.errors import GradingError, JudgeOutputError
from rag_evals.judge.answering import answering_model
from rag_evals.judge.replies import complete_tool_call, differing_calls, fault_of, no_reply
from rag_evals.judge.tokens import usage_of

_NOTHING = Usage()


class Exchange:
    """One call while it is being made: what was sent, and what came back so far.

    Attributes:
        call: What is asked.
        fault: What makes the last reply none that could be asked again, or None.
        requests: HTTP requests that were sent, where the transport is watched.
        usage: Sum over the replies so far; each is counted once, where instructor accumulates.
        answered_by: Models that the replies so far say they are from.
    """

    def __init__(
        self, call: JudgeCall[Any], *, mode: str, seconds: float | None, reasks: int
    ) -> None:
        self.call = call
        self._reasks = reasks
        self.fault: GradingError | None = None
        self.requests = 0
        self._is_answered = False
        self._calls_made = 1
        self._mode = mode
        self._ends_at = None if seconds is None else time.monotonic() + seconds
        self.usage = _NOTHING
        self.answered_by: dict[str, None] = {}

    def count_reply(self, response: Any, *, again: bool) -> None:
        """Count the tokens of one reply, and note which model says that it answered."""
        used = usage_of(response)
        if again:
            used = replace(used, reasks=1)
        self.usage = used if self.usage == _NOTHING else self.usage + used
        if (model := answering_model(response)) is not None:
            self.answered_by[model] = None

    def take_response(self, response: Any) -> None:
        """Take one reply before it is validated: its usage, and the faults of its form."""
        self.count_reply(response, again=self.usage.calls > 0)
        self._is_answered = True
        fault = fault_of(response)
        # Such a call asks for one token, and every server says that the reply was cut off there.
        is_no_fault = self.call.reply_model is TextReply and isinstance(fault, JudgeOutputError)
        self.fault = None if is_no_fault else fault
        choices = getattr(response, "choices", None)
        if self.fault is not None or not choices:
            return
        if self._mode == "TOOLS":
            complete_tool_call(choices[0].message)
        self._calls_made = differing_calls(choices[0].message)

    def may_ask_again(self, error: BaseException) -> bool:
        """Say whether the judge can do better: what it sent was a reply."""
        if isinstance(error, JSONDecodeError) and not self._is_answered:
            # The client itself could not read the body.
            self.fault = no_reply(error.doc)
        self._is_answered = False
        return self.fault is None

    @property
    def is_last_attempt(self) -> bool:
        """True for a reply after which nothing is asked again."""
        return self.usage.reasks >= self._reasks

    def check_one_call(self) -> None:
        """Refuse a reply whose parts contradict each other: instructor would read the first.

        Raises:
            ResponseParsingError: It is asked again with these words.
        """
        if self._calls_made > 1:
            from instructor.core.exceptions import (  # noqa: PLC0415 - as above
                ResponseParsingError,
            )

            raise ResponseParsingError(
                f"{self._calls_made} different tool calls; make exactly one that holds everything",
                mode=self._mode,
                raw_response=None,
            )

    @property
    def seconds_left(self) -> float | None:
        """The row's remaining seconds; None without a limit."""
        return None if self._ends_at is None else self._ends_at - time.monotonic()

    def count_request(self) -> bool:
        """Count one HTTP request; True when it repeats one that failed."""
        self.requests += 1
        # Every reply, a re-ask among them, needs one request; what is more was sent again.
        is_retry = self.requests > self.usage.calls + self.usage.retries + 1
        if is_retry:
            self.usage = replace(self.usage, retries=self.usage.retries + 1)
        return is_retry


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
"""The exchange whose reply is being validated, in this thread or task."""
