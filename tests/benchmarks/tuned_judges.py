"""What do a few labels do for the embedded judge, and does a cascade keep its promise?

Prints the Markdown tables of docs/how-many.md and docs/verifiers.md. The judge is trained without
the set that it is measured on, as for its model card:

    python tests/benchmarks/tuned_judges.py DATA_DIR --splits 200

`--confidence` prints instead how well the confidence of verdicts tells wrong ones from right ones.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rag_evals.analysis.tuning import fit_confidence
from rag_evals.core import Finding
from rag_evals.errors import TooFewLabelsError, WeakJudgeError
from rag_evals.stats import (
    auroc_interval,
    best_threshold,
    calibration_error,
    fit_support_map,
    sure_side,
)
from rag_evals.stats.agreement import count_confusion
from tools.train_embedded.__main__ import train
from tools.train_embedded.rows import read_statements

LEFT_OUT = ("mnli", "snli", "scitail", "wice_tokens")
OWN_THRESHOLD = 0.5
MOST_STATEMENTS = 1_500


@dataclass(frozen=True)
class Labelled:
    """One set: statements with a label, a support of a judge that never saw it, and their row."""

    name: str
    labels: list[bool]
    supports: list[float]
    rows: list[str]
    shown: list[tuple[Finding, tuple[str, ...]]]

    def places(self) -> dict[str, list[int]]:
        """Return the statements of each row."""
        found: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault(row, []).append(place)
        return found


@dataclass(frozen=True)
class Draw:
    """Labels of whole rows, drawn with replacement: the set stands for all there is."""

    labels: list[bool]
    supports: list[float]
    clusters: list[int]
    places: list[int]


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--max-error", type=float, default=0.05)
    parser.add_argument("--counts", type=int, nargs="+", default=[200, 500])
    parser.add_argument("--confidence", action="store_true")
    parser.add_argument("--sets", nargs="+", help="names; default: all")
    options = parser.parse_args()
    sets = [
        one for one in labelled_sets(options.data) if not options.sets or one.name in options.sets
    ]
    if options.confidence:
        _print_confidences(sets, options.counts[0], options.splits)
        return
    _print_untuned(sets)
    for count in options.counts:
        _print_tuned(sets, count, options.splits)
        _print_promises(sets, count, options.splits, options.max_error)


def labelled_sets(folder: Path) -> Iterator[Labelled]:
    """Yield each set with supports of a judge that was trained without it."""
    statements = read_statements(folder)
    _, measured, _ = train(statements)
    for name, rows in statements.items():
        if name not in LEFT_OUT:
            supports = [float(score) for score in measured.scores[name]]
            labels = [bool(row.label) for row in rows]
            shown = [
                (_finding(row.text, support), row.chunks)
                for row, support in zip(rows, supports, strict=True)
            ]
            yield Labelled(name, labels, supports, [row.row_id for row in rows], shown)


def _finding(text: str, support: float) -> Finding:
    """Return what a run has of it."""
    return Finding(text, support >= OWN_THRESHOLD, "", support=support, decided_by="embedded")


def _draws(data: Labelled, count: int, splits: int) -> Iterator[Draw]:
    rng = random.Random(1)
    places = list(data.places().values())
    for _ in range(splits):
        drawn: list[tuple[int, int]] = []
        row = 0
        while len(drawn) < count:
            drawn += [(place, row) for place in rng.choice(places)]
            row += 1
        yield Draw(
            [data.labels[place] for place, _ in drawn],
            [data.supports[place] for place, _ in drawn],
            [row for _, row in drawn],
            [place for place, _ in drawn],
        )


def _print_untuned(sets: list[Labelled]) -> None:
    """Show what a cascade decides alone at fixed limits, and how much of that is wrong."""
    print("| set | statements | above 0.8: decided | wrong | below 0.2: decided | wrong |")
    print("|---|---|---|---|---|---|")
    for data in sets:
        cells = []
        for side in (True, False):
            inside = [
                label
                for label, support in zip(data.labels, data.supports, strict=True)
                if (support > 0.8 if side else support < 0.2)
            ]
            wrong = sum(label is not side for label in inside)
            share = f"{100 * wrong / len(inside):.0f} %" if inside else "-"
            cells += [f"{100 * len(inside) / len(data.labels):.0f} %", share]
        print(f"| {data.name} | {len(data.labels)} | {' | '.join(cells)} |")
    print(flush=True)


def _print_tuned(sets: list[Labelled], count: int, splits: int) -> None:
    """Show calibration error and balanced accuracy over the whole set, before and after tuning."""
    print(f"{count} labels, {splits} draws\n")
    print("| set | calibration error: before | after | balanced accuracy: before | after |")
    print("|---|---|---|---|---|")
    for data in sets:
        errors, accuracies = [], []
        for draw in _draws(data, count, splits):
            try:
                learnt = fit_support_map(draw.labels, draw.supports)
                threshold = best_threshold(draw.labels, draw.supports)
            except (TooFewLabelsError, WeakJudgeError):
                continue
            errors.append(calibration_error(data.labels, [learnt(one) for one in data.supports]))
            accuracies.append(_accuracy(data, threshold))
        before = calibration_error(data.labels, data.supports)
        cells = [before, fmean(errors), _accuracy(data, OWN_THRESHOLD), fmean(accuracies)]
        print(f"| {data.name} | {' | '.join(f'{100 * cell:.1f}' for cell in cells)} |", flush=True)
    print()


def _accuracy(data: Labelled, threshold: float) -> float:
    verdicts = [support >= threshold for support in data.supports]
    found = count_confusion(data.labels, verdicts)
    hits = found.true_positives / sum(data.labels)
    return (hits + found.true_negatives / (len(data.labels) - sum(data.labels))) / 2


def _print_promises(sets: list[Labelled], count: int, splits: int, max_error: float) -> None:
    """Show how often the true error of what is decided alone is above what was promised."""
    print(f"{count} labels, {splits} draws, at most {max_error:.0%} wrong promised\n")
    print("| set | rows as clusters: refused | decided | wrong | broken | no clusters: broken |")
    print("|---|---|---|---|---|---|")
    for data in sets:
        cells: list[str] = []
        for clustered in (True, False):
            figures = [
                _decided(data, draw, max_error, clustered=clustered)
                for draw in _draws(data, count, splits)
            ]
            kept = [(decided, wrong) for decided, wrong in figures if decided]
            broken = sum(wrong > max_error * decided for decided, wrong in kept)
            if clustered:
                alone = sum(decided for decided, _ in kept)
                wrong_share = sum(wrong for _, wrong in kept) / alone if alone else 0.0
                cells += [
                    f"{100 * (splits - len(kept)) / splits:.0f} %",
                    f"{100 * alone / splits / len(data.labels):.0f} %",
                    f"{100 * wrong_share:.1f} %" if alone else "-",
                ]
            cells.append(f"{100 * broken / splits:.1f} %")
        print(f"| {data.name} | {' | '.join(cells)} |", flush=True)
    print()


def _decided(data: Labelled, draw: Draw, max_error: float, *, clustered: bool) -> tuple[int, int]:
    """Return what is decided alone over the whole set, and how much of it is wrong."""
    clusters = draw.clusters if clustered else None
    decided = wrong = 0
    for supported in (True, False):
        found = sure_side(
            draw.labels,
            draw.supports,
            "supported" if supported else "unsupported",
            max_error=max_error,
            clusters=clusters,
        )
        if found is None:
            continue
        for label, support in zip(data.labels, data.supports, strict=True):
            if support >= found.limit if supported else support <= found.limit:
                decided += 1
                wrong += label is not supported
    return decided, wrong


def _print_confidences(sets: list[Labelled], count: int, splits: int) -> None:
    """Show the AUROC of being wrong, and what leaving out the least sure verdicts promises."""
    print(f"{count} labels, {splits} draws, the least sure tenth left out\n")
    print("| set | no signal | AUROC | wrong: all | least sure left out | promised | broken |")
    print("|---|---|---|---|---|---|---|")
    for whole in sets:
        data = _cut(whole)
        figures = [_confident(data, draw) for draw in _draws(data, count, splits)]
        found = [one for one in figures if one is not None]
        shares = [fmean(column) for column in zip(*found, strict=True)] or [0.0] * 5
        cells = [1 - len(found) / splits, *shares]
        print(f"| {data.name} | {' | '.join(f'{100 * cell:.1f}' for cell in cells)} |", flush=True)


def _cut(data: Labelled) -> Labelled:
    """Take whole rows, up to some 1,500 statements."""
    groups = list(data.places().values())
    random.Random(0).shuffle(groups)
    taken: list[int] = []
    while groups and len(taken) < MOST_STATEMENTS:
        taken += groups.pop()
    return Labelled(
        data.name,
        [data.labels[place] for place in taken],
        [data.supports[place] for place in taken],
        [data.rows[place] for place in taken],
        [data.shown[place] for place in taken],
    )


def _confident(data: Labelled, draw: Draw) -> tuple[float, ...] | None:
    """Return AUROC, errors of all and of the surer ones in the set, bound, broken or not."""
    shown = [(data.shown[place][1], 0) for place in draw.places]
    findings = [data.shown[place][0] for place in draw.places]
    rows = [str(one) for one in draw.clusters]
    confidence = fit_confidence(findings, shown, draw.labels, rows)
    if confidence is None or not confidence.weights:
        return None
    learnt = fit_support_map(draw.labels, draw.supports)
    limit = best_threshold(draw.labels, draw.supports)
    sure, right = [], []
    for (finding, chunks), label in zip(data.shown, data.labels, strict=True):
        support = finding.support or 0.0
        tuned = replace(finding, verdict=support >= limit, support=learnt(support))
        sure.append(confidence.of(tuned, chunks) or 0.0)
        right.append(tuned.verdict == label)
    kept = [one for one, share in zip(right, sure, strict=True) if share >= confidence.limit]
    error = 1 - fmean(kept)
    area = auroc_interval(right, sure).estimate
    return area, 1 - fmean(right), error, confidence.bound, float(error > confidence.bound)


if __name__ == "__main__":
    main()
