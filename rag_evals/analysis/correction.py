"""What would the score be without the judge's bias? Corrected from a few labels, or refused."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evals.analysis.comparing import RunInput
from rag_evals.analysis.comparison import clustered_lines, interval_words
from rag_evals.analysis.labels import (
    Matched,
    Unit,
    match_labels,
    read_labels,
    weights_of,
)
from rag_evals.errors import InvalidScoresError, TooFewLabelsError
from rag_evals.run import Run, load_run
from rag_evals.stats import (
    CorrectedMean,
    Interval,
    mean_interval,
    prediction_powered_mean,
)

_ALL_LABELLED = "every row has a label, so their mean is the answer; nothing is left to correct"


@dataclass(frozen=True, slots=True)
class Correction:
    """One number of a run as people would have given it.

    Attributes:
        grader: Its name.
        target: What the number is, in words.
        labelled: Labelled rows or statements.
        unlabelled: Rows or statements that only the judge saw.
        judged: The judge's own number over all of them, 0 to 1.
        labels_only: The number from the labels alone.
        prediction_powered: Corrected by PPI++; None where refused.
        refusal: Why it is missing, in a sentence; None where it is there.
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
        """One line: the number, as judged and as corrected."""
        return f"Correction({': '.join(_cells(self)[:2])}, judge {', '.join(_cells(self)[3:])})"


@dataclass(frozen=True, slots=True)
class Corrections:
    """The numbers of a run, corrected.

    Attributes:
        corrections: For each grader, the mean score, the share of right rows and the share of
            statements (or chunks, citations) with a yes, as far as labels of that kind are there.
        clustered_by: By what rows are clustered; None where they are independent.
    """

    corrections: tuple[Correction, ...]
    clustered_by: str | None = None

    def __str__(self) -> str:
        """What a terminal shows."""
        lines = [line for one in self.corrections for line in _correction_lines(one)]
        return "\n".join([*lines, *clustered_lines(self.clustered_by)])

    def __repr__(self) -> str:
        """One line: each number, as judged and as corrected."""
        return f"Corrections({'; '.join(map(repr, self.corrections))})"


def _cells(one: Correction) -> list[str]:
    best = one.prediction_powered
    corrected = str(one.refusal) if best is None else interval_words(best.corrected)
    labelled = f"{one.labelled} of {one.labelled + one.unlabelled}"
    alone = interval_words(one.labels_only)
    return [one.grader, one.target, labelled, f"{one.judged:.3f}", alone, corrected]


def correct(
    run: RunInput,
    labels: str | Path | Sequence[str | Path] = (),
    *,
    grader: str | None = None,
    cluster: str | None = None,
    column: str = "label",
    threshold: float = 1.0,
    confidence: float = 0.95,
) -> Corrections:
    """Correct the numbers of a run by labels of a random part of its rows.

    Args:
        run: A run folder, or a run in memory.
        labels: Files, or columns of the data; without any, the data's `label` and `statements`.
            The labelled rows must be a random sample, as `rag-evals judge label` draws it.
        grader: The only grader to take; None takes all of the run.
        cluster: As for `Run.summary`.
        column: The column of a labels file that holds the label.
        threshold: Score from which the judge calls a row right.
        confidence: Coverage of each interval, as a fraction.

    Raises:
        DataError: The labels cannot be read.
        TooFewLabelsError: Every correction is refused; the message says why.
    """
    stored = load_run(run)
    given = read_labels(labels, stored, column=column)
    by, clusters = stored.shared(cluster=cluster)
    corrector = _Corrector(stored, clusters, threshold, confidence)
    found = [
        c for matched in match_labels(stored, given, grader) for c in corrector.corrections(matched)
    ]
    if not found:
        raise TooFewLabelsError(
            "no label fits a scored row of this run; see rag-evals judge agreement"
        )
    if not any(c.prediction_powered or not c.unlabelled for c in found):
        raise TooFewLabelsError("; ".join(dict.fromkeys(str(c.refusal) for c in found)))
    return Corrections(tuple(found), by)


