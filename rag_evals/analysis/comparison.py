"""What does a comparison of two runs say? Differences, verdicts, and the rows behind them."""

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
    """Say how many rows would find a difference of this size; None where that is not known."""
    say, rows = say or phrases(), paired.rows_needed
    return None if rows is None else say("compare.needed", rows=say.whole(rows))


def interval_words(interval: Interval, sign: str = "", say: Phrases | None = None) -> str:
    """Write an estimate with its interval: "0.683 [0.624, 0.723]"."""
    low, high = _end(interval.low, sign), _end(interval.high, sign)
    return (say or phrases()).written(f"{interval.estimate:{sign}.3f} [{low}, {high}]")


def _end(value: float, sign: str) -> str:
    """Write an end of an interval; one near 0 must not look as if it were 0."""
    near = 1e-9 < abs(value) < 0.0005
    return f"{value:{sign}.1g}" if near else f"{value:{sign}.3f}"


def clustered_lines(by: str | None) -> list[str]:
    """Say by what rows are clustered, in a line; nothing where they are independent."""
    return [] if by is None else [f"intervals: rows are clustered by {by}"]


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One row with another score in the second run."""

    sample_id: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The rows of one group in both runs; its p-value is adjusted over the groups (Holm)."""

    group: str | None
    paired: PairedComparison
    adjusted_p: float

    @property
    def verdict(self) -> PairedVerdict:
        """Whether there is a difference in this group, all groups taken together."""
        return adjusted_verdict(self.paired, self.adjusted_p)

    def words(self, say: Phrases | None = None) -> dict[str, str]:
        """Say the difference and the verdict in a reader's language; None is English."""
        say = say or phrases()
        verdict = say.named("verdicts", self.verdict)
        if self.verdict == "not distinguishable":
            verdict = _adjusted_words(self.paired, self.adjusted_p, "groups", say)
        return {"difference": _difference_words(self.paired, say), "verdict": verdict}


@dataclass(frozen=True, slots=True)
class SizeChange:
    """How much the answers of both runs say, over the rows of which that is known in both.

    Attributes:
        name: "statements", "supported", "unsupported" or "words", each of a row.
        rows: How many rows, with a score or without; failed ones are not among them.
        baseline: Mean of the first run.
        candidate: Mean of the second.
        difference: Candidate minus baseline.
    """

    name: str
    rows: int
    baseline: Interval
    candidate: Interval
    difference: Interval

    def words(self, say: Phrases) -> str:
        """Write it in one line: "5.20 [4.9, 5.5] and 1.80 [1.5, 2.1], -3.40 [-3.7, -3.1]"."""
        return say(
            "compare.size",
            baseline=size_interval_words(self.baseline, say),
            candidate=size_interval_words(self.candidate, say),
            difference=size_interval_words(self.difference, say, "+"),
        )


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


