"""Quality gates for runs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from rag_evals.core import Phrase, Phrases, phrases
from rag_evals.errors import ConfigurationError
from rag_evals.run.plan.options import DEFAULT_ERROR, require_counts, require_gate, require_share
from rag_evals.run.plan.sampling import DrawnRows, SampledMean
from rag_evals.run.record.summary import (
    GraderSummary,
    Summary,
    clusters_words,
    reason_words,
)
from rag_evals.stats import Clusters, GateTest, SequentialGate, gate_test
from rag_evals.stats.betting import GateVerdict

DEFAULT_MIN_SCORED = 0.9

GateAt = Literal["mean", "lower"]
Rule = Literal["fail-under", "min-scored", "fail-if-worse", "says-less", "pending"]


@dataclass(frozen=True, slots=True)
class Missed:
    """A rule that a run failed.

    Attributes:
        grader: The grader's name; empty if the rule applies to the whole run.
        rule: Name of the rule.
        asked: Required value.
        found: Actual value and its distance from the required value.
        why: Number of rows without a score, by reason.
    """

    grader: str
    rule: Rule
    asked: str
    found: Phrase
    why: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def coverage(
        cls,
        grader: str,
        scored: int,
        rows: int,
        least: float,
        *,
        why: Mapping[str, int],
        of_both: bool = False,
    ) -> "list[Missed]":
        """Return this rule in a list if the share of rows with a score is below `least`, else [].

        If `of_both` is true, rows must have a score in both runs of a comparison.
        """
        # Tolerate rounding errors: 0.55 * 100 is 55.00000000000001.
        if scored >= least * rows - 1e-9:
            return []
        share = scored / rows
        found = Phrase.of(
            "gate.pair_coverage" if of_both else "gate.coverage",
            scored=f"{scored}",
            rows=f"{rows}",
            share=f"{100 * share:.1f}",
            points=f"{100 * (least - share):.1f}",
        )
        return [cls(grader, "min-scored", f"{least:.4g}", found, why)]

    @classmethod
    def pending(cls, pending: int) -> "Missed":
        """Return the failed rule for a run that still has pending gradings."""
        return cls("", "pending", f"{pending}", Phrase("gate.no_outcome"))

    def line(self, say: Phrases) -> str:
        """Describe the rule and its required and actual values in the reader's language."""
        values = {name: say.written(text) for name, text in self.found.said_values(say).items()}
        told = say(self.found.key, grader=say.named("graders", self.grader), **values)
        why = reason_words(self.why, say)
        found = f"{told} ({why})" if why else told
        return say("gate.rule", rule=self.rule, asked=say.written(self.asked), told=found)

    def __str__(self) -> str:
        return self.line(phrases())


@dataclass(frozen=True, slots=True)
class Gate:
    """Rules that every grader of a run must meet.

    Attributes:
        fail_under: Required mean score, 0 to 1, if any.
        at: Whether `fail_under` applies to the mean or to the lower end of its 95 % interval.
        min_scored: Required share of rows with a score, 0 to 1.
        count: Scores to assign to rows without one, by reason, such as `{"empty_context": 0.0}`.

    Raises:
        ConfigurationError: A value is not between 0 and 1, or a reason is not recognised.
    """

    fail_under: float | None = None
    at: GateAt = "mean"
    min_scored: float = DEFAULT_MIN_SCORED
    count: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.fail_under is not None:
            require_share("fail_under", self.fail_under)
        if self.at not in get_args(GateAt):
            raise ConfigurationError(f"at={self.at!r} is neither 'mean' nor 'lower'")
        require_share("min_scored", self.min_scored)
        require_counts(self.count)

    def asked(self) -> str:
        """Return the rules as text, such as "fail-under 0.8, min-scored 0.9"."""
        asked = {"fail-under": self.fail_under, "min-scored": self.min_scored}
        return ", ".join(f"{rule} {at:.4g}" for rule, at in asked.items() if at is not None)

    def missed(self, summary: Summary) -> list[Missed]:
        """Return the rules that a run failed; a run without outcomes always fails."""
        if summary.pending:
            return [Missed.pending(summary.pending)]
        if not summary.graders:
            return [Missed("", "min-scored", f"{self.min_scored:.4g}", Phrase("gate.nothing"))]
        return [
            missed for of_grader in summary.graders.values() for missed in self._missed(of_grader)
        ]

    def _missed(self, of_grader: GraderSummary) -> Iterator[Missed]:
        yield from _too_few_scored(of_grader, self.min_scored, self.count)
        if self.fail_under is None:
            return
        mean, interval = of_grader.mean(self.count), of_grader.interval(count_as=self.count)
        grader, asked = of_grader.grader, f"{self.fail_under:g}"
        if mean is None or interval is None:
            yield Missed(grader, "fail-under", asked, Phrase("gate.no_score"))
            return
        reached = mean if self.at == "mean" else interval.low
        if reached < self.fail_under:
            key = "gate.mean_low" if self.at == "mean" else "gate.lower_low"
            lacking = f"{self.fail_under - reached:.4f}"
            found = Phrase.of(key, reached=f"{reached:.4f}", lacking=lacking)
            yield Missed(grader, "fail-under", asked, found)


