"""Correction of a judge's bias with a few labels (PPI++)."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from rag_evals.errors import InvalidScoresError, TooFewLabelsError
from rag_evals.run import Run
from rag_evals.stats import (
    CorrectedMean,
    Interval,
    mean_interval,
    prediction_powered_mean,
)

_ALL_LABELLED = "every row has a label, so there is nothing to correct: use the mean of the labels"


@dataclass(frozen=True, slots=True)
class Correction:
    """An estimate of the number that people's labels for every row would give.

    Attributes:
        target: The corrected number, such as "mean score".
        labelled: Number of labelled rows or statements.
        unlabelled: Number of rows or statements with only the judge's verdict.
        judged: The judge's number for all rows or statements, 0 to 1.
        prediction_powered: The PPI++ estimate; None if it was refused.
        refusal: Why it was refused.
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
    """A run's corrected numbers.

    Attributes:
        corrections: For each grader, the mean score, the share of right rows, and the share of
            supported statements (or chunks or citations), if there are labels for them.
        clustered_by: None if rows are independent.
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
    """Correct a run's numbers with labels for a random sample of its rows.

    Args:
        run: A run folder, or a run in memory.
        labels: Files or columns of the data; by default the columns `label` and `statements`.
            The labelled rows must be a random sample, such as one drawn by `rag-evals judge label`.
        grader: The only grader to correct; None corrects all.
        cluster: As in `Run.summary`.
        column: Name of the label column in a labels file.
        threshold: Lowest score at which a row counts as right.

    Raises:
        DataError: The labels cannot be read, or none matches a verdict.
        TooFewLabelsError: Every correction is refused; the message gives the reason.
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
            target = f"share of {matched.noun} with a yes"
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
        # Weighted labels are compared with all rows, others only with the unlabelled rows.
        everyone = [*others, *((unit.sample_id, unit.judged) for unit in units)]
        unlabelled = everyone if weights else others
        label_clusters, other_clusters = (
            self._clusters(names, of_statements=of_statements)
            for names in ([unit.sample_id for unit in units], [name for name, _ in unlabelled])
        )
        powered, refusal = None, _ALL_LABELLED if len(others) < 2 else None
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
            # Statements from one row form a cluster even if rows are independent.
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
