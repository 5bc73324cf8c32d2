"""How are comparisons, agreement and corrections put into words? Plain lines for a terminal."""

from collections.abc import Iterator, Sequence

from rag_evals.analysis.agreement import LevelAgreement, PeopleAgreement
from rag_evals.analysis.comparison import (
    Comparison,
    GraderComparison,
    GroupComparison,
    PairCoverage,
)
from rag_evals.analysis.correction import Correction, Corrections
from rag_evals.stats import Interval, PairedComparison

_ROWS_SHOWN = 10
_CURVE_LINES = 8


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Say what two runs say about each other."""
    yield f"baseline:  {comparison.baseline}"
    yield f"candidate: {comparison.candidate}"
    for warning in comparison.warnings:
        yield f"note: {warning}"
    for grader in comparison.graders:
        yield ""
        yield from _grader_lines(grader, comparison.threshold, len(comparison.graders))
    for found in comparison.unscored:
        yield ""
        yield f"{found.grader}: nothing to compare"
        yield f"  scored in both  {coverage_words(found)}"


def _grader_lines(grader: GraderComparison, threshold: float, graders: int) -> Iterator[str]:
    paired, passes = grader.paired, grader.passes
    yield f"{grader.grader}: {verdict_words(grader)}"
    yield f"  scored in both  {coverage_words(grader.coverage)}{_clusters(paired)}"
    yield f"  baseline        {interval_words(grader.baseline)}"
    yield f"  candidate       {interval_words(grader.candidate)}"
    yield f"  difference      {difference_words(paired)}"
    yield f"  p               {p_words(grader, graders)}"
    yield f"  rows            {paired.wins} better, {paired.ties} the same, {paired.losses} worse"
    yield (
        f"  passed          {grader.passed[0]} and {grader.passed[1]} rows score {threshold:g} or "
        f"more; p = {passes.p_value:.2g} (McNemar, exact)"
    )
    yield f"  minimum detectable effect {detectable_words(paired)}"
    for group in grader.groups:
        yield (
            f"  {group.group or '(none)'}: {difference_words(group.paired)}, "
            f"{group.paired.samples} rows, {group_verdict_words(group)}"
        )
    yield from _row_lines(grader)


def _row_lines(grader: GraderComparison) -> Iterator[str]:
    if grader.changed:
        yield "  changed most:"
        for row in grader.changed[:_ROWS_SHOWN]:
            yield f"    {row.sample_id}: {row.baseline:.2f} -> {row.candidate:.2f}"
    for row_once in grader.scored_once[:_ROWS_SHOWN]:
        yield f"  only the {row_once.run} scored {row_once.sample_id}; the other: {row_once.why}"
    yield from _listed("only in the baseline", grader.only_baseline)
    yield from _listed("only in the candidate", grader.only_candidate)


def verdict_words(grader: GraderComparison) -> str:
    """Say whether the candidate is better, worse, or cannot be told from the baseline."""
    if grader.verdict != "not distinguishable":
        return f"the candidate is {grader.verdict}"
    return _adjusted_words(grader.paired, grader.adjusted_p, "all graders")


def group_verdict_words(group: GroupComparison) -> str:
    """Say the verdict on one group."""
    if group.verdict != "not distinguishable":
        return group.verdict
    return _adjusted_words(group.paired, group.adjusted_p, "all groups")


def _adjusted_words(paired: PairedComparison, adjusted_p: float, together: str) -> str:
    """Say that nothing can be told, and why where the interval alone says otherwise."""
    if paired.verdict == "not distinguishable":
        return paired.verdict
    return (
        f"not distinguishable: {paired.verdict} by itself, but p = {adjusted_p:.2g} with "
        f"{together} taken together (Holm)"
    )


def coverage_words(found: PairCoverage) -> str:
    """Say on how many rows a comparison rests: "5 of 100 rows (95 empty_context in both)"."""
    if found.scored == found.rows:
        return f"{found.rows} rows"
    return f"{found.scored} of {found.rows} rows ({found.why})"


def p_words(grader: GraderComparison, graders: int) -> str:
    """Say the p-value, the test behind it, and the adjustment where there are several graders."""
    test = grader.paired.significance
    drawn = "" if test.resamples is None else f", {test.resamples:,} patterns"
    adjusted = f"; {grader.adjusted_p:.2g} after Holm over {graders} graders" if graders > 1 else ""
    return f"{test.p_value:.2g} ({test.test}{drawn}){adjusted}"


def detectable_words(paired: PairedComparison) -> str:
    """Say which true difference this many rows would usually find: "0.08 (80 % power)"."""
    if paired.detectable is None:
        return "unknown: no spread was seen"
    if paired.detectable > 1:
        return "above 1 (80 % power), so these rows can show none"
    return f"{paired.detectable:.2g} (80 % power)"


def difference_words(paired: PairedComparison) -> str:
    """Write the difference with its interval; without one where both sides are the same."""
    if not paired.difference.width:
        return "+0.000: both are the same outcomes"
    return interval_words(paired.difference, sign="+")


def interval_words(interval: Interval, sign: str = "") -> str:
    """Write an estimate with its interval: "0.683 [0.624, 0.723]"."""
    low, high = _end(interval.low, sign), _end(interval.high, sign)
    return f"{interval.estimate:{sign}.3f} [{low}, {high}]"


def _end(value: float, sign: str) -> str:
    """Write an end of an interval; one near 0 must not look as if it were 0."""
    near = 1e-9 < abs(value) < 0.0005
    return f"{value:{sign}.1g}" if near else f"{value:{sign}.3f}"


def _clusters(paired: PairedComparison) -> str:
    return "" if paired.clusters == paired.samples else f" in {paired.clusters} clusters"


def _listed(label: str, ids: Sequence[str]) -> Iterator[str]:
    if ids:
        more = f" and {len(ids) - _ROWS_SHOWN} more" if len(ids) > _ROWS_SHOWN else ""
        yield f"  {label}: {len(ids)} rows: {', '.join(ids[:_ROWS_SHOWN])}{more}"


def agreement_lines(measured: PeopleAgreement) -> Iterator[str]:
    """Say how far the judge agrees with people."""
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
    for label, count in left_out.items():
        if count:
            yield f"left out: {count} {label}"


def _level_lines(table: LevelAgreement, threshold: float) -> Iterator[str]:
    found, counts = table.agreement, table.agreement.confusion
    rule = f", right from a score of {threshold:g}" if table.level == "row" else ""
    behind = "" if table.level == "row" else f" in {table.rows} rows"
    yield f"{table.grader}, {table.units} labelled {table.noun}{behind}{rule}"
    yield "                    judge: yes   judge: no"
    yield f"  people: yes   {counts.true_positives:>14}{counts.false_negatives:>12}"
    yield f"  people: no    {counts.false_positives:>14}{counts.true_negatives:>12}"
    rows = {
        "balanced accuracy": found.balanced_accuracy,
        "Cohen's kappa": found.kappa,
        "sensitivity": found.sensitivity,
        "specificity": found.specificity,
        "precision": found.precision,
        "raw agreement": found.raw_agreement,
        "base rate": found.base_rate,
        "judge says yes": found.judged_rate,
        "AUROC of the score": table.auroc,
    }
    for label, interval in rows.items():
        if interval is not None:
            yield f"  {label:<19} {interval_words(interval)}"
        elif label != "AUROC of the score":
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


def correction_lines(found: Corrections) -> Iterator[str]:
    """Say what the numbers would be without the judge's bias."""
    for correction in found.corrections:
        yield from _correction_lines(correction)


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
    rated = correction.rogan_gladen
    if rated is not None:
        yield (
            f"  Rogan-Gladen    {interval_words(rated.corrected)}, sensitivity "
            f"{rated.sensitivity:.2f}, specificity {rated.specificity:.2f}"
        )
    for refusal in correction.refusals:
        yield f"  no correction: {refusal}"
