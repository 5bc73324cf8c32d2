"""Figures on sources that the fit did not use, by statements and by whole answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.model import FAILED_SUPPORT, LEAST_ANSWER_SUPPORT, PASSED_SUPPORT
from tools.train_embedded import figures
from tools.train_embedded.cases import verify_answer
from tools.train_embedded.figures import Array
from tools.train_embedded.rows import EVALUATION_ONLY, LICENCES, SINGLE_CLAIMS

_RAG = "ragtruth_qa"
_GRID = [round(0.05 + 0.01 * step, 2) for step in range(91)]

Scored = Mapping[str, tuple[Array, Array]]
"""Labels (1 supported, 0 not) and supports, by source."""


def score_answers(
    verifier: EmbeddedVerifier, rows: Sequence[dict[str, Any]]
) -> tuple[Array, Array, Array]:
    """Return labels, the supports of the weakest statements, and those of the answers.

    Answers that claim nothing are left out.
    """
    scored: list[tuple[float, float, float]] = []
    for row in rows:
        found = verify_answer(verifier, row["answer"], row["context"], row.get("question"))
        if supports := [verdict.support for _, verdict in found]:
            scored.append((row["label"], min(supports), verifier.answer_support(supports)))
    labels, weakest, whole = np.array(scored, dtype=np.float64).reshape(-1, 3).T
    return labels, weakest, whole


def choose_limit(scored: Scored) -> float:
    """Return the limit of the best mean balanced accuracy, the middle of those about as good."""
    both = [pair for pair in scored.values() if 0 < pair[0].mean() < 1]
    means = [
        np.mean([figures.balanced_accuracy(*pair, limit) for pair in both] or [0.0])
        for limit in _GRID
    ]
    good = [limit for limit, mean in zip(_GRID, means, strict=True) if mean >= max(means) - 0.001]
    return good[len(good) // 2]


def _ends(passed: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    low, high = np.where(passed[:, None], PASSED_SUPPORT, FAILED_SUPPORT).T
    return low, high


def without(scored: Scored, name: str) -> Scored:
    return {key: value for key, value in scored.items() if key != name} or scored


@dataclass(slots=True)
class Measured:
    """Calibrated scores of statements by a fit that did not use their source.

    Attributes:
        scores: Support of each statement, by source.
        labels: 1 supported, 0 not; aligned with `scores`.
        gold: Numbers of supported statements that cite a gold chunk, and of those that could.
        thresholds: The named thresholds, once chosen.
        ablation: By feature, the change of mean balanced accuracy and AUROC without it, in points.
        answers: By source of whole answers, the labels, the supports of the weakest statements and
            those of the answers.
    """

    scores: dict[str, Array]
    labels: Mapping[str, Array]
    gold: tuple[int, int]
    thresholds: dict[str, float] = field(default_factory=dict)
    ablation: dict[str, Array] = field(default_factory=dict)
    answers: dict[str, tuple[Array, Array, Array]] = field(default_factory=dict)

    def choose_thresholds(self, names: Sequence[str]) -> dict[str, float]:
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

    def measure_answers(
        self,
        verifiers: Mapping[str, EmbeddedVerifier],
        rows: Mapping[str, Sequence[dict[str, Any]]],
    ) -> float:
        """Score whole answers by weights fitted without them, and choose their limit."""
        self.answers = {
            name: score_answers(verifiers[name], rows[name])
            for name in sorted(rows)
            if name not in SINGLE_CLAIMS
        }
        return choose_limit(self._weakest())

    def _weakest(self) -> Scored:
        return {name: (labels, weakest) for name, (labels, weakest, _) in self.answers.items()}

    def _figures(self, name: str) -> tuple[float, list[float]]:
        """Return the limit chosen on the other sources, and a source's figures by it."""
        labels, weakest, whole = self.answers[name]
        limit = choose_limit(without(self._weakest(), name))
        # The ranking on either side of the limit is the same whatever the limit.
        was_low, was_high = _ends(whole >= LEAST_ANSWER_SUPPORT)
        low, high = _ends(weakest >= limit)
        shifted = low + (high - low) * (whole - was_low) / (was_high - was_low)
        return limit, [
            100 * figures.balanced_accuracy(labels, weakest, limit),
            100 * figures.unsupported_f1(labels, weakest >= limit),
            100 * figures.auroc(labels, shifted),
            figures.calibration_error(labels, shifted),
            figures.calibration_error(labels, figures.with_share(shifted, labels.mean())),
        ]

    def answer_table(self) -> str:
        lines = [
            "| source | answers | % ok | limit | BA | F1 of unsupported | AUROC | ECE "
            "| share known |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name, (labels, _, _) in self.answers.items():
            if 0 < labels.mean() < 1:
                limit, (accuracy, f1, auroc, error, known) = self._figures(name)
                lines.append(
                    f"| {name} | {len(labels)} | {100 * labels.mean():.0f} | {limit:.2f} | "
                    f"{accuracy:.1f} | {f1:.1f} | {auroc:.1f} | {error:.3f} | {known:.3f} |"
                )
        return "\n".join(lines)

    def answer_errors(self) -> str:
        mixed = [n for n, (labels, _, _) in self.answers.items() if 0 < labels.mean() < 1]
        if not mixed:
            return "no figures here"
        found = np.array([self._figures(name)[1][3:] for name in mixed])
        (mean, known), (worst, known_worst) = found.mean(axis=0), found.max(axis=0)
        return (
            f"{mean:.3f} on average and {worst:.3f} at worst; with the share of "
            f"supported answers known, {known:.3f} and {known_worst:.3f}"
        )

    def rag_answers(self) -> str:
        if _RAG not in self.answers:
            return "no figures here"
        accuracy, f1, auroc, *_ = self._figures(_RAG)[1]
        return f"{accuracy:.1f}, {auroc:.1f} and {f1:.1f}"

    def cells(self) -> list[list[str]]:
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
        names = list(self.scores)
        return figures.calibration_error(
            np.concatenate([self.labels[name] for name in names]),
            np.concatenate([self.scores[name] for name in names]),
        )

    def table(self) -> str:
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
