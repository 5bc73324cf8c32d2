"""Runs that grade only some rows, in random order.

With a sample or a budget, the paid judge grades a sample and the free embedded judge all rows.
PPI++ then estimates the mean, with the paid judge's scores in place of human labels.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from rag_evals.core import Phrases
from rag_evals.dataset import Data, FileData
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run.plan.estimate import estimate
from rag_evals.run.plan.options import RunOptions, Sampling
from rag_evals.run.plan.plan import SEED, Admission, Graders, Plan, make_plan, random_order
from rag_evals.run.record.outcome import Outcome, score_of
from rag_evals.run.record.summary import Summary
from rag_evals.stats import (
    CorrectedMean,
    Interval,
    SequentialGate,
    mean_interval,
    prediction_powered_mean,
)
from rag_evals.stats.betting import GateVerdict, drawn_interval
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, read_judge


def draw_of(plan: Plan, *, rows: int | None = None, note: Mapping[str, Any]) -> Plan:
    """Return a plan that grades rows in random order, all or the first `rows`."""
    if plan.rows is None:
        raise ConfigurationError(
            "rows are drawn from a file, a table or a list, which say how many there are; make a "
            "list of these rows first"
        )
    drawn = plan.rows if rows is None else rows
    return replace(plan, drawn=drawn, identity={**plan.identity, **note})


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Score and reason of each drawn row, in draw order, of a run that stopped at its gate."""

    ends: Sequence[tuple[float | None, str | None]]
    population: int

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]], drawn: int, population: int) -> "DrawnRows":
        at = {record["index"]: record for record in records}
        order = [at.get(place) for place in random_order(population)[:drawn]]
        ends = [(None, None) if r is None else (r["score"], r.get("reason")) for r in order]
        return cls(ends, population)

    def scores(self, count_as: Mapping[str, float] | None = None) -> list[float | None]:
        count = count_as or {}
        return [count.get(why or "") if score is None else score for score, why in self.ends]

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return an interval of the mean over all rows that holds wherever the draw stopped."""
        return drawn_interval(self.scores(count_as), self.population, confidence=confidence)

    @property
    def rows(self) -> int:
        return len(self.ends)

    def words(self, say: Phrases) -> str:
        graded, rows = len(self.ends), self.population
        return say("designs.stopped", graded=graded, rows=rows, others=rows - graded)


class EarlyStop:
    """Ends a run when all gates are decided or one has failed.

    Args:
        rule: Sampling by a gate.
        population: Number of rows in the data.
        graders: Names of the graders.
        ahead: How far rows may run ahead of the first unfinished one. Without a limit, one slow
            row would let hundreds of others be paid for in vain.
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
    def of_plan(cls, rule: Sampling, plan: Plan, _lost_usd: float) -> "EarlyStop":
        assert plan.rows is not None, "only rows that can be counted are drawn"
        names = [grader.name for grader in plan.graders]
        return cls(rule, plan.rows, names, ahead=2 * plan.settings.session.concurrency)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        # Rows that were in flight when an earlier start stopped belong to the draw too.
        if resumed:
            return "begin"
        verdicts: set[GateVerdict] = {watch.verdict for watch in self._watches.values()}
        if "failed" in verdicts or verdicts == {"passed"}:
            return "stop"
        is_ahead = self._places[position] >= min(self._counted.values()) + self._ahead
        return "wait" if is_ahead else "begin"

    def ended(self, outcome: Outcome) -> None:
        # Use outcomes in draw order: the rows that end first are no random sample.
        ends = self._ends[outcome.grader]
        ends[self._places[outcome.index]] = (outcome.score, outcome.reason)
        while (place := self._counted[outcome.grader]) in ends:
            score, reason = ends[place]
            counted = self._count.get(reason or "") if score is None else score
            self._watches[outcome.grader].add(counted)
            self._counted[outcome.grader] = place + 1

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        drawn = min(self._counted.values())
        if drawn >= self._population:
            return {}
        for name, numbers in summary.graders.items():
            numbers.design = self.drawn(name)
        told = {"rows": drawn, "of": self._population, "gate": self._gate, "seed": SEED}
        return {"stopped": told}

    def drawn(self, grader: str) -> DrawnRows:
        ends = self._ends[grader]
        return DrawnRows([ends[n] for n in range(self._counted[grader])], self._population)


def until_decided(plan: Plan, rule: Sampling) -> Plan:
    drawn = draw_of(plan, note={"order": f"random, seed {SEED}"})
    return replace(drawn, policy=partial(EarlyStop.of_plan, rule))


FREE_FOLDER = "every-row"
"""Subfolder with the embedded judge's run over all rows."""

FEWEST_SAMPLED = 20
_TOO_FEW = f"fewer than {FEWEST_SAMPLED} cannot show how far the cheap judge is off"
_LEAST_FACTOR = 1.1

_Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Spending:
    budget_usd: float
    spent_usd: float | None
    rows: int
    drawn: int

    def words(self, say: Phrases) -> str:
        """Say if the budget ended the run or could not be watched."""
        budget = say.number(self.budget_usd)
        if self.rows < self.drawn and self.spent_usd is not None:
            spent = say.number(self.spent_usd, 4)
            rows = {"graded": self.rows, "drawn": self.drawn}
            return say("designs.spent", budget=budget, spent=spent, **rows)
        return "" if self.spent_usd is not None else say("designs.not_watched", budget=budget)


class Budget:
    """Ends a run when its budget is spent, including gradings in flight.

    Args:
        dollars: The budget in US dollars.
        graders: Number of gradings per row.
        drawn: Number of rows that the budget should pay for, if known.
        lost_usd: US dollars that earlier starts spent on failed outcomes.
    """

    def __init__(
        self, dollars: float, *, graders: int, drawn: int | None, lost_usd: float = 0.0
    ) -> None:
        self._dollars = dollars
        self._lost_usd = lost_usd
        self._graders = graders
        self._drawn = drawn
        self._begun = self._ended = self._paid = 0
        self._cost_usd = 0.0

    @classmethod
    def of_plan(cls, dollars: float, plan: Plan, lost_usd: float) -> "Budget":
        return cls(dollars, graders=len(plan.graders), drawn=plan.drawn, lost_usd=lost_usd)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        del position
        # Outcomes from the cache have no cost and do not lower the mean price.
        in_flight = self._cost_usd / max(1, self._paid) * (self._begun - self._ended)
        if not resumed and self._lost_usd + self._cost_usd + in_flight >= self._dollars:
            return "stop"
        self._begun += self._graders
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        self._ended += 1
        self._paid += bool(outcome.cost_usd)
        self._cost_usd += outcome.cost_usd or 0.0

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        rows = self._ended // self._graders
        spent = Spending(self._dollars, summary.cost_usd, rows, self._drawn or rows)
        return {"budget": asdict(spent)}


