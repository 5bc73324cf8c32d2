"""Agreement between a judge and human labels, and correction of the judge's bias (PPI++)."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag_evals.analysis.comparing import clustered_lines, interval_words
from rag_evals.analysis.labels import (
    LabelledRun,
    LabelSources,
    Matched,
    RunInput,
    Unit,
    labelled_units,
    weights_of,
)
from rag_evals.errors import DataError, InvalidScoresError, TooFewLabelsError
from rag_evals.run import Run
from rag_evals.stats import (
    CorrectedMean,
    Interval,
    auroc_interval,
    best_threshold,
    krippendorff_interval,
    mean_interval,
    measure_agreement,
    prediction_powered_mean,
)
from rag_evals.stats.agreement import Agreement

_ALL_LABELLED = "every row has a label, so there is nothing to correct: use the mean of the labels"

Level = Literal["statement", "row"]


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement between the judge and human annotators on one grader's statements or rows.

    Attributes:
        group: Name of the group; None for all rows.
        units: Number of labelled statements or rows, excluding ties.
        rows: Number of rows that contain the units.
        ties: Number of units on which the annotators are evenly split.
        annotators: Number of annotators; all unnamed annotators count as one.
        alpha: Krippendorff's alpha between annotators; None if there is only one.
        auroc: AUROC of the row scores; None for statements, or if a label occurs fewer than twice.
        ranked_by: Score used for `auroc`: the ranking score if every row has one, else the score.
        best: Threshold with the highest balanced accuracy on these labels.
        noun: Plural noun for the labelled units, such as "citations".
        is_weighted: True if the rates correct for unequal chances of being drawn.
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
    best: float | None = None
    noun: str = "rows"
    is_weighted: bool = False
    ranked_by: Literal["score", "ranking"] = "score"

    def __repr__(self) -> str:
        return f"LevelAgreement({_short_words(self)})"


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement between a run and human labels.

    Attributes:
        tables: Each grader's tables for statements, then for rows: overall, then by group.
        threshold: Lowest score at which a row counts as correct.
        unmatched: Number of statement labels that do not match a verdict.
        unscored: Number of labelled rows without a score.
        foreign: Number of labels for rows that are not in the run.
        clustered_by: Field or column by which rows are clustered; None if they are independent.
    """

    tables: tuple[LevelAgreement, ...]
    threshold: float
    unmatched: int = 0
    unscored: int = 0
    foreign: int = 0
    clustered_by: str | None = None

    def __str__(self) -> str:
        lines: list[str] = []
        for table in self.tables:
            is_whole = table.group is None
            lines += _level_lines(table, self.threshold) if is_whole else [_group_line(table)]
        left_out = {
            "labels for statements that the judge did not find": self.unmatched,
            "labelled rows without a score": self.unscored,
            "labels for rows that are not in the run": self.foreign,
        }
        lines += [f"left out: {count} {label}" for label, count in left_out.items() if count]
        return "\n".join([*lines, *clustered_lines(self.clustered_by)])

    def __repr__(self) -> str:
        whole = (table for table in self.tables if table.group is None)
        return f"PeopleAgreement({'; '.join(map(_short_words, whole))})"


def _short_words(table: LevelAgreement) -> str:
    found = table.agreement.balanced_accuracy
    accuracy = "unknown" if found is None else interval_words(found)
    return f"{table.grader}, {table.units} {table.noun}, balanced accuracy {accuracy}"


