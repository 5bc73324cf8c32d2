"""Agreement of the judge with people's labels, for statements and for rows."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evals.analysis.comparison import clustered_lines, interval_words
from rag_evals.analysis.labels import (
    LabelledRun,
    LabelSources,
    Matched,
    RunInput,
    Unit,
    labelled_units,
    weights_of,
)
from rag_evals.errors import DataError
from rag_evals.stats import (
    Interval,
    auroc_interval,
    best_threshold,
    krippendorff_interval,
    measure_agreement,
)
from rag_evals.stats.agreement import Agreement, ThresholdPoint

Level = Literal["statement", "row"]


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement of judge and people on the statements or the rows of one grader.

    Attributes:
        group: None for all rows.
        units: Number of labelled statements or rows, without ties.
        rows: Number of rows with such a statement.
        ties: Number of units on which people are evenly split.
        annotators: Number of people; all unnamed people count as one.
        alpha: Krippendorff's alpha between people; None for one person.
        auroc: None for statements, or if a label occurs less than twice.
        best: The threshold with the best balanced accuracy on these labels.
        is_weighted: True if rates weight each row by its chance to be drawn.
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
    best: ThresholdPoint | None = None
    noun: str = "rows"
    is_weighted: bool = False

    def __repr__(self) -> str:
        return f"LevelAgreement({_measured_words(self)})"


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement of a run with people's labels.

    Attributes:
        tables: For each grader its statements and rows, first all of them, then by group.
        threshold: Lowest score at which a row counts as right.
        unmatched: Number of statement labels that match no verdict.
        unscored: Number of labelled rows without a score.
        foreign: Number of labels for rows outside the run.
        clustered_by: None if rows are independent.
    """

    tables: tuple[LevelAgreement, ...]
    threshold: float
    unmatched: int = 0
    unscored: int = 0
    foreign: int = 0
    clustered_by: str | None = None

    def __str__(self) -> str:
        return "\n".join(_agreement_lines(self))

    def __repr__(self) -> str:
        whole = [table for table in self.tables if table.group is None]
        return f"PeopleAgreement({'; '.join(map(_measured_words, whole))})"


def _measured_words(table: LevelAgreement) -> str:
    name = table.grader if table.group is None else f"{table.grader}: {table.group}"
    found = table.agreement.balanced_accuracy
    accuracy = "unknown" if found is None else interval_words(found)
    return f"{name}, {table.units} {table.noun}, balanced accuracy {accuracy}"


def agreement(
    run: RunInput,
    labels: LabelSources = (),
    *,
    grader: str | None = None,
    by: str | None = None,
    column: str = "label",
    threshold: float = 1.0,
    cluster: str | None = None,
    seed: int = 0,
) -> PeopleAgreement:
    """Measure how well the verdicts of a run agree with people's labels.

    Args:
        run: A run folder, or a run in memory.
        labels: Files or columns of the data; by default the columns `label` and `statements`.
        grader: The only grader to measure; None measures all.
        by: Column of the data that names the group of each row.
        column: The column of a labels file that holds the label.
        threshold: Lowest score at which a row counts as right; by default every statement must be
        supported.
        cluster: As for `Run.summary`; statements of one row are always one cluster.
        seed: Same seed, same intervals.

    Raises:
        DataError: The labels cannot be read, or none fits a verdict.
    """
    labelled = LabelledRun.load(run, labels, grader, column)
    clustered_by, shared = labelled.run.shared(cluster=cluster)
    groups = {} if by is None else labelled.run.column(by)
    measure = _Measure(groups, threshold, shared, seed)
    tables = tuple(table for matched in labelled.matched for table in measure.tables(matched))
    if not tables:
        raise labelled.nothing_fits()
    return PeopleAgreement(
        tables,
        threshold,
        unmatched=sum(matched.unmatched for matched in labelled.matched),
        unscored=sum(len(matched.unscored) for matched in labelled.matched),
        foreign=labelled.foreign,
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
            members: dict[str | None, list[Unit]] = {None: units}
            for unit in units if self.groups else ():
                own_group = self.groups.get(unit.sample_id) or "(none)"
                members.setdefault(own_group, []).append(unit)
            for group, of_group in members.items():
                if any(unit.label is not None for unit in of_group):
                    yield self._table(matched, level, group, of_group)

    def _table(
        self, matched: Matched, level: Level, group: str | None, units: Sequence[Unit]
    ) -> LevelAgreement:
        known = [(unit, _yes_or_no(unit, label)) for unit, label in labelled_units(units)]
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
            seed=self.seed,
        )
        people = list(dict.fromkeys(who for unit in units for who in unit.labels))
        # Weighted rows do not have the shares of the run, which ranks and thresholds need.
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
            alpha=krippendorff_interval(
                [list(unit.labels.values()) for unit in units], seed=self.seed
            )
            if len(people) > 1
            else None,
            auroc=auroc_interval(labels, ranks) if ranked else None,
            ranked_by="ranking" if is_finer else "score",
            best=best_threshold(labels, scores) if of_rows and both else None,
            noun="rows" if of_rows else matched.noun,
            is_weighted=weights is not None,
        )


