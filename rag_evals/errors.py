"""All errors that rag_evals raises.

RagEvalsError
├── ConfigurationError            detected before anything ran: fix the call
│   ├── UnknownNameError          no grader, prompt or provider has that name
│   ├── UnknownArgumentError      a function has no such argument; also a TypeError
│   ├── FixedGraderError          an attribute of a grader cannot be set; also an AttributeError
│   ├── PromptError               a prompt file or text is missing or invalid
│   ├── MissingExtraError         an optional library is not installed
│   ├── UnknownBatchError         the endpoint no longer has a batch or its results
│   └── EventLoopError            an async client was first used in a different event loop
├── DataError                     a file or a row cannot be read: fix the data
│   ├── MissingColumnError
│   ├── NotInRunError
│   └── DuplicateIdError
├── TooManyFailuresError          more rows failed than the run allows
├── RunInterruptedError           a signal ended the run
├── PendingError                  a batch has not returned this reply yet
├── NotScorableError              nothing to grade: no answer, no context, no statements
├── InvalidScoresError            a number cannot be a score, or there are no scores
├── UnpairedScoresError           two lists do not describe the same samples
├── TooFewLabelsError             label more rows, then try again
├── WeakJudgeError                support is not higher for statements labelled as supported
└── GradingError                  one sample could not be graded; the run continues
    ├── VerifierError             a verifier failed: invalid verdicts, a long statement, the device
    ├── JudgeOutputError          the reply stayed invalid after the last attempt
    ├── JudgeRefusedError         the model declined to answer
    ├── JudgeRequestError         the endpoint rejected this one request (too long, filtered)
    ├── JudgeUnavailableError     timeout, rate limit or server error, after all retries
    │   └── JudgeUnreachableError no connection to the endpoint
    └── JudgeRejectedError        the endpoint rejects every request: key, model or schema
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
    """Base class of every error that rag_evals raises deliberately."""


class ConfigurationError(RagEvalsError):
    """A setting, a name or a combination of them is invalid; nothing was sent."""


class UnknownBatchError(ConfigurationError):
    """The endpoint has no such batch for this API key, or has deleted its results."""


class UnknownNameError(ConfigurationError):
    """A name is not recognised; the message suggests the closest valid name."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> "UnknownNameError":
        """Build the message from the unknown name and the valid names."""
        names = sorted(known)
        nearest = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        return cls(f"no {kind} {name!r}; {hint}available: {', '.join(names)}")


class UnknownArgumentError(ConfigurationError, TypeError):
    """A function has no argument with this name; the message suggests the closest one."""

    @classmethod
    def of(
        cls, function: str, name: str, meant: str | None, known: Iterable[str]
    ) -> "UnknownArgumentError":
        """Build the message from the unknown argument and the valid arguments."""
        hint = f"did you mean {meant}=? " if meant else ""
        return cls(f"{function}() has no argument {name!r}; {hint}it accepts {', '.join(known)}")


class FixedGraderError(ConfigurationError, AttributeError):
    """An attribute of a grader cannot be set; the message says what to use instead."""


class PromptError(ConfigurationError):
    """A prompt is missing, does not parse, or uses an unknown variable."""


class MissingExtraError(ConfigurationError):
    """An optional library is missing; the message contains the command that installs it."""


class EventLoopError(ConfigurationError):
    """An async client was first used in a different event loop."""


class DataError(RagEvalsError):
    """A file or a row cannot be read or graded; the message says where and why."""


class MissingColumnError(DataError):
    """No column contains a required field; the message lists the columns found."""


class NotInRunError(DataError, KeyError):
    """A run does not contain a grader or sample with this name."""

    # KeyError would put the message in quotes.
    __str__ = Exception.__str__


class DuplicateIdError(DataError):
    """Two rows have the same id; the message identifies both."""


class TooManyFailuresError(RagEvalsError):
    """More gradings failed than the run allows; `run` contains all outcomes so far."""

    run: Any = None


class RunInterruptedError(RagEvalsError):
    """SIGINT or SIGTERM (`signal_number`) stopped a run; its outcomes so far are stored."""

    signal_number: int = 0


class PendingError(RagEvalsError):
    """A request is in a batch or waiting for the next batch; its row is graded later.

    Attributes:
        endpoint: The judge, such as `openai/gpt-4o-mini`.
        key: Identifies the request in the batch.
        body: The request body.
    """

    endpoint: str = ""
    key: str = ""
    body: Any = None


class NotScorableError(RagEvalsError):
    """There is nothing to grade, so the sample has no score; summaries count rows by `reason`."""

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
    """Support is not higher for statements labelled as supported, so tuning is impossible."""


class GradingError(RagEvalsError):
    """One sample could not be graded; the others are not affected."""


class VerifierError(GradingError):
    """A verifier failed on a row, so none of its verdicts are used.

    It returned the wrong number of verdicts, a support outside 0 to 1 or an invalid chunk id; a
    statement left a classifier no room for context; or the model failed on its device.
    """


class JudgeOutputError(GradingError):
    """The judge's reply was still invalid after the last attempt."""


class JudgeRefusedError(GradingError):
    """The model declined to answer this request."""


class JudgeRequestError(GradingError):
    """The endpoint rejected this one request; requests for other samples may succeed.

    Attributes:
        window_tokens: The model's context window in tokens, if the endpoint reports it.
    """

    window_tokens: int | None = None


class JudgeUnavailableError(GradingError):
    """A timeout, rate limit or server error persisted through all retries.

    Attributes:
        status: HTTP status of the last reply; None if there was no reply.
        retry_after_seconds: Seconds to wait, if the endpoint requests a wait; else None.
        row_is_over: True if the row has no time left for another call.
    """

    status: int | None = None
    retry_after_seconds: float | None = None
    row_is_over: bool = False


class JudgeUnreachableError(JudgeUnavailableError):
    """No connection to the endpoint could be established."""


class JudgeRejectedError(GradingError):
    """The endpoint rejects every request: wrong key, unknown model or unsupported schema."""
