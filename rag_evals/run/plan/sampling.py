"""Runs that grade only some rows, in random order.

With a sample or a budget, the paid judge grades a sample and the free embedded judge grades all
rows. PPI++ then estimates the mean, using the paid judge's scores in place of human labels.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rag_evals.core import Phrases
from rag_evals.dataset import Data, FileData
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run.plan.estimate import estimate
from rag_evals.run.plan.options import ASKING_OPTIONS, RunOptions, Sampling
from rag_evals.run.plan.plan import (
    SEED,
    Admission,
    Graders,
    Plan,
    RunPolicy,
    make_plan,
    random_order,
)
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
from rag_evals.verify import EMBEDDED

_Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """The rows drawn by a run that stopped at its gate, in draw order."""

    records: Sequence[Mapping[str, Any] | None]
    population: int

    def scores(self, count_as: Mapping[str, float] | None = None) -> list[float | None]:
        count = count_as or {}
        return [None if record is None else score_of(record, count) for record in self.records]

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return an interval for the mean over all rows, valid wherever the draw stopped."""
        return drawn_interval(self.scores(count_as), self.population, confidence=confidence)

    @property
    def rows(self) -> int:
        return len(self.records)

    def words(self, say: Phrases) -> str:
        graded, rows = len(self.records), self.population
        return say("designs.stopped", graded=graded, rows=rows, others=rows - graded)


class EarlyStop(RunPolicy):
    """Stops a run when all graders have passed the gate or one has failed it.

    Rows start at most `ahead` positions after the first unfinished row. Without this limit,
    hundreds of rows could be graded and paid for needlessly while one slow row delays the decision.
    """

    def __init__(
        self,
        rule: Sampling,
        population: int,
        graders: Sequence[str],
        *,
        ahead: int,
        lost_usd: float = 0.0,
    ) -> None:
        del lost_usd
        assert rule.gate is not None, "early stopping needs a gate"
        self._ahead = ahead
        self._count = rule.count or {}
        self._population = population
        self._places = {row: place for place, row in enumerate(random_order(population))}
        self._gate = gate = rule.gate
        error, fail_error = rule.error_chance, rule.error_chance / len(graders)
        self._watches = {
            grader: SequentialGate(gate, population, error=error, fail_error=fail_error)
            for grader in graders
        }
        # Scores of rows that finished before an earlier row in draw order.
        self._early: dict[str, dict[int, float | None]] = {grader: {} for grader in graders}
        self._counted = dict.fromkeys(graders, 0)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        # Rows that were in flight when an earlier start stopped are part of the draw too.
        if resumed:
            return "begin"
        verdicts: set[GateVerdict] = {watch.verdict for watch in self._watches.values()}
        if "failed" in verdicts or verdicts == {"passed"}:
            return "stop"
        is_ahead = self._places[position] >= min(self._counted.values()) + self._ahead
        return "wait" if is_ahead else "begin"

    def ended(self, outcome: Outcome) -> None:
        counted = self._count.get(outcome.reason or "")
        early = self._early[outcome.grader]
        early[self._places[outcome.index]] = counted if outcome.score is None else outcome.score
        # Add scores in draw order: the rows that finish first are not a random sample.
        while (place := self._counted[outcome.grader]) in early:
            self._watches[outcome.grader].add(early.pop(place))
            self._counted[outcome.grader] += 1

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        del summary
        drawn = min(self._counted.values())
        if drawn >= self._population:
            return {}
        told = {"rows": drawn, "of": self._population, "gate": self._gate, "seed": SEED}
        return {"stopped": told}


FREE_FOLDER = "every-row"
"""Subfolder for the embedded judge's run on all rows."""

FEWEST_SAMPLED = 20
_TOO_FEW = f"fewer than {FEWEST_SAMPLED} cannot show how far off the cheap judge is"
_LEAST_FACTOR = 1.1


@dataclass(slots=True)
class Budget(RunPolicy):
    """Stops a run when its budget is spent, counting the expected cost of gradings in flight.

    The sample has `drawn` rows, each graded by all `graders`. Earlier starts spent `lost_usd` on
    failed outcomes.
    """

    dollars: float
    graders: int
    drawn: int
    lost_usd: float = 0.0
    _begun: int = 0
    _ended: int = 0
    _paid: int = 0
    _cost_usd: float = 0.0

    def admits(self, position: int, *, resumed: bool) -> Admission:
        del position
        # Cached outcomes cost nothing and must not lower the mean price.
        in_flight = self._cost_usd / max(1, self._paid) * (self._begun - self._ended)
        if not resumed and self.lost_usd + self._cost_usd + in_flight >= self.dollars:
            return "stop"
        self._begun += self.graders
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        self._ended += 1
        self._paid += bool(outcome.cost_usd)
        self._cost_usd += outcome.cost_usd or 0.0

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        budget = {
            "budget_usd": self.dollars,
            "spent_usd": summary.cost_usd,
            "rows": self._ended // self.graders,
            "drawn": self.drawn,
        }
        return {"budget": budget}