def _yes_or_no(unit: Unit, label: float) -> bool:
    if 0 < label < 1:
        raise DataError(
            f"row {unit.sample_id!r} has the label {label:g}; agreement needs yes or no, "
            "correct takes scores too"
        )
    return label == 1


def _agreement_lines(measured: PeopleAgreement) -> Iterator[str]:
    for table in measured.tables:
        if table.group is not None:
            yield _group_line(table)
            continue
        yield from _level_lines(table, measured.threshold)
    left_out = {
        "labels of statements that the judge did not find": measured.unmatched,
        "labelled rows without a score": measured.unscored,
        "labels of rows that the run does not have": measured.foreign,
    }
    yield from (f"left out: {count} {label}" for label, count in left_out.items() if count)
    yield from clustered_lines(measured.clustered_by)


def _level_lines(table: LevelAgreement, threshold: float) -> Iterator[str]:
    found, counts = table.agreement, table.agreement.confusion
    rule = f", right from a score of {threshold:g}" if table.level == "row" else ""
    behind = "" if table.level == "row" else f" in {table.rows} row{'' if table.rows == 1 else 's'}"
    yield f"{table.grader}, {table.units} labelled {table.noun}{behind}{rule}"
    yield "                    judge: yes   judge: no"
    yield f"  people: yes   {counts.true_positives:>14}{counts.false_negatives:>12}"
    yield f"  people: no    {counts.false_positives:>14}{counts.true_negatives:>12}"
    if table.is_weighted:
        yield "  rates weigh each row by its chance to be drawn (--focus uncertain)"
    auroc = "AUROC of ranking" if table.ranked_by == "ranking" else "AUROC of the score"
    rows = {
        "balanced accuracy": found.balanced_accuracy,
        "Cohen's kappa": found.kappa,
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "precision": found.precision,
        "raw agreement": found.raw_agreement,
        "base rate": found.base_rate,
        "judge says yes": found.judged_rate,
        auroc: table.auroc,
    }
    for label, interval in rows.items():
        if interval is not None:
            yield f"  {label:<19} {interval_words(interval)}"
        elif label != auroc:
            yield f"  {label:<19} unknown: one of the two labels is missing"
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


def _group_line(table: LevelAgreement) -> str:
    found = table.agreement
    accuracy = found.balanced_accuracy or found.raw_agreement
    name = "balanced accuracy" if found.balanced_accuracy else "raw agreement"
    kappa = "unknown" if found.kappa is None else f"{found.kappa.estimate:.2f}"
    return (
        f"  {table.group}: {table.units} {table.level}s, {name} {interval_words(accuracy)}, "
        f"kappa {kappa}"
    )