_MOST_ROWS_TOLD = 1_000_000


@dataclass(frozen=True, slots=True)
class GraderDecision:
    """The gate decision for one grader; `subject` is "mean" or "change".

    If `is_sampled` is true, the test uses a sample's interval, which is valid for a single test.
    """

    grader: str
    test: GateTest | None
    missed: tuple[Missed, ...] = ()
    subject: str = "mean"
    clusters: Clusters | None = field(default=None, repr=False)
    is_sampled: bool = False

    @property
    def verdict(self) -> GateVerdict:
        """The test's verdict, or "failed" if a rule was not met."""
        if self.missed or self.test is None:
            return "failed"
        return self.test.verdict

    def lines(self, say: Phrases) -> list[str]:
        told = [missed.line(say) for missed in self.missed] or [_shown(self, say)]
        verdict = say.named("verdicts", self.verdict)
        return [say("gate.decided", verdict=verdict, told=one) for one in told]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate decision for a run.

    Attributes:
        graders: The decision for each grader.
        pending: Number of pending gradings; unless it is 0, the verdict is "not decided".
    """

    graders: tuple[GraderDecision, ...]
    pending: int = 0

    @property
    def verdict(self) -> GateVerdict:
        """Verdict: "failed" if any grader fails, "passed" if all pass, otherwise "not decided"."""
        if self.pending:
            return "not decided"
        verdicts = {each.verdict for each in self.graders}
        if "failed" in verdicts or not verdicts:
            return "failed"
        return "passed" if verdicts == {"passed"} else "not decided"

    @property
    def passed(self) -> bool:
        """True if every grader passed."""
        return self.verdict == "passed"

    def __str__(self) -> str:
        return "\n".join(self.lines(phrases()))

    def lines(self, say: Phrases) -> list[str]:
        """Return one line per grader in the reader's language."""
        if self.pending:
            told = say("gate.pending", count=self.pending)
            return [say("gate.decided", verdict=say.named("verdicts", "not decided"), told=told)]
        lines = [line for each in self.graders for line in each.lines(say)]
        verdict = say.named("verdicts", "failed")
        return lines or [say("gate.decided", verdict=verdict, told=say("gate.nothing"))]


