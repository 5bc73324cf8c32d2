"""How certain a verdict is: a logistic map over a result's signals, fitted by `judge tune`."""

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rag_evals.core import Finding
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.stats.tuned import log_odds, probability
from rag_evals.text import words_of

_EMBEDDED = "embedded"
_MOST_ODDS = 0.99


class Confidence(BaseModel):
    """A fitted map from signals to the probability that a verdict is right.

    Attributes:
        auroc: How often a wrong verdict is less certain than a right one, on held-out rows;
            `auroc_low` and `auroc_high` are its 95 % interval.
        weights: Weight of each signal, in log-odds; empty if the interval includes 0.5.
        limit: Confidence below which a verdict is one of the least certain.
        skipped: Share of the labelled verdicts below the limit.
        error: Share of wrong verdicts, on held-out rows.
        error_kept: The same, excluding the least certain verdicts.
        bound: Upper bound of `error_kept`, with 95 % confidence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    auroc: float = Field(ge=0, le=1)
    auroc_low: float = Field(ge=0, le=1)
    auroc_high: float = Field(ge=0, le=1)
    weights: Mapping[str, float] = {}
    intercept: float = 0.0
    limit: float = 0.0
    skipped: float = 0.0
    error: float = 0.0
    error_kept: float = 0.0
    bound: float = 1.0

    def of(self, finding: Finding, chunks: Sequence[str], attempts: int = 0) -> float | None:
        """Return the probability that a verdict is right; None without weights or a verdict."""
        if not self.weights or finding.verdict is None:
            return None
        return self(read_signals(finding, chunks, attempts))

    def __call__(self, signals: Mapping[str, float]) -> float:
        return sureness(self.weights, self.intercept, signals)

    def __str__(self) -> str:
        auroc = f"AUROC {self.auroc:.2f} [{self.auroc_low:.2f}, {self.auroc_high:.2f}]"
        if not self.weights:
            return f"no signal: the {auroc} of being wrong includes 0.5"
        return (
            f"{auroc} of being wrong; without the least sure {self.skipped:.0%}, "
            f"{self.error_kept:.1%} of verdicts are wrong instead of {self.error:.1%}, and at most "
            f"{self.bound:.1%} (95 % confidence)"
        )


def sureness(weights: Mapping[str, float], intercept: float, signals: Mapping[str, float]) -> float:
    """Return the probability that a verdict with these signals is right."""
    parts = (weight * signals.get(name, 0.0) for name, weight in weights.items())
    return probability(intercept + math.fsum(parts))


def stage_confidences(stages: Sequence[Mapping[str, Any]]) -> dict[str, Confidence]:
    """Return the confidence maps from a run's tuned files, keyed by verifier name."""
    stored = {one["name"]: (one.get("tuned") or {}).get("confidence") for one in stages}
    found = {name: Confidence.model_validate(one) for name, one in stored.items() if one}
    return {name: one for name, one in found.items() if one.weights}


def read_signals(finding: Finding, chunks: Sequence[str], attempts: int = 0) -> dict[str, float]:
    """Return a result's signals about a verdict, available without labels: numbers around 0.

    Args:
        finding: A finding with a verdict.
        chunks: The texts of the chunks.
        attempts: Number of times the judge was called.
    """
    side = 1.0 if finding.verdict else -1.0
    coverage, missing, support = _compared(finding.text, tuple(chunks))
    own = 0.0 if finding.support is None else _clear_odds(finding.support)
    found = [one.start is not None for one in finding.quotes]
    return {
        "is_yes": side,
        "margin": side * own,
        "coverage": side * coverage,
        "missing_number": -side * missing,
        "quote_found": (min(found) - 0.5) if found else 0.0,
        "asked_again": math.log(max(1, attempts)),
        "embedded": 0.0 if finding.decided_by == _EMBEDDED else side * _clear_odds(support),
        "length": math.log(1 + len(words_of(finding.text))) - 3,
    }


def _clear_odds(support: float) -> float:
    return log_odds(min(max(support, 1 - _MOST_ODDS), _MOST_ODDS))


@cache
def _verifier() -> EmbeddedVerifier:
    return EmbeddedVerifier()


@lru_cache(maxsize=2_048)
def _compared(text: str, chunks: tuple[str, ...]) -> tuple[float, float, float]:
    """Return the share of words in the closest passages, missing numbers, and embedded support."""
    if not any(map(str.strip, chunks)):
        return 0.0, 0.0, 0.5
    (verdict,) = _verifier().verify([text], chunks)
    words = set(words_of(text))
    near = {word for one in verdict.evidence for word in words_of(one.text)}
    numbers = {word for word in words if any(map(str.isdigit, word))}
    everywhere = {word for chunk in chunks for word in words_of(chunk)} if numbers else set()
    coverage = len(words & near) / len(words) if words else 0.0
    return coverage - 0.5, float(bool(numbers - everywhere)), verdict.support
