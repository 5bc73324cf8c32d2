"""Is one run better than another? Pairs their rows by sample id, and says how sure that is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evals.arguments import named_arguments
from rag_evals.errors import UnpairedScoresError
from rag_evals.quality.differences import named_differences
from rag_evals.quality.items import reason_of
from rag_evals.run import Record, Run, StoredRun, load_run
from rag_evals.stats import (
    Interval,
    PairedComparison,
    PassFailTest,
    Verdict,
    compare_paired,
    holm_adjusted,
    largest_changes,
    mcnemar_exact,
    mean_interval,
)

RunInput = str | Path | Run | StoredRun
"""A run folder, or a run in memory."""

_CHANGES_KEPT = 20
_Compare = Callable[[Sequence[str], "_Pair"], PairedComparison]


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
class GraderComparison:
    """What one grader says about two runs.

    Attributes:
        grader: Its name.
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
        warnings: In what the runs differ besides their scores: judge, prompt, data.
        threshold: Score from which a row passes.
    """

    baseline: str
    candidate: str
    graders: tuple[GraderComparison, ...]
    warnings: tuple[str, ...]
    threshold: float

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the second run is worse by more than `margin` for any grader."""
        return any(grader.is_worse(margin=margin) for grader in self.graders)

    def __str__(self) -> str:
        """What a terminal shows."""
        from rag_evals.quality.wording import comparison_lines  # noqa: PLC0415 - it needs this file

        return "\n".join(comparison_lines(self))


@named_arguments
def compare(
    baseline: RunInput,
    candidate: RunInput,
    *,
    by: str | None = None,
    cluster: str | None = None,
    threshold: float = 1.0,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs row by row.

    Args:
        baseline: The run to compare with.
        candidate: The run that should be better.
        by: Column of the data to compare each group by; None compares all rows together only.
        cluster: Column that rows from one document or conversation share; None takes rows as
            independent.
        threshold: Score from which a row passes, for McNemar's test.
        confidence: Coverage of each interval, as a fraction.
        resamples: Random sign patterns, where the test draws any.
        seed: Same seed, same p-values.

    Raises:
        DataError: A folder holds no run, or a column is not in the data.
        UnpairedScoresError: No grader scored one and the same row in both runs.
    """
    first, second = load_run(baseline), load_run(candidate)
    groups = {} if by is None else {**second.column(by), **first.column(by)}
    clusters = {} if cluster is None else {**second.column(cluster), **first.column(cluster)}
    pairs = [pair for grader in first.graders if (pair := _Pair(grader, first, second)).rows]
    if not pairs:
        raise UnpairedScoresError(_no_pair(first, second))

    def paired(rows: Sequence[str], pair: "_Pair") -> PairedComparison:
        return compare_paired(
            pair.scores(0, rows),
            pair.scores(1, rows),
            clusters=[clusters.get(row) for row in rows] if clusters else None,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )

    overall = [paired(pair.rows, pair) for pair in pairs]
    adjusted = holm_adjusted([each.significance.p_value for each in overall])
    return Comparison(
        _name(first),
        _name(second),
        tuple(
            pair.compared(each, p_value, threshold, _by_group(pair, groups, paired))
            for pair, each, p_value in zip(pairs, overall, adjusted, strict=True)
        ),
        tuple(named_differences(first, second)),
        threshold,
    )


class _Pair:
    """One grader's outcomes in both runs."""

    def __init__(self, grader: str, first: StoredRun, second: StoredRun) -> None:
        self.grader = grader
        self._runs: tuple[dict[str, Record], dict[str, Record]] = (
            {record["sample_id"]: record for record in first.of_grader(grader)},
            {record["sample_id"]: record for record in second.of_grader(grader)},
        )
        one, other = self._runs
        self._common = [row for row in one if row in other]
        self.rows = [
            row
            for row in self._common
            if one[row]["score"] is not None and other[row]["score"] is not None
        ]

    def scores(self, run: int, rows: Sequence[str]) -> list[float]:
        return [self._runs[run][row]["score"] for row in rows]

    def compared(
        self,
        paired: PairedComparison,
        adjusted_p: float,
        threshold: float,
        groups: tuple[GroupComparison, ...],
    ) -> GraderComparison:
        one, other = self._runs
        old, new = self.scores(0, self.rows), self.scores(1, self.rows)
        old_passed = [score >= threshold for score in old]
        new_passed = [score >= threshold for score in new]
        confidence = paired.difference.confidence
        return GraderComparison(
            grader=self.grader,
            baseline=mean_interval(old, confidence=confidence),
            candidate=mean_interval(new, confidence=confidence),
            paired=paired,
            adjusted_p=adjusted_p,
            passes=mcnemar_exact(old_passed, new_passed),
            passed=(sum(old_passed), sum(new_passed)),
            changed=tuple(
                ChangedRow(self.rows[place], old[place], new[place])
                for place in largest_changes(old, new, limit=_CHANGES_KEPT)
            ),
            scored_once=tuple(self._scored_once()),
            only_baseline=tuple(row for row in one if row not in other),
            only_candidate=tuple(row for row in other if row not in one),
            groups=groups,
        )

    def _scored_once(self) -> list[ScoredOnce]:
        found = []
        for row in self._common:
            one, other = self._runs[0][row], self._runs[1][row]
            reasons = reason_of(one), reason_of(other)
            if (reasons[0] is None) != (reasons[1] is None):
                has_score = "baseline" if reasons[0] is None else "candidate"
                found.append(ScoredOnce(row, has_score, reasons[0] or reasons[1] or ""))
        return found


def _by_group(
    pair: _Pair, groups: Mapping[str, str | None], paired: _Compare
) -> tuple[GroupComparison, ...]:
    if not groups:
        return ()
    members: dict[str | None, list[str]] = {}
    for row in pair.rows:
        members.setdefault(groups.get(row), []).append(row)
    compared = [paired(rows, pair) for rows in members.values()]
    adjusted = holm_adjusted([each.significance.p_value for each in compared])
    return tuple(
        GroupComparison(group, each, p_value)
        for group, each, p_value in zip(members, compared, adjusted, strict=True)
    )


def _verdict(paired: PairedComparison, adjusted_p: float) -> Verdict:
    if adjusted_p > 1 - paired.difference.confidence:
        return "not distinguishable"
    return paired.verdict


def _name(run: StoredRun) -> str:
    return "a run in memory" if run.folder is None else str(run.folder)


def _no_pair(first: StoredRun, second: StoredRun) -> str:
    names = f"{', '.join(first.graders) or 'none'} and {', '.join(second.graders) or 'none'}"
    if not set(first.graders) & set(second.graders):
        return f"the runs have no grader in common: {names}"
    return (
        "no row has a score in both runs; rows are paired by id, so both data files need an id "
        "column with the same values (without one, an id is made from the row's content)"
    )