def agreement(
    run: RunInput,
    labels: LabelSources = (),
    *,
    grader: str | None = None,
    by: str | None = None,
    column: str = "label",
    threshold: float = 1.0,
    cluster: str | None = None,
) -> PeopleAgreement:
    """Measure how well a run's verdicts agree with human labels.

    Args:
        run: A run folder, or a run in memory.
        labels: Label files or data columns; by default, the columns `label` and `statements`.
        grader: Grader to measure; by default, every grader.
        by: Data column that contains each row's group.
        column: Name of the label column in a labels file.
        threshold: Lowest score at which a row counts as correct; by default, every statement must
            be supported.
        cluster: As in `Run.summary`; statements from the same row always form one cluster.

    Raises:
        DataError: The labels cannot be read, or no label matches a verdict.
    """
    labelled = LabelledRun.load(run, labels, grader, column)
    clustered_by, shared = labelled.run.shared(cluster=cluster)
    groups = {} if by is None else labelled.run.column(by)
    levels: tuple[Level, Level] = ("statement", "row")
    tables = tuple(
        _measure(matched, level, group, members, threshold, shared)
        for matched in labelled.matched
        for level, units in zip(levels, (matched.statements, matched.rows), strict=True)
        for group, members in _groups(units, groups).items()
        if any(unit.label is not None for unit in members)
    )
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


def _groups(
    units: Sequence[Unit], groups: Mapping[str, str | None]
) -> dict[str | None, list[Unit]]:
    members: dict[str | None, list[Unit]] = {None: list(units)}
    for unit in units if groups else ():
        members.setdefault(groups.get(unit.sample_id) or "(none)", []).append(unit)
    return members


def _measure(
    matched: Matched,
    level: Level,
    group: str | None,
    units: Sequence[Unit],
    threshold: float,
    shared: Mapping[str, Hashable],
) -> LevelAgreement:
    known = [unit for unit in units if unit.label is not None]
    labels = [_yes_or_no(unit, unit.label) for unit in known if unit.label is not None]
    scores, rows = [unit.judged for unit in known], [unit.sample_id for unit in known]
    of_rows, weights = level == "row", weights_of(known)
    limit = threshold if of_rows else 0.5
    measured = measure_agreement(
        labels,
        [score >= limit for score in scores],
        clusters=None if of_rows and not shared else [shared.get(row, row) for row in rows],
        weights=weights,
    )
    people = {who for unit in units for who in unit.labels}
    # Rows drawn with unequal probabilities would bias the AUROC and the best threshold.
    both = of_rows and any(labels) and not all(labels) and weights is None
    finer = [unit.ranking for unit in known if unit.ranking is not None]
    ranks = finer if len(finer) == len(known) else scores
    return LevelAgreement(
        matched.grader,
        level,
        group,
        units=len(known),
        rows=len(set(rows)),
        agreement=measured,
        ties=len(units) - len(known),
        annotators=len(people),
        alpha=krippendorff_interval([list(unit.labels.values()) for unit in units]),
        auroc=auroc_interval(labels, ranks)
        if both and min(sum(labels), len(labels) - sum(labels)) > 1
        else None,
        best=best_threshold(labels, scores) if both else None,
        noun="rows" if of_rows else matched.noun,
        is_weighted=weights is not None,
        ranked_by="ranking" if ranks is finer else "score",
    )


def _yes_or_no(unit: Unit, label: float) -> bool:
    if 0 < label < 1:
        raise DataError(
            f"row {unit.sample_id!r} has the label {label:g}; agreement needs yes or no labels; "
            "fractions are for the command correct"
        )
    return label == 1


def _level_lines(table: LevelAgreement, threshold: float) -> Iterator[str]:
    found, counts = table.agreement, table.agreement.confusion
    where = f" in {table.rows} row{'' if table.rows == 1 else 's'}"
    if table.level == "row":
        where = f", right if the score is at least {threshold:g}"
    yield f"{table.grader}, {table.units} labelled {table.noun}{where}"
    yield "                    judge: yes   judge: no"
    yield f"  people: yes   {counts.true_positives:>14}{counts.false_negatives:>12}"
    yield f"  people: no    {counts.false_positives:>14}{counts.true_negatives:>12}"
    if table.is_weighted:
        yield "  rates are weighted, because rows were drawn with --focus uncertain"
    rates = {
        "balanced accuracy": found.balanced_accuracy,
        "Cohen's kappa": found.kappa,
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "precision": found.precision,
        "raw agreement": found.raw_agreement,
        "base rate": found.base_rate,
        "judge says yes": found.judged_rate,
    }
    for label, rate in rates.items():
        words = "unknown: one of the two labels is missing"
        yield f"  {label:<19} {words if rate is None else interval_words(rate)}"
    if table.auroc is not None:
        ranked = "AUROC of ranking" if table.ranked_by == "ranking" else "AUROC of the score"
        yield f"  {ranked:<19} {interval_words(table.auroc)}"
    if table.best is not None:
        yield f"  best threshold      {table.best:.3g} on these labels"
    if table.annotators > 1:
        shown = "unknown" if table.alpha is None else interval_words(table.alpha)
        split = f"; {table.ties} evenly split, left out" if table.ties else ""
        yield f"  alpha of {table.annotators} people   {shown}{split}"


