"""What would the expensive judge have scored on all rows? It grades a sample, a free one all.

PPI++ the other way round: scores of the expensive judge are in the place of labels of people.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.run.plan.draw import DrawnRows, draw_of
from rag_evals.run.plan.estimate import estimate
from rag_evals.run.plan.plan import SEED, Plan
from rag_evals.run.plan.policy import Admission
from rag_evals.run.record.outcome import Outcome, score_of
from rag_evals.run.record.summary import Summary
from rag_evals.stats import CorrectedMean, Interval, mean_interval, prediction_powered_mean

FREE_FOLDER = "every-row"
"""Folder in a run where the free judge's run of every row is kept."""

FEWEST_SAMPLED = 20
_LEAST_FACTOR = 1.1

_Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Spending:
    """What became of a budget.

    Attributes:
        budget_usd: US dollars that were allowed.
        spent_usd: List price of what was asked; None where no reply said how long it was.
        rows: Rows that were graded.
        drawn: Rows that the budget was expected to pay for.
    """

    budget_usd: float
    spent_usd: float | None
    rows: int
    drawn: int

    def words(self, say: Phrases) -> str:
        """Say that the budget ended the run, or that nobody could watch it; empty otherwise."""
        budget = say.number(self.budget_usd)
        if self.rows < self.drawn and self.spent_usd is not None:
            spent = say.number(self.spent_usd, 4)
            rows = {"graded": self.rows, "drawn": self.drawn}
            return say("designs.spent", budget=budget, spent=spent, **rows)
        return "" if self.spent_usd is not None else say("designs.not_watched", budget=budget)


