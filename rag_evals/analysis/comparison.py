"""What does a comparison of two runs say? Differences, verdicts, and on how many rows they rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from rag_evals.run import (
    DEFAULT_MIN_SCORED,
    Missed,
    counted_words,
    missed_coverage,
    missed_loss,
    require_share,
)
from rag_evals.stats import Interval, PairedComparison, PassFailTest, Verdict


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One row with another score in the second run.

    Attributes:
        sample_id: Its name in both runs.
        baseline: Score in the first run, 0 to 1.
        candidate: Score in the second.
    """

    sample_id: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class ScoredOnce:
    """One row of both runs that only one of them could score.

    Attributes:
        sample_id: Its name in both runs.
        run: Which of them has the score: "baseline" or "candidate".
        why: Why the other has none.
    """

    sample_id: str
    run: str
    why: str


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The rows of one group in both runs.

    Attributes:
        group: The value that they share; None where they lack one.
        paired: What their scores say.
        adjusted_p: The p-value, adjusted over the groups (Holm).
    """

    group: str | None
    paired: PairedComparison
    adjusted_p: float

    @property
    def verdict(self) -> Verdict:
        """Whether there is a difference in this group, all groups taken together."""
        return _verdict(self.paired, self.adjusted_p)


@dataclass(frozen=True, slots=True)
class PairCoverage:
    """On how many rows a comparison rests.

    Attributes:
        grader: Its name.
        rows: Rows of either run.
        scored: Rows with a score in both.
        missing: Why the others have none, such as "empty_context in both", counted.
        same: Whether both runs hold the very same outcomes, as a run and itself do.
    """

    grader: str
    rows: int
    scored: int
    missing: Mapping[str, int]
    same: bool

    @property
    def why(self) -> str:
        """The reasons in words: "3 empty_context in both, 1 only in the baseline"."""
        return counted_words(self.missing)


@dataclass(frozen=True, slots=True)
class GraderComparison:
    """What one grader says about two runs.

    Attributes:
        grader: Its name; "strict -> mild" for two graders that were paired.
        coverage: How many rows have a score in both runs, and why the others have none.
        baseline: Mean score of the first run over the rows that both scored.
        candidate: The same of the second run.
        paired: Difference, interval, p-value, wins and losses over those rows.
        adjusted_p: The p-value, adjusted over the graders (Holm).
        passes: McNemar's test of the rows that reach the threshold.
        passed: How many rows reach it, in the first and in the second run.
        changed: The rows that changed most, at most 20.
        scored_once: Rows of both runs that only one of them scored.
        only_baseline: Ids of rows that are in the first run only.
        only_candidate: Ids of rows that are in the second run only.
        groups: One entry for each group, in order of first appearance.
    """

    grader: str
    coverage: "PairCoverage"
    baseline: Interval
    candidate: Interval
    paired: PairedComparison
    adjusted_p: float
    passes: PassFailTest
    passed: tuple[int, int]
    changed: tuple[ChangedRow, ...]
    scored_once: tuple[ScoredOnce, ...]
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]
    groups: tuple[GroupComparison, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether there is a difference, all graders taken together, and its direction."""
        return _verdict(self.paired, self.adjusted_p)

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the second run is worse by more than `margin`; the whole interval says so.

        Args:
            margin: Loss that is acceptable, 0 to 1.
        """
        return self.paired.is_worse(margin=margin) and self.verdict == "worse"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, side by side.

    Attributes:
        baseline: What the first run is called: its folder.
        candidate: What the second is called.
        graders: One entry for each grader that both runs have.
        unscored: Graders of both runs without a single row that has a score in both.
        warnings: In what the runs differ besides their scores: judge, prompt, data.
        threshold: Score from which a row passes.
    """

    baseline: str
    candidate: str
    graders: tuple[GraderComparison, ...]
    unscored: tuple[PairCoverage, ...]
    warnings: tuple[str, ...]
    threshold: float

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the second run is worse by more than `margin` for any grader."""
        return any(grader.is_worse(margin=margin) for grader in self.graders)

    def missed(
        self, *, margin: float | None = 0.0, min_scored: float = DEFAULT_MIN_SCORED
    ) -> list[Missed]:
        """List the rules of a gate that the candidate misses; an empty list is a passed gate.

        Args:
            margin: Loss that is acceptable, 0 to 1; None asks only for scored rows.
            min_scored: Least share of the rows of either run with a score in both, 0 to 1.

        Raises:
            ConfigurationError: A number is outside 0..1.
        """
        require_share("min_scored", min_scored)
        missed = [
            each
            for found in (*(grader.coverage for grader in self.graders), *self.unscored)
            for each in missed_coverage(
                found.grader,
                found.scored,
                found.rows,
                min_scored,
                why=found.why,
                what="a score from both runs",
            )
        ]
        if margin is not None:
            missed += [
                missed_loss(grader.grader, grader.paired.difference, margin)
                for grader in self.graders
                if grader.is_worse(margin=margin)
            ]
        return missed

    def __str__(self) -> str:
        """What a terminal shows."""
        from rag_evals.analysis.wording import comparison_lines  # noqa: PLC0415 - it needs this file

        return "\n".join(comparison_lines(self))


def _verdict(paired: PairedComparison, adjusted_p: float) -> Verdict:
    if adjusted_p > 1 - paired.difference.confidence:
        return "not distinguishable"
    return paired.verdict
