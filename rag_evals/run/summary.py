"""What does a run say in a few numbers? Means, what they rest on, and why the rest has none."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rag_evals.judge import Usage
from rag_evals.run.outcome import Outcome


@dataclass(slots=True)
class GraderSummary:
    """The outcomes of one grader.

    Attributes:
        grader: Its name.
        scores: Sum of the scores, exact enough for any number of rows.
        scored: Outcomes with a score.
        not_scorable: Outcomes without one, counted by reason.
        failed: Outcomes that failed, counted by error type.
        warnings: Oddities in results.
    """

    grader: str
    scores: float = 0.0
    scored: int = 0
    not_scorable: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    warnings: int = 0

    @property
    def total(self) -> int:
        """All outcomes."""
        return self.scored + self.not_scorable.total() + self.failed.total()

    def mean(self, count_as: Mapping[str, float] | None = None) -> float | None:
        """Return the mean score, 0 to 1; None when nothing has a score.

        Args:
            count_as: Numbers for reasons of `not_scorable`, such as `{"no_statements": 1.0}`.
        """
        total, count = self.scores, self.scored
        for reason, value in (count_as or {}).items():
            total += value * self.not_scorable[reason]
            count += self.not_scorable[reason]
        return total / count if count else None

    def line(self, count_as: Mapping[str, float] | None = None) -> str:
        """Say it in one line: "faithfulness: 0.87 over 41 scored of 44 (2 not scorable: …)"."""
        mean = self.mean(count_as)
        shown = "no score" if mean is None else f"{mean:.2f}"
        rest = [_counted("not scorable", self.not_scorable), _counted("failed", self.failed)]
        if self.warnings:
            rest.append(f"{self.warnings} warnings")
        more = "; ".join(part for part in rest if part)
        counted = "".join(
            f", {reason} as {value:g}"
            for reason, value in (count_as or {}).items()
            if self.not_scorable[reason]
        )
        return f"{self.grader}: {shown} over {self.scored} scored of {self.total}{counted}" + (
            f" ({more})" if more else ""
        )


@dataclass(slots=True)
class Summary:
    """The numbers of a run.

    Attributes:
        graders: By name, in the order given.
        usage: What was spent, calls that failed included.
        cost_usd: List price of the usage in US dollars, as far as prices are known; None when no
            price is.
        failed: Outcomes that failed, over all graders.
        seconds: Time the run took.
    """

    graders: dict[str, GraderSummary] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    failed: int = 0
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        of_grader = self.graders.setdefault(outcome.grader, GraderSummary(outcome.grader))
        if outcome.score is not None:
            of_grader.scored += 1
            of_grader.scores = math.fsum((of_grader.scores, outcome.score))
        elif outcome.status == "not_scorable":
            of_grader.not_scorable[str(outcome.reason)] += 1
        else:
            of_grader.failed[outcome.error.type if outcome.error else "unknown"] += 1
        of_grader.warnings += len(outcome.warnings)
        self.usage = self.usage + outcome.usage
        if outcome.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + outcome.cost_usd
        self.failed += outcome.status == "failed"

    def failures(self) -> str:
        """Name the kinds of failures, the most frequent first."""
        kinds: Counter[str] = Counter()
        for of_grader in self.graders.values():
            kinds += of_grader.failed
        return ", ".join(f"{count} {name}" for name, count in _ordered(kinds))

    def account(self) -> str:
        """Say what was spent, in one line; empty when no judge was asked."""
        usage = self.usage
        if not (usage.calls or usage.cache_hits):
            return ""
        parts = [f"{usage.calls} calls"]
        repeated = [(usage.reasks, "asked again"), (usage.retries, "sent again")]
        parts += [f"{count} {what}" for count, what in repeated if count]
        if usage.cache_hits:
            parts.append(f"{usage.cache_hits} from the cache")
        parts.append(f"{usage.prompt_tokens} tokens sent ({usage.cached_tokens} cached)")
        parts.append(f"{usage.completion_tokens} received")
        if self.cost_usd is not None:
            parts.append(f"${self.cost_usd:.4f}")
        return f"spent: {', '.join(parts)}; {self.seconds:.1f} s"

    def __str__(self) -> str:
        """One line for each grader."""
        return "\n".join(of_grader.line() for of_grader in self.graders.values())


def _counted(label: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    if len(counts) == 1:
        return f"{counts.total()} {label}: {next(iter(counts))}"
    kinds = ", ".join(f"{count} {name}" for name, count in _ordered(counts))
    return f"{counts.total()} {label}: {kinds}"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    """Sort by count, then by name: outcomes end in any order, what is shown must not change."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
