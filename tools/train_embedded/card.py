"""What should a user know of the weights? The figures, and the page that shows them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rag_evals.verify.embedded.features import FEATURES
from tools.train_embedded import figures
from tools.train_embedded.figures import Array
from tools.train_embedded.rows import EVALUATION_ONLY, LICENCES


@dataclass(slots=True)
class Measured:
    """Calibrated scores of statements by a fit that never saw their source.

    Attributes:
        scores: Support of each statement, by source.
        labels: 1 supported, 0 not; aligned with `scores`.
        gold: Supported statements that cite a gold chunk, and those that could have.
        thresholds: The named thresholds, once chosen.
    """

    scores: Mapping[str, Array]
    labels: Mapping[str, Array]
    gold: tuple[int, int]
    thresholds: dict[str, float] = field(default_factory=dict)

    def choose_thresholds(self, names: Sequence[str]) -> dict[str, float]:
        """Choose the named thresholds on the given sources, pooled."""
        labels = {name: self.labels[name] for name in names}
        scores = {name: self.scores[name] for name in names}
        pooled_labels = np.concatenate(list(labels.values()))
        pooled = np.concatenate(list(scores.values()))
        self.thresholds = {
            "balanced": figures.balanced_threshold(labels, scores),
            "screen": figures.recall_threshold(pooled_labels, pooled, 0.9),
            "strict": figures.recall_threshold(pooled_labels, pooled, 0.97),
        }
        return self.thresholds

    def rows(self) -> list[list[str]]:
        """Return one row of cells a source."""
        threshold = self.thresholds["balanced"]
        rows: list[list[str]] = []
        for name in sorted(self.scores, key=lambda name: (name in EVALUATION_ONLY, name)):
            labels, scores = self.labels[name], self.scores[name]
            use = "measured only" if name in EVALUATION_ONLY else "fitted, left out here"
            cells = [name, LICENCES.get(name, "your own"), use, f"{len(labels)}"]
            cells.append(f"{100 * labels.mean():.0f}")
            if 0 < labels.mean() < 1:
                accuracy = figures.balanced_accuracy(labels, scores, threshold)
                cells += [f"{100 * accuracy:.1f}", f"{100 * figures.auroc(labels, scores):.1f}"]
            else:
                cells += [f"({100 * np.mean((scores >= threshold) == labels):.1f} right)", "-"]
            rows.append([*cells, f"{figures.calibration_error(labels, scores):.3f}"])
        return rows

    def pooled_error(self) -> float:
        """Return the calibration error of all sources pooled."""
        names = list(self.scores)
        return figures.calibration_error(
            np.concatenate([self.labels[name] for name in names]),
            np.concatenate([self.scores[name] for name in names]),
        )

    def table(self) -> str:
        """Write all figures as Markdown."""
        head = ["source", "licence", "use", "statements", "% ok", "BA", "AUROC", "ECE"]
        lines = [" | ".join(head), " | ".join("---" for _ in head)]
        lines += [" | ".join(row) for row in self.rows()]
        text = "\n".join(f"| {line} |" for line in lines)
        hits, total = self.gold
        names = ", ".join(f"{name} {value:g}" for name, value in self.thresholds.items())
        return (
            f"{text}\n\nThresholds: {names}. ECE, all sources pooled: {self.pooled_error():.3f}. "
            f"Gold chunk among the cited ids: {hits} of {total} "
            f"({100 * hits / max(total, 1):.1f} %)."
        )


def write_card(path: Path, measured: Measured, weights: str) -> None:
    """Write the model card.

    Args:
        path: A Markdown file, replaced.
        measured: The figures.
        weights: Text of the weights file, for its size and hash.
    """
    labels = np.concatenate([measured.labels[name] for name in measured.scores])
    scores = np.concatenate(list(measured.scores.values()))
    digest = hashlib.sha256(weights.encode()).hexdigest()
    path.write_text(
        _PAGE.format(
            table=measured.table(),
            features="\n".join(f"- `{name}`" for name in FEATURES),
            plot=_plot(figures.calibration(labels, scores)),
            size=f"{len(weights.encode()) / 1000:.0f}",
            digest=digest[:16],
        ),
        encoding="utf-8",
    )


def _plot(points: Sequence[tuple[float, float, float]]) -> str:
    dots = "".join(
        f'<circle cx="{20 + 200 * mean:.0f}" cy="{220 - 200 * share:.0f}" r="{2 + 12 * size:.1f}"/>'
        for mean, share, size in points
    )
    rows = "\n".join(
        f"| {mean:.2f} | {share:.2f} | {100 * size:.0f} % |" for mean, share, size in points
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240" width="240" role="img">'
        '<path d="M20 20V220H220M20 220L220 20" fill="none" stroke="gray"/>'
        f"{dots}</svg>\n\n| mean support | share supported | of all |\n| --- | --- | --- |\n{rows}"
    )


_PAGE = """# The embedded judge: model card

A logistic regression over the features below, with a fixed background count of words; pure Python,
{size} kB of weights, hash `{digest}`. Made by `python -m tools.train_embedded DATA_DIR`; the same
data and seed give the same bytes.

## Data and figures

Each fitted source is measured by a fit that saw neither it nor edits of it; one threshold for all.
Labels are noisy and differ in what "supported" means, so read the rows, not their mean.

{table}

`lfqa`, `factscore`, `cliff`, `alexa`, `snli` and `topicalchat` are never fitted on: their licences
do not allow shipping what was learned from them. Besides labelled statements the fit uses edits of
supported ones (number, unit, name, negation, opposite, quantifier, order of names, a random word);
edits move only the features of contradiction.

## Calibration

Support against the share that is supported, all sources pooled; a dot's size is its share of rows.

{plot}

## Features

{features}

## Where it fails

- A hedge dropped: "The airline plans to open a route" passes "The airline opened a route".
- A relation changed in words it does not know: "lent" for "owed" looks like any missing word.
- Little detail added to a long supported sentence: "… and a rotating restaurant" costs too little.
- Far paraphrase: "He kicked the habit" is not found in "He no longer smokes".
- Inference over several sentences, sums and comparisons are out of its reach.
"""