def _group_line(table: LevelAgreement) -> str:
    found = table.agreement
    name, accuracy = "balanced accuracy", found.balanced_accuracy
    if accuracy is None:
        name, accuracy = "raw agreement", found.raw_agreement
    kappa = "unknown" if found.kappa is None else f"{found.kappa.estimate:.2f}"
    units = f"{table.group}: {table.units} {table.level}s"
    return f"  {units}, {name} {interval_words(accuracy)}, kappa {kappa}"


@dataclass(frozen=True, slots=True)
class Correction:
    """An estimate of what a metric would be if people had labelled every row.

    Attributes:
        target: The corrected metric, such as "mean score".
        labelled: Number of labelled rows or statements.
        unlabelled: Number of rows or statements with only the judge's verdict.
        judged: The metric according to the judge, over all rows or statements, 0 to 1.
        prediction_powered: The PPI++ estimate; None if it cannot be computed.
        refusal: Why `prediction_powered` is None.
    """

    grader: str
    target: str
    labelled: int
    unlabelled: int
    judged: float
    labels_only: Interval
    prediction_powered: CorrectedMean | None
    refusal: str | None = None

    def __repr__(self) -> str:
        best = self.prediction_powered
        corrected = self.refusal if best is None else interval_words(best.corrected)
        alone = interval_words(self.labels_only)
        judged = f"{self.grader}: {self.target}, judge {self.judged:.3f}"
        return f"Correction({judged}, {alone}, {corrected})"


@dataclass(frozen=True, slots=True)
class Corrections:
    """A run's corrected metrics.

    Attributes:
        corrections: For each grader, those that have labels: the mean score, the share of correct
            rows, and the share of supported statements (or chunks or citations).
        clustered_by: Field or column by which rows are clustered; None if they are independent.
    """

    corrections: tuple[Correction, ...]
    clustered_by: str | None = None

    def __str__(self) -> str:
        lines = [line for one in self.corrections for line in _correction_lines(one)]
        return "\n".join([*lines, *clustered_lines(self.clustered_by)])

    def __repr__(self) -> str:
        return f"Corrections({'; '.join(map(repr, self.corrections))})"


def correct(
    run: RunInput,
    labels: LabelSources = (),
    *,
    grader: str | None = None,
    cluster: str | None = None,
    column: str = "label",
    threshold: float = 1.0,
) -> Corrections:
    """Correct a run's metrics, using labels for a random sample of its rows.

    Args:
        run: A run folder, or a run in memory.
        labels: Label files or data columns; by default, the columns `label` and `statements`.
            The labelled rows must be a random sample, such as one drawn by `rag-evals judge label`.
        grader: Grader to correct; by default, every grader.
        cluster: As in `Run.summary`.
        column: Name of the label column in a labels file.
        threshold: Lowest score at which a row counts as correct.

    Raises:
        DataError: The labels cannot be read, or no label matches a verdict.
        TooFewLabelsError: No metric can be corrected; the message gives the reason.
    """
    labelled = LabelledRun.load(run, labels, grader, column)
    by, clusters = labelled.run.shared(cluster=cluster)
    corrector = _Corrector(labelled.run, clusters, threshold)
    found = tuple(c for matched in labelled.matched for c in corrector.corrections(matched))
    if not found:
        raise labelled.nothing_fits()
    if not any(c.prediction_powered or not c.unlabelled for c in found):
        raise TooFewLabelsError(max(found, key=lambda c: c.labelled).refusal or _ALL_LABELLED)
    return Corrections(found, by)


