"""Which rows and groups are behind a comparison, and on how many rows does it rest?"""

from collections.abc import Mapping
from dataclasses import dataclass

from rag_evals.run import counted_words
from rag_evals.stats import PairedComparison, PairedVerdict


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
    def verdict(self) -> PairedVerdict:
        """Whether there is a difference in this group, all groups taken together."""
        return adjusted_verdict(self.paired, self.adjusted_p)


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


def adjusted_verdict(paired: PairedComparison, adjusted_p: float) -> PairedVerdict:
    """Return the verdict on two runs when several are taken together (Holm)."""
    if adjusted_p > 1 - paired.difference.confidence:
        return "not distinguishable"
    return paired.verdict
