"""How did one grading end? Exactly one of scored, not scorable, failed; none is lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
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
        sample_fingerprint: Hash of the sample as it was graded; empty for a row that was none.
        grader_fingerprint: Beginning of the grader's fingerprint.
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
    sample_fingerprint: str = ""
    grader_fingerprint: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the grading in a store: sample and grader, and what each of them was."""
        return self.sample_id, self.grader, self.sample_fingerprint, self.grader_fingerprint

    def to_line(self) -> bytes:
        """Return one line of JSON, with its end."""
        return to_json(self) + b"\n"

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], models: Mapping[str, type[BaseModel]]
    ) -> "Outcome":
        """Read what `to_line` wrote.

        Args:
            record: The parsed line.
            models: Result model of each grader, by name; without one the result is left out.
        """
        values = {each.name: record[each.name] for each in fields(cls) if each.name in record}
        model = models.get(values["grader"])
        if values.get("result") is not None:
            values["result"] = None if model is None else model.model_validate(values["result"])
        if values.get("error") is not None:
            values["error"] = ErrorRecord(values["error"]["type"], values["error"]["message"])
        used = values.get("usage") or {}
        values["usage"] = Usage(**{e.name: used[e.name] for e in fields(Usage) if e.name in used})
        values["warnings"] = tuple(values.get("warnings") or ())
        tallies = values.get("tallies") or {}
        values["tallies"] = {name: (part, whole) for name, (part, whole) in tallies.items()}
        return cls(**values)


def short_fingerprint(fingerprint: str) -> str:
    """Cut a grader's fingerprint to what a line keeps of it; the manifest has it whole."""
    return fingerprint[:16]


@dataclass(frozen=True, slots=True)
class Place:
    """Which grading this is; the fields are those of `Outcome`."""

    index: int
    sample_id: str
    grader: str
    sample_fingerprint: str = ""
    grader_fingerprint: str = ""


def ended(place: Place, result: BaseModel, seconds: float, usage: Usage) -> Outcome:
    """Make the outcome of a grading that returned a result.

    Args:
        place: Which grading it is.
        result: What the grader returned; its `score` counts unless it says `not_scorable`.
        seconds: How long it took.
        usage: What it cost.
    """
    reason: NotScorableReason | None = getattr(result, "not_scorable", None)
    score = None if reason else float(result.score)  # type: ignore[attr-defined]  # checked before the run
    return Outcome(
        place.index,
        place.sample_id,
        place.grader,
        "scored" if reason is None else "not_scorable",
        score=score,
        reason=reason,
        result=result,
        attempts=usage.calls,
        seconds=seconds,
        usage=usage,
        warnings=tuple(getattr(result, "warnings", ())),
        tallies=dict(getattr(result, "tallies", {})),
        sample_fingerprint=place.sample_fingerprint,
        grader_fingerprint=place.grader_fingerprint,
    )


def broken(place: Place, error: Exception, seconds: float, usage: Usage) -> Outcome:
    """Make the outcome of a grading that raised; arguments as for `ended`."""
    if isinstance(error, NotScorableError):
        return replace(_without_score(place, "not_scorable", seconds), reason=error.reason)
    return replace(
        _without_score(place, "failed", seconds),
        error=ErrorRecord(type(error).__name__, str(error)),
        attempts=usage.calls,
        usage=usage,
    )


def _without_score(place: Place, status: Status, seconds: float) -> Outcome:
    return Outcome(
        place.index,
        place.sample_id,
        place.grader,
        status,
        seconds=seconds,
        sample_fingerprint=place.sample_fingerprint,
        grader_fingerprint=place.grader_fingerprint,
    )
