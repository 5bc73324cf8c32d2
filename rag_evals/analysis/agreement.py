"""How often does the judge agree with people? Measured on labels, by statement and by row."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack, cast

from rag_evals.analysis.comparing import RunInput
from rag_evals.analysis.comparison import clustered_lines, interval_words
from rag_evals.analysis.labels import (
    Matched,
    Unit,
    count_foreign,
    match_labels,
    read_labels,
    weights_of,
    why_nothing_fits,
)
from rag_evals.core import require_known
from rag_evals.dataset import DataFile
from rag_evals.errors import DataError
from rag_evals.judge import Client
from rag_evals.run import OPTIONS, Graders, Run, RunOptions, Summary, execute, load_run, make_plan
from rag_evals.run.plan.options import refuse_sampling
from rag_evals.stats import (
    Interval,
    auroc_interval,
    best_threshold,
    krippendorff_interval,
    measure_agreement,
)
from rag_evals.stats.agreement import Agreement, ThresholdPoint, threshold_curve

Level = Literal["statement", "row"]

_CURVE_LINES = 8
# Draws behind the intervals of balanced accuracy and kappa.
_RESAMPLES = 4_000


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Judge and people on the statements or the rows of one grader.

    Attributes:
        grader: Its name.
        level: What was labelled. A row is True for the judge from the threshold up.
        group: The group of rows; None for all of them together.
        units: Labelled statements or rows that count.
        rows: Rows behind them.
        agreement: Confusion, rates and kappa, each with its interval.
        ties: Units on which people are split evenly; they do not count.
        annotators: People behind the labels, unnamed ones as one.
        alpha: Krippendorff's alpha among people; None with fewer than two.
        auroc: How often a right row ranks above a wrong one; None for statements, or where one
            label is rare.
        ranked_by: What `auroc` ranks rows by: the ranking score where each row has one.
        curve: Confusion at every threshold, for rows.
        best: The threshold with the best balanced accuracy on these labels.
        noun: What was labelled, in words: rows, statements, citations, chunks or verdicts.
        is_weighted: Whether rates weigh each row by its chance to be drawn; counts never do.
    """

    grader: str
    level: Level
    group: str | None
    units: int
    rows: int
    agreement: Agreement
    ties: int = 0
    annotators: int = 1
    alpha: Interval | None = None
    auroc: Interval | None = None
    ranked_by: Literal["score", "ranking"] = "score"
    curve: tuple[ThresholdPoint, ...] = ()
    best: ThresholdPoint | None = None
    noun: str = "rows"
    is_weighted: bool = False

    def __repr__(self) -> str:
        """One line: what was measured, and how well the judge does."""
        return f"LevelAgreement({_measured_words(self)})"


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """A run measured against people's labels.

    Attributes:
        tables: For each grader, statements and rows, each as a whole and then by group.
        threshold: Score from which the judge calls a row right.
        unmatched: Statement labels that fit no verdict of the judge.
        unscored: Labelled rows that the judge gave no score.
        foreign: Labels of rows that the run does not have.
        clustered_by: By what rows are clustered; None where they are independent.
    """

    tables: tuple[LevelAgreement, ...]
    threshold: float
    unmatched: int = 0
    unscored: int = 0
    foreign: int = 0
    clustered_by: str | None = None

    def __str__(self) -> str:
        """What a terminal shows."""
        return "\n".join(_agreement_lines(self))

    def __repr__(self) -> str:
        """One line: each grader, its statements and rows."""
        whole = [table for table in self.tables if table.group is None]
        return f"PeopleAgreement({'; '.join(map(_measured_words, whole))})"


def _measured_words(table: LevelAgreement) -> str:
    name = table.grader if table.group is None else f"{table.grader}: {table.group}"
    found = table.agreement.balanced_accuracy
    accuracy = "unknown" if found is None else interval_words(found)
    return f"{name}, {table.units} {table.noun}, balanced accuracy {accuracy}"


def _left_out(measured: PeopleAgreement) -> dict[str, int]:
    counts = {
        "labels of statements that the judge did not find": measured.unmatched,
        "labelled rows without a score": measured.unscored,
        "labels of rows that the run does not have": measured.foreign,
    }
    return {label: count for label, count in counts.items() if count}


