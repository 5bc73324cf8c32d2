"""Runs that grade only some rows, in random order.

With a sample or a budget, the paid judge grades a sample and the free embedded judge grades every
row. PPI++ then estimates the mean, using the paid judge's scores in place of human labels.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from rag_evals.core import Phrases
from rag_evals.run.plan.options import Sampling
from rag_evals.run.record.outcome import Outcome, Record, score_of
from rag_evals.run.record.summary import Summary
from rag_evals.stats import (
    CorrectedMean,
    Interval,
    SequentialGate,
    mean_interval,
    prediction_powered_mean,
)
from rag_evals.stats.betting import GateVerdict, drawn_interval

SEED = 0
"""Seed for drawing rows, which is constant so that a resumed run continues the same draw."""

FREE_FOLDER = "every-row"
"""Subfolder for the run in which the embedded judge grades all rows."""

FEWEST_SAMPLED = 20
_LEAST_FACTOR = 1.1

Admission = Literal["begin", "wait", "stop"]
"""Whether to start the row, wait until another grading finishes, or stop starting rows."""


@dataclass(slots=True)
class RunPolicy:
    """Decides which rows of a run are graded; by default, every row.

    `summary` contains the run's totals so far, including those of earlier processes.
    """

    summary: Summary

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Decide whether to start a row; called again after `"wait"`.

        A `resumed` row has outcomes from an earlier process, so it must be started.
        """
        del position, resumed
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome from this or an earlier process; outcomes arrive in any order."""
        del outcome

    def finish(self) -> Mapping[str, Any]:
        """Return entries for the manifest of a finished run."""
        return {}


def budget_text(dollars: float) -> str:
    """Format an amount without an exponent, as in "0.00001"."""
    return f"{Decimal(f'{dollars:g}'):f}"


def random_order(rows: int) -> list[int]:
    order = list(range(rows))
    random.Random(SEED).shuffle(order)
    return order


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """The rows drawn by a run that stopped at its gate, in draw order."""

    records: Sequence[Record | None]
    population: int

    def scores(self, count_as: Mapping[str, float] | None = None) -> list[float | None]:
        count = count_as or {}
        return [None if record is None else score_of(record, count) for record in self.records]

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return an interval for the mean over all rows, valid no matter when the run stopped."""
        return drawn_interval(self.scores(count_as), self.population, confidence=confidence)

    def words(self, say: Phrases) -> str:
        graded, rows = len(self.records), self.population
        return say("designs.stopped", graded=graded, rows=rows, others=rows - graded)


class EarlyStop(RunPolicy):
    """Stops a run when every grader has passed the gate or any grader has failed it.

    A row starts at most `ahead` positions after the first unfinished row. Without this limit,
    hundreds of rows might be graded and paid for needlessly while a slow row delays the decision.
    """

    def __init__(
        self,
        summary: Summary,
        rule: Sampling,
        population: int,
        graders: Sequence[str],
        *,
        ahead: int,
    ) -> None:
        super().__init__(summary)
        assert rule.gate is not None, "early stopping needs a gate"
        self._ahead = ahead
        self._rule = rule
        self._places = {row: place for place, row in enumerate(random_order(population))}
        error, fail_error = rule.error_chance, rule.error_chance / len(graders)
        self._watches = {
            grader: SequentialGate(rule.gate, population, error=error, fail_error=fail_error)
            for grader in graders
        }
        # Scores of rows that finished before a row that comes earlier in draw order.
        self._early: dict[str, dict[int, float | None]] = {grader: {} for grader in graders}
        self._counted = dict.fromkeys(graders, 0)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        # Rows in flight when an earlier process stopped are also part of the draw.
        if resumed:
            return "begin"
        verdicts: set[GateVerdict] = {watch.verdict for watch in self._watches.values()}
        if "failed" in verdicts or verdicts == {"passed"}:
            return "stop"
        is_ahead = self._places[position] >= min(self._counted.values()) + self._ahead
        return "wait" if is_ahead else "begin"

    def ended(self, outcome: Outcome) -> None:
        early = self._early[outcome.grader]
        counted = (self._rule.count or {}).get(outcome.reason or "")
        early[self._places[outcome.index]] = counted if outcome.score is None else outcome.score
        # Add scores in draw order: the rows that finish first are not a random sample.
        while (place := self._counted[outcome.grader]) in early:
            self._watches[outcome.grader].add(early.pop(place))
            self._counted[outcome.grader] += 1

    def finish(self) -> Mapping[str, Any]:
        drawn, rows = min(self._counted.values()), len(self._places)
        if drawn >= rows:
            return {}
        return {"stopped": {"rows": drawn, "of": rows, "gate": self._rule.gate, "seed": SEED}}