@dataclass(frozen=True)
class SampledMean:
    """The mean over all rows, from a sample by the paid judge and every row by the free one.

    Attributes:
        dear: Outcomes of the paid judge.
        free: Outcomes of the embedded judge.
    """

    dear: _Records
    free: _Records
    judge: str
    free_judge: str
    spending: "Spending | None" = None

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        corrected = self.corrected(confidence, count_as)
        if corrected is not None and is_worth_it(corrected):
            return corrected.corrected
        scores = [s for record in self.dear if (s := score_of(record, count_as or {})) is not None]
        return mean_interval(scores, confidence=confidence) if scores else None

    def corrected(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> CorrectedMean | None:
        """Return the PPI++ estimate; None if too few rows have both scores."""
        judged = guesses(self.free, count_as or {})
        pairs = [
            (score, judged[record["sample_id"]])
            for record in self.dear
            if (score := score_of(record, count_as or {})) is not None
            and record["sample_id"] in judged
        ]
        sampled = {record["sample_id"] for record in self.dear}
        others = [guess for row, guess in judged.items() if row not in sampled]
        if len(pairs) < FEWEST_SAMPLED or len(others) < 2:
            return None
        return prediction_powered_mean(
            [score for score, _ in pairs],
            [guess for _, guess in pairs],
            others,
            confidence=confidence,
        )

    def of_rows(self, rows: set[str]) -> "SampledMean":
        dear, free = (
            [record for record in records if record["sample_id"] in rows]
            for records in (self.dear, self.free)
        )
        return replace(self, dear=dear, free=free)

    @cached_property
    def _shown(self) -> CorrectedMean | None:
        return self.corrected()

    @property
    def rows(self) -> int:
        return len(self.dear)

    def words(self, say: Phrases) -> str:
        dear, rows = len(self.dear), len(self.free)
        told = say(
            "designs.sample",
            graded=dear,
            rows=rows,
            judge=self.judge,
            free=self.free_judge,
            probability=f"{dear / rows:.3g}",
        )
        if self.spending is not None:
            told += self.spending.words(say)
        found = self._shown
        if found is None:
            return told + say("designs.too_few")
        worth = found.effective_labels / found.labels
        if not is_worth_it(found):
            named = {"judge": self.judge, "free": self.free_judge}
            return told + say("designs.says_nothing", worth=say.number(worth), **named)
        alone = round(found.effective_labels)
        saved = round(found.effective_labels - found.labels)
        worth_words = say.number(worth, 1)
        return told + say("designs.worth", rows=rows, worth=worth_words, alone=alone, saved=saved)


def is_worth_it(corrected: CorrectedMean) -> bool:
    """True if the embedded judge narrows the interval by more than chance would."""
    return corrected.effective_labels >= _LEAST_FACTOR * corrected.labels


def guesses(records: _Records, count: Mapping[str, float]) -> dict[str, float]:
    """Return the embedded judge's scores by sample id, preferring its finer ranking scores."""
    found = {}
    for record in records:
        score = score_of(record, count)
        if score is not None:
            finer = record.get("ranking_score")
            found[record["sample_id"]] = score if finer is None else float(finer)
    return found


def sample_of(plan: Plan, rows: int) -> Plan:
    _require_cost(plan)
    total = plan.rows or 0
    if plan.rows is not None and rows > total:
        raise ConfigurationError(
            f"a sample of {rows} rows is more than the {total} rows of the data"
        )
    if rows == total:
        return plan
    if rows < min(FEWEST_SAMPLED, total or FEWEST_SAMPLED):
        raise ConfigurationError(f"a sample of {rows} rows is too small; {_TOO_FEW}")
    return _sample(plan, rows)


def bought_by(plan: Plan, dollars: float, counted: Plan) -> Plan:
    """Return a plan that grades as many random rows as a budget in US dollars allows.

    The rows of `counted`, the same plan, are read to estimate their cost.
    """
    _require_cost(plan)
    if plan.rows is None:
        return draw_of(plan, note={})
    rows = rows_for_budget(counted, dollars)
    if rows < min(FEWEST_SAMPLED, plan.rows):
        raise ConfigurationError(
            f"the budget of ${dollars:g} pays for {rows} rows, and a sample of {rows} rows is too "
            f"small; {_TOO_FEW}"
        )
    return replace(_sample(plan, rows), budget=dollars, policy=partial(Budget.of_plan, dollars))


def _require_cost(plan: Plan) -> None:
    if plan.client is None and not any(grader.endpoints for grader in plan.graders):
        raise ConfigurationError(
            f"judge {plan.identity['judge']!r} costs nothing: grade all rows, without a sample"
        )


def _sample(plan: Plan, rows: int) -> Plan:
    total = plan.rows or 0
    note = {"rows": rows, "of": total, "probability": rows / max(total, 1), "seed": SEED}
    return draw_of(plan, rows=rows, note={"sample": note})


def rows_for_budget(plan: Plan, dollars: float) -> int:
    told = estimate(plan)
    if not told.cost_usd:
        raise ConfigurationError(
            f"a budget needs a price, and that of judge {plan.identity['judge']!r} is not known; "
            "write it into a file, named by RAG_EVALS_PRICES, or give --sample"
        )
    return min(told.rows, int(told.rows * dollars / told.cost_usd))


class _FreeRun(Protocol):
    @property
    def judge(self) -> str | None: ...

    def of_grader(self, grader: str) -> _Records: ...


def choose_designs(
    summary: Summary,
    of_grader: Callable[[str], _Records],
    stopped: Mapping[str, Any] | None,
    free: _FreeRun | None,
    spending: Mapping[str, Any] | None = None,
) -> None:
    spent = None if spending is None else Spending(**spending)
    for name, numbers in summary.graders.items():
        if stopped is not None:
            numbers.design = DrawnRows.of(of_grader(name), stopped["rows"], stopped["of"])
        elif free is not None:
            dear, every = of_grader(name), free.of_grader(name)
            judges = summary.judge or "the judge", free.judge or "the cheap judge"
            # A budget may have paid for all rows.
            if len(dear) < len(every):
                numbers.design = SampledMean(dear, every, *judges, spent)


def plan_draw(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run like `make_plan`, over the rows that `sampling` draws."""
    given: RunOptions = options or {}
    known = list(folders)
    plan = make_plan(data, graders, client, options=given, folders=known)
    sampling = given.get("sampling")
    if sampling is None:
        return plan
    if sampling.gate is not None:
        return until_decided(plan, sampling)
    if (dollars := sampling.dollars) is not None:
        # A generator in `data` can be read only once, so count the rows of a second plan.
        again = isinstance(plan.data, FileData)
        counted = plan if again else make_plan(data, graders, client, options=given)
        drawn = bought_by(plan, dollars, counted)
    else:
        assert sampling.sample is not None, "one of the three ways was checked"
        drawn = sample_of(plan, sampling.sample)
        if drawn is plan:
            return plan
    return replace(drawn, free=_free_plan(drawn, data, graders, given, known))


def _free_plan(
    drawn: Plan, data: Data, graders: Graders, options: RunOptions, folders: list[Path]
) -> Plan:
    without: RunOptions = {"model": None, "rpm": None, "tpm": None, "tuned": None, "repeat": 1}
    mine: RunOptions = {**options, **without, "sampling": None}
    try:
        every = make_plan(data, graders, EMBEDDED, options=mine, folders=folders)
    except ConfigurationError as error:
        raise _no_free_form(drawn) or error from None
    if asked := [name for grader in every.graders for name in grader.endpoints]:
        raise ConfigurationError(
            f"{asked[0]!r} would be asked about every row; a sample needs graders that the "
            "embedded judge can decide alone"
        )
    return every


def _no_free_form(plan: Plan) -> ConfigurationError | None:
    free, _ = read_judge(EMBEDDED)
    assert free is not None, "the embedded judge is a verifier"
    for grader in plan.graders:
        try:
            grader.with_verifier(free)
        except ConfigurationError:
            return ConfigurationError(
                f"a sample needs a cheap judge that grades every row, and grader {grader.name!r} "
                f"has no form for {EMBEDDED!r}; grade all rows, the first ones (limit), or use "
                f"{' or '.join(map(repr, EMBEDDED_GRADERS))}"
            )
    return None