def _shown(decision: GraderDecision, say: Phrases) -> str:
    test, grader = decision.test, say.named("graders", decision.grader)
    if test is None:
        return say("gate.no_score", grader=grader)
    rows = say("gate.rows", scored=test.scored)
    if test.population is not None:
        rows = say("gate.rows_of", scored=test.scored, population=test.population)
    if decision.clusters is not None:
        rows += clusters_words(decision.clusters, say)
    estimate = say.written(f"{test.estimate:.4f}")
    told = say(f"gate.{decision.subject}", grader=grader, estimate=estimate, rows=rows)
    sure = say.written(f"{100 * (1 - test.error):g}")
    if test.verdict == "passed":
        limit = say.number(max(test.low, test.gate), 4)
        return say("gate.above", told=told, limit=limit, sure=sure)
    if test.verdict == "failed":
        limit = say.number(min(test.high, test.gate), 4)
        return say("gate.below", told=told, limit=limit, sure=sure)
    low, high = say.number(test.low, 4), say.number(test.high, 4)
    is_of_data = decision.is_sampled or test.population is not None
    wider = "" if is_of_data else say("gate.wider")
    between = say("gate.between", told=told, low=low, high=high, sure=sure, wider=wider)
    gate = say.written(f"{test.gate:g}")
    if test.more_rows is None:
        return say("gate.never", between=between, gate=gate)
    key = "gate.more" if test.population is None else "gate.others"
    return say(key, between=between, more=test.more_rows, gate=gate)


def decide_gate(
    summary: Summary,
    gate: float,
    *,
    error: float = DEFAULT_ERROR,
    min_scored: float = DEFAULT_MIN_SCORED,
    count: Mapping[str, float] | None = None,
) -> GateDecision:
    """Decide for each grader whether its mean reaches a gate; see `Run.gate` for the arguments.

    The run wrongly passes with probability `error` and wrongly fails with the same probability. The
    failure probability is divided among the graders, because one failed grader fails the run.
    """
    require_gate("gate", gate, error)
    require_share("min_scored", min_scored)
    count = count or {}
    require_counts(count)
    decided = []
    for grader, numbers in summary.graders.items():
        scores, fail_error = numbers.values(count), error / len(summary.graders)
        test = clusters = None
        if scores and numbers.design is not None:
            test = _of_design(numbers, gate, error, fail_error, count)
        elif scores:
            clusters = numbers.clusters(count)
            keys = None if clusters is None else clusters.keys
            test = gate_test(scores, gate, error=error, fail_error=fail_error, clusters=keys)
        missed = _too_few_scored(numbers, min_scored, count)
        is_sampled = isinstance(numbers.design, SampledMean)
        decided.append(
            GraderDecision(grader, test, tuple(missed), clusters=clusters, is_sampled=is_sampled)
        )
    return GateDecision(tuple(decided), summary.pending)


def _too_few_scored(
    of_grader: GraderSummary, least: float, count: Mapping[str, float]
) -> list[Missed]:
    unscored = of_grader.not_scorable.items()
    why = {**{why: n for why, n in unscored if why not in count}, **of_grader.failed}
    scored = len(of_grader.values(count))
    return Missed.coverage(of_grader.grader, scored, of_grader.total, least, why=why)


def _of_design(
    numbers: GraderSummary, gate: float, error: float, fail_error: float, count: Mapping[str, float]
) -> GateTest | None:
    design, rows, more = numbers.design, numbers.total, None
    assert design is not None, "the caller passes graders with a design"
    if isinstance(design, DrawnRows):
        watch = SequentialGate(gate, design.population, error=error, fail_error=fail_error)
        for score in design.scores(count):
            watch.add(score)
        return watch.test()
    # The interval is two-sided, but the gate is a one-sided test.
    above = design.interval(1 - 2 * error, count)
    below = design.interval(1 - 2 * fail_error, count)
    if above is None or below is None:
        return None
    verdict: GateVerdict = "not decided"
    if above.low > gate or gate <= 0:
        verdict = "passed"
    elif below.high < gate:
        verdict = "failed"
    elif (distance := abs(above.estimate - gate)) > 0:
        reach = gate - above.low if above.estimate > gate else below.high - gate
        more = math.ceil(rows * (((reach + distance) / distance) ** 2 - 1))
    more = None if more is None or more > _MOST_ROWS_TOLD else more
    return GateTest(
        verdict, gate, above.estimate, above.low, above.high, error, rows, more_rows=more
    )
