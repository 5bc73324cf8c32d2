"""All errors that rag_evals raises.

RagEvalsError
├── ConfigurationError            wrong before anything ran: fix the call
│   ├── UnknownNameError          no grader, prompt or provider has that name
│   ├── UnknownArgumentError      a function has no such argument; also a TypeError
│   ├── FixedGraderError          an attribute was set on a grader; also an AttributeError
│   ├── PromptError               a prompt file or text that is missing or invalid
│   ├── MissingExtraError         an optional library is not installed
│   ├── UnknownBatchError         the endpoint no longer has a batch or its results
│   └── EventLoopError            an async client was first used in a different event loop
├── DataError                     a file or a row that cannot be read: fix the data
│   ├── MissingColumnError
│   ├── NotInRunError
│   └── DuplicateIdError
├── TooManyFailuresError          more rows failed than the run allows
├── RunInterruptedError           a signal ended the run
├── PendingError                  a batch has not returned this reply yet
├── NotScorableError              nothing to grade: no answer, no context, no statements
├── InvalidScoresError            a number that cannot be a score, or none at all
├── UnpairedScoresError           two lists do not describe the same samples
├── TooFewLabelsError             label more rows, then ask again
├── WeakJudgeError                statements that people support get no higher support than others
└── GradingError                  one sample could not be graded; the run continues
    ├── VerifierError             a verifier failed: wrong verdicts, a statement too long, a device
    ├── JudgeOutputError          the reply stayed invalid after the last attempt
    ├── JudgeRefusedError         the model declined to answer
    ├── JudgeRequestError         the endpoint refused this one request (too long, filtered)
    ├── JudgeUnavailableError     time-out, rate limit, server error, after all retries
    │   └── JudgeUnreachableError no connection to the endpoint
    └── JudgeRejectedError        the endpoint refuses every request: key, model or schema
"""

import difflib
from collections.abc import Iterable
from typing import Any, Literal

NotScorableReason = Literal[
    "no_statements",
    "no_citations",
    "no_reference_statements",
    "no_relevant_ids",
    "answer_not_covered",
    "empty_answer",
    "empty_context",
    "empty_question",
    "empty_reference",
    "unread_language",
]


class RagEvalsError(Exception):
    """Base of every error that rag_evals raises on purpose."""


class ConfigurationError(RagEvalsError):
    """A setting, a name or a combination is invalid; nothing was sent."""


class UnknownBatchError(ConfigurationError):
    """The endpoint has no such batch for this key, or has deleted its results."""


class UnknownNameError(ConfigurationError):
    """A name is unknown; the message suggests the closest known one."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> "UnknownNameError":
        """Build the message from the given name and the known ones."""
        names = sorted(known)
        nearest = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        return cls(f"no {kind} {name!r}; {hint}there are: {', '.join(names)}")


class UnknownArgumentError(ConfigurationError, TypeError):
    """A function has no argument of that name; the message suggests the right one."""

    @classmethod
    def of(
        cls, function: str, name: str, meant: str | None, known: Iterable[str]
    ) -> "UnknownArgumentError":
        """Build the message from the call and the known arguments."""
        hint = f"did you mean {meant}=? " if meant else ""
        return cls(f"{function}() has no argument {name!r}; {hint}it takes {', '.join(known)}")


class FixedGraderError(ConfigurationError, AttributeError):
    """Attributes of a grader cannot be set; the message names the method to use."""


class PromptError(ConfigurationError):
    """A prompt is missing, does not parse, or uses an unknown variable."""


class MissingExtraError(ConfigurationError):
    """An optional library is missing; the message gives the command to install it."""


class EventLoopError(ConfigurationError):
    """An async client was first used in a different event loop."""


class DataError(RagEvalsError):
    """A file or a row cannot be read or graded; the message says where and why."""


class MissingColumnError(DataError):
    """No column holds a required field; the message lists the columns found."""


class NotInRunError(DataError, KeyError):
    """A run has no grader or sample with that name."""

    # KeyError would put the message in quotes.
    __str__ = Exception.__str__


class DuplicateIdError(DataError):
    """Two rows have the same id; the message names both."""


class TooManyFailuresError(RagEvalsError):
    """More gradings failed than the run allows; `run` contains all outcomes so far."""

    run: Any = None


class RunInterruptedError(RagEvalsError):
    """SIGINT or SIGTERM (`signal_number`) ended a run; its outcomes so far are stored."""

    signal_number: int = 0


class PendingError(RagEvalsError):
    """A request is in a batch or waits for the next one; its row is graded later.

    Attributes:
        endpoint: The judge, such as `openai/gpt-4o-mini`.
        key: Identifies the request in the batch.
        body: Body of the request.
    """

    endpoint: str = ""
    key: str = ""
    body: Any = None


class NotScorableError(RagEvalsError):
    """There is nothing to grade, so the sample has no score; summaries count each `reason`."""

    def __init__(self, reason: NotScorableReason) -> None:
        super().__init__(reason)
        self.reason: NotScorableReason = reason


class InvalidScoresError(RagEvalsError):
    """A score is missing, not finite or out of range, or there are no scores."""


class UnpairedScoresError(RagEvalsError):
    """Lists that must be aligned, one entry per sample, have different lengths."""


class TooFewLabelsError(RagEvalsError):
    """There are too few human labels for the estimate."""


class WeakJudgeError(RagEvalsError):
    """Statements that people support get no higher support than others, so tuning is impossible."""


class GradingError(RagEvalsError):
    """One sample could not be graded; the others are not affected."""


class VerifierError(GradingError):
    """A verifier could not decide the statements, so none of its verdicts count.

    Either it returned the wrong number of verdicts, a support outside 0 to 1 or an unknown chunk
    id; or a statement leaves a classifier no room for context; or the model failed on its device.
    """


class JudgeOutputError(GradingError):
    """The judge's reply was still invalid after the last attempt."""


class JudgeRefusedError(GradingError):
    """The model refused to answer this request."""


class JudgeRequestError(GradingError):
    """The endpoint refused this one request; another sample may pass.

    Attributes:
        window_tokens: Context window of the model in tokens, if the endpoint reports it.
    """

    window_tokens: int | None = None


class JudgeUnavailableError(GradingError):
    """A time-out, rate limit or server error remained after all retries.

    Attributes:
        status: HTTP status of the last reply; None without a reply.
        retry_after_seconds: Wait that the endpoint asks for, in seconds; None if it does not.
        row_is_over: True if the row has no time left for another call.
    """

    status: int | None = None
    retry_after_seconds: float | None = None
    row_is_over: bool = False


class JudgeUnreachableError(JudgeUnavailableError):
    """No connection could be made to the endpoint."""


class JudgeRejectedError(GradingError):
    """The endpoint refuses all such requests: wrong key, unknown model or unsupported schema."""
