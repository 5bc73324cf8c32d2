"""Tuning a verifier with labels: a support map, a threshold, and limits for cascades."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from rag_evals.analysis.labels import (
    LabelledRun,
    LabelSources,
    Matched,
    RunInput,
    Unit,
    only_grader,
)
from rag_evals.core import Finding, require_fraction
from rag_evals.errors import ConfigurationError, TooFewLabelsError, WeakJudgeError
from rag_evals.run import Run, load_run
from rag_evals.stats import (
    auroc_interval,
    best_threshold,
    calibration_error,
    error_bound,
    fit_logistic,
    fit_support_map,
    independent_rows,
    measure_agreement,
    sure_side,
)
from rag_evals.verify import (
    AgreementFigures,
    Confidence,
    Promise,
    Tuning,
    read_signals,
    sureness,
)

LEAST_LABELS = 30
"""Minimum number of labels."""

LEAST_OF_EACH = 5
"""Minimum number of labels of each value, True and False."""

_FOLDS = 10
_MOST_QUANTILES = 200


def tune(
    run: RunInput,
    labels: LabelSources = (),
    *,
    grader: str | None = None,
    column: str = "label",
    max_error: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> Tuning:
    """Calibrate a verifier's support with labels, and find when a cascade can rely on it.

    In a cascade, only the last verifier is tuned: it is the only one whose support is recorded for
    every statement that it receives.

    Args:
        run: A run graded by this verifier before it was tuned.
        labels: Label files or data columns, as in `agreement`.
        grader: The grader to tune; by default, the run's only grader.
        column: Name of the label column in a labels file.
        max_error: Maximum share of wrong verdicts when a cascade relies on this verifier alone.
        confidence: Probability that `max_error` is not exceeded.
        seed: Seed for the ten-fold cross-validation split.

    Returns:
        The value for `tuned=` in `evaluate`; `write(path)` saves it to a file.

    Raises:
        DataError: The labels cannot be read, or no label matches a verdict.
        TooFewLabelsError: Too few labels match a verdict: 30 are needed, 5 of each value.
        WeakJudgeError: Support is not higher for statements that people labelled as supported.
        ConfigurationError: The run has no verifier, or the verifier's support is always 0 or 1.
    """
    require_fraction("max_error", max_error)
    require_fraction("confidence", confidence)
    stored = load_run(run)
    name = only_grader(stored, grader)
    *earlier, last = _stages(stored, name)
    labelled = LabelledRun.load(stored, labels, name, column)
    chosen = _Chosen.of(labelled.matched[0], last["name"])
    _check(chosen)
    ids = set(chosen.rows)
    records = (record for record in stored.of_grader(name) if record["sample_id"] in ids)
    languages = {(record.get("result") or {}).get("language") for record in records}
    ordered = sorted(chosen.supports)
    count = min(len(ordered), _MOST_QUANTILES)
    return Tuning(
        stage=last["name"],
        judge=last["fingerprint"],
        prompt=last["prompt"],
        languages=tuple(sorted(filter(None, languages))),
        before=tuple(one["as_used"] for one in earlier),
        **asdict(fit_support_map(chosen.labels, chosen.supports)),
        threshold=best_threshold(chosen.labels, chosen.supports),
        labels=len(chosen.units),
        rows=len(ids),
        level=chosen.level,
        labels_from=labelled.labels_from,
        agreement_before=_figures(chosen, chosen.verdicts, chosen.supports),
        agreement_after=_after(chosen, seed),
        promise=_promise(chosen, max_error, confidence) if chosen.level == "statement" else None,
        spread=tuple(ordered[place * len(ordered) // count] for place in range(count)),
        worth=independent_rows(chosen.supports, chosen.rows),
        confidence=_confidence(chosen, stored, name, seed) if chosen.level == "statement" else None,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    level: Literal["statement", "row"]
    units: list[Unit]
    rows: list[str]
    labels: list[bool]
    supports: list[float]
    verdicts: list[bool]

    @classmethod
    def of(cls, matched: Matched, stage: str) -> "_Chosen":
        """Choose the labelled statements or, if there are too few, the labelled rows."""
        with_statements = {unit.sample_id for unit in matched.statements}
        others = [unit for unit in matched.rows if unit.sample_id not in with_statements]
        # A label for a row with one statement is also a label for that statement.
        single = [unit for unit in others if len(unit.verdicts) == 1]
        statements = _decided_by(stage, [*matched.statements, *single])
        rows = _decided_by(stage, matched.rows)
        has_few = len(statements) < min(LEAST_LABELS, len(rows))
        units = rows if has_few else statements
        return cls(
            "row" if has_few else "statement",
            units,
            rows=[unit.sample_id for unit in units],
            labels=[unit.label == 1 for unit in units],
            supports=[unit.support for unit in units if unit.support is not None],
            verdicts=[unit.judged == 1 for unit in units],
        )


def _decided_by(stage: str, units: Sequence[Unit]) -> list[Unit]:
    return [
        unit
        for unit in units
        if unit.decided_by == stage and unit.support is not None and unit.label in (0, 1)
    ]


def _stages(run: Run, grader: str) -> Sequence[Mapping[str, Any]]:
    stages = run.stages.get(grader)
    if not stages:
        raise ConfigurationError(
            f"the run does not record any verifier for {grader!r}: a judge graded whole answers, "
            "or an older version of rag_evals wrote the run; tune a run graded by a judge such as "
            "'embedded', 'hf:MODEL' or 'decisions:PROVIDER/MODEL'"
        )
    if stages[-1]["tuned"] is not None:
        raise ConfigurationError(
            f"{stages[-1]['name']!r} was already tuned in this run; tune a run without a tuned file"
        )
    return stages


def _check(chosen: _Chosen) -> None:
    count, right = len(chosen.units), sum(chosen.labels)
    noun = "statements" if chosen.level == "statement" else "rows"
    if count < LEAST_LABELS:
        raise TooFewLabelsError(
            f"{count} labels are for {noun} that this verifier judged; tuning needs "
            f"{LEAST_LABELS}, preferably 200"
        )
    if min(right, count - right) < LEAST_OF_EACH:
        raise TooFewLabelsError(
            f"{right} of the {count} labels say supported and {count - right} say not; tuning "
            f"needs {LEAST_OF_EACH} of each"
        )
    for wanted, word in ((True, "supported"), (False, "not supported")):
        pairs = zip(chosen.rows, chosen.labels, strict=True)
        holders = {row for row, label in pairs if label is wanted}
        if len(holders) < 2:
            raise TooFewLabelsError(
                f"all labels that say {word} are for row {holders.pop()!r}; tuning needs two rows"
            )
    if set(chosen.supports) <= {0.0, 1.0}:
        raise ConfigurationError(
            "every support in this run is 0 or 1, so there is nothing to tune; verifiers that "
            "return probabilities are 'embedded', 'hf:MODEL' and 'decisions:PROVIDER/MODEL'"
        )


def _figures(
    chosen: _Chosen, verdicts: Sequence[bool], supports: Sequence[float]
) -> AgreementFigures:
    accuracy = measure_agreement(chosen.labels, verdicts, clusters=chosen.rows).balanced_accuracy
    assert accuracy is not None, "_check requires both labels"
    error = calibration_error(chosen.labels, supports)
    return AgreementFigures(
        balanced_accuracy=accuracy.estimate,
        low=accuracy.low,
        high=accuracy.high,
        calibration_error=min(1.0, error),
    )


def _confidence(chosen: _Chosen, run: Run, grader: str, seed: int) -> Confidence | None:
    attempts = {one["sample_id"]: one.get("attempts") or 0 for one in run.of_grader(grader)}
    weakest = [min(unit.verdicts, key=lambda one: one.support or 0.0) for unit in chosen.units]
    shown = [(run.chunks(row), attempts[row]) for row in chosen.rows]
    return fit_confidence(weakest, shown, chosen.labels, chosen.rows, seed=seed)


def fit_confidence(
    findings: Sequence[Finding],
    shown: Sequence[tuple[Sequence[str], int]],
    labels: Sequence[bool],
    rows: Sequence[str],
    *,
    skip: float = 0.1,
    seed: int = 0,
) -> Confidence | None:
    """Fit the probability that a tuned verdict is right; None if too few verdicts are wrong.

    `findings` have untuned support, `shown` contains each finding's chunks and number of replies,
    and `skip` is the share of verdicts to skip, starting with the least certain.
    """
    supports = [one.support or 0.0 for one in findings]
    sure, right = [0.0] * len(labels), [True] * len(labels)
    try:
        for inside, rest in split_folds(rows, labels, _FOLDS, seed):
            *_, measure = _fit_signals(findings, shown, labels, supports, rest)
            for place in inside:
                sure[place], right[place] = measure(place)
        if min(sum(right), len(right) - sum(right)) < LEAST_OF_EACH:
            return None
        everything = range(len(labels))
        weights, intercept, measure = _fit_signals(findings, shown, labels, supports, everything)
    except (WeakJudgeError, TooFewLabelsError):
        return None
    none = _auroc(right, sure, rows)
    if none.auroc_low <= 0.5:
        return none
    first = int(skip * len(sure))
    cut, limit = sorted(sure)[first], sorted(measure(n)[0] for n in everything)[first]
    kept = [place for place, one in enumerate(sure) if one >= cut]
    wrong = [not right[place] for place in kept]
    found = {
        "weights": weights,
        "intercept": intercept,
        "limit": limit,
        "skipped": 1 - len(kept) / len(sure),
        "error": 1 - sum(right) / len(right),
        "error_kept": sum(wrong) / len(kept),
        # 0.975 instead of 0.95, because the limit was fitted to the same labels.
        "bound": error_bound(wrong, [rows[place] for place in kept], confidence=0.975),
    }
    return none.model_copy(update=found)


def _auroc(right: Sequence[bool], sure: Sequence[float], rows: Sequence[str]) -> Confidence:
    found = auroc_interval(right, sure)
    # Statements from the same row carry less information than independent ones.
    wider = math.sqrt(len(right) / independent_rows([float(one) for one in right], rows))
    low, high = (
        min(1.0, max(0.0, found.estimate + (end - found.estimate) * wider))
        for end in (found.low, found.high)
    )
    return Confidence(auroc=found.estimate, auroc_low=low, auroc_high=high)


def _fit_signals(
    findings: Sequence[Finding],
    shown: Sequence[tuple[Sequence[str], int]],
    labels: Sequence[bool],
    supports: Sequence[float],
    taught: Sequence[int],
) -> tuple[dict[str, float], float, Callable[[int], tuple[float, bool]]]:
    """Tune on the labels at the `taught` indices, then fit the probability of a correct verdict.

    The returned function maps an index to the verdict's confidence and whether it is right.
    """
    of_labels, of_supports = [labels[n] for n in taught], [supports[n] for n in taught]
    means = fit_support_map(of_labels, of_supports)
    limit = best_threshold(of_labels, of_supports)

    def case(place: int) -> tuple[dict[str, float], bool]:
        verdict = supports[place] >= limit
        tuned = replace(findings[place], verdict=verdict, support=means(supports[place]))
        return read_signals(tuned, *shown[place]), verdict == labels[place]

    cases = [case(place) for place in taught]
    values = [list(signals.values()) for signals, _ in cases]
    weights, intercept = fit_logistic(values, [right for _, right in cases])
    named = dict(zip(cases[0][0], weights, strict=True))

    def measure(place: int) -> tuple[float, bool]:
        signals, right = case(place)
        return sureness(named, intercept, signals), right

    return named, intercept, measure


def split_folds(
    groups: Sequence[str], labels: Sequence[bool], count: int, seed: int = 0
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the indices to test on and the indices to fit on; no group is in both.

    Groups that contain the rarer label are spread evenly across the folds.
    """
    rarer = sum(labels) * 2 < len(labels)
    holders = {group for group, label in zip(groups, labels, strict=True) if label is rarer}
    names = list(dict.fromkeys(groups))
    random.Random(seed).shuffle(names)
    names.sort(key=lambda name: name not in holders)
    fold = {name: place % count for place, name in enumerate(names)}
    for number in range(min(count, len(names))):
        tested = [place for place, group in enumerate(groups) if fold[group] == number]
        yield tested, [place for place, group in enumerate(groups) if fold[group] != number]


