"""How often do the intervals of `rag_evals.stats` hold the truth?

Prints the tables of docs/statistics-appendix.md and more; 2,000 draws take a quarter of an hour:

    python tests/benchmarks/coverage_simulation.py --draws 2000 --seed 1

Only for labels drawn by `judge label`, with and without `--focus uncertain`: `--focus`.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import get_args

from rag_evals import agreement, correct
from rag_evals.report.label_page import Focus, RowToLabel, rows_to_label
from rag_evals.run import Run, StoredSample
from rag_evals.stats import (
    Interval,
    compare_paired,
    mean_interval,
    measure_agreement,
    prediction_powered_mean,
)
from tests.analysis.runs import record

UNLABELLED_ROWS = 1_000
LABEL_COUNTS = (30, 100, 300)
PPI_COLUMNS = "labels | covers | labels alone cover | width / labels alone | widest / labels alone"


@dataclass(frozen=True)
class Judge:
    """A judge of yes/no statements: how many are really supported, and how often it sees that."""

    base_rate: float
    sensitivity: float
    specificity: float

    def row(self, rng: random.Random) -> tuple[bool, bool]:
        """Draw one label and the verdict on it."""
        label = rng.random() < self.base_rate
        right = rng.random() < (self.sensitivity if label else self.specificity)
        return label, right == label

    def rows(self, count: int, rng: random.Random) -> tuple[list[bool], list[bool]]:
        """Draw aligned labels and verdicts."""
        pairs = [self.row(rng) for _ in range(count)]
        return [label for label, _ in pairs], [verdict for _, verdict in pairs]


JUDGES = [
    Judge(base_rate, *quality)
    for base_rate in (0.5, 0.8, 0.9)
    for quality in ((0.99, 0.99), (0.95, 0.9), (0.9, 0.7), (0.7, 0.7), (0.5, 0.5))
]


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--focus", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    for table in (
        (focused,)
        if options.focus
        else (
            prediction_powered_yes_no,
            prediction_powered_graded,
            means,
            paired,
            kappas,
        )
    ):
        for line in table(options.draws, random.Random(options.seed)):
            print(line, flush=True)
        print(flush=True)
    seconds = time.perf_counter() - start
    print(f"{options.draws} draws, seed {options.seed}, {seconds:.0f} s, Python {sys.version[:6]}")


def focused(draws: int, rng: random.Random) -> Iterable[str]:
    """Intervals from 60 decisions on a run of 400 rows, drawn as `judge label` draws them."""
    yield "| number | of all rows | every row alike: covers | width | uncertain: covers | width |"
    yield "|---|---|---|---|---|---|"
    run, labels = _run_to_label(rng)
    everything = _measured(run, labels, rows_to_label(run, 10_000))
    found = {
        focus: [
            _measured(run, labels, rows_to_label(run, 60, focus=focus, seed=seed))
            for seed in range(draws)
        ]
        for focus in get_args(Focus)
    }
    for name, truth in everything.items():
        cells = [name, f"{truth.estimate:.3f}"]
        for drawn in found.values():
            intervals = [one[name] for one in drawn if name in one]
            covers = fmean(one.contains(truth.estimate) for one in intervals)
            cells += [f"{covers:.1%}", f"{fmean(one.width for one in intervals):.3f}"]
        yield f"| {' | '.join(cells)} |"


def _run_to_label(rng: random.Random) -> tuple[Run, dict[str, list[bool]]]:
    """Return a run with supports, and what people would say of each of its statements."""
    records, labels = [], {}
    for number in range(400):
        supports = [rng.betavariate(0.25, 0.2) for _ in range(rng.randint(1, 3))]
        name = f"r{number}"
        labels[name] = [rng.random() < one for one in supports]
        findings = [
            {"text": f"{name} {place}", "verdict": one >= 0.5, "label": "", "support": one,
             "decided_by": "embedded", "about": "statement"}
            for place, one in enumerate(supports)
        ]  # fmt: skip
        score = fmean(one >= 0.5 for one in supports)
        records.append(record(number, name, score, findings=findings))
    return Run(records, samples={name: StoredSample(name) for name in labels}), labels


def _measured(
    run: Run, labels: dict[str, list[bool]], drawn: Sequence[RowToLabel]
) -> dict[str, Interval]:
    """Return the intervals that these rows' labels give, by name."""
    lines = [
        {"sample_id": one.sample_id, "grader": one.grader, "statement": place, "label": label,
         "text": f"{one.sample_id} {place}", "weight": one.weight}
        for one in drawn
        for place, label in enumerate(labels[one.sample_id])
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "labels.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        corrections, measured = correct(run, file).corrections, agreement(run, file)
    found = {}
    for one in corrections:
        best = one.prediction_powered
        found[one.target] = one.labels_only if best is None else best.corrected
        found[f"{one.target}, labels alone"] = one.labels_only
    for table in measured.tables:
        for name in ("raw_agreement", "sensitivity", "specificity", "balanced_accuracy", "kappa"):
            interval = getattr(table.agreement, name)
            if interval is not None:
                found[f"{table.level}: {name.replace('_', ' ')}"] = interval
    return found


def prediction_powered_yes_no(draws: int, rng: random.Random) -> Iterable[str]:
    """PPI++ for a rate, beside the labels alone."""
    yield "PPI++, yes/no labels, 1,000 rows without a label"
    yield ""
    yield f"| base rate | sensitivity / specificity | {PPI_COLUMNS} |"
    yield "|---|---|---|---|---|---|---|"
    for judge in JUDGES:
        for count in LABEL_COUNTS:

            def sample(count: int = count, judge: Judge = judge) -> tuple[list[bool], ...]:
                _, unlabelled = judge.rows(UNLABELLED_ROWS, rng)
                return *judge.rows(count, rng), unlabelled

            figures = _prediction_powered(sample, judge.base_rate, draws)
            quality = f"{judge.sensitivity} / {judge.specificity}"
            yield f"| {judge.base_rate} | {quality} | {count} | {figures} |"


def prediction_powered_graded(draws: int, rng: random.Random) -> Iterable[str]:
    """PPI++ for a mean of graded scores: quarters, as of four statements in an answer."""
    yield "PPI++, graded labels (quarters), 1,000 rows without a label"
    yield ""
    yield f"| true mean | judge | {PPI_COLUMNS} |"
    yield "|---|---|---|---|---|---|---|"
    for a, b in ((8.0, 2.0), (4.0, 0.5)):
        for noise in (0.05, 0.2):
            for gross in (False, True):
                for count in LABEL_COUNTS:

                    def sample(
                        count: int = count,
                        a: float = a,
                        b: float = b,
                        noise: float = noise,
                        gross: bool = gross,
                    ) -> tuple[list[float], ...]:
                        pairs = [
                            _graded_row(a, b, noise, gross, rng)
                            for _ in range(count + UNLABELLED_ROWS)
                        ]
                        labels = [label for label, _ in pairs[:count]]
                        judged = [score for _, score in pairs]
                        return labels, judged[:count], judged[count:]

                    figures = _prediction_powered(sample, a / (a + b), draws)
                    kind = f"{noise:.0%} gross errors" if gross else f"noise {noise}, bias -0.05"
                    yield f"| {a / (a + b):.3f} | {kind} | {count} | {figures} |"


def _graded_row(
    a: float, b: float, noise: float, gross: bool, rng: random.Random
) -> tuple[float, float]:
    quality = rng.betavariate(a, b)
    label = sum(rng.random() < quality for _ in range(4)) / 4
    if gross:
        return label, rng.randrange(5) / 4 if rng.random() < noise else label
    return label, min(1.0, max(0.0, label - 0.05 + rng.gauss(0, noise)))


def _prediction_powered(
    sample: Callable[[], tuple[list[float], ...] | tuple[list[bool], ...]],
    truth: float,
    draws: int,
) -> str:
    results = [prediction_powered_mean(*sample()) for _ in range(draws)]
    covers = fmean(result.corrected.contains(truth) for result in results)
    alone = fmean(result.labels_only.contains(truth) for result in results)
    width = fmean(r.corrected.width for r in results) / fmean(r.labels_only.width for r in results)
    widest = max(result.corrected.width / result.labels_only.width for result in results)
    return f"{covers:.1%} | {alone:.1%} | {width:.2f} | {widest:.2f}"


def means(draws: int, rng: random.Random) -> Iterable[str]:
    """Mean scores of skewed kinds, independent and in clusters."""
    shapes: dict[str, tuple[float, Callable[[], list[float]]]] = {
        "yes/no, 0.9": (0.9, lambda: [float(rng.random() < 0.9)]),
        "yes/no, 0.97": (0.97, lambda: [float(rng.random() < 0.97)]),
        "quarters, Beta(8, 2)": (0.8, lambda: [_graded_row(8, 2, 0, False, rng)[0]]),
        "quarters, Beta(4, 0.5)": (8 / 9, lambda: [_graded_row(4, 0.5, 0, False, rng)[0]]),
        "continuous, Beta(19, 1)": (0.95, lambda: [rng.betavariate(19, 1)]),
        "clusters of 5 yes/no, Beta(4, 1)": (0.8, lambda: _cluster(5, rng)),
        "clusters of 1 to 9 yes/no, Beta(4, 1)": (0.8, lambda: _cluster(rng.randint(1, 9), rng)),
    }
    yield "`mean_interval`: coverage by number of rows, or clusters"
    yield ""
    yield "| scores | 5 | 10 | 30 | 100 | 300 |"
    yield "|---|---|---|---|---|---|"
    for name, (truth, draw) in shapes.items():
        cells = []
        for units in (5, 10, 30, 100, 300):
            covered = 0
            for _ in range(draws):
                groups = [draw() for _ in range(units)]
                scores = [score for group in groups for score in group]
                clusters = [place for place, group in enumerate(groups) for _ in group]
                covered += mean_interval(scores, clusters=clusters).contains(truth)
            cells.append(f"{covered / draws:.1%}")
        yield f"| {name} | {' | '.join(cells)} |"


def _cluster(size: int, rng: random.Random) -> list[float]:
    quality = rng.betavariate(4, 1)
    return [float(rng.random() < quality) for _ in range(size)]


def paired(draws: int, rng: random.Random) -> Iterable[str]:
    """Paired differences of quarters: coverage, false alarms, and the power at `detectable`."""
    yield "`compare_paired`: quarters, a fifth of the samples graded again"
    yield ""
    yield "| samples | true difference | interval covers | reports better or worse |"
    yield "|---|---|---|---|"
    for count in (10, 30, 100, 300):
        for lift in (0.0, 0.08):
            covered = called = 0
            for _ in range(draws):
                baseline = [rng.randrange(5) / 4 for _ in range(count)]
                candidate = [
                    rng.randrange(5) / 4 if rng.random() < 0.2 - lift else score
                    for score in baseline
                ]
                candidate = [1.0 if rng.random() < lift else score for score in candidate]
                result = compare_paired(baseline, candidate)
                covered += result.difference.contains(lift / 2)
                called += result.verdict != "not distinguishable"
            yield f"| {count} | {lift / 2} | {covered / draws:.1%} | {called / draws:.1%} |"


def kappas(draws: int, rng: random.Random) -> Iterable[str]:
    """Cohen's kappa of the judges above."""
    yield "Cohen's kappa: coverage by number of labels"
    yield ""
    yield "| base rate | sensitivity / specificity | kappa | 30 | 100 | 300 |"
    yield "|---|---|---|---|---|---|"
    for judge in JUDGES:
        truth = _true_kappa(judge)
        cells = []
        for count in LABEL_COUNTS:
            results = [measure_agreement(*judge.rows(count, rng)).kappa for _ in range(draws)]
            cells.append(f"{fmean(r.contains(truth) for r in results if r is not None):.1%}")
        quality = f"{judge.sensitivity} / {judge.specificity}"
        yield f"| {judge.base_rate} | {quality} | {truth:.2f} | {' | '.join(cells)} |"


def _true_kappa(judge: Judge) -> float:
    positive = judge.base_rate * judge.sensitivity
    negative = (1 - judge.base_rate) * judge.specificity
    called = positive + (1 - judge.base_rate) - negative
    chance = judge.base_rate * called + (1 - judge.base_rate) * (1 - called)
    return (positive + negative - chance) / (1 - chance)


if __name__ == "__main__":
    main()