@dataclass(frozen=True, slots=True)
class SampledMean:
    """The mean over all rows, estimated from the paid judge's sample and the embedded judge."""

    dear: _Records
    free: _Records
    judge: str
    free_judge: str
    spending: Mapping[str, Any] | None = None

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
        """Return the PPI++ estimate; None if too few rows have scores from both judges."""
        count = count_as or {}
        judged = guesses(self.free, count)
        sampled = {record["sample_id"]: score_of(record, count) for record in self.dear}
        pairs = [
            (score, judged[row])
            for row, score in sampled.items()
            if score is not None and row in judged
        ]
        others = [guess for row, guess in judged.items() if row not in sampled]
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
            told += _spending_words(self.spending, say)
        found = self.corrected()
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


def _spending_words(spending: Mapping[str, Any], say: Phrases) -> str:
    """Say whether the budget stopped the run or could not be tracked."""
    budget = say.number(spending["budget_usd"])
    graded, drawn, spent = spending["rows"], spending["drawn"], spending["spent_usd"]
    if spent is None:
        return say("designs.not_watched", budget=budget)
    if graded >= drawn:
        return ""
    return say(
        "designs.spent", budget=budget, spent=say.number(spent, 4), graded=graded, drawn=drawn
    )


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


def rows_for_budget(plan: Plan, dollars: float) -> int:
    told = estimate(plan)
    if not told.cost_usd:
        raise ConfigurationError(
            f"the budget cannot be enforced, because the price of judge {plan.identity['judge']!r} "
            "is unknown; add it to the file set in RAG_EVALS_PRICES, or use --sample"
        )
    return min(told.rows, int(told.rows * dollars / told.cost_usd))


def choose_designs(
    summary: Summary,
    of_grader: Callable[[str], _Records],
    stopped: Mapping[str, Any] | None,
    free: Any,
    spending: Mapping[str, Any] | None = None,
) -> None:
    """Set designs that extend a sample to all rows; `free` is the embedded judge's run, if any."""
    for name, numbers in summary.graders.items():
        if stopped is not None:
            at = {record["index"]: record for record in of_grader(name)}
            order = random_order(stopped["of"])[: stopped["rows"]]
            numbers.design = DrawnRows([at.get(place) for place in order], stopped["of"])
        elif free is not None:
            dear, every = of_grader(name), free.of_grader(name)
            judges = summary.judge or "the judge", free.judge or "the cheap judge"
            # The budget may have covered all rows.
            if len(dear) < len(every):
                numbers.design = SampledMean(dear, every, *judges, spending)


def plan_draw(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run as `make_plan` does, but only for the rows that `sampling` draws."""
    given: RunOptions = options or {}
    known = list(folders)
    plan = make_plan(data, graders, client, options=given, folders=known)
    sampling = given.get("sampling")
    if sampling is None:
        return plan
    if plan.rows is None:
        raise ConfigurationError(
            "sampling needs the number of rows; pass a file, a table or a list"
        )
    if sampling.gate is not None:
        ahead = 2 * plan.settings.session.concurrency
        names = [grader.name for grader in plan.graders]
        policy = partial(EarlyStop, sampling, plan.rows, names, ahead=ahead)
        order = {**plan.identity, "order": f"random, seed {SEED}"}
        return replace(plan, drawn=plan.rows, identity=order, policy=policy)
    if plan.client is None and not any(grader.endpoints for grader in plan.graders):
        raise ConfigurationError(
            f"judge {plan.identity['judge']!r} is free, so grade all rows instead of a sample"
        )
    if (dollars := sampling.dollars) is not None:
        # A plan may be able to read its rows only once, so estimate the cost with a second plan.
        again = isinstance(plan.data, FileData)
        counted = plan if again else make_plan(data, graders, client, options=given)
        drawn = _sample(plan, rows_for_budget(counted, dollars), dollars)
    elif sampling.sample == plan.rows:
        return plan
    else:
        drawn = _sample(plan, sampling.sample or 0)
    return replace(drawn, free=_free_plan(data, graders, given, known))


def _sample(plan: Plan, rows: int, dollars: float | None = None) -> Plan:
    """Return a plan that grades random rows and stops when the budget is spent."""
    total = plan.rows or 0
    if rows > total:
        raise ConfigurationError(
            f"a sample of {rows} rows is larger than the data, which has {total} rows"
        )
    if rows < min(FEWEST_SAMPLED, total):
        bought = "" if dollars is None else f"the budget of ${dollars:g} pays for {rows} rows, and "
        raise ConfigurationError(f"{bought}a sample of {rows} rows is too small; {_TOO_FEW}")
    note = {"rows": rows, "of": total, "probability": rows / max(total, 1), "seed": SEED}
    drawn = replace(plan, drawn=rows, identity={**plan.identity, "sample": note})
    if dollars is None:
        return drawn
    policy = partial(Budget, dollars, graders=len(plan.graders), drawn=rows)
    return replace(drawn, budget=dollars, policy=policy)


def _free_plan(data: Data, graders: Graders, options: RunOptions, folders: list[Path]) -> Plan:
    """Plan for the embedded judge to grade all rows."""
    mine: Any = {name: value for name, value in options.items() if name not in ASKING_OPTIONS}
    mine |= {"sampling": None, "tuned": None, "repeat": 1}
    try:
        every = make_plan(data, graders, EMBEDDED, options=mine, folders=folders)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"a sample needs a cheap judge that grades every row; {error}"
        ) from None
    if asked := [name for grader in every.graders for name in grader.endpoints]:
        raise ConfigurationError(
            f"a grader calls {asked[0]!r} for every row; a sample needs graders for which the "
            "embedded judge can decide alone"
        )
    return every
