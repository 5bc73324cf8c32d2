"""Row-by-row comparison of two runs, or of two graders in one run."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import islice, zip_longest
from operator import eq
from typing import Literal

from rag_evals.analysis.labels import RunInput
from rag_evals.core import Phrase, Phrases, phrases
from rag_evals.errors import ConfigurationError, UnknownNameError, UnpairedScoresError
from rag_evals.run import (
    DEFAULT_ERROR,
    DEFAULT_MIN_SCORED,
    NOT_CLUSTERED,
    GateDecision,
    Missed,
    Run,
    load_run,
    reason_words,
    require_counts,
    require_gate,
    require_share,
)
from rag_evals.run.plan.gate import GraderDecision
from rag_evals.run.record.facts import SIZES
from rag_evals.run.record.index import ScoredRow
from rag_evals.run.record.summary import counted_words, models_in, size_interval_words
from rag_evals.stats import (
    GateTest,
    Interval,
    compare_paired,
    count_interval,
    find_clusters,
    gate_test,
    holm_adjusted,
    mean_interval,
)
from rag_evals.stats.paired import PairedComparison, PairedVerdict, count_difference
from rag_evals.text.screen import printable

_ROWS_KEPT = 20
_ROWS_SHOWN = 10
_MOST_HTML = 10_000
# Recorded instead of a file name if a run's rows did not come from a file.
_NO_FILE = "rows"
_RUNS = ("baseline", "candidate")
_CONTENT_ID = re.compile(r"[0-9a-f]{16}")
_SETTINGS = ("judge", "address", "columns", "limit", "settings")


def interval_words(interval: Interval, sign: str = "", say: Phrases | None = None) -> str:
    """Format an interval: "0.683 [0.624, 0.723]"."""
    # A value near 0 must not be rounded to 0.
    low, high = (
        f"{end:{sign}.1g}" if 1e-9 < abs(end) < 0.0005 else f"{end:{sign}.3f}"
        for end in (interval.low, interval.high)
    )
    return (say or phrases()).written(f"{interval.estimate:{sign}.3f} [{low}, {high}]")


def clustered_lines(by: str | None) -> list[str]:
    return [] if by is None else [f"intervals: rows are clustered by {by}"]


@dataclass(frozen=True, slots=True)
class ChangedRow:
    sample_id: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """Comparison of one group's rows; `adjusted_p` accounts for the number of groups (Holm)."""

    group: str | None
    paired: PairedComparison
    adjusted_p: float

    @property
    def verdict(self) -> PairedVerdict:
        return _adjusted(self.paired, self.adjusted_p)

    def words(self, say: Phrases) -> dict[str, str]:
        return {
            "difference": _difference_words(self.paired, say),
            "verdict": _verdict_words(self.paired, self.adjusted_p, "groups", say),
        }


@dataclass(frozen=True, slots=True)
class SizeChange:
    """Change in one of `SIZES` (measures of answer length), including rows without a score."""

    name: str
    rows: int
    baseline: Interval
    candidate: Interval
    difference: Interval

    def words(self, say: Phrases) -> str:
        return say(
            "compare.size",
            baseline=size_interval_words(self.baseline, say),
            candidate=size_interval_words(self.candidate, say),
            difference=size_interval_words(self.difference, say, "+"),
        )


@dataclass(frozen=True, slots=True)
class PairCoverage:
    """The number of rows that a comparison uses.

    Attributes:
        rows: Number of rows found in at least one of the runs.
        scored: Number of rows with a score in both runs.
        missing: Number of excluded rows by reason, such as "empty_context in both".
        same: True if both runs have identical outcomes.
    """

    grader: str
    rows: int
    scored: int
    missing: Mapping[str, int]
    same: bool

    def words(self, say: Phrases) -> str:
        if self.scored == self.rows:
            return say("compare.coverage", rows=self.rows)
        why = reason_words(self.missing, say)
        return say("compare.coverage_of", scored=self.scored, rows=self.rows, why=why)


ComparedVerdict = PairedVerdict | Literal["higher score, says less"]


