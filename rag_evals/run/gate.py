"""Did a run pass its gate? Every rule, and which one was missed.

Pure functions on numbers: the command line, Python and tests ask the same rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from rag_evals.core import Phrase, Phrases, phrases
from rag_evals.errors import ConfigurationError
from rag_evals.run.counting import reason_words
from rag_evals.run.settings import require_counts, require_share
from rag_evals.run.summary import GraderSummary, Summary
from rag_evals.stats import Interval

DEFAULT_MIN_SCORED = 0.9

GateAt = Literal["mean", "lower"]
Rule = Literal["fail-under", "min-scored", "fail-if-worse", "pending"]


@dataclass(frozen=True, slots=True)
class Missed:
    """One rule that does not hold.

    Attributes:
        grader: Whose numbers miss it; empty where there are none at all.
        rule: Which rule.
        asked: What it asks for.
        found: What was found, and by how much the rule is missed.
        why: Reasons of rows without a score, counted.
    """

    grader: str
    rule: Rule
    asked: str
    found: Phrase
    why: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What was asked, what was found, and by how much it is missed."""
        return str(self).removeprefix(f"{self.rule} ")

    def line(self, say: Phrases) -> str:
        """Say the rule, then what was asked and found, in a reader's language."""
        values = {name: say.written(text) for name, text in self.found.said_values(say).items()}
        told = say(self.found.key, grader=say.named("graders", self.grader), **values)
        why = reason_words(self.why, say)
        found = f"{told} ({why})" if why else told
        return say("gate.rule", rule=self.rule, asked=say.written(self.asked), told=found)

    def __str__(self) -> str:
        """The rule, then what was asked and found."""
        return self.line(phrases())


@dataclass(frozen=True, slots=True)
class Gate:
    """What each grader of a run must reach.

    Attributes:
        fail_under: Least mean score, 0 to 1; None asks for none.
        at: Which number must reach it: the mean, or the lower end of its 95 % interval.
        min_scored: Least share of the rows that must have a score, 0 to 1; failed rows have none.
        count: Numbers for reasons of rows without a score, such as `{"empty_context": 0.0}`;
            those rows then count as scored.

    Raises:
        ConfigurationError: A number is outside 0..1, or there is no such reason.
    """

    fail_under: float | None = None
    at: GateAt = "mean"
    min_scored: float = DEFAULT_MIN_SCORED
    count: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.fail_under is not None:
            require_share("fail_under", self.fail_under)
        if self.at not in get_args(GateAt):
            raise ConfigurationError(f"at={self.at!r} is neither 'mean' nor 'lower'")
        require_share("min_scored", self.min_scored)
        require_counts(self.count)

    def missed(self, summary: Summary) -> list[Missed]:
        """List the rules that a run misses; an empty list is a passed gate.

        Args:
            summary: The numbers of the run; one without a single outcome misses the gate.
        """
        if summary.pending:
            return [missed_pending(summary.pending)]
        if not summary.graders:
            return [Missed("", "min-scored", f"{self.min_scored:.4g}", Phrase("gate.nothing"))]
        return [
            missed for of_grader in summary.graders.values() for missed in self._missed(of_grader)
        ]

    def _missed(self, of_grader: GraderSummary) -> Iterator[Missed]:
        values = of_grader.values(self.count)
        uncounted = {
            reason: number
            for reason, number in of_grader.not_scorable.items()
            if reason not in self.count
        }
        yield from missed_coverage(
            of_grader.grader,
            len(values),
            of_grader.total,
            self.min_scored,
            why={**uncounted, **of_grader.failed},
        )
        if self.fail_under is None:
            return
        mean, interval = of_grader.mean(self.count), of_grader.interval(count_as=self.count)
        asked = f"{self.fail_under:g}"
        if mean is None or interval is None:
            yield Missed(of_grader.grader, "fail-under", asked, Phrase("gate.no_score"))
            return
        reached = mean if self.at == "mean" else interval.low
        if reached < self.fail_under:
            lacking = f"{self.fail_under - reached:.4f}"
            numbers = ("reached", f"{reached:.4f}"), ("lacking", lacking)
            key = "gate.mean_low" if self.at == "mean" else "gate.lower_low"
            yield Missed(of_grader.grader, "fail-under", asked, Phrase(key, numbers))


def missed_coverage(
    grader: str,
    scored: int,
    rows: int,
    least: float,
    *,
    why: Mapping[str, int] | None = None,
    of_both: bool = False,
) -> Iterator[Missed]:
    """Say whether too few rows have a score for a gate to trust the rest.

    Args:
        grader: Its name.
        scored: Rows that have one.
        rows: All rows, at least 1.
        least: Share that must, 0 to 1.
        why: Reasons of the others, counted.
        of_both: A row must have a score from both runs of a comparison.
    """
    # 54 of 60 are 0.9, whatever 0.9 * 60 is in binary.
    if scored >= least * rows - 1e-9:
        return
    share = scored / rows
    values = (
        ("scored", f"{scored}"),
        ("rows", f"{rows}"),
        ("share", f"{100 * share:.1f}"),
        ("points", f"{100 * (least - share):.1f}"),
    )
    found = Phrase("gate.pair_coverage" if of_both else "gate.coverage", values)
    yield Missed(grader, "min-scored", f"{least:.4g}", found, why or {})


def missed_pending(pending: int) -> Missed:
    """Say that gradings have no outcome yet, so that no gate passes.

    Args:
        pending: How many.
    """
    return Missed("", "pending", f"{pending}", Phrase("gate.no_outcome"))


def missed_loss(grader: str, difference: Interval, margin: float) -> Missed:
    """Say that a candidate is worse than its baseline by more than a margin.

    Args:
        grader: Its name.
        difference: Candidate minus baseline, the whole interval below the margin.
        margin: Loss that is acceptable, 0 to 1.
    """
    values = (
        ("estimate", f"{difference.estimate:+.4f}"),
        ("high", f"{difference.high:+.4f}"),
        ("lacking", f"{-difference.high - margin:.4f}"),
    )
    return Missed(grader, "fail-if-worse", f"{margin:g}", Phrase("gate.loss", values))
