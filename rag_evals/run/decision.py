"""Is a mean shown to reach a gate? Passed, failed, or not decided and how many rows would do."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evals.errors import ConfigurationError
from rag_evals.run.counting import counted_words
from rag_evals.run.design import Design
from rag_evals.run.draw import DrawnRows
from rag_evals.run.gate import (
    DEFAULT_MIN_SCORED,
    Missed,
    missed_coverage,
    require_counts,
    require_share,
)
from rag_evals.run.outcome import reason_of, score_of
from rag_evals.stats import GateTest, GateVerdict, SequentialGate, gate_test

DEFAULT_ERROR = 0.05
_MOST_ERROR = 0.5
_MOST_ROWS_TOLD = 1_000_000


@dataclass(frozen=True, slots=True)
class GraderDecision:
    """What the rows of one grader say about a gate.

    Attributes:
        grader: Its name; empty where nothing was graded.
        test: What the scores show; None without a score.
        missed: The rule of scored rows, where it is missed: then the gate is failed.
        subject: What must reach the gate, in words.
    """

    grader: str
    test: GateTest | None
    missed: tuple[Missed, ...] = ()
    subject: str = "mean"

    @property
    def verdict(self) -> GateVerdict:
        """Passed where the mean is shown to be above, failed below; a missed rule fails too."""
        if self.missed or self.test is None:
            return "failed"
        return self.test.verdict

    def __str__(self) -> str:
        """The verdict and why, in one line."""
        lines = [f"{self.verdict}: {missed}" for missed in self.missed]
        if not lines and self.test is None:
            lines.append(f"failed: {self.grader} has no score")
        if not lines and self.test is not None:
            lines.append(f"{self.test.verdict}: {_shown(self, self.test)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What a run says about a gate.

    Attributes:
        graders: One entry for each grader.
        pending: Gradings without an outcome yet; while there are any, nothing is decided.
    """

    graders: tuple[GraderDecision, ...]
    pending: int = 0

    @property
    def verdict(self) -> GateVerdict:
        """Failed if one grader fails, passed if all pass, else not decided."""
        if self.pending:
            return "not decided"
        verdicts = {each.verdict for each in self.graders}
        if "failed" in verdicts or not verdicts:
            return "failed"
        return "passed" if verdicts == {"passed"} else "not decided"

    @property
    def passed(self) -> bool:
        """Whether every grader is shown to reach the gate."""
        return self.verdict == "passed"

    def __str__(self) -> str:
        """One line for each grader."""
        if self.pending:
            return f"not decided: {self.pending} gradings are pending"
        return "\n".join(map(str, self.graders)) or "failed: nothing was graded"


def _shown(decision: GraderDecision, test: GateTest) -> str:
    rows = (
        f"{test.scored} rows"
        if test.population is None
        else (f"{test.scored} of {test.population} rows")
    )
    told = f"the {decision.subject} of {decision.grader} is {test.estimate:.4f} over {rows}"
    sure = f"{100 * (1 - test.error):g} % sure"
    if test.verdict == "passed":
        return f"{told}, and above {max(test.low, test.gate):.4f} ({sure})"
    if test.verdict == "failed":
        return f"{told}, and below {min(test.high, test.gate):.4f} ({sure})"
    between = f"{told}, and between {test.low:.4f} and {test.high:.4f} ({sure} of each)"
    if test.more_rows is None:
        return f"{between}; no number of rows like these would decide {test.gate:g}"
    if test.population is not None:
        return f"{between}; the other {test.more_rows} rows would decide {test.gate:g}"
    return f"{between}; about {test.more_rows} more rows would decide {test.gate:g}"


def require_gate(name: str, gate: float, error: float) -> None:
    """Refuse a gate that no mean can meet or miss, and an error that promises nothing.

    Raises:
        ConfigurationError: With the name and the number.
    """
    require_share(name, gate)
    if not 0 < error <= _MOST_ERROR:
        raise ConfigurationError(f"error={error!r} is not above 0 and up to 0.5; 5 % is 0.05")


def decide_gate(
    records: Mapping[str, Sequence[Mapping[str, Any]]],
    gate: float,
    *,
    error: float = DEFAULT_ERROR,
    min_scored: float = DEFAULT_MIN_SCORED,
    count: Mapping[str, float] | None = None,
    clusters: Mapping[str, str | None] | None = None,
    designs: Mapping[str, Design] | None = None,
) -> GateDecision:
    """Say for each grader whether its mean is shown to reach a gate.

    A wrong "passed" of the whole has a chance of `error`, and so has a wrong "failed": the latter
    is shared out among the graders, because one of them is enough for it.

    Args:
        records: The outcomes of each grader, as `results.jsonl` has them.
        gate: The mean that is asked for, 0 to 1.
        error: Chance of a wrong answer, above 0 and up to 0.5.
        min_scored: Least share of the rows that must have a score, 0 to 1.
        count: Numbers for reasons of rows without a score.
        clusters: What rows have in common that are not independent, by sample id.
        designs: How rows were chosen, for graders of which not all rows were graded.

    Raises:
        ConfigurationError: A number is out of its range, or there is no such reason.
    """
    require_gate("gate", gate, error)
    require_share("min_scored", min_scored)
    count = count or {}
    require_counts(count)
    decided = []
    for grader, outcomes in records.items():
        scored = [
            (record["sample_id"], score)
            for record in outcomes
            if (score := score_of(record, count)) is not None
        ]
        design, fail_error = (designs or {}).get(grader), error / len(records)
        test = None
        if scored and design is not None:
            test = _of_design(design, gate, error, fail_error, count)
        elif scored:
            test = gate_test(
                [score for _, score in scored],
                gate,
                error=error,
                fail_error=fail_error,
                clusters=[clusters.get(row) for row, _ in scored] if clusters else None,
            )
        missed = missed_coverage(
            grader, len(scored), len(outcomes), min_scored, why=_why(outcomes, count)
        )
        decided.append(GraderDecision(grader, test, tuple(missed)))
    return GateDecision(tuple(decided))


def _of_design(
    design: Design, gate: float, error: float, fail_error: float, count: Mapping[str, float]
) -> GateTest | None:
    """Test the mean over all rows of the data, of which only some were graded."""
    if isinstance(design, DrawnRows):
        watch = SequentialGate(gate, design.population, error=error, fail_error=fail_error)
        for score in design.scores(count):
            watch.add(score)
        return watch.test()
    # One bound on each side, as the other tests have.
    above = design.interval(1 - 2 * error, count)
    below = design.interval(1 - 2 * fail_error, count)
    if above is None or below is None:
        return None
    verdict: GateVerdict = "not decided"
    if above.low > gate or gate <= 0:
        verdict = "passed"
    elif below.high < gate:
        verdict = "failed"
    rows, more = design.rows, None
    distance = abs(above.estimate - gate)
    if verdict == "not decided" and distance > 0:
        reach = gate - above.low if above.estimate > gate else below.high - gate
        more = math.ceil(rows * (((reach + distance) / distance) ** 2 - 1))
    more = None if more is None or more > _MOST_ROWS_TOLD else more
    return GateTest(
        verdict, gate, above.estimate, above.low, above.high, error, rows, more_rows=more
    )


def _why(outcomes: Sequence[Mapping[str, Any]], count: Mapping[str, float]) -> str:
    return counted_words(
        Counter(
            reason
            for record in outcomes
            if score_of(record, count) is None and (reason := reason_of(record))
        )
    )