def _after(chosen: _Chosen, seed: int) -> AgreementFigures:
    """Measure agreement on each fold with a map fitted to the other folds."""
    labels, supports = chosen.labels, chosen.supports
    verdicts, mapped = list(chosen.verdicts), list(supports)
    for inside, rest in split_folds(chosen.rows, labels, _FOLDS, seed):
        own, known = [labels[place] for place in rest], [supports[place] for place in rest]
        try:
            learnt = fit_support_map(own, known)
            threshold = best_threshold(own, known)
        except (WeakJudgeError, TooFewLabelsError):
            continue  # the other folds cannot be fitted; keep the untuned verdicts
        for place in inside:
            verdicts[place] = supports[place] >= threshold
            mapped[place] = learnt(supports[place])
    return _figures(chosen, verdicts, mapped)


def _promise(chosen: _Chosen, max_error: float, confidence: float) -> Promise:
    # Each side gets half of the allowed failure probability, so that both promises hold together.
    of_side = 1 - (1 - confidence) / 2
    find = partial(sure_side, max_error=max_error, clusters=chosen.rows, confidence=of_side)
    supported = find(chosen.labels, chosen.supports, "supported")
    unsupported = find(chosen.labels, chosen.supports, "unsupported")
    sides = [side for side in (supported, unsupported) if side is not None]
    decided = sum(side.decided for side in sides)
    return Promise(
        max_error=max_error,
        confidence=confidence,
        supported_from=None if supported is None else supported.limit,
        unsupported_up_to=None if unsupported is None else unsupported.limit,
        expected_error=sum(side.errors for side in sides) / decided if decided else None,
        decided_share=min(1.0, decided / len(chosen.units)),
    )