@dataclass(frozen=True, slots=True)
class _Corrector:
    run: Run
    clusters: Mapping[str, Hashable]
    threshold: float
    confidence: float

    def corrections(self, matched: Matched) -> list[Correction]:
        scores = {
            record["sample_id"]: float(record["score"])
            for record in self.run.of_grader(matched.grader)
            if record["score"] is not None
        }
        found = []
        shares = _labelled(matched.scored_rows)
        graded = [(unit, label) for unit, label in _labelled(matched.rows) if 0 < label < 1]
        if graded:
            shares = _labelled(matched.rows)
        if shares:
            found.append(self._of_rows(matched.grader, "mean score", shares, scores, None))
        if matched.rows and not graded:
            target = f"share of rows with a score of at least {self.threshold:g}"
            rows = _labelled(matched.rows)
            found.append(self._of_rows(matched.grader, target, rows, scores, self.threshold))
        if matched.statements:
            found.append(self._of_statements(matched))
        return found

    def _of_rows(
        self,
        grader: str,
        target: str,
        labelled: Sequence[tuple[Unit, float]],
        scores: dict[str, float],
        threshold: float | None,
    ) -> Correction:
        def seen(score: float) -> float:
            return score if threshold is None else float(score >= threshold)

        weights = weights_of([unit for unit, _ in labelled])
        # With weights, all rows stand against the labelled ones, not the others alone.
        ids = set() if weights else {unit.sample_id for unit, _ in labelled}
        others = [sample_id for sample_id in scores if sample_id not in ids]
        return self._correct(
            (grader, target),
            weights,
            [label for _, label in labelled],
            [seen(unit.judged) for unit, _ in labelled],
            [seen(scores[sample_id]) for sample_id in others],
            [self.clusters.get(unit.sample_id) for unit, _ in labelled] if self.clusters else None,
            [self.clusters.get(sample_id) for sample_id in others] if self.clusters else None,
        )

    def _of_statements(self, matched: Matched) -> Correction:
        def cluster(sample_id: str) -> Hashable:
            return self.clusters.get(sample_id) or f"row {sample_id}"

        labelled = _labelled(matched.statements)
        weights = weights_of([unit for unit, _ in labelled])
        others = list(matched.other_verdicts)
        if weights:
            others += [(unit.sample_id, unit.judged == 1) for unit, _ in labelled]
        return self._correct(
            (matched.grader, f"share of {matched.noun} with a yes"),
            weights,
            [label for _, label in labelled],
            [unit.judged for unit, _ in labelled],
            [float(verdict) for _, verdict in others],
            [cluster(unit.sample_id) for unit, _ in labelled],
            [cluster(sample_id) for sample_id, _ in others],
        )

    def _correct(
        self,
        names: tuple[str, str],
        weights: list[float] | None,
        labels: list[float],
        judged: list[float],
        others: list[float],
        label_clusters: Sequence[Hashable | None] | None,
        other_clusters: Sequence[Hashable | None] | None,
    ) -> Correction:
        unlabelled = len(others) - (len(labels) if weights else 0)
        powered, refusal = None, _ALL_LABELLED if unlabelled < 2 else None
        if refusal is None:
            try:
                powered = prediction_powered_mean(
                    labels,
                    judged,
                    others,
                    label_clusters=label_clusters,
                    unlabelled_clusters=other_clusters,
                    weights=weights,
                    confidence=self.confidence,
                )
            except (TooFewLabelsError, InvalidScoresError) as error:
                refusal = str(error)
        everyone = others if weights else [*judged, *others]
        return Correction(
            *names,
            labelled=len(labels),
            unlabelled=unlabelled,
            judged=sum(everyone) / len(everyone),
            labels_only=mean_interval(
                labels, clusters=label_clusters, weights=weights, confidence=self.confidence
            ),
            prediction_powered=powered,
            refusal=refusal,
        )


def _labelled(units: Sequence[Unit]) -> list[tuple[Unit, float]]:
    """Return what people agree on, with their label; evenly split ones are left out."""
    pairs = [(unit, unit.label) for unit in units]
    return [(unit, label) for unit, label in pairs if label is not None]


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
