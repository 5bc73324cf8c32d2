"""Which errors can rag_evals raise, and what can you do about each?

RagEvalsError
├── ConfigurationError            wrong before anything ran: fix the call
│   ├── UnknownNameError          no grader, prompt or provider of that name
│   ├── UnknownArgumentError      a keyword that a function does not take; a TypeError too
│   ├── FixedGraderError          an attribute set on a grader; an AttributeError too
│   ├── PromptError               a prompt file or text that is missing or invalid
│   ├── MissingExtraError         an optional library is not installed
│   ├── UnknownBatchError         the endpoint has a batch, or its results, no more
│   └── EventLoopError            an async client was used in another event loop before
├── DataError                     a file or a row that cannot be read: fix the data
│   ├── MissingColumnError
│   ├── NotInRunError
│   └── DuplicateIdError
├── TooManyFailuresError          more rows failed than the run allows
├── RunInterruptedError           a signal ended the run
├── PendingError                  a reply that a batch has not brought yet
├── NotScorableError              nothing to grade: no answer, no context, no statements
├── InvalidScoresError            a number that cannot be a score, or none at all
├── UnpairedScoresError           two lists do not describe the same samples
├── TooFewLabelsError             label more rows, then ask again
├── WeakJudgeError                what people support has no higher support than the rest
└── GradingError                  one sample could not be graded; the run continues
    ├── VerifierError             a verifier failed: wrong verdicts, a statement too long, a device
    ├── JudgeOutputError          the reply stayed invalid after the last attempt
    ├── CanaryError               the judge supported a made-up sentence
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
    """The endpoint has no batch of that name for this key, or has its results no more."""


class UnknownNameError(ConfigurationError):
    """A name is unknown; the message suggests the nearest one that exists."""

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
    """A grader's attributes cannot be set; the message names the method to use."""


class PromptError(ConfigurationError):
    """A prompt is missing, does not parse, or uses an unknown variable."""


class MissingExtraError(ConfigurationError):
    """An optional library is missing; the message has the command that installs it."""


class EventLoopError(ConfigurationError):
    """An async client was used in another event loop before."""


class DataError(RagEvalsError):
    """A file or a row cannot be read or graded; the message says where and why."""


class MissingColumnError(DataError):
    """A field has no column; the message lists the columns found."""


class NotInRunError(DataError, KeyError):
    """A run has no grader and no sample of that name."""

    # KeyError would show the message in quotes.
    __str__ = Exception.__str__


class DuplicateIdError(DataError):
    """Two rows have the same id; the message names both."""


class TooManyFailuresError(RagEvalsError):
    """More gradings failed than the run allows; `run` has all outcomes so far."""

    run: Any = None


class RunInterruptedError(RagEvalsError):
    """SIGINT or SIGTERM (`signal_number`) ended a run; its outcomes so far are kept."""

    signal_number: int = 0


class PendingError(RagEvalsError):
    """A request waits in a batch for its reply, or for the next batch; its row is graded later.

    Attributes:
        endpoint: The judge that is asked, such as `openai/gpt-4o-mini`.
        key: Names the request in the batch.
        body: What is asked.
    """

    endpoint: str = ""
    key: str = ""
    body: Any = None


class NotScorableError(RagEvalsError):
    """This sample has nothing to grade, so it has no score; summaries count the `reason`."""

    def __init__(self, reason: NotScorableReason) -> None:
        super().__init__(reason)
        self.reason: NotScorableReason = reason


class InvalidScoresError(RagEvalsError):
    """A score is missing, not finite or out of range, or there are no scores."""


class UnpairedScoresError(RagEvalsError):
    """Lists that must be aligned, one entry per sample, have different lengths."""


class TooFewLabelsError(RagEvalsError):
    """Too few labels from people for the estimate that was asked for."""


class WeakJudgeError(RagEvalsError):
    """Support is no higher for what people call supported than for the rest: nothing to tune."""


class GradingError(RagEvalsError):
    """One sample could not be graded; others may still be."""


class VerifierError(GradingError):
    """A verifier could not decide the statements, and none of its verdicts is counted.

    It returned more or fewer verdicts than statements, a support that is not a number from 0 to 1,
    or a chunk that does not exist; a statement leaves a classifier no room for context; or the
    model failed on its device.
    """


class JudgeOutputError(GradingError):
    """The judge's reply was still invalid after the last attempt."""


class CanaryError(GradingError):
    """The judge supported a made-up sentence, so none of its verdicts count."""


class JudgeRefusedError(GradingError):
    """The model declined to answer this request."""


class JudgeRequestError(GradingError):
    """The endpoint refused this one request; another sample may pass.

    Attributes:
        window_tokens: How many tokens the model reads, where the endpoint says so.
    """

    window_tokens: int | None = None


class JudgeUnavailableError(GradingError):
    """Time-out, rate limit or server error that outlasted the retries.

    Attributes:
        status: HTTP status of the last reply; None when there was none.
        retry_after_seconds: How long the endpoint asked to wait; None when it did not say.
        row_is_over: The row has no time left for another call.
    """

    status: int | None = None
    retry_after_seconds: float | None = None
    row_is_over: bool = False


class JudgeUnreachableError(JudgeUnavailableError):
    """No connection could be made to the endpoint."""


class JudgeRejectedError(GradingError):
    """The endpoint refuses every request of this kind: wrong key, unknown model, refused schema."""
