"""How many rows are needed? To see a difference, or to decide a gate, from an earlier run."""

from collections.abc import Iterator
from dataclasses import dataclass

from rag_evals.core import named_arguments
from rag_evals.errors import InvalidScoresError, UnpairedScoresError
from rag_evals.run import Run, load_run, score_of
from rag_evals.stats import GateTest, rows_to_detect


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """How many rows one grader needs.

    Attributes:
        grader: Its name.
        scored: Rows that the plan rests on.
        detect: The true difference that should be seen; None where none was asked for.
        power: How often they should see it, 0 to 1.
        rows: Rows with which comparisons see it as often; None where none was asked for.
        paired: Whether two runs showed how rows differ. Else the scores of two versions are taken
            to vary independently: alike versions need fewer rows.
        gate: What the rows say about a gate, and how many more would decide it.
        cost_usd: What one row cost in the baseline; None where it is not known.
    """

    grader: str
    scored: int
    detect: float | None
    power: float
    rows: int | None
    paired: bool
    gate: GateTest | None
    cost_usd: float | None

    def __str__(self) -> str:
        """One line for each question."""
        return "\n".join(_lines(self))


@named_arguments
def plan(
    baseline: str | Run,
    candidate: str | Run | None = None,
    *,
    detect: float | None = None,
    gate: float | None = None,
    power: float = 0.8,
    cluster: str | None = None,
) -> list[RowsNeeded]:
    """Count the rows that a comparison or a gate needs.

    Args:
        baseline: A run of rows like those to come.
        candidate: Another run of the same rows, which shows how far rows differ; None takes two
            versions to vary independently.
        detect: The true difference of means that should be seen, above 0 and at most 1.
        gate: A mean to be reached, 0 to 1.
        power: How often the difference should be seen, as a fraction.
        cluster: Column that rows from one document or conversation share.

    Raises:
        ConfigurationError: A number is out of its range.
        InvalidScoresError: The rows show no spread.
        UnpairedScoresError: The runs have no scored row in common.
    """
    first = load_run(baseline)
    second = None if candidate is None else load_run(candidate)
    clusters = {} if cluster is None else first.column(cluster)
    decision = None if gate is None else first.gate(gate, min_scored=0.0, cluster=cluster)
    tests = {} if decision is None else {each.grader: each.test for each in decision.graders}
    found = []
    for grader in first.graders:
        scores = _scores(first, grader)
        if not scores:
            continue
        differences = _differences(scores, None if second is None else _scores(second, grader))
        rows = None
        if detect is not None:
            rows = rows_to_detect(
                detect,
                [difference for _, difference in differences],
                clusters=[clusters.get(row) for row, _ in differences] if clusters else None,
                power=power,
            )
        found.append(
            RowsNeeded(
                grader,
                len(differences),
                detect,
                power,
                rows,
                second is not None,
                tests.get(grader),
                _cost_of_a_row(first, grader),
            )
        )
    if not found:
        raise InvalidScoresError("no row of the baseline has a score; there is nothing to plan by")
    return found


def _scores(run: Run, grader: str) -> dict[str, float]:
    return {
        record["sample_id"]: score
        for record in run.of_grader(grader)
        if (score := score_of(record, {})) is not None
    }


def _differences(
    first: dict[str, float], second: dict[str, float] | None
) -> list[tuple[str, float]]:
    """Return what rows differ by, or values that vary as much where that is not known."""
    if second is None:
        mean = sum(first.values()) / len(first)
        # The difference of two independent scores varies twice as much as one of them.
        wide = [(row, (score - mean) * 2**0.5) for row, score in first.items()]
        return [(row, max(-1.0, min(1.0, value))) for row, value in wide]
    common = [(row, second[row] - score) for row, score in first.items() if row in second]
    if not common:
        raise UnpairedScoresError("no row has a score in both runs; rows are paired by id")
    return common


def _cost_of_a_row(run: Run, grader: str) -> float | None:
    costs = [record.get("cost_usd") for record in run.of_grader(grader)]
    known = [cost for cost in costs if cost is not None]
    return sum(known) / len(known) if known else None


def _lines(needed: RowsNeeded) -> Iterator[str]:
    if needed.rows is not None:
        how = "as these two runs differ"
        if not needed.paired:
            how = "if two versions vary independently; fewer where they are alike"
        often = f"{100 * needed.power:.0f} of 100 comparisons"
        yield (
            f"{needed.grader}: {needed.rows} rows show a difference of {needed.detect:g} in "
            f"{often}{_money(needed, needed.rows)} ({how}; from {needed.scored} rows)"
        )
    if needed.gate is not None:
        told = needed.gate
        if told.verdict != "not decided":
            yield f"{needed.grader}: these {told.scored} rows decide {told.gate:g}: {told.verdict}"
        elif told.more_rows is None:
            yield f"{needed.grader}: a million rows like these would not decide {told.gate:g}"
        else:
            rows = told.scored + told.more_rows
            yield (
                f"{needed.grader}: about {rows} rows decide a gate at {told.gate:g}"
                f"{_money(needed, rows)} (the mean of {told.scored} rows is {told.estimate:.4f})"
            )


def _money(needed: RowsNeeded, rows: int) -> str:
    return "" if not needed.cost_usd else f", about ${needed.cost_usd * rows:.2f} a run"
