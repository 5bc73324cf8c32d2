"""The result of comparing two runs: differences, verdicts, and the rows behind them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal

from rag_evals.core import Phrase, Phrases, phrases
from rag_evals.run import DEFAULT_MIN_SCORED, GateDecision, Missed, reason_words, require_share
from rag_evals.run.plan.gate import GraderDecision
from rag_evals.run.record.summary import counted_words, size_interval_words
from rag_evals.stats import GateTest, Interval
from rag_evals.stats.paired import PairedComparison, PairedVerdict
from rag_evals.text.screen import printable

_ROWS_SHOWN = 10
_MOST_HTML = 10_000


def needed_words(paired: PairedComparison, say: Phrases | None = None) -> str | None:
    say, rows = say or phrases(), paired.rows_needed
    return None if rows is None else say("compare.needed", rows=say.whole(rows))


def interval_words(interval: Interval, sign: str = "", say: Phrases | None = None) -> str:
    """Format an interval: "0.683 [0.624, 0.723]"."""
    low, high = _end(interval.low, sign), _end(interval.high, sign)
    return (say or phrases()).written(f"{interval.estimate:{sign}.3f} [{low}, {high}]")


def _end(value: float, sign: str) -> str:
    """Format an end of an interval; 0.0004 must not be shown as 0.000."""
    near = 1e-9 < abs(value) < 0.0005
    return f"{value:{sign}.1g}" if near else f"{value:{sign}.3f}"


def clustered_lines(by: str | None) -> list[str]:
    return [] if by is None else [f"intervals: rows are clustered by {by}"]


@dataclass(frozen=True, slots=True)
class ChangedRow:
    sample_id: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """Comparison of one group of rows; the p-value is adjusted for the number of groups."""

    group: str | None
    paired: PairedComparison
    adjusted_p: float

    @property
    def verdict(self) -> PairedVerdict:
        return adjusted_verdict(self.paired, self.adjusted_p)

    def words(self, say: Phrases | None = None) -> dict[str, str]:
        say = say or phrases()
        verdict = say.named("verdicts", self.verdict)
        if self.verdict == "not distinguishable":
            verdict = _adjusted_words(self.paired, self.adjusted_p, "groups", say)
        return {"difference": _difference_words(self.paired, say), "verdict": verdict}


@dataclass(frozen=True, slots=True)
class SizeChange:
    """How long the answers of both runs are.

    Attributes:
        name: "statements", "supported", "unsupported" or "words", counted per row.
        rows: Number of rows with both counts, with or without a score.
    """

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
    """How many rows a comparison uses.

    Attributes:
        rows: Number of rows in either run.
        scored: Number of rows with a score in both runs.
        missing: Number of other rows by reason, such as "empty_context in both".
        same: True if both runs have identical outcomes.
    """

    grader: str
    rows: int
    scored: int
    missing: Mapping[str, int]
    same: bool

    @property
    def why(self) -> str:
        return counted_words(self.missing)


def adjusted_verdict(paired: PairedComparison, adjusted_p: float) -> PairedVerdict:
    if adjusted_p > 1 - paired.difference.confidence:
        return "not distinguishable"
    return paired.verdict


ComparedVerdict = PairedVerdict | Literal["higher score, says less"]


@dataclass(frozen=True, slots=True)
class GraderComparison:
    """Comparison of two runs by one grader.

    Attributes:
        grader: Name of the grader; "strict -> mild" for a pair of graders.
        baseline: Mean of the first run, over rows with a score in both.
        candidate: Mean of the second run, over the same rows.
        paired: Difference, p-value, wins and losses, over the same rows.
        adjusted_p: The p-value adjusted for the number of graders (Holm).
        changed: The 20 rows with the largest changes.
        left_out: The first 20 rows without a score in both runs, with the reason.
        groups: In order of first appearance.
        clustered_by: None if rows are independent.
        gate: Test of the allowed loss; None without a gate.
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
        """The verdict after Holm's adjustment; a candidate may score higher by saying less."""
        verdict = adjusted_verdict(self.paired, self.adjusted_p)
        return "higher score, says less" if verdict == "better" and self.says_less() else verdict

    def says_less(self, *, margin: float = 0.0) -> bool:
        """True if supported statements per row fell significantly, by more than `margin`."""
        return self.less_said(margin) is not None

    def less_said(self, margin: float = 0.0) -> SizeChange | None:
        supported = next((one for one in self.sizes if one.name == "supported"), None)
        if supported is None or self.coverage.same:
            return None
        limit = -margin * supported.baseline.estimate
        return supported if supported.difference.high < min(limit, -1e-9) else None

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """True if the candidate is significantly worse, by more than `margin` (0 to 1)."""
        return self.paired.is_worse(margin=margin) and self.verdict == "worse"

    def words(self, graders: int, say: Phrases | None = None) -> dict[str, str]:
        """Return each number as text; `graders` is how many graders are compared."""
        say = say or phrases()
        verdict = say("compare.is", verdict=say.named("verdicts", self.verdict))
        if self.verdict == "not distinguishable":
            verdict = _adjusted_words(self.paired, self.adjusted_p, "graders", say)
        if self.verdict == "higher score, says less":
            verdict = say.named("verdicts", self.verdict)
        elif self.says_less():
            verdict = say("compare.and_less", words=verdict)
        return {
            "verdict": verdict,
            "coverage": coverage_words(self.coverage, say),
            "baseline": interval_words(self.baseline, say=say),
            "candidate": interval_words(self.candidate, say=say),
            "difference": _difference_words(self.paired, say),
            "p": _p_words(self, graders, say),
            "detectable": _detectable_words(self.paired, say),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two runs.

    Attributes:
        baseline: Name of the first run, usually its folder.
        candidate: Name of the second run.
        graders: One entry for each grader in both runs.
        unscored: Graders without a row that has a score in both runs.
        differences: What else differs: judge, prompt, data.
        pending: Number of pending gradings; no gate is decided until it is 0.
    """

    baseline: str
    candidate: str
    graders: tuple[GraderComparison, ...]
    unscored: tuple[PairCoverage, ...]
    differences: tuple[Phrase, ...]
    pending: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else differs between the runs, in English."""
        return tuple(self.notes())

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Return what else differs between the runs."""
        return [each.said(say or phrases()) for each in self.differences]

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """True if any grader finds the candidate significantly worse, by more than `margin`."""
        return any(grader.is_worse(margin=margin) for grader in self.graders)

    def missed(
        self,
        *,
        margin: float | None = 0.0,
        min_scored: float = DEFAULT_MIN_SCORED,
        allow_shorter: bool = False,
    ) -> list[Missed]:
        """Return the gate rules that the candidate fails.

        Args:
            margin: Acceptable loss, 0 to 1; None checks only `min_scored`.
            min_scored: Minimum share of rows with a score in both runs, 0 to 1.
            allow_shorter: Accept fewer supported statements per row; otherwise `margin` also
                limits the share of them that may be lost.

        Raises:
            ConfigurationError: A number is outside 0 to 1.
        """
        require_share("min_scored", min_scored)
        if self.pending:
            return [Missed.pending(self.pending)]
        missed = [
            each
            for found in (*(grader.coverage for grader in self.graders), *self.unscored)
            for each in Missed.coverage(
                found.grader,
                found.scored,
                found.rows,
                min_scored,
                why=found.missing,
                of_both=True,
            )
        ]
        if margin is not None:
            missed += [
                Missed.loss(grader.grader, grader.paired.difference, margin)
                for grader in self.graders
                if grader.is_worse(margin=margin)
            ]
        if margin is not None and not allow_shorter:
            missed += self._less_said(margin)
        return missed

    def _less_said(self, margin: float) -> list[Missed]:
        found = [(grader.grader, grader.less_said(margin)) for grader in self.graders]
        return [
            Missed.less_said(name, change.baseline, change.difference, margin)
            for name, change in found
            if change is not None
        ]

    def decision(
        self, *, min_scored: float = DEFAULT_MIN_SCORED, allow_shorter: bool = False
    ) -> GateDecision | None:
        """Decide whether the candidate loses at most the `gate` of `compare`; None without a gate.

        The arguments are those of `missed`.
        """
        if all(grader.gate is None for grader in self.graders):
            return None
        missed = self.missed(margin=None, min_scored=min_scored)
        gates = [grader.gate.gate for grader in self.graders if grader.gate is not None]
        if not allow_shorter and not self.pending:
            missed += self._less_said(max(map(abs, gates)))
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
        """Return the text that a terminal shows."""
        return "\n".join(_comparison_lines(self, say))

    def __repr__(self) -> str:
        found = "; ".join(_short_words(grader) for grader in self.graders) or "nothing to compare"
        return f"Comparison({self.baseline!r} to {self.candidate!r}; {found})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(printable(str(self))[:_MOST_HTML])}</pre>"


def _short_words(grader: GraderComparison) -> str:
    return f"{grader.grader}: {grader.verdict}, {grader.words(1)['difference']}"


def _adjusted_words(
    paired: PairedComparison, adjusted_p: float, together: str, say: Phrases
) -> str:
    verdict = say.named("verdicts", paired.verdict)
    if paired.verdict == "not distinguishable":
        return verdict
    p_value = say.written(f"{adjusted_p:.2g}")
    return say(f"compare.adjusted_{together}", verdict=verdict, p=p_value)


def coverage_words(found: PairCoverage, say: Phrases | None = None) -> str:
    """Format the coverage: "5 of 100 rows (95 empty_context in both)"."""
    say = say or phrases()
    if found.scored == found.rows:
        return say("compare.coverage", rows=found.rows)
    why = reason_words(found.missing, say)
    return say("compare.coverage_of", scored=found.scored, rows=found.rows, why=why)


def _detectable_words(paired: PairedComparison, say: Phrases) -> str:
    if paired.detectable is None:
        return say("compare.no_spread")
    if paired.detectable > 1:
        return say("compare.above_one")
    return say("compare.power", effect=say.written(f"{paired.detectable:.2g}"))


def _difference_words(paired: PairedComparison, say: Phrases) -> str:
    if not paired.difference.width:
        return say("compare.same_outcomes")
    return interval_words(paired.difference, sign="+", say=say)


def _p_words(grader: GraderComparison, graders: int, say: Phrases) -> str:
    test = grader.paired.significance
    values = {"p": say.written(f"{test.p_value:.2g}"), "test": say.named("tests", test.test)}
    words = say("compare.p", **values)
    if test.resamples is not None:
        words = say("compare.p_drawn", patterns=say.whole(test.resamples), **values)
    if graders == 1:
        return words
    adjusted = say.written(f"{grader.adjusted_p:.2g}")
    return say("compare.holm", p=words, adjusted=adjusted, graders=graders)


def _comparison_lines(comparison: Comparison, say: Phrases) -> Iterator[str]:
    yield say("compare.baseline", name=comparison.baseline)
    yield say("compare.candidate", name=comparison.candidate)
    for note in comparison.notes(say=say):
        yield say("compare.note", text=note)
    for grader in comparison.graders:
        yield ""
        yield from _grader_lines(grader, len(comparison.graders), say)
    for found in comparison.unscored:
        yield ""
        yield say("compare.nothing", grader=say.named("graders", found.grader))
        yield say("compare.line_scored", words=coverage_words(found, say), clusters="")


def _grader_lines(grader: GraderComparison, graders: int, say: Phrases) -> Iterator[str]:
    paired, told = grader.paired, grader.words(graders, say)
    name = say.named("graders", grader.grader)
    yield say("compare.head", grader=name, verdict=told["verdict"])
    yield _scored_line(grader, say)
    rows = say("compare.rows_words", wins=paired.wins, ties=paired.ties, losses=paired.losses)
    for line, words in (
        *((name, told[name]) for name in ("baseline", "candidate", "difference", "p")),
        ("rows", rows),
        ("detectable", told["detectable"]),
        ("needed", needed_words(paired, say)),
    ):
        if words is not None:
            yield say(f"compare.line_{line}", words=words)
    for size in grader.sizes:
        yield say(f"compare.line_{size.name}", words=size.words(say))
    for group in grader.groups:
        yield say(
            "compare.group",
            group=group.group or say("table.no_group"),
            rows=group.paired.samples,
            **group.words(say),
        )
    yield from _row_lines(grader, say)


def _scored_line(grader: GraderComparison, say: Phrases) -> str:
    clusters = ""
    if grader.paired.clusters != grader.paired.samples:
        by = say.named("shared", grader.clustered_by or "")
        clusters = say("compare.clusters", count=grader.paired.clusters, by=by)
    return say("compare.line_scored", words=coverage_words(grader.coverage, say), clusters=clusters)


def _row_lines(grader: GraderComparison, say: Phrases) -> Iterator[str]:
    if grader.changed:
        yield say("compare.changed_most")
        for row in grader.changed[:_ROWS_SHOWN]:
            yield f"    {row.sample_id}: {say.number(row.baseline)} -> {say.number(row.candidate)}"
    for row_id, why in grader.left_out[:_ROWS_SHOWN]:
        yield say("compare.left_out", row=row_id, why=say.reason(why))