def agreement(
    run: RunInput,
    labels: str | Path | Sequence[str | Path] = (),
    *,
    grader: str | None = None,
    by: str | None = None,
    column: str = "label",
    threshold: float = 1.0,
    cluster: str | None = None,
    seed: int = 0,
) -> PeopleAgreement:
    """Measure the verdicts of a run against labels from people.

    Args:
        run: A run folder, or a run in memory.
        labels: Files, or columns of the data; without any, the data's `label` and `statements`.
        grader: The only grader to take; None takes all of the run.
        by: Column of the data to measure each group by.
        column: The column of a labels file that holds the label.
        threshold: Score from which the judge calls a row right; the default asks for every
            statement to be supported.
        cluster: As for `Run.summary`; statements of one row always belong together.
        seed: Same seed, same intervals.

    Raises:
        DataError: The labels cannot be read, or none is of a row that the run has.
    """
    stored = load_run(run)
    given = read_labels(labels, stored, column=column)
    groups = {} if by is None else stored.column(by)
    clustered_by, shared = stored.shared(cluster=cluster)
    measure = _Measure(groups, threshold, shared, seed)
    matched = match_labels(stored, given, grader)
    tables = tuple(table for of_grader in matched for table in measure.tables(of_grader))
    foreign = count_foreign(stored, given)
    if not tables:
        raise DataError(why_nothing_fits(given, foreign, matched))
    return PeopleAgreement(
        tables,
        threshold,
        unmatched=sum(of_grader.unmatched for of_grader in matched),
        unscored=sum(len(of_grader.unscored) for of_grader in matched),
        foreign=foreign,
        clustered_by=clustered_by,
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    groups: Mapping[str, str | None]
    threshold: float
    shared: Mapping[str, Hashable]
    seed: int

    def tables(self, matched: Matched) -> Iterator[LevelAgreement]:
        levels: list[tuple[Level, list[Unit]]] = [
            ("statement", matched.statements),
            ("row", matched.rows),
        ]
        for level, units in levels:
            if any(unit.label is not None for unit in units):
                yield self._table(matched, level, None, units)
            members: dict[str | None, list[Unit]] = {}
            for unit in units if self.groups else ():
                members.setdefault(self.groups.get(unit.sample_id), []).append(unit)
            for group, of_group in members.items():
                if any(unit.label is not None for unit in of_group):
                    yield self._table(matched, level, group or "(none)", of_group)

    def _table(
        self, matched: Matched, level: Level, group: str | None, units: Sequence[Unit]
    ) -> LevelAgreement:
        counted = [(unit, unit.label) for unit in units]
        known = [(unit, _yes_or_no(unit, label)) for unit, label in counted if label is not None]
        labels = [label for _, label in known]
        scores = [unit.judged for unit, _ in known]
        of_rows, weights = level == "row", weights_of([unit for unit, _ in known])
        rows = [self.shared.get(unit.sample_id, unit.sample_id) for unit, _ in known]
        limit = self.threshold if of_rows else 0.5
        measured = measure_agreement(
            labels,
            [score >= limit for score in scores],
            clusters=None if of_rows and not self.shared else rows,
            weights=weights,
            resamples=_RESAMPLES,
            seed=self.seed,
        )
        people = list(dict.fromkeys(who for unit in units for who in unit.labels))
        # Ranks and thresholds count rows, and these rows do not have the shares of the run.
        both = any(labels) and not all(labels) and weights is None
        ranked = of_rows and both and min(sum(labels), len(labels) - sum(labels)) > 1
        finer = [unit.ranking for unit, _ in known if unit.ranking is not None]
        is_finer = len(finer) == len(known) > 0
        ranks = finer if is_finer else scores
        return LevelAgreement(
            matched.grader,
            level,
            group,
            units=len(known),
            rows=len({unit.sample_id for unit, _ in known}),
            agreement=measured,
            ties=len(units) - len(known),
            annotators=len(people),
            alpha=self._alpha(units) if len(people) > 1 else None,
            auroc=auroc_interval(labels, ranks) if ranked else None,
            ranked_by="ranking" if is_finer else "score",
            curve=tuple(threshold_curve(labels, scores)) if of_rows and weights is None else (),
            best=best_threshold(labels, scores) if of_rows and both else None,
            noun="rows" if of_rows else matched.noun,
            is_weighted=weights is not None,
        )

    def _alpha(self, units: Sequence[Unit]) -> Interval | None:
        return krippendorff_interval(
            [list(unit.labels.values()) for unit in units],
            seed=self.seed,
        )


def _yes_or_no(unit: Unit, label: float) -> bool:
    if 0 < label < 1:
        raise DataError(
            f"row {unit.sample_id!r} has the label {label:g}; agreement needs yes or no, "
            "correct takes scores too"
        )
    return label == 1


def _agreement_lines(measured: PeopleAgreement) -> Iterator[str]:
    """Say how far the judge agrees with people."""
    for table in measured.tables:
        if table.group is not None:
            yield _group_line(table)
            continue
        yield from _level_lines(table, measured.threshold)
    for label, count in _left_out(measured).items():
        yield f"left out: {count} {label}"
    yield from clustered_lines(measured.clustered_by)


def _level_lines(table: LevelAgreement, threshold: float) -> Iterator[str]:
    found, counts = table.agreement, table.agreement.confusion
    rule = f", right from a score of {threshold:g}" if table.level == "row" else ""
    behind = "" if table.level == "row" else f" in {table.rows} rows"
    yield f"{table.grader}, {table.units} labelled {table.noun}{behind}{rule}"
    yield "                    judge: yes   judge: no"
    yield f"  people: yes   {counts.true_positives:>14}{counts.false_negatives:>12}"
    yield f"  people: no    {counts.false_positives:>14}{counts.true_negatives:>12}"
    if table.is_weighted:
        yield "  rates weigh each row by its chance to be drawn (--focus uncertain)"
    rows = {
        "balanced accuracy": found.balanced_accuracy,
        "Cohen's kappa": found.kappa,
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "precision": found.precision,
        "raw agreement": found.raw_agreement,
        "base rate": found.base_rate,
        "judge says yes": found.judged_rate,
        _auroc_label(table): table.auroc,
    }
    for label, interval in rows.items():
        if interval is not None:
            yield f"  {label:<19} {interval_words(interval)}"
        elif label != _auroc_label(table):
            yield f"  {label:<19} unknown: one of the two labels is missing"
    yield from _curve_lines(table)
    if table.best is not None:
        accuracy = table.best.confusion.balanced_accuracy or 0.0
        yield (
            f"  best threshold      {table.best.threshold:.3g} (balanced accuracy {accuracy:.3f} "
            "on the labels that chose it)"
        )
    if table.annotators > 1:
        shown = "unknown" if table.alpha is None else interval_words(table.alpha)
        split = f"; {table.ties} evenly split, left out" if table.ties else ""
        yield f"  alpha of {table.annotators} people   {shown}{split}"


def _auroc_label(table: LevelAgreement) -> str:
    return "AUROC of ranking" if table.ranked_by == "ranking" else "AUROC of the score"


def _curve_lines(table: LevelAgreement) -> Iterator[str]:
    """Show the curve of thresholds, thinned to a few lines from the lowest to the highest."""
    points = [point for point in table.curve if point.confusion.balanced_accuracy is not None]
    if len(points) < 2:
        return
    steps = min(len(points), _CURVE_LINES)
    yield "  threshold   sensitivity  specificity  balanced accuracy"
    for step in range(steps):
        point = points[step * (len(points) - 1) // (steps - 1)]
        rates = point.confusion
        yield (
            f"  {point.threshold:<12.3f}{rates.sensitivity or 0:<13.3f}"
            f"{rates.specificity or 0:<13.3f}{rates.balanced_accuracy or 0:.3f}"
        )


def _group_line(table: LevelAgreement) -> str:
    found = table.agreement
    accuracy = found.balanced_accuracy or found.raw_agreement
    name = "balanced accuracy" if found.balanced_accuracy else "raw agreement"
    kappa = "unknown" if found.kappa is None else f"{found.kappa.estimate:.2f}"
    return (
        f"  {table.group}: {table.units} {table.level}s, {name} {interval_words(accuracy)}, "
        f"kappa {kappa}"
    )


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge measured on labelled data.

    Attributes:
        agreement: The tables.
        summary: Scores, counts, tokens and time of the grading.
    """

    agreement: PeopleAgreement
    summary: Summary

    def __str__(self) -> str:
        """What a terminal shows."""
        return f"{self.summary}\n\n{self.agreement}"

    def __repr__(self) -> str:
        """One line: how well the judge agrees with people."""
        return f"JudgeQuality({self.agreement!r})"


class CalibrateOptions(RunOptions, total=False):
    """What `calibrate` takes by keyword: the options of `evaluate`, and these.

    Attributes:
        label_column: The column that holds the labels; None takes `label` and `statements`.
        by: Column to measure each group by.
        cluster: As for `Run.summary`.
        threshold: Score from which the judge calls a row right; default 1.
    """

    label_column: str | None
    by: str | None
    cluster: str | None
    threshold: float


_OWN = [name for name in CalibrateOptions.__annotations__ if name not in RunOptions.__annotations__]


def calibrate(
    data: str | Path | DataFile,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[CalibrateOptions],
) -> JudgeQuality:
    """Grade labelled rows and measure the judge against their labels.

    Args:
        data: A file whose rows have `label` (1 faithful, 0 not), or `statements` with `text` and
            `label` each, or both.
        graders: As in `evaluate`.
        client: The judge to measure, as in `evaluate`.
        out: Folder to keep the run in; None names one below `runs` after data and settings.
        options: As in `evaluate`, without `sampling`; and `label_column`, `by`, `cluster` and
            `threshold`, see `CalibrateOptions`.

    Raises:
        DataError: The rows cannot be graded, or have no labels.
        ConfigurationError: A setting cannot work; nothing was sent.
        TooManyFailuresError: As for `evaluate`.
    """
    require_known("calibrate", options, [*OPTIONS, *_OWN])
    of_run = cast("RunOptions", {n: value for n, value in options.items() if n not in _OWN})
    refuse_sampling(of_run, "calibrate")
    plan = make_plan(data, graders, client, options=of_run)
    folder = out or plan.default_folder()
    run: Run = execute(plan, out=folder, progress=options.get("progress"))
    label_column, cluster = options.get("label_column"), options.get("cluster")
    measured = agreement(
        run,
        () if label_column is None else (label_column,),
        by=options.get("by"),
        cluster=cluster,
        threshold=options.get("threshold", 1.0),
    )
    return JudgeQuality(measured, run.summary(cluster=cluster))