@dataclass(frozen=True, slots=True)
class _Corrector:
    run: Run
    clusters: Mapping[str, Hashable]
    threshold: float

    def corrections(self, matched: Matched) -> Iterator[Correction]:
        scores = {
            record["sample_id"]: float(record["score"])
            for record in self.run.of_grader(matched.grader)
            if record["score"] is not None
        }
        rows = labelled_units(matched.rows)
        is_graded = any(0 < label < 1 for _, label in rows)
        if shares := rows if is_graded else labelled_units(matched.scored_rows):
            yield self._correct(matched.grader, "mean score", shares, _without(scores, shares))
        if rows and not is_graded:
            target = f"share of rows with a score of at least {self.threshold:g}"
            passed = {name: float(score >= self.threshold) for name, score in scores.items()}
            rows = [(replace(one, judged=passed[one.sample_id]), label) for one, label in rows]
            yield self._correct(matched.grader, target, rows, _without(passed, rows))
        if statements := labelled_units(matched.statements):
            target = f"share of {matched.noun} with a yes verdict"
            verdicts = [(name, float(verdict)) for name, verdict in matched.other_verdicts]
            yield self._correct(matched.grader, target, statements, verdicts, of_statements=True)

    def _correct(
        self,
        grader: str,
        target: str,
        labelled: Sequence[tuple[Unit, float]],
        others: Sequence[tuple[str, float]],
        *,
        of_statements: bool = False,
    ) -> Correction:
        units, labels = zip(*labelled, strict=True)
        judged, weights = [unit.judged for unit in units], weights_of(units)
        # Weighted labels are compared with all rows, unweighted labels only with unlabelled rows.
        everyone = [*others, *((unit.sample_id, unit.judged) for unit in units)]
        unlabelled = everyone if weights else others
        label_clusters, other_clusters = (
            self._clusters(names, of_statements=of_statements)
            for names in ([unit.sample_id for unit in units], [name for name, _ in unlabelled])
        )
        powered, refusal = None, None if others else _ALL_LABELLED
        if refusal is None:
            try:
                powered = prediction_powered_mean(
                    labels,
                    judged,
                    [score for _, score in unlabelled],
                    label_clusters=label_clusters,
                    unlabelled_clusters=other_clusters,
                    weights=weights,
                )
            except (TooFewLabelsError, InvalidScoresError) as error:
                refusal = str(error)
        return Correction(
            grader,
            target,
            labelled=len(labels),
            unlabelled=len(others),
            judged=sum(score for _, score in everyone) / len(everyone),
            labels_only=mean_interval(labels, clusters=label_clusters, weights=weights),
            prediction_powered=powered,
            refusal=refusal,
        )

    def _clusters(self, names: Sequence[str], *, of_statements: bool) -> list[Hashable] | None:
        if of_statements:
            # Statements from the same row form a cluster, even if the rows are independent.
            return [self.clusters.get(name) or f"row {name}" for name in names]
        return [self.clusters.get(name) for name in names] if self.clusters else None


def _without(
    scores: Mapping[str, float], labelled: Sequence[tuple[Unit, float]]
) -> list[tuple[str, float]]:
    ids = {unit.sample_id for unit, _ in labelled}
    return [pair for pair in scores.items() if pair[0] not in ids]


def _correction_lines(correction: Correction) -> Iterator[str]:
    yield (
        f"{correction.grader}, {correction.target}: "
        f"{correction.labelled} labelled, {correction.unlabelled} not"
    )
    yield f"  judge           {correction.judged:.3f}"
    yield f"  labels alone    {interval_words(correction.labels_only)}"
    powered = correction.prediction_powered
    if powered is not None:
        yield (
            f"  PPI++           {interval_words(powered.corrected)}, as good as "
            f"{powered.effective_labels:.0f} labels"
        )
    if correction.refusal is not None:
        yield f"  no correction: {correction.refusal}"
