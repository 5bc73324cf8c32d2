"""Which rows are graded, where not all of them are? A draw in random order, and when it ends."""

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_evals.core import Phrases
from rag_evals.dataset import NumberedSample
from rag_evals.errors import ConfigurationError
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.settings import StopRule
from rag_evals.stats import GateVerdict, Interval, SequentialGate, drawn_interval

SEED = 0
"""One order for each number of rows: the same command draws the same rows, and can be continued."""


def random_order(rows: int) -> list[int]:
    """Return the places of the rows in the order of the draw."""
    order = list(range(rows))
    random.Random(SEED).shuffle(order)
    return order


def drawn_rows(plan: Plan) -> Iterator[NumberedSample]:
    """Yield the rows of a plan as they are to be graded: in their order, or as they are drawn."""
    if plan.drawn is None:
        yield from plan.data
        return
    assert plan.rows is not None, "only rows that can be counted are drawn"
    chosen = random_order(plan.rows)[: plan.drawn]
    wanted = set(chosen)
    # By their own places: rows of one document may come together, out of their order.
    kept = {row.position: row for row in plan.data if row.position in wanted}
    for place in chosen:
        # A file that became shorter is found out at the end of the run.
        if place in kept:
            yield kept.pop(place)


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
    """Says when enough rows were drawn: each gate is decided, or one is failed.

    Args:
        rule: The gate.
        population: Rows of the data.
        graders: Names of the graders.
        ahead: How far a row may be graded ahead of the first that has not ended. Without a limit
            one slow row would let hundreds be paid for that decide nothing.
    """

    def __init__(
        self, rule: StopRule, population: int, graders: Sequence[str], *, ahead: int
    ) -> None:
        self._ahead = ahead
        self._moved = asyncio.Event()
        self._admitted: dict[int, bool] = {}
        self._has_refused = False
        self._rule = rule
        self._population = population
        self._places = {row: place for place, row in enumerate(random_order(population))}
        error = rule.error
        self._watches = {
            grader: SequentialGate(
                rule.mean, population, error=error, fail_error=error / len(graders)
            )
            for grader in graders
        }
        self._ends: dict[str, dict[int, tuple[float | None, str | None]]] = {
            grader: {} for grader in graders
        }
        self._counted = dict.fromkeys(graders, 0)

    @property
    def decided(self) -> bool:
        """Whether no more rows are needed."""
        verdicts: set[GateVerdict] = {watch.verdict for watch in self._watches.values()}
        return "failed" in verdicts or verdicts == {"passed"}

    def count(self, outcome: Outcome) -> None:
        """Take an outcome; rows end in any order, and are looked at in that of the draw.

        Slow rows differ from quick ones: those that end first are no random sample.
        """
        ends = self._ends[outcome.grader]
        ends[self._places[outcome.index]] = (outcome.score, outcome.reason)
        while (place := self._counted[outcome.grader]) in ends:
            score, reason = ends[place]
            counted = self._rule.count.get(reason or "") if score is None else score
            self._watches[outcome.grader].add(counted)
            self._counted[outcome.grader] = place + 1
            self._moved.set()

    async def admits(self, index: int) -> bool:
        """Wait until a row may be graded; False where it is not needed any more.

        Args:
            index: Its place in the data.
        """
        if index in self._admitted:
            return self._admitted[index]
        waited = False
        while self._places[index] >= min(self._counted.values()) + self._ahead:
            if self.decided:
                break
            self._moved.clear()
            await self._moved.wait()
            waited = True
        # Behind a row that was refused none is graded: the draw would have a gap, and what comes
        # after it would be paid for and counted, and yet be no part of the mean.
        self._has_refused |= waited and self.decided
        # All graders of a row go the same way: some ask together, and wait for each other.
        return self._admitted.setdefault(index, not self._has_refused)

    def drawn(self, grader: str) -> DrawnRows:
        """Return the rows of a grader in the order of the draw."""
        ends = self._ends[grader]
        drawn = [ends[place] for place in range(self._counted[grader])]
        return DrawnRows(drawn, self._population)

    def note(self) -> dict[str, Any] | None:
        """Return what the manifest says about it; None when all rows were graded."""
        drawn = min(self._counted.values())
        if drawn >= self._population:
            return None
        return {"rows": drawn, "of": self._population, "gate": self._rule.mean, "seed": SEED}


def early_stop_of(plan: Plan) -> EarlyStop | None:
    """Return what ends a plan's run early; None where nothing does."""
    if plan.stop is None or plan.rows is None:
        return None
    return EarlyStop(
        plan.stop,
        plan.rows,
        [grader.name for grader in plan.graders],
        ahead=2 * plan.settings.session.concurrency,
    )


def until_decided(plan: Plan, rule: StopRule) -> Plan:
    """Let a plan grade rows in random order, until a gate is decided.

    Raises:
        ConfigurationError: The data does not say how many rows it has.
    """
    return replace(draw_of(plan, note={"order": f"random, seed {SEED}"}), stop=rule)