@dataclass(slots=True)
class Budget(RunPolicy):
    """Stops a run when its budget is spent, including the expected cost of gradings in flight.

    The sample consists of `drawn` rows; `graders` is the number of graders that grade each.
    """

    dollars: float
    graders: int
    drawn: int
    _begun: int = 0
    _ended: int = 0
    _paid: int = 0
    _cost_usd: float = 0.0

    def admits(self, position: int, *, resumed: bool) -> Admission:
        del position
        # Cached outcomes are free and must not lower the mean cost.
        in_flight = self._cost_usd / max(1, self._paid) * (self._begun - self._ended)
        if not resumed and (self.summary.cost_usd or 0.0) + in_flight >= self.dollars:
            return "stop"
        self._begun += self.graders
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        self._ended += 1
        self._paid += bool(outcome.cost_usd)
        self._cost_usd += outcome.cost_usd or 0.0

    def finish(self) -> Mapping[str, Any]:
        budget = {
            "budget_usd": self.dollars,
            "spent_usd": self.summary.cost_usd,
            "rows": self._ended // self.graders,
            "drawn": self.drawn,
        }
        return {"budget": budget}


@dataclass(frozen=True, slots=True)
class SampledMean:
    """The mean over all rows, estimated from the paid judge's sample and the embedded judge."""

    dear: Sequence[Record]
    free: Sequence[Record]
    judge: str
    free_judge: str
    spending: Mapping[str, Any] | None = None

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        corrected = self.corrected(confidence, count_as)
        if corrected is not None and _is_worth_it(corrected):
            return corrected.corrected
        scores = [s for record in self.dear if (s := score_of(record, count_as or {})) is not None]
        return mean_interval(scores, confidence=confidence) if scores else None

    def corrected(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> CorrectedMean | None:
        """Return the PPI++ estimate, or None if too few rows have scores from both judges."""
        count = count_as or {}
        sampled = {record["sample_id"]: score_of(record, count) for record in self.dear}
        pairs, others = [], []
        for record in self.free:
            if (guess := score_of(record, count)) is None:
                continue
            # The embedded judge's ranking scores are more fine-grained than its scores.
            finer = record.get("ranking_score")
            guess = guess if finer is None else float(finer)
            if (row := record["sample_id"]) not in sampled:
                others.append(guess)
            elif (score := sampled[row]) is not None:
                pairs.append((score, guess))
        if len(pairs) < FEWEST_SAMPLED or len(others) < 2:
            return None
        scores, judgements = zip(*pairs, strict=True)
        return prediction_powered_mean(scores, judgements, others, confidence=confidence)

    def of_rows(self, rows: set[str]) -> "SampledMean":
        dear, free = (
            [record for record in records if record["sample_id"] in rows]
            for records in (self.dear, self.free)
        )
        return replace(self, dear=dear, free=free)

    def words(self, say: Phrases) -> str:
        dear, rows = len(self.dear), len(self.free)
        named = {"judge": self.judge, "free": self.free_judge}
        drawn = f"{dear / rows:.3g}"
        told = say("designs.sample", graded=dear, rows=rows, probability=drawn, **named)
        told += self._spending_words(say)
        found = self.corrected()
        if found is None:
            return told + say("designs.too_few")
        alone, labels = found.effective_labels, found.labels
        if not _is_worth_it(found):
            worth = say.number(alone / labels)
            return told + say("designs.says_nothing", worth=worth, **named)
        counts = {"rows": rows, "alone": round(alone), "saved": round(alone - labels)}
        return told + say("designs.worth", worth=say.number(alone / labels, 1), **counts)

    def _spending_words(self, say: Phrases) -> str:
        """Return a note if the budget stopped the run or could not be tracked."""
        if (spending := self.spending) is None:
            return ""
        graded, drawn, spent = spending["rows"], spending["drawn"], spending["spent_usd"]
        budget = say.written(budget_text(spending["budget_usd"]))
        if spent is None:
            return say("designs.not_watched", budget=budget)
        told = {"budget": budget, "spent": say.number(spent, 4)}
        return "" if graded >= drawn else say("designs.spent", graded=graded, drawn=drawn, **told)


def _is_worth_it(corrected: CorrectedMean) -> bool:
    """True if the embedded judge narrows the interval by more than chance would."""
    return corrected.effective_labels >= _LEAST_FACTOR * corrected.labels


def choose_designs(
    summary: Summary,
    of_grader: Callable[[str], Sequence[Record]],
    manifest: Mapping[str, Any],
    free: Any,
) -> None:
    """Set the design of each grader's mean; `free` is the embedded judge's run, if any."""
    stopped = manifest.get("stopped")
    for name, numbers in summary.graders.items():
        if stopped is not None:
            at = {record["index"]: record for record in of_grader(name)}
            order = random_order(stopped["of"])[: stopped["rows"]]
            numbers.design = DrawnRows([at.get(place) for place in order], stopped["of"])
        elif free is not None:
            dear, every = of_grader(name), free.of_grader(name)
            judges = summary.judge or "the judge", free.judge or "the cheap judge"
            # The budget may have been enough for all rows.
            if len(dear) < len(every):
                numbers.design = SampledMean(dear, every, *judges, manifest.get("budget"))