@dataclass(frozen=True, slots=True)
class GraderComparison:
    """Comparison of two runs for one grader.

    Attributes:
        grader: Name of the grader; "strict -> mild" for a pair of graders.
        baseline: Mean score in the first run, over rows scored in both runs.
        candidate: Mean score in the second run, over the same rows.
        paired: Difference, p-value, wins and losses, over the same rows.
        adjusted_p: The p-value adjusted for the number of graders (Holm).
        changed: The 20 rows whose scores changed most.
        left_out: The first 20 rows without a score in one or both runs, with the reason.
        groups: One comparison per group, in order of first appearance.
        clustered_by: Field or column by which rows are clustered; None if they are independent.
        gate: Test of whether the loss is acceptable; None without a gate.
    """

    grader: str
    coverage: PairCoverage
    baseline: Interval
    candidate: Interval
    paired: PairedComparison
    adjusted_p: float
    changed: tuple[ChangedRow, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    groups: tuple[GroupComparison, ...] = ()
    sizes: tuple[SizeChange, ...] = ()
    clustered_by: str | None = None
    gate: GateTest | None = None

    def __repr__(self) -> str:
        return f"GraderComparison({_short_words(self)})"

    @property
    def verdict(self) -> ComparedVerdict:
        """The verdict after Holm adjustment; it flags a score that rose while answers said less."""
        verdict = _adjusted(self.paired, self.adjusted_p)
        return "higher score, says less" if verdict == "better" and self.says_less() else verdict

    def says_less(self) -> bool:
        """True if the number of supported statements per row fell significantly."""
        return self.lost_statements(0.0) is not None

    def lost_statements(self, margin: float) -> SizeChange | None:
        """Return the change in supported statements if the share lost exceeds `margin`."""
        supported = next((one for one in self.sizes if one.name == "supported"), None)
        if supported is None or self.coverage.same:
            return None
        limit = -margin * supported.baseline.estimate
        return supported if supported.difference.high < min(limit, -1e-9) else None

    def words(self, graders: int, say: Phrases | None = None) -> dict[str, str]:
        """Return each figure as text; `graders` is the number of graders compared."""
        say, paired, test = say or phrases(), self.paired, self.paired.significance
        verdict = _verdict_words(paired, self.adjusted_p, "graders", say)
        if self.verdict in ("better", "worse"):
            verdict = say("compare.is", verdict=verdict)
        if self.verdict == "higher score, says less":
            verdict = say.named("verdicts", self.verdict)
        elif self.says_less():
            verdict = say("compare.and_less", words=verdict)
        name = say.named("tests", test.test)
        p_words = say("compare.p", p=say.written(f"{test.p_value:.2g}"), test=name)
        if graders > 1:
            adjusted = say.written(f"{self.adjusted_p:.2g}")
            p_words = say("compare.holm", p=p_words, adjusted=adjusted, graders=graders)
        return {
            "verdict": verdict,
            "coverage": self.coverage.words(say),
            "baseline": interval_words(self.baseline, say=say),
            "candidate": interval_words(self.candidate, say=say),
            "difference": _difference_words(paired, say),
            "p": p_words,
            "rows": say(
                "compare.rows_words", wins=paired.wins, ties=paired.ties, losses=paired.losses
            ),
            "detectable": _detectable_words(paired.detectable, say),
        }

    def lines(self, graders: int, say: Phrases) -> Iterator[str]:
        paired, words = self.paired, self.words(graders, say)
        name = say.named("graders", self.grader)
        yield say("compare.head", grader=name, verdict=words["verdict"])
        clusters = ""
        if paired.clusters != paired.samples:
            by = say.named("shared", self.clustered_by or "")
            clusters = say("compare.clusters", count=paired.clusters, by=by)
        yield say("compare.line_scored", words=words["coverage"], clusters=clusters)
        for line in ("baseline", "candidate", "difference", "p", "rows", "detectable"):
            yield say(f"compare.line_{line}", words=words[line])
        if (needed := paired.rows_needed) is not None:
            yield say("compare.line_needed", words=say("compare.needed", rows=say.whole(needed)))
        for size in self.sizes:
            yield say(f"compare.line_{size.name}", words=size.words(say))
        for group in self.groups:
            named = group.group or say("table.no_group")
            rows = group.paired.samples
            yield say("compare.group", group=named, rows=rows, **group.words(say))
        if self.changed:
            yield say("compare.changed_most")
        for row in self.changed[:_ROWS_SHOWN]:
            yield f"    {row.sample_id}: {say.number(row.baseline)} -> {say.number(row.candidate)}"
        for row_id, why in self.left_out[:_ROWS_SHOWN]:
            yield say("compare.left_out", row=row_id, why=say.reason(why))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two runs.

    Attributes:
        baseline: Name of the first run, usually its folder.
        candidate: Name of the second run.
        graders: One entry for each grader in both runs.
        unscored: Graders without any row scored in both runs.
        differences: Differences other than scores, such as the judge, prompts or data.
        pending: Number of pending gradings; gates are evaluated only when it is 0.
    """

    baseline: str
    candidate: str
    graders: tuple[GraderComparison, ...]
    unscored: tuple[PairCoverage, ...]
    differences: tuple[Phrase, ...]
    pending: int = 0

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Return the differences in judges, settings, graders and data, as text."""
        return [each.said(say or phrases()) for each in self.differences]

    def missed(
        self,
        *,
        margin: float | None = 0.0,
        min_scored: float = DEFAULT_MIN_SCORED,
        allow_shorter: bool = False,
    ) -> list[Missed]:
        """Return the gate rules that the candidate fails.

        Args:
            margin: Acceptable loss, 0 to 1; if None, only `min_scored` is checked.
            min_scored: Minimum share of rows with a score in both runs, 0 to 1.
            allow_shorter: Accept fewer supported statements per row; otherwise `margin` also
                limits the share of supported statements that may be lost.

        Raises:
            ConfigurationError: An argument is not between 0 and 1.
        """
        require_share("min_scored", min_scored)
        if self.pending:
            return [Missed.pending(self.pending)]
        missed = []
        for one in (*(grader.coverage for grader in self.graders), *self.unscored):
            missed += Missed.coverage(
                one.grader, one.scored, one.rows, min_scored, why=one.missing, of_both=True
            )
        if margin is None:
            return missed
        require_share("margin", margin)
        for grader in self.graders:
            lost = grader.paired.difference
            if grader.verdict == "worse" and lost.high < -margin:
                found = Phrase.of(
                    "gate.loss",
                    estimate=f"{lost.estimate:+.4f}",
                    high=f"{lost.high:+.4f}",
                    lacking=f"{-lost.high - margin:.4f}",
                )
                missed.append(Missed(grader.grader, "fail-if-worse", f"{margin:g}", found))
        return missed if allow_shorter else missed + self._lost_statements(margin)

    def _lost_statements(self, margin: float) -> list[Missed]:
        missed = []
        for grader in self.graders:
            if (change := grader.lost_statements(margin)) is not None:
                found = Phrase.of(
                    "gate.less",
                    before=f"{change.baseline.estimate:.2f}",
                    estimate=f"{change.difference.estimate:+.2f}",
                    high=f"{change.difference.high:+.2f}",
                )
                missed.append(Missed(grader.grader, "says-less", f"{margin:g}", found))
        return missed

    def decision(
        self, *, min_scored: float = DEFAULT_MIN_SCORED, allow_shorter: bool = False
    ) -> GateDecision | None:
        """Evaluate the `gate` passed to `compare`; return None if there was no gate.

        The arguments are the same as those of `missed`.
        """
        gates = [abs(grader.gate.gate) for grader in self.graders if grader.gate is not None]
        if not gates:
            return None
        missed = self.missed(margin=None, min_scored=min_scored)
        if not allow_shorter and not self.pending:
            missed += self._lost_statements(max(gates))
        tests = [(grader.grader, grader.gate) for grader in self.graders]
        tests += [(coverage.grader, None) for coverage in self.unscored]
        decided = [
            GraderDecision(name, test, tuple(m for m in missed if m.grader == name), "change")
            for name, test in tests
        ]
        return GateDecision(tuple(decided), self.pending)

    def __str__(self) -> str:
        return self.lines(phrases())

    def lines(self, say: Phrases) -> str:
        """Return the comparison as text for a terminal."""
        lines = [
            say("compare.baseline", name=self.baseline),
            say("compare.candidate", name=self.candidate),
            *(say("compare.note", text=note) for note in self.notes(say=say)),
        ]
        for grader in self.graders:
            lines += ["", *grader.lines(len(self.graders), say)]
        for found in self.unscored:
            name = say.named("graders", found.grader)
            lines += ["", say("compare.nothing", grader=name)]
            lines.append(say("compare.line_scored", words=found.words(say), clusters=""))
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = "; ".join(_short_words(grader) for grader in self.graders)
        return f"Comparison({self.baseline!r} to {self.candidate!r}; {found})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(printable(str(self))[:_MOST_HTML])}</pre>"


def _short_words(grader: GraderComparison) -> str:
    return f"{grader.grader}: {grader.verdict}, {grader.words(1)['difference']}"


def _adjusted(paired: PairedComparison, adjusted_p: float) -> PairedVerdict:
    is_chance = adjusted_p > 1 - paired.difference.confidence
    return "not distinguishable" if is_chance else paired.verdict


def _verdict_words(paired: PairedComparison, adjusted_p: float, together: str, say: Phrases) -> str:
    verdict = say.named("verdicts", paired.verdict)
    if _adjusted(paired, adjusted_p) == paired.verdict:
        return verdict
    p_value = say.written(f"{adjusted_p:.2g}")
    return say(f"compare.adjusted_{together}", verdict=verdict, p=p_value)


def _difference_words(paired: PairedComparison, say: Phrases) -> str:
    if not paired.difference.width:
        return say("compare.same_outcomes")
    return interval_words(paired.difference, sign="+", say=say)


def _detectable_words(effect: float | None, say: Phrases) -> str:
    if effect is None:
        return say("compare.no_spread")
    if effect > 1:
        return say("compare.above_one")
    return say("compare.power", effect=say.written(f"{effect:.2g}"))


def compare(
    baseline: RunInput,
    candidate: RunInput | None = None,
    *,
    pairs: Mapping[str, str] | None = None,
    count: Mapping[str, float] | None = None,
    by: str | None = None,
    cluster: str | None = None,
    gate: float | None = None,
    error: float = DEFAULT_ERROR,
) -> Comparison:
    """Compare two runs, or two graders of one run, row by row.

    Args:
        baseline: The run to compare against.
        candidate: The run to compare; if None, `pairs` of graders in `baseline` are compared.
        pairs: Pairs of a baseline and a candidate grader, such as `{"strict": "mild"}`; by
            default, every grader found in both runs is compared.
        count: Scores for unscored rows, by reason, such as `{"empty_context": 0.0}`.
        by: Data column that contains each row's group.
        cluster: Column with the same value in dependent rows, such as a document; "none" treats
            rows as independent. By default, rows with the same question (or else the same context)
            form a cluster, if more than 5 % of rows share one.
        gate: Acceptable loss, 0 to 1, for `Comparison.decision`.
        error: Maximum chance of a wrong decision, above 0 and up to 0.5.

    Raises:
        ConfigurationError: A single run is given without `pairs`, or a grader or reason is unknown.
        DataError: A folder does not contain a run, or a column is not in the data.
        UnpairedScoresError: No grader scored the same row in both runs.
    """
    if candidate is None and not pairs:
        raise ConfigurationError(
            "to compare within one run, pair two of its graders, as in --pair strict=mild (in "
            "Python pairs={'strict': 'mild'}); or give a second run"
        )
    require_counts(count or {})
    if gate is not None:
        require_gate("gate", gate, error)
    first = load_run(baseline)
    second = first if candidate is None else load_run(candidate)
    first, second = pair_graders(first, second, pairs or {})
    groups, clusters = _column(by, second, first), _column(cluster, second, first)
    common = [grader for grader in first.graders if grader in second.graders]
    every = [_Pair(grader, first, second, count or {}, cluster, clusters) for grader in common]
    with_rows = [pair for pair in every if pair.rows]
    unscored = tuple(pair.coverage for pair in every if not pair.rows)
    if not with_rows:
        raise UnpairedScoresError(_no_pair(first, second, unscored))
    overall = [pair.test(pair.rows) for pair in with_rows]
    adjusted = holm_adjusted([each.significance.p_value for each in overall])
    return Comparison(
        _name(first),
        _name(second),
        tuple(
            replace(
                pair.compared(each, p_value, groups), gate=pair.gate(gate, error, len(with_rows))
            )
            for pair, each, p_value in zip(with_rows, overall, adjusted, strict=True)
        ),
        unscored,
        (*_differences(first, second), *with_rows[0].unpaired()),
        sum(run.pending for run in {id(run): run for run in (first, second)}.values()),
    )


def _column(name: str | None, *runs: Run) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    # The baseline's values take precedence.
    for run in () if name in (None, NOT_CLUSTERED) else runs:
        found |= run.column(str(name))
    return found


_RowPair = tuple[ScoredRow | None, ScoredRow | None]


def _join(first: Iterator[ScoredRow], second: Iterator[ScoredRow]) -> Iterator[_RowPair]:
    """Yield rows paired by id, then the unpaired ones; runs in the same order use less memory."""
    waiting: tuple[dict[str, ScoredRow], dict[str, ScoredRow]] = ({}, {})
    for both in zip_longest(first, second):
        for side, row in enumerate(both):
            if row is None:
                continue
            other = waiting[1 - side].pop(row.sample_id, None)
            if other is None:
                waiting[side][row.sample_id] = row
            else:
                yield (other, row) if side else (row, other)
    yield from ((row, None) for row in waiting[0].values())
    yield from ((None, row) for row in waiting[1].values())


class _Pair:
    """One grader's results in both runs, stored as columns to save memory.

    Rows are identified by index. Scores and sizes have one column per run. A missing score is NaN,
    an unknown size is -1, and the hash of an empty string is 0.
    """

    def __init__(
        self,
        grader: str,
        first: Run,
        second: Run,
        count: Mapping[str, float],
        cluster: str | None,
        column: Mapping[str, str | None],
    ) -> None:
        self._ids: list[str] = []
        self._known_scores = array("d"), array("d")
        self._known_sizes = {name: (array("i"), array("i")) for name in SIZES}
        shared = {name: array("q") for name in ("question", "context")}
        self._why: dict[int, str] = {}
        for pair in _join(first.scored_rows(grader), second.scored_rows(grader)):
            self._add(pair, shared, count)
        self.rows = array("q", (row for row in range(len(self._ids)) if row not in self._why))
        self._clusters: Sequence[Hashable | None] | None = None
        self._clustered_by: str | None = None
        if column:
            self._clustered_by = cluster
            self._clusters = [column.get(name) for name in self._ids]
        elif cluster is None and (found := find_clusters(shared)):
            self._clustered_by, self._clusters = found.by, found.keys
        outcomes = first.of_grader(grader), second.of_grader(grader)
        same = first is second or (len(outcomes[0]) == len(outcomes[1]) and all(map(eq, *outcomes)))
        missing = dict(Counter(self._why.values()))
        self.coverage = PairCoverage(grader, len(self._ids), len(self.rows), missing, same)

    def _add(
        self, pair: _RowPair, shared: Mapping[str, "array[int]"], count: Mapping[str, float]
    ) -> None:
        known = next(row for row in pair if row is not None)
        for name, hashes in shared.items():
            hashes.append(getattr(known.facts, name) or 0)
        missing: dict[str, str] = {}
        for side, row in enumerate(pair):
            score = None if row is None else row.score
            if row is not None and score is None:
                score = count.get(row.reason or "")
                if score is None:
                    missing[_RUNS[side]] = row.reason or ""
            self._known_scores[side].append(math.nan if score is None else score)
            is_read = row is not None and row.status != "failed"
            for name, sizes in self._known_sizes.items():
                sizes[side].append(row.facts.size(name) if row is not None and is_read else -1)
        if None in pair:
            self._why[len(self._ids)] = f"only in the {_RUNS[pair.index(known)]}"
        elif missing:
            run, reason = missing.popitem()
            where = "both" if reason in missing.values() else f"the {run}"
            self._why[len(self._ids)] = f"{reason} in {where}"
        self._ids.append(known.sample_id)

    def unpaired(self) -> Iterator[Phrase]:
        """Yield a warning if each run has rows that the other lacks, with content hashes as ids."""
        own = {why for row, why in self._why.items() if _CONTENT_ID.fullmatch(self._ids[row])}
        if own.issuperset(f"only in the {run}" for run in _RUNS):
            yield Phrase("differs.ids")

    def _scores(self, side: int, rows: Sequence[int]) -> "array[float]":
        return array("d", map(self._known_scores[side].__getitem__, rows))

    def _clusters_of(self, rows: Sequence[int]) -> list[Hashable | None] | None:
        return None if self._clusters is None else [self._clusters[row] for row in rows]

    def test(self, rows: Sequence[int]) -> PairedComparison:
        clusters = self._clusters_of(rows)
        compared = compare_paired(self._scores(0, rows), self._scores(1, rows), clusters=clusters)
        if self.coverage.same:
            # A run differs from itself by exactly 0; there is no sampling error.
            itself = Interval(0.0, 0.0, 0.0, method="the same outcomes")
            return replace(compared, difference=itself)
        return compared

    def compared(
        self, paired: PairedComparison, adjusted_p: float, groups: Mapping[str, str | None]
    ) -> GraderComparison:
        ids, clusters = self._ids, self._clusters_of(self.rows)
        old, new = self._scores(0, self.rows), self._scores(1, self.rows)
        # The difference between 0.1 + 0.2 and 0.3 does not count as a change.
        changed = [place for place in range(len(old)) if abs(new[place] - old[place]) > 1e-9]
        changed.sort(key=lambda place: -abs(new[place] - old[place]))
        left_out = islice(self._why.items(), _ROWS_KEPT)
        return GraderComparison(
            grader=self.coverage.grader,
            coverage=self.coverage,
            baseline=mean_interval(old, clusters=clusters),
            candidate=mean_interval(new, clusters=clusters),
            paired=paired,
            adjusted_p=adjusted_p,
            changed=tuple(
                ChangedRow(ids[self.rows[place]], old[place], new[place])
                for place in changed[:_ROWS_KEPT]
            ),
            left_out=tuple((ids[row], why) for row, why in left_out),
            groups=tuple(self._by_group(groups)),
            sizes=tuple(self._sizes()),
            clustered_by=self._clustered_by,
        )

    def gate(self, margin: float | None, error: float, graders: int) -> GateTest | None:
        if margin is None:
            return None
        pairs = zip(self._scores(0, self.rows), self._scores(1, self.rows), strict=True)
        test = gate_test(
            [(1 + new - old) / 2 for old, new in pairs],
            (1 - margin) / 2,
            error=error,
            fail_error=error / graders,
            clusters=self._clusters_of(self.rows),
        )
        # A run cannot be worse than itself.
        return (replace(test, verdict="passed") if self.coverage.same else test).of_differences()

    def _by_group(self, groups: Mapping[str, str | None]) -> Iterator[GroupComparison]:
        members: dict[str | None, list[int]] = {}
        for row in self.rows if groups else ():
            members.setdefault(groups.get(self._ids[row]), []).append(row)
        compared = [self.test(rows) for rows in members.values()]
        p_values = [each.significance.p_value for each in compared]
        adjusted = holm_adjusted(p_values) if p_values else []
        return map(GroupComparison, members, compared, adjusted)

    def _sizes(self) -> Iterator[SizeChange]:
        has_statements = any(max(one, default=0) > 0 for one in self._known_sizes["statements"])
        for name in SIZES if has_statements else ["words"]:
            pairs = zip(*self._known_sizes[name], strict=True)
            rows = array("q", (row for row, both in enumerate(pairs) if min(both) >= 0))
            if rows:
                old, new = ([one[row] for row in rows] for one in self._known_sizes[name])
                clusters = self._clusters_of(rows)
                mean = partial(count_interval, clusters=clusters, lowest=0.0)
                change = count_difference(old, new, clusters=clusters)
                yield SizeChange(name, len(rows), mean(old), mean(new), change)


def _name(run: Run) -> str:
    return "a run in memory" if run.folder is None else str(run.folder)


def _no_pair(first: Run, second: Run, unscored: Sequence[PairCoverage]) -> str:
    if not unscored:
        one, other = (run.graders[0] if run.graders else "NAME" for run in (first, second))
        names = f"{', '.join(first.graders) or 'none'} and {', '.join(second.graders) or 'none'}"
        return (
            f"the runs have no grader in common: {names}; specify a pair, as in "
            f"--pair {one}={other} (in Python pairs={{{one!r}: {other!r}}})"
        )
    why = "; ".join(f"{one.grader}: {counted_words(one.missing)}" for one in unscored)
    if all(reason.startswith("only in") for one in unscored for reason in one.missing):
        why += f"; {phrases()('differs.ids')}"
    return f"no row has a score in both {_name(first)!r} and {_name(second)!r}: {why}"


def pair_graders(first: Run, second: Run, pairs: Mapping[str, str]) -> tuple[Run, Run]:
    """Give paired graders a common name, such as "strict -> mild", and drop the others."""
    if not pairs:
        return first, second
    renamed = []
    for place, run in enumerate((first, second)):
        identity, names = dict(run.identity), []
        for pair in pairs.items():
            if pair[place] not in run.graders:
                raise UnknownNameError.of(f"{_RUNS[place]} grader", pair[place], run.graders)
            names.append((pair[place], pair[0] if pair[0] == pair[1] else " -> ".join(pair)))
        for key in ("graders", "models"):
            known = identity.get(key) or {}
            identity[key] = {new: known[old] for old, new in names if old in known}
        records = [{**record, "grader": new} for old, new in names for record in run.of_grader(old)]
        manifest = {**run.manifest, "identity": identity}
        renamed.append(Run(records, folder=run.folder, manifest=manifest, samples=run.samples))
    return renamed[0], renamed[1]


def _differences(first: Run, second: Run) -> Iterator[Phrase]:
    """Yield the differences in judges, settings, graders and data between the runs."""
    judges = [models_in(run.answering()) for run in (first, second)]
    models = [run.identity.get("models") or {} for run in (first, second) if run.identity]
    is_same_judge = first.judge == second.judge and models[1:] == models[:-1]
    if is_same_judge and all(judges) and judges[0] != judges[1]:
        named = [", ".join(map(repr, each)) for each in judges]
        judge = repr(second.judge)
        yield Phrase.of("differs.model_behind", judge=judge, old=named[0], new=named[1])
    # A run in memory has no settings.
    for key in _SETTINGS if first.identity and second.identity else ():
        old, new = first.identity.get(key), second.identity.get(key)
        if old != new:
            yield Phrase.of(f"differs.{key}", old=_value(old), new=_value(new))
    yield from _changed_graders(first, second)
    yield from _changed_data(first, second)


def _value(value: object) -> Phrase | str:
    return Phrase("differs.none") if value is None else repr(value)


def _changed_graders(first: Run, second: Run) -> Iterator[Phrase]:
    old, new = (run.identity.get("graders", {}) for run in (first, second))
    models = [run.identity.get("models", {}) for run in (first, second)]
    for grader in dict.fromkeys([*first.graders, *second.graders]):
        if grader not in second.graders:
            yield Phrase.of("differs.first_only", grader=grader)
        elif grader not in first.graders:
            yield Phrase.of("differs.second_only", grader=grader)
        elif old and new:
            if old.get(grader) != new.get(grader):
                yield Phrase.of("differs.prompt", grader=grader)
            before, after = (each.get(grader) for each in models)
            if before != after:
                values = {"old": _value(before), "new": _value(after)}
                yield Phrase.of("differs.model", grader=grader, **values)


def _changed_data(first: Run, second: Run) -> Iterator[Phrase]:
    data = [run.identity.get("data") for run in (first, second)]
    if data[0] == data[1] and data[0] not in (None, _NO_FILE):
        return
    common, changed = 0, dict.fromkeys(("question", "answer", "chunks"), 0)
    for sample_id, old in first.samples.items():
        if (new := second.samples.get(sample_id)) is not None:
            common += 1
            for name in changed:
                changed[name] += getattr(old, name) != getattr(new, name)
    if not common:
        if data[0] != data[1]:
            yield Phrase("differs.data")
    elif any(changed.values()):
        values: dict[str, Phrase | str] = {
            name: Phrase.of(f"differs.another_{name}", count=str(count)) if count else ""
            for name, count in changed.items()
        }
        yield Phrase.of("differs.rows", rows=str(common), **values)