class Budget:
    """Ends a run when its money is spent, that of the gradings in flight included.

    Args:
        dollars: US dollars, above 0.
        graders: Gradings of a row.
        drawn: Rows that the budget was expected to pay for; None for all rows.
        lost_usd: US dollars that earlier starts spent on outcomes that do not count, such as
            failed ones.
    """

    def __init__(
        self, dollars: float, *, graders: int, drawn: int | None, lost_usd: float = 0.0
    ) -> None:
        self._dollars = dollars
        self._lost_usd = lost_usd
        self._graders = graders
        self._drawn = drawn
        self._begun = self._ended = 0
        self._cost_usd: float | None = None

    @classmethod
    def of_plan(cls, dollars: float, plan: Plan, lost_usd: float = 0.0) -> "Budget":
        """Watch what the rows of a plan cost, over all starts."""
        return cls(dollars, graders=len(plan.graders), drawn=plan.drawn, lost_usd=lost_usd)

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Stop when all that has begun will have cost the budget, by the mean price so far."""
        del position
        if not resumed and self._cost_usd is not None:
            expected = self._cost_usd / self._ended * self._begun
            if self._lost_usd + expected >= self._dollars:
                return "stop"
        self._begun += self._graders
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Add what a grading cost."""
        self._ended += 1
        if outcome.cost_usd is not None:
            self._cost_usd = (self._cost_usd or 0.0) + outcome.cost_usd

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Say what became of the budget."""
        rows = self._ended // self._graders
        spent = Spending(self._dollars, summary.cost_usd, rows, self._drawn or rows)
        return {"budget": asdict(spent)}


@dataclass(frozen=True)
class SampledMean:
    """The mean over all rows, from a sample of the dear judge and all rows of the free one.

    Attributes:
        dear: Outcomes of the sample.
        free: Outcomes of every row.
        judge: Name of the dear judge.
        free_judge: Name of the free one.
        spending: What became of the budget; None where none was set.
    """

    dear: _Records
    free: _Records
    judge: str
    free_judge: str
    spending: "Spending | None" = None

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return the mean over all rows of the data and where it lies; None without a score."""
        corrected = self.corrected(confidence, count_as)
        if corrected is not None and is_worth_it(corrected):
            return corrected.corrected
        scores = [s for record in self.dear if (s := score_of(record, count_as or {})) is not None]
        return mean_interval(scores, confidence=confidence) if scores else None

    def corrected(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> CorrectedMean | None:
        """Return what both judges say together; None where too few rows have both scores."""
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
        """Return the same of some rows only, as of a group."""
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
        """How many rows the dear judge graded."""
        return len(self.dear)

    def words(self, say: Phrases) -> str:
        """Say which rows the numbers rest on, and what the free judge saved."""
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
    """Say whether the free judge narrows the interval by more than chance would."""
    return corrected.effective_labels >= _LEAST_FACTOR * corrected.labels


def guesses(records: _Records, count: Mapping[str, float]) -> dict[str, float]:
    """Return what the free judge makes of each row that it can score, by sample id.

    Args:
        records: Its outcomes; the finer ranking score is taken where there is one.
        count: Numbers for reasons of rows without a score.
    """
    found = {}
    for record in records:
        score = score_of(record, count)
        if score is not None:
            finer = record.get("ranking_score")
            found[record["sample_id"]] = score if finer is None else float(finer)
    return found


def sample_of(plan: Plan, rows: int) -> Plan:
    """Let a plan grade a random sample of its rows.

    Args:
        plan: A plan over rows that can be counted, whose judge costs money.
        rows: How many rows; all of them leave the plan as it is.

    Raises:
        ConfigurationError: Not so many rows, too few of them, or a judge that is free.
    """
    if not _costs_money(plan):
        raise _is_free(plan)
    total = plan.rows or 0
    if plan.rows is not None and rows > total:
        raise ConfigurationError(
            f"a sample of {rows} rows is more than the {total} rows of the data"
        )
    return plan if rows == total else _sample(plan, rows)


def bought_by(plan: Plan, dollars: float, counted: Plan) -> Plan:
    """Let a plan grade a random sample of its rows, as large as a budget pays for.

    Args:
        plan: A plan over rows that can be counted, whose judge costs money.
        dollars: The budget, above 0. The run is watched, and stops when it is spent.
        counted: The same plan, whose rows are read to count what they cost.

    Raises:
        ConfigurationError: As for `sample_of`, or the price of a model is not known.
    """
    if not _costs_money(plan):
        raise _is_free(plan)
    if plan.rows is None:
        return draw_of(plan, note={})
    rows = rows_for_budget(counted, dollars)
    if rows < min(FEWEST_SAMPLED, plan.rows):
        raise ConfigurationError(
            f"the budget of ${dollars:g} pays for {rows} rows, and a sample of {rows} rows is too "
            f"small; with fewer than {FEWEST_SAMPLED} nobody knows how far the free judge is off"
        )
    return replace(_sample(plan, rows), budget=dollars, policy=partial(Budget.of_plan, dollars))


def _costs_money(plan: Plan) -> bool:
    return any(grader.endpoints for grader in plan.graders) or plan.client is not None


def _is_free(plan: Plan) -> ConfigurationError:
    return ConfigurationError(
        f"judge {plan.identity['judge']!r} costs nothing: grade all rows, without a sample"
    )


def _sample(plan: Plan, rows: int) -> Plan:
    total = plan.rows or 0
    if rows < min(FEWEST_SAMPLED, total or FEWEST_SAMPLED):
        raise ConfigurationError(
            f"a sample of {rows} rows is too small; with fewer than {FEWEST_SAMPLED} nobody knows "
            "how far the free judge is off"
        )
    note = {"rows": rows, "of": total, "probability": rows / max(total, 1), "seed": SEED}
    return draw_of(plan, rows=rows, note={"sample": note})


def rows_for_budget(plan: Plan, dollars: float) -> int:
    """Count the rows that a budget pays for, by the estimate of a dry run.

    Args:
        plan: A plan over a file.
        dollars: The budget, above 0.

    Returns:
        At most the rows of the data.

    Raises:
        ConfigurationError: The price of a model is not known.
    """
    told = estimate(plan)
    if not told.cost_usd:
        raise ConfigurationError(
            f"a budget needs a price, and that of judge {plan.identity['judge']!r} is not known; "
            "write it into a file, named by RAG_EVALS_PRICES, or give --sample"
        )
    return min(told.rows, int(told.rows * dollars / told.cost_usd))


def free_folder(folder: Path) -> Path:
    """Return where the free judge's run of every row is kept."""
    return folder / FREE_FOLDER


_StoredOutcomes = Sequence[Mapping[str, Any]]


class _FreeRun(Protocol):
    @property
    def judge(self) -> str | None: ...

    def of_grader(self, grader: str) -> _StoredOutcomes: ...


def choose_designs(
    summary: Summary,
    of_grader: Callable[[str], _StoredOutcomes],
    stopped: Mapping[str, Any] | None,
    free: _FreeRun | None,
    spending: Mapping[str, Any] | None = None,
) -> None:
    """Let a summary say what the rows that were graded show of all rows.

    Args:
        summary: The numbers of a run.
        of_grader: Returns its outcomes of a grader.
        stopped: What the manifest says of an early stop; None where there was none.
        free: The free judge's run of every row; None where there is none.
        spending: What the manifest says of a budget; None where there was none.
    """
    spent = None if spending is None else Spending(**spending)
    for name, numbers in summary.graders.items():
        if stopped is not None:
            numbers.design = DrawnRows.of(of_grader(name), stopped["rows"], stopped["of"])
        elif free is not None:
            dear, every = of_grader(name), free.of_grader(name)
            judges = summary.judge or "the judge", free.judge or "the free judge"
            # A budget may have paid for all rows.
            if len(dear) < len(every):
                numbers.design = SampledMean(dear, every, *judges, spent)
