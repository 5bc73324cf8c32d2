"""How sure is a verdict? The same grader asked several times for each row, and what that came to.

Each repeat asks again: its calls carry numbers of their own, so that no cache answers two of them
with one reply, and verdicts are not kept between them. What no model is asked is not repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from rag_evals.grading.grader import Grader, require_fields, sample_flow
from rag_evals.stats import majority

if TYPE_CHECKING:
    from rag_evals.verify import Tuning

# More than any grader asks one call; the first repeat shares its replies with a run without.
_CALLS_APART = 1000


class RepeatedResult(Result):
    """What a grader returned each time it was asked about one row.

    Its findings, warnings and tallies are those of the first result with the majority's score.
    """

    results: list[Any] = Field(
        description="What the grader returned each time; mappings where it was read from a folder."
    )
    repeated_scores: list[float | None] = Field(
        description="The score each time, 0 to 1; None where that result had none."
    )
    reason: NotScorableReason | None = Field(
        default=None, description="Why no result had a score; None where one had."
    )
    shown_findings: list[Finding] = Field(
        default_factory=list, description="What the result found that stands for the others."
    )
    shown_warnings: list[str] = Field(default_factory=list, description="Its oddities.")
    shown_tallies: dict[str, tuple[int, int]] = Field(
        default_factory=dict, description="Its parts of wholes."
    )

    @classmethod
    def of(cls, results: Sequence[BaseModel]) -> "RepeatedResult":
        """Put the results of one row together."""
        reasons = [getattr(result, "not_scorable", None) for result in results]
        scores = [
            None if reason else float(result.score)  # type: ignore[attr-defined]  # of any grader
            for result, reason in zip(results, reasons, strict=True)
        ]
        scored = [score for score in scores if score is not None]
        shown = results[scores.index(majority(scored)) if scored else 0]
        return cls(
            results=list(results),
            repeated_scores=scores,
            reason=None if scored else reasons[0],
            shown_findings=list(findings_of(shown)),
            shown_warnings=[*getattr(shown, "warnings", ()), *_unscored(scores)],
            shown_tallies=dict(getattr(shown, "tallies", {})),
        )

    @property
    def score(self) -> float:
        """The mean of the scores, 0 to 1."""
        scored = [score for score in self.repeated_scores if score is not None]
        return fmean(scored) if scored else 0.0

    @property
    def majority(self) -> float | None:
        """The score that came most often; of several the one nearest to the middle."""
        scored = [score for score in self.repeated_scores if score is not None]
        return majority(scored) if scored else None

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """Why no result had a score; None where one had."""
        return self.reason

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the first result with the majority's score found."""
        return tuple(self.shown_findings)

    @property
    def warnings(self) -> list[str]:
        """Oddities of that result, and how many results had no score."""
        return list(self.shown_warnings)

    @property
    def tallies(self) -> Tallies:
        """Parts of wholes of that result."""
        return dict(self.shown_tallies)


class Repeated(Grader[RepeatedResult]):
    """A grader that is asked several times for each row.

    Args:
        grader: Any grader; its name is kept.
        times: How often, at least 2.

    Raises:
        ConfigurationError: `times` is not such a number.
    """

    shapes = ("grader", "times")
    result_model = RepeatedResult
    reads_turns = True

    def __init__(self, grader: Grader[Any], times: int) -> None:
        self.grader = grader
        self.times = require_whole("repeat", times, least=2)
        self.name = grader.name
        self.description = grader.description
        self.requires = grader.requires
        self.model = grader.model
        self.settings = grader.settings
        self.source = grader.source
        self.endpoints = tuple(grader.endpoints)
        self.judge_rounds = grader.judge_rounds

    def check(self) -> None:
        """Refuse a grader that asks no model.

        Raises:
            ConfigurationError: It asks none, or cannot work.
        """
        if not self.judge_rounds:
            raise ConfigurationError(
                f"repeat is {self.times}, but no model is asked for {self.name!r}: what this "
                f"machine decides is the same each time; asked {self.times} times gives the same, "
                "so leave repeat out"
            )
        self.grader.check()

    def with_verifier(self, verifier: Verifier) -> "Repeated":
        """Return the repeated form of the grader that asks a verifier."""
        return Repeated(self.grader.with_verifier(verifier), self.times)

    def with_tunings(self, tunings: "Sequence[Tuning]") -> "Repeated":
        """Return the repeated form of the grader that follows its tuned files."""
        return Repeated(self.grader.with_tunings(tunings), self.times)

    def with_language(self, language: str) -> "Repeated":
        """Return the repeated grader of that language."""
        return Repeated(self.grader.with_language(language), self.times)

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> "Repeated":
        """Return the repeated grader with other settings."""
        return Repeated(self.grader.with_settings(**settings), self.times)

    def flow(self, sample: Sample) -> Flow[RepeatedResult]:
        """Ask all repeats side by side, round by round."""
        require_fields(sample, self.requires)
        flows = {place: sample_flow(self.grader, sample) for place in range(self.times)}
        results: dict[int, BaseModel] = {}
        replies: Mapping[int, Sequence[Any] | None] = dict.fromkeys(flows)
        while True:
            rounds = _rounds(flows, replies, results)
            if not rounds:
                return RepeatedResult.of([results[place] for place in sorted(results)])
            steps = [_apart(step, place) for place, own in rounds.items() for step in own]
            answered = iter((yield steps))
            replies = {place: [next(answered) for _ in own] for place, own in rounds.items()}


def _rounds(
    flows: Mapping[int, Flow[Any]],
    replies: Mapping[int, Sequence[Any] | None],
    results: dict[int, BaseModel],
) -> dict[int, Sequence[Step]]:
    """Send each flow its replies; return the steps of those that go on, note results of others."""
    steps: dict[int, Sequence[Step]] = {}
    for place, own in replies.items():
        try:
            steps[place] = next(flows[place]) if own is None else flows[place].send(own)
        except StopIteration as stop:
            results[place] = stop.value
    return steps


def _apart(step: Step, place: int) -> Step:
    if not isinstance(step, JudgeCall):
        return step
    return replace(step, sample_index=step.sample_index + place * _CALLS_APART)


def _unscored(scores: Sequence[float | None]) -> list[str]:
    missing = scores.count(None)
    return [f"{missing} of {len(scores)} repeats had no score"] if 0 < missing < len(scores) else []