ComparedVerdict = PairedVerdict | Literal["higher score, says less"]


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
        changed: The rows that changed most, at most 20.
        left_out: The first rows without a score in both runs, at most 20, each with the reason.
        groups: One entry for each group, in order of first appearance.
        sizes: How many statements and words a row of either has.
        clustered_by: By what rows are clustered; None where they are independent.
        gate: Whether the loss is shown to be at most the one allowed; None where none was asked.
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
        """One line: the grader, the verdict and the difference."""
        return f"GraderComparison({_short_words(self)})"

    @property
    def verdict(self) -> ComparedVerdict:
        """Whether there is a difference, all graders taken together, and its direction.

        A better score of a run that says less is none of its own.
        """
        verdict = adjusted_verdict(self.paired, self.adjusted_p)
        return "higher score, says less" if verdict == "better" and self.says_less() else verdict

    def says_less(self, *, margin: float = 0.0) -> bool:
        """Whether supported statements a row have fallen; the whole interval says so.

        Args:
            margin: Share of the baseline's that may be lost, 0 to 1.
        """
        return self.less_said(margin) is not None

    def less_said(self, margin: float = 0.0) -> SizeChange | None:
        """Return by how much supported statements have fallen; as `says_less`."""
        supported = next((one for one in self.sizes if one.name == "supported"), None)
        if supported is None or self.coverage.same:
            return None
        limit = -margin * supported.baseline.estimate
        return supported if supported.difference.high < min(limit, -1e-9) else None

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the second run is worse by more than `margin`; the whole interval says so.

        Args:
            margin: Loss that is acceptable, 0 to 1.
        """
        return self.paired.is_worse(margin=margin) and self.verdict == "worse"

    def words(self, graders: int, say: Phrases | None = None) -> dict[str, str]:
        """Say each number by its name: verdict, baseline, candidate, difference, p, detectable.

        Args:
            graders: How many were compared, for which p-values are adjusted.
            say: In which language; None is English.
        """
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
    """Two runs, side by side.

    Attributes:
        baseline: Name of the first run: its folder.
        candidate: What the second is called.
        graders: One entry for each grader that both runs have.
        unscored: Graders of both runs without a single row that has a score in both.
        differences: In what the runs differ besides their scores: judge, prompt, data.
        pending: Gradings of either run without an outcome yet; with any, no gate is decided.
    """

    baseline: str
    candidate: str
    graders: tuple[GraderComparison, ...]
    unscored: tuple[PairCoverage, ...]
    differences: tuple[Phrase, ...]
    pending: int = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """In what the runs differ besides their scores, in English."""
        return tuple(self.notes())

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Say in what the runs differ besides their scores, in the language of `say`."""
        return [each.said(say or phrases()) for each in self.differences]

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the second run is worse by more than `margin` for any grader."""
        return any(grader.is_worse(margin=margin) for grader in self.graders)

    def missed(
        self,
        *,
        margin: float | None = 0.0,
        min_scored: float = DEFAULT_MIN_SCORED,
        allow_shorter: bool = False,
    ) -> list[Missed]:
        """List the rules of a gate that the candidate misses; an empty list is a passed gate.

        Args:
            margin: Loss that is acceptable, 0 to 1; None asks only for scored rows.
            min_scored: Least share of the rows of either run with a score in both, 0 to 1.
            allow_shorter: Whether the candidate may have fewer supported statements a row; else
                the share that it loses of them is bounded by `margin` too.

        Raises:
            ConfigurationError: A number is outside 0..1.
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
        """Say whether the candidate is shown to lose no more than `compare` was given as `gate`.

        Args:
            min_scored: As for `missed`.
            allow_shorter: As for `missed`.

        Returns:
            Passed, failed or not decided; None where no gate was given.
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
        """What a terminal shows, in English."""
        return self.lines(phrases())

    def lines(self, say: Phrases) -> str:
        """Say what a terminal shows, in a reader's language."""
        return "\n".join(_comparison_lines(self, say))

    def __repr__(self) -> str:
        """One line: what is compared, and each grader's verdict."""
        found = "; ".join(_short_words(grader) for grader in self.graders) or "nothing to compare"
        return f"Comparison({self.baseline!r} to {self.candidate!r}; {found})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(printable(str(self))[:_MOST_HTML])}</pre>"


def _short_words(grader: GraderComparison) -> str:
    return f"{grader.grader}: {grader.verdict}, {grader.words(1)['difference']}"


def _adjusted_words(
    paired: PairedComparison, adjusted_p: float, together: str, say: Phrases
) -> str:
    """Say that nothing is distinguishable, and why where the interval alone suggests otherwise."""
    verdict = say.named("verdicts", paired.verdict)
    if paired.verdict == "not distinguishable":
        return verdict
    p_value = say.written(f"{adjusted_p:.2g}")
    return say(f"compare.adjusted_{together}", verdict=verdict, p=p_value)


def coverage_words(found: PairCoverage, say: Phrases | None = None) -> str:
    """Say on how many rows a comparison rests: "5 of 100 rows (95 empty_context in both)"."""
    say = say or phrases()
    if found.scored == found.rows:
        return say("compare.coverage", rows=found.rows)
    why = reason_words(found.missing, say)
    return say("compare.coverage_of", scored=found.scored, rows=found.rows, why=why)


def _detectable_words(paired: PairedComparison, say: Phrases) -> str:
    """Say which true difference this many rows would usually find: "0.08 (80 % power)"."""
    if paired.detectable is None:
        return say("compare.no_spread")
    if paired.detectable > 1:
        return say("compare.above_one")
    return say("compare.power", effect=say.written(f"{paired.detectable:.2g}"))


def _difference_words(paired: PairedComparison, say: Phrases) -> str:
    """Write the difference with its interval; without one where both sides are the same."""
    if not paired.difference.width:
        return say("compare.same_outcomes")
    return interval_words(paired.difference, sign="+", say=say)


def _p_words(grader: GraderComparison, graders: int, say: Phrases) -> str:
    """Say the p-value, the test behind it, and the adjustment where there are several graders."""
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
    """Say what two runs say about each other."""
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
    """Say which rows have a score in both runs, and which of them are not independent."""
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
