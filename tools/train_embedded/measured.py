"""How good were the fits on sources that they never saw? By statements and by whole answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_evals.embedded.model import LEAST_ANSWER_SUPPORT, answer_support
from tools.train_embedded import figures
from tools.train_embedded.figures import Array
from tools.train_embedded.rows import EVALUATION_ONLY, LICENCES

# Statements an answer, on average, from which on a source is measured by answers as well.
_SEVERAL = 1.5
_RAG = "ragtruth_qa"


@dataclass(slots=True)
class Measured:
    """Calibrated scores of statements by a fit that never saw their source.

    Attributes:
        scores: Support of each statement, by source.
        labels: 1 supported, 0 not; aligned with `scores`.
        rows: The row that each statement is of; aligned with `scores`.
        row_labels: The label of that row; aligned with `scores`.
        gold: Supported statements that cite a gold chunk, and those that could have.
        thresholds: The named thresholds, once chosen.
    """

    scores: dict[str, Array]
    labels: Mapping[str, Array]
    rows: Mapping[str, Sequence[str]]
    row_labels: Mapping[str, Sequence[int]]
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

    def answers(self) -> str:
        """Write the figures of whole answers, for sources whose rows have several statements."""
        lines = [
            "| source | answers | % ok | statements each | BA, all supported | BA, answer support "
            "| F1 of unsupported | AUROC | ECE |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        threshold = self.thresholds["balanced"]
        for name, rows in self.rows.items():
            known = np.array(self.row_labels[name], dtype=np.float64)
            answers = figures.answers_of(rows, known, self.scores[name])
            count = np.mean([len(supports) for _, supports in answers])
            labels = np.array([label for label, _ in answers])
            if count < _SEVERAL:
                continue
            lowest = np.array([min(supports) for _, supports in answers])
            whole = np.array([answer_support(supports) for _, supports in answers])
            strict = figures.balanced_accuracy(labels, lowest, threshold)
            accuracy = figures.balanced_accuracy(labels, whole, LEAST_ANSWER_SUPPORT)
            f1 = figures.unsupported_f1(labels, whole >= LEAST_ANSWER_SUPPORT)
            lines.append(
                f"| {name} | {len(labels)} | {100 * labels.mean():.0f} | {count:.1f} | "
                f"{100 * strict:.1f} | {100 * accuracy:.1f} | {100 * f1:.1f} | "
                f"{100 * figures.auroc(labels, whole):.1f} | "
                f"{figures.calibration_error(labels, whole):.3f} |"
            )
        return "\n".join(lines)

    def rag_answers(self) -> str:
        """Write the figures of RAG answers in one line; rows of one's own have none."""
        if _RAG not in self.scores:
            return "no figures here"
        known = np.array(self.row_labels[_RAG], dtype=np.float64)
        answers = figures.answers_of(self.rows[_RAG], known, self.scores[_RAG])
        labels = np.array([label for label, _ in answers])
        whole = np.array([answer_support(supports) for _, supports in answers])
        accuracy = figures.balanced_accuracy(labels, whole, LEAST_ANSWER_SUPPORT)
        f1 = figures.unsupported_f1(labels, whole >= LEAST_ANSWER_SUPPORT)
        return (
            f"{100 * accuracy:.1f}, {100 * figures.auroc(labels, whole):.1f} and {100 * f1:.1f}, "
            "by `answer_support` of at least 0.5"
        )

    def cells(self) -> list[list[str]]:
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
        lines += [" | ".join(row) for row in self.cells()]
        text = "\n".join(f"| {line} |" for line in lines)
        hits, total = self.gold
        names = ", ".join(f"{name} {value:g}" for name, value in self.thresholds.items())
        return (
            f"{text}\n\nThresholds: {names}. ECE, all sources pooled: {self.pooled_error():.3f}. "
            f"Gold chunk among the cited ids: {hits} of {total} "
            f"({100 * hits / max(total, 1):.1f} %)."
        )
