"""Repeated grading: runs the same grader several times for each row."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, Unpack

from pydantic import BaseModel, Field

from rag_evals.core import (
    Finding,
    Flow,
    JudgeCall,
    JudgeSettings,
    Result,
    Sample,
    Step,
    Tallies,
    Verifier,
    findings_of,
    require_whole,
)
from rag_evals.errors import ConfigurationError, NotScorableReason
from rag_evals.grading.grader import Grader, require_fields, sample_flow, side_by_side, with_steps
from rag_evals.stats import majority

if TYPE_CHECKING:
    from rag_evals.verify import Tuning

# No grader makes this many identical calls per row. Repeat 0 shares replies with an unrepeated run.
_CALLS_APART = 1000


class RepeatedResult(Result):
    """The results of all repeats for one row.

    Attributes:
        results: One result per repeat; mappings if the run was read from a folder.
        repeated_scores: One score per repeat, 0 to 1, or None for a repeat without a score.
        reason: Why no repeat has a score; None if any repeat has one.
        shown_findings: Findings, warnings and tallies (below) of the first majority result.
    """

    results: list[Any]
    repeated_scores: list[float | None]
    reason: NotScorableReason | None = None
    shown_findings: list[Finding] = Field(default_factory=list)
    shown_warnings: list[str] = Field(default_factory=list)
    shown_tallies: dict[str, tuple[int, int]] = Field(default_factory=dict)

    @classmethod
    def of(cls, results: Sequence[BaseModel]) -> "RepeatedResult":
        reasons = [getattr(result, "not_scorable", None) for result in results]
        scores = [
            None if reason else float(result.score)  # type: ignore[attr-defined]  # the result of any grader
            for result, reason in zip(results, reasons, strict=True)
        ]
        scored = [score for score in scores if score is not None]
        shown = results[scores.index(majority(scored)) if scored else 0]
        warnings = list(getattr(shown, "warnings", ()))
        if 0 < len(scored) < len(scores):
            missing = len(scores) - len(scored)
            warnings.append(f"{missing} of {len(scores)} repeats had no score")
        return cls(
            results=list(results),
            repeated_scores=scores,
            reason=None if scored else reasons[0],
            shown_findings=list(findings_of(shown)),
            shown_warnings=warnings,
            shown_tallies=dict(getattr(shown, "tallies", {})),
        )

    @property
    def score(self) -> float:
        scored = [score for score in self.repeated_scores if score is not None]
        return fmean(scored) if scored else 0.0

    @property
    def majority(self) -> float | None:
        """The most frequent score; in a tie, the one closest to the median."""
        scored = [score for score in self.repeated_scores if score is not None]
        return majority(scored) if scored else None

    @property
    def not_scorable(self) -> NotScorableReason | None:
        return self.reason

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self.shown_findings)

    @property
    def warnings(self) -> list[str]:
        return list(self.shown_warnings)

    @property
    def tallies(self) -> Tallies:
        return dict(self.shown_tallies)


class Repeated(Grader[RepeatedResult]):
    """Runs a grader several times for each row, under the grader's name."""

    shapes = ("grader", "times")
    result_model = RepeatedResult
    reads_turns = True

    def __init__(self, grader: Grader[Any], times: int) -> None:
        self.grader = grader
        self.times = require_whole("repeat", times, least=2)
        same = ("name", "description", "requires", "model", "settings", "source", "endpoints")
        for name in (*same, "judge_rounds"):
            setattr(self, name, getattr(grader, name))

    def check(self) -> None:
        """Reject a grader that does not call a model."""
        if not self.judge_rounds:
            raise ConfigurationError(
                f"repeat is {self.times}, but {self.name!r} does not call a model, so all "
                f"{self.times} results would be the same; leave repeat out"
            )
        self.grader.check()

    def with_verifier(self, verifier: Verifier) -> "Repeated":
        return Repeated(self.grader.with_verifier(verifier), self.times)

    def with_tunings(self, tunings: "Sequence[Tuning]") -> "Repeated":
        return Repeated(self.grader.with_tunings(tunings), self.times)

    def with_language(self, language: str) -> "Repeated":
        return Repeated(self.grader.with_language(language), self.times)

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> "Repeated":
        return Repeated(self.grader.with_settings(**settings), self.times)

    def flow(self, sample: Sample) -> Flow[RepeatedResult]:
        require_fields(sample, self.requires)
        # Calls with different sample indexes never share cached replies or verdicts.
        results = yield from side_by_side(
            [
                with_steps(sample_flow(self.grader, sample), partial(_apart, place))
                for place in range(self.times)
            ]
        )
        return RepeatedResult.of(results)


def _apart(place: int, steps: Sequence[Step]) -> list[Step]:
    return [
        replace(step, sample_index=step.sample_index + place * _CALLS_APART)
        if isinstance(step, JudgeCall)
        else step
        for step in steps
    ]
