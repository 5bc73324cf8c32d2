"""How did one grading end? Exactly one of scored, not scorable, failed; none is lost."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel
from pydantic_core import to_json

from rag_evals.errors import NotScorableError, NotScorableReason
from rag_evals.judge import Usage

Status = Literal["scored", "not_scorable", "failed"]


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """What went wrong with one grading.

    Attributes:
        type: Name of the error's class, such as `JudgeOutputError`.
        message: What it says.
    """

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one grading: one sample, one grader.

    Attributes:
        index: The sample's place in the data, from 0.
        sample_id: The row's own id, else a hash of its content.
        grader: Name of the grader.
        status: Which of the three ends it was.
        score: 0 to 1 when scored, else None; never NaN.
        reason: Why it is not scorable, else None.
        result: What the grader returned; None when it failed before.
        error: What failed, else None.
        attempts: Replies that were asked for; 0 when no judge was needed.
        seconds: How long the grading took.
        usage: Tokens and calls.
        cost_usd: List price of the usage in US dollars; None when the model's price is not known.
        warnings: Oddities in the result, in words.
        tallies: Parts of wholes that the result counts beside the score, by name.
    """

    index: int
    sample_id: str
    grader: str
    status: Status
    score: float | None = None
    reason: NotScorableReason | None = None
    result: BaseModel | None = None
    error: ErrorRecord | None = None
    attempts: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()
    tallies: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """What names the grading in a store: sample id and grader."""
        return self.sample_id, self.grader

    def to_line(self) -> bytes:
        """Return one line of JSON, with its end."""
        return to_json(self) + b"\n"

    @classmethod
    def from_record(cls, record: dict[str, Any], models: dict[str, type[BaseModel]]) -> "Outcome":
        """Read what `to_line` wrote.

        Args:
            record: The parsed line.
            models: Result model of each grader, by name; without one the result is left out.
        """
        values = dict(record)
        model = models.get(values["grader"])
        if values.get("result") is not None:
            values["result"] = None if model is None else model.model_validate(values["result"])
        if values.get("error") is not None:
            values["error"] = ErrorRecord(**values["error"])
        values["usage"] = Usage(**values["usage"])
        values["warnings"] = tuple(values["warnings"])
        tallies = values.get("tallies") or {}
        values["tallies"] = {name: (part, whole) for name, (part, whole) in tallies.items()}
        return cls(**values)


def ended(place: tuple[int, str, str], result: BaseModel, seconds: float, usage: Usage) -> Outcome:
    """Make the outcome of a grading that returned a result.

    Args:
        place: Index, sample id and grader.
        result: What the grader returned; its `score` counts unless it says `not_scorable`.
        seconds: How long it took.
        usage: What it cost.
    """
    index, sample_id, grader = place
    reason: NotScorableReason | None = getattr(result, "not_scorable", None)
    score = None if reason else float(result.score)  # type: ignore[attr-defined]  # checked before the run
    return Outcome(
        index,
        sample_id,
        grader,
        "scored" if reason is None else "not_scorable",
        score=score,
        reason=reason,
        result=result,
        attempts=usage.calls,
        seconds=seconds,
        usage=usage,
        warnings=tuple(getattr(result, "warnings", ())),
        tallies=dict(getattr(result, "tallies", {})),
    )


def broken(place: tuple[int, str, str], error: Exception, seconds: float, usage: Usage) -> Outcome:
    """Make the outcome of a grading that raised; arguments as for `ended`."""
    index, sample_id, grader = place
    if isinstance(error, NotScorableError):
        return Outcome(
            index, sample_id, grader, "not_scorable", reason=error.reason, seconds=seconds
        )
    record = ErrorRecord(type(error).__name__, str(error))
    return Outcome(
        index,
        sample_id,
        grader,
        "failed",
        error=record,
        attempts=usage.calls,
        seconds=seconds,
        usage=usage,
    )
