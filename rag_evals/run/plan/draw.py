"""Which rows are graded, where not all of them are? A draw in random order, and when it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.run.plan.options import Sampling
from rag_evals.run.plan.plan import SEED, Plan, random_order
from rag_evals.run.plan.policy import Admission
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.summary import Summary
from rag_evals.stats import GateVerdict, Interval, SequentialGate, drawn_interval


def draw_of(plan: Plan, *, rows: int | None = None, note: Mapping[str, Any]) -> Plan:
    """Let a plan grade rows in random order.

    Args:
        plan: A plan over rows that can be counted.
        rows: How many of them; None for all, until a gate is decided.
        note: What the manifest says about it.

    Raises:
        ConfigurationError: The data does not say how many rows it has.
    """
    if plan.rows is None:
        raise ConfigurationError(
            "rows are drawn from a file, a table or a list, which say how many there are; make a "
            "list of these rows first"
        )
    drawn = plan.rows if rows is None else rows
    return replace(plan, drawn=drawn, identity={**plan.identity, **note})


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows that were drawn until a gate was decided, in the order of the draw.

    Attributes:
        ends: Score and reason of each row.
        population: Rows of the data.
    """

    ends: Sequence[tuple[float | None, str | None]]
    population: int

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]], drawn: int, population: int) -> "DrawnRows":
        """Put stored outcomes into the order in which they were drawn."""
        at = {record["index"]: record for record in records}
        order = [at.get(place) for place in random_order(population)[:drawn]]
        ends = [(None, None) if r is None else (r["score"], r.get("reason")) for r in order]
        return cls(ends, population)

    def scores(self, count_as: Mapping[str, float] | None = None) -> list[float | None]:
        """Return the score of each row, or what its reason counts as."""
        count = count_as or {}
        return [count.get(why or "") if score is None else score for score, why in self.ends]

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return where the mean over all rows of the data lies, whenever the draw stopped."""
        return drawn_interval(self.scores(count_as), self.population, confidence=confidence)

    @property
    def rows(self) -> int:
        """How many rows were drawn."""
        return len(self.ends)

    def words(self, say: Phrases) -> str:
        """Say which rows the numbers rest on."""
        graded, rows = len(self.ends), self.population
        return say("designs.stopped", graded=graded, rows=rows, others=rows - graded)


class EarlyStop:
    """Ends a run when enough rows were drawn: each gate is decided, or one is failed.

    Args:
        rule: Sampling by a gate.
        population: Rows of the data.
        graders: Names of the graders.
        ahead: How far a row may be graded ahead of the first that has not ended. Without a limit
            one slow row would let hundreds be paid for that decide nothing.
    """

    def __init__(
        self, rule: Sampling, population: int, graders: Sequence[str], *, ahead: int
    ) -> None:
        self._ahead = ahead
        self._count = rule.count or {}
        self._population = population
        self._places = {row: place for place, row in enumerate(random_order(population))}
        assert rule.gate is not None, "a gate ends the draw"
        error, gate = rule.error_chance, rule.gate
        self._gate = gate
        self._watches = {
            grader: SequentialGate(gate, population, error=error, fail_error=error / len(graders))
            for grader in graders
        }
        self._ends: dict[str, dict[int, tuple[float | None, str | None]]] = {
            grader: {} for grader in graders
        }
        self._counted = dict.fromkeys(graders, 0)

    @classmethod
    def of_plan(cls, rule: Sampling, plan: Plan, lost_usd: float = 0.0) -> "EarlyStop":
        """Watch the rows of a plan."""
        del lost_usd
        assert plan.rows is not None, "only rows that can be counted are drawn"
        names = [grader.name for grader in plan.graders]
        return cls(rule, plan.rows, names, ahead=2 * plan.settings.session.concurrency)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Stop once the gates are decided; wait where a row is too far ahead of the first open one.

        Rows that were in flight when an earlier start stopped belong to the draw as well.
        """
        if resumed:
            return "begin"
        verdicts: set[GateVerdict] = {watch.verdict for watch in self._watches.values()}
        if "failed" in verdicts or verdicts == {"passed"}:
            return "stop"
        is_ahead = self._places[position] >= min(self._counted.values()) + self._ahead
        return "wait" if is_ahead else "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome; rows end in any order, and are looked at in that of the draw.

        Slow rows differ from quick ones: those that end first are no random sample.
        """
        ends = self._ends[outcome.grader]
        ends[self._places[outcome.index]] = (outcome.score, outcome.reason)
        while (place := self._counted[outcome.grader]) in ends:
            score, reason = ends[place]
            counted = self._count.get(reason or "") if score is None else score
            self._watches[outcome.grader].add(counted)
            self._counted[outcome.grader] = place + 1

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Let the summary speak of all rows of the data; nothing to say where all were graded."""
        drawn = min(self._counted.values())
        if drawn >= self._population:
            return {}
        for name, numbers in summary.graders.items():
            numbers.design = self.drawn(name)
        told = {"rows": drawn, "of": self._population, "gate": self._gate, "seed": SEED}
        return {"stopped": told}

    def drawn(self, grader: str) -> DrawnRows:
        """Return the rows of a grader in the order of the draw."""
        ends = self._ends[grader]
        drawn = [ends[place] for place in range(self._counted[grader])]
        return DrawnRows(drawn, self._population)


def until_decided(plan: Plan, rule: Sampling) -> Plan:
    """Let a plan grade rows in random order, until a gate is decided.

    Raises:
        ConfigurationError: The data does not say how many rows it has.
    """
    drawn = draw_of(plan, note={"order": f"random, seed {SEED}"})
    return replace(drawn, policy=partial(EarlyStop.of_plan, rule))
