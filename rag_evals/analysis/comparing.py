"""Is one run better than another? Pairs their rows by sample id, and tests the difference."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import TypedDict, Unpack

from rag_evals.analysis.comparison import (
    ChangedRow,
    Comparison,
    GraderComparison,
    GroupComparison,
    PairCoverage,
    ScoredOnce,
)
from rag_evals.core import Phrase, require_known
from rag_evals.errors import ConfigurationError, UnknownNameError, UnpairedScoresError
from rag_evals.run import (
    DEFAULT_ERROR,
    Record,
    Run,
    guesses,
    load_run,
    reason_of,
    require_counts,
    require_gate,
    score_of,
)
from rag_evals.stats import (
    GateTest,
    Interval,
    PairedComparison,
    SampledDifference,
    compare_paired,
    gate_test,
    holm_adjusted,
    largest_changes,
    mcnemar_exact,
    mean_interval,
    of_differences,
    sampled_difference,
)

RunInput = str | Path | Run
"""A run folder, or a run in memory."""

_CHANGES_KEPT = 20
_RESAMPLES = 10_000
_Compare = Callable[[Sequence[str], Sequence[str], "_Pair"], PairedComparison]
_Names = list[tuple[str, str]]
_SETTINGS = ("judge", "address", "columns", "limit", "settings")


class CompareOptions(TypedDict, total=False):
    """What `compare` takes by keyword.

    Attributes:
        count: Numbers for reasons of rows without a score, such as `{"empty_context": 0.0}`.
        by: Column of the data to compare each group by; None compares all rows together only.
        cluster: Column that rows from one document or conversation share; None takes rows as
            independent.
        threshold: Score from which a row passes, for McNemar's test; default 1.
        gate: Loss that is acceptable, 0 to 1; with it, `decision()` says whether the candidate is
            shown to lose no more.
        error: Chance of a wrong decision, above 0 and up to 0.5; default 0.05.
        confidence: Coverage of each interval, as a fraction; default 0.95.
        resamples: Random sign patterns, where the test draws any; default 10,000.
        seed: Same seed, same p-values; default 0.
    """

    count: Mapping[str, float] | None
    by: str | None
    cluster: str | None
    threshold: float
    gate: float | None
    error: float
    confidence: float
    resamples: int
    seed: int


def compare(
    baseline: RunInput,
    candidate: RunInput | None = None,
    *,
    pairs: Mapping[str, str] | None = None,
    graders: Sequence[str] = (),
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare two runs, or two graders of one run, row by row.

    Args:
        baseline: The run to compare with.
        candidate: The run that should be better; None compares `pairs` of graders of the first.
        pairs: Graders of other names that belong together, the baseline's first, as in
            `{"strict": "mild"}`; graders of one name are paired by themselves.
        graders: Names that both runs have, to compare no others; none compares all of them.
        options: Groups, documents, gate and more; see `CompareOptions`.

    Raises:
        ConfigurationError: One run without a pair of its graders, or an unknown grader or reason.
        DataError: A folder holds no run, or a column is not in the data.
        UnpairedScoresError: No grader scored one and the same row in both runs.
    """
    if candidate is None and not pairs:
        raise ConfigurationError(
            "one run is compared by two of its graders, as in pairs={'strict': 'mild'}; "
            "or give a second run"
        )
    count = _check_options(options)
    gate, error = options.get("gate"), options.get("error", DEFAULT_ERROR)
    first = load_run(baseline)
    second = first if candidate is None else load_run(candidate)
    first, second = paired_runs(first, second, pairs=pairs, graders=graders)
    groups = _columns(options.get("by"), second, first)
    clusters = _columns(options.get("cluster"), second, first)
    common = [grader for grader in first.graders if grader in second.graders]
    every = [_Pair(grader, first, second, count, clusters) for grader in common]
    pairs_with_rows = [pair for pair in every if pair.rows]
    if not pairs_with_rows:
        raise UnpairedScoresError(_no_pair(first, second))
    paired = _pairing(options)
    threshold = options.get("threshold", 1.0)
    overall = [paired(pair.rows, pair.others, pair) for pair in pairs_with_rows]
    adjusted = holm_adjusted([each.significance.p_value for each in overall])
    return Comparison(
        _name(first),
        _name(second),
        tuple(
            replace(
                pair.compared(each, p_value, threshold, _by_group(pair, groups, paired)),
                gate=None if gate is None else pair.gate(gate, error, error / len(pairs_with_rows)),
            )
            for pair, each, p_value in zip(pairs_with_rows, overall, adjusted, strict=True)
        ),
        tuple(pair.coverage() for pair in every if not pair.rows),
        tuple(named_differences(first, second)),
        threshold,
        sum(run.summary().pending for run in ((first,) if second is first else (first, second))),
    )


def _pairing(options: CompareOptions) -> _Compare:
    """Return how the scores of paired rows are compared."""
    return partial(
        _paired,
        confidence=options.get("confidence", 0.95),
        resamples=options.get("resamples", _RESAMPLES),
        seed=options.get("seed", 0),
    )


def _check_options(options: CompareOptions) -> Mapping[str, float]:
    """Return the numbers of rows without a score.

    Raises:
        ConfigurationError: An unknown reason, or a gate that cannot be decided.
        UnknownArgumentError: There is no such option.
    """
    require_known("compare", options, list(CompareOptions.__annotations__))
    count = options.get("count") or {}
    require_counts(count)
    if (gate := options.get("gate")) is not None:
        require_gate("gate", gate, options.get("error", DEFAULT_ERROR))
    return count


def _columns(name: str | None, *runs: Run) -> dict[str, str | None]:
    """Return a column of the data by sample id; a later run comes first."""
    found: dict[str, str | None] = {}
    for run in runs if name is not None else ():
        found |= run.column(name or "")
    return found


def _paired(
    rows: Sequence[str],
    others: Sequence[str],
    pair: "_Pair",
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> PairedComparison:
    compared = compare_paired(
        pair.scores(0, rows),
        pair.scores(1, rows),
        clusters=pair.clusters_of(rows),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if pair.same:
        # What a run says about itself is no sample of anything: the difference is 0, surely.
        itself = Interval(0.0, 0.0, 0.0, confidence, "the same outcomes")
        return replace(compared, difference=itself)
    return compared.over_all_rows(pair.sampled(rows, others, confidence))


class _Pair:
    """One grader's outcomes in both runs."""

    def __init__(
        self,
        grader: str,
        first: Run,
        second: Run,
        count: Mapping[str, float],
        clusters: Mapping[str, str | None],
    ) -> None:
        self.grader = grader
        self._runs: tuple[dict[str, Record], dict[str, Record]] = (
            {record["sample_id"]: record for record in first.of_grader(grader)},
            {record["sample_id"]: record for record in second.of_grader(grader)},
        )
        self._scores = tuple(
            {row: score_of(record, count) for row, record in run.items()} for run in self._runs
        )
        self._whole = (first, second)
        self._count = count
        self._guessed = guessed_differences(grader, first, second, count)
        self._clusters = clusters
        one, other = self._scores
        self.same = self._runs[0] == self._runs[1]
        self._common = [row for row in one if row in other]
        self.rows = [row for row in self._common if one[row] is not None and other[row] is not None]
        graded = set(self._common)
        self.others = [row for row in self._guessed if row not in graded]

    def scores(self, run: int, rows: Sequence[str]) -> list[float]:
        return [score for row in rows if (score := self._scores[run][row]) is not None]

    def clusters_of(self, rows: Sequence[str]) -> list[str | None] | None:
        return [self._clusters.get(row) for row in rows] if self._clusters else None

    def sampled(
        self, rows: Sequence[str], others: Sequence[str], confidence: float
    ) -> SampledDifference | None:
        """Say what free judges of all rows add, where dear ones graded a sample of them."""
        both = [row for row in rows if row in self._guessed]
        old, new = self.scores(0, both), self.scores(1, both)
        return sampled_difference(
            [after - before for before, after in zip(old, new, strict=True)],
            [self._guessed[row] for row in both],
            [self._guessed[row] for row in others],
            clusters=self.clusters_of(both),
            other_clusters=self.clusters_of(others),
            confidence=confidence,
        )

    def mean(self, run: int, paired: PairedComparison) -> Interval:
        """Return the mean of one run over the rows that the comparison is about."""
        confidence = paired.difference.confidence
        design = self._whole[run].summary().designs.get(self.grader)
        if paired.sampled is not None and design is not None:
            over_all = design.interval(confidence, self._count)
            if over_all is not None:
                return over_all
        rows = self.rows
        return mean_interval(
            self.scores(run, rows), clusters=self.clusters_of(rows), confidence=confidence
        )

    def coverage(self) -> PairCoverage:
        one, other = self._scores
        missing = Counter(map(self._why, dict.fromkeys([*one, *other])))
        scored = missing.pop(None, 0)
        reasons = {why: number for why, number in missing.items() if why is not None}
        return PairCoverage(self.grader, scored + sum(reasons.values()), scored, reasons, self.same)

    def _why(self, row: str) -> str | None:
        one, other = self._scores
        if row not in other:
            return "only in the baseline"
        if row not in one:
            return "only in the candidate"
        reasons = [
            None if scores[row] is not None else reason_of(run[row])
            for scores, run in zip(self._scores, self._runs, strict=True)
        ]
        if reasons[0] is not None and reasons[0] == reasons[1]:
            return f"{reasons[0]} in both"
        if reasons[1] is not None:
            return f"{reasons[1]} in the candidate"
        return None if reasons[0] is None else f"{reasons[0]} in the baseline"

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
        return GraderComparison(
            grader=self.grader,
            coverage=self.coverage(),
            baseline=self.mean(0, paired),
            candidate=self.mean(1, paired),
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

    def gate(self, margin: float, error: float, fail_error: float) -> GateTest:
        """Test whether the candidate loses at most `margin`."""
        pairs = zip(self.scores(0, self.rows), self.scores(1, self.rows), strict=True)
        test = gate_test(
            [(1 + new - old) / 2 for old, new in pairs],
            (1 - margin) / 2,
            error=error,
            fail_error=fail_error,
            clusters=self.clusters_of(self.rows),
        )
        # What a run says about itself is no sample of anything.
        return of_differences(replace(test, verdict="passed") if self.same else test)

    def _scored_once(self) -> list[ScoredOnce]:
        found = []
        for row in self._common:
            has_score = [scores[row] is not None for scores in self._scores]
            if has_score[0] != has_score[1]:
                which = "baseline" if has_score[0] else "candidate"
                why = reason_of(self._runs[1 if has_score[0] else 0][row])
                found.append(ScoredOnce(row, which, why or ""))
        return found


def _by_group(
    pair: _Pair, groups: Mapping[str, str | None], paired: _Compare
) -> tuple[GroupComparison, ...]:
    if not groups:
        return ()
    members: dict[str | None, list[str]] = {}
    for row in pair.rows:
        members.setdefault(groups.get(row), []).append(row)
    others: dict[str | None, list[str]] = {}
    for row in pair.others:
        others.setdefault(groups.get(row), []).append(row)
    compared = [paired(rows, others.get(group, ()), pair) for group, rows in members.items()]
    adjusted = holm_adjusted([each.significance.p_value for each in compared])
    return tuple(
        GroupComparison(group, each, p_value)
        for group, each, p_value in zip(members, compared, adjusted, strict=True)
    )


def _name(run: Run) -> str:
    return "a run in memory" if run.folder is None else str(run.folder)


def _without(run: Run) -> str:
    lines = [numbers.line() for numbers in run.summary().graders.values()]
    return "; ".join(lines)


def _no_pair(first: Run, second: Run) -> str:
    names = f"{', '.join(first.graders) or 'none'} and {', '.join(second.graders) or 'none'}"
    if not set(first.graders) & set(second.graders):
        one, other = (run.graders[0] if run.graders else "NAME" for run in (first, second))
        return (
            f"the runs have no grader in common: {names}; say which belong together, as in "
            f"--pair {one}={other} (in Python pairs={{{one!r}: {other!r}}})"
        )
    shared = {one["sample_id"] for one in first.records} & {
        one["sample_id"] for one in second.records
    }
    if shared:
        # Once each where a run is compared with itself.
        runs = {id(run): run for run in (first, second)}.values()
        whose = " and ".join(f"{_name(run)!r} ({_without(run)})" for run in runs)
        return f"no row has a score in both runs, though {len(shared)} have the same id: {whose}"
    return (
        "no row has a score in both runs; rows are paired by id, so both data files need an id "
        "column with the same values (without one, an id is made from the row's content)"
    )


def paired_runs(
    first: Run,
    second: Run,
    *,
    pairs: Mapping[str, str] | None = None,
    graders: Sequence[str] = (),
) -> tuple[Run, Run]:
    """Give graders that belong together one name: "strict -> mild".

    Args:
        first: The baseline.
        second: The candidate; the first run itself compares graders within one run.
        pairs: Graders of the candidate, by that of the baseline.
        graders: Names that both runs have, to compare no others; none compares all of them.

    Returns:
        Both runs, with their graders so named and without those that are not compared.

    Raises:
        UnknownNameError: A run has no grader of that name.
        ConfigurationError: One run alone, and no pair of its graders.
    """
    pairs = pairs or {}
    if second is first and not pairs and not graders:
        return first, second
    for wanted in (*pairs, *graders):
        _require_grader(wanted, first, "baseline")
    for wanted in (*pairs.values(), *graders):
        _require_grader(wanted, second, "candidate")
    if not pairs and not graders:
        return first, second
    told = {(old, new): old if old == new else f"{old} -> {new}" for old, new in pairs.items()}
    # Within one run every other grader would be compared with itself.
    alone = first is second and bool(pairs)
    return (
        _renamed(first, [(old, name) for (old, _), name in told.items()], alone, graders),
        _renamed(second, [(new, name) for (_, new), name in told.items()], alone, graders),
    )


def _require_grader(name: str, run: Run, which: str) -> None:
    if name not in run.graders:
        raise UnknownNameError.of(f"{which} grader", name, run.graders)


def _renamed(run: Run, names: _Names, alone: bool, graders: Sequence[str]) -> Run:
    told = {old for old, _ in names}
    others = [] if alone else [name for name in run.graders if name not in told]
    names = names + [(name, name) for name in others if not graders or name in graders]
    identity = dict(run.identity)
    for key in ("graders", "models"):
        known = identity.get(key) or {}
        identity[key] = {new: known[old] for old, new in names if old in known}
    renamed = Run(
        [{**record, "grader": new} for old, new in names for record in run.of_grader(old)],
        folder=run.folder,
        manifest={**run.manifest, "identity": identity},
        samples=run.samples,
    )
    return renamed if run.free is None else renamed.beside(_renamed(run.free, names, True, ()))


def guessed_differences(
    grader: str, first: Run, second: Run, count: Mapping[str, float]
) -> dict[str, float]:
    """Return by how much the candidate is better, as judges of every row say, by sample id.

    Args:
        grader: Its name in both runs.
        first: The baseline.
        second: The candidate.
        count: Numbers for reasons of rows without a score.

    Returns:
        Nothing where neither run is of a sample. A run that is of none speaks for itself.
    """
    if first.free is None and second.free is None:
        return {}
    old, new = (guesses((run.free or run).of_grader(grader), count) for run in (first, second))
    return {row: new[row] - guess for row, guess in old.items() if row in new}


def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    """Read pairs of graders as the command line has them: `strict=mild`.

    Raises:
        ConfigurationError: Not BASELINE=CANDIDATE, or one name with two partners.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        old, _, new = (part.strip() for part in text.partition("="))
        if not old or not new:
            raise ConfigurationError(
                f"pair {text!r} is not BASELINE=CANDIDATE, two names of graders, as in strict=mild"
            )
        if pairs.get(old, new) != new:
            raise ConfigurationError(f"{old!r} is paired with {pairs[old]!r} and {new!r}")
        pairs[old] = new
    return pairs


def named_differences(first: Run, second: Run) -> list[Phrase]:
    """Say each difference in one sentence; an empty list for runs that differ in nothing known."""
    moved = moved_judge(first, second)
    told = [] if moved is None else [moved]
    # A run that only memory has knows its judge, graders and rows, and nothing else of these.
    if first.identity and second.identity:
        told += _settings(first, second)
    return [*told, *_graders(first, second), *_data(first, second)]


def moved_judge(first: Run, second: Run) -> Phrase | None:
    """Say that another model answered behind the name of the same judge; None where none is known.

    Args:
        first: The earlier run.
        second: The later one; by a judge of another name nothing is said.
    """
    models = [run.identity.get("models") or {} for run in (first, second) if run.identity]
    if first.judge != second.judge or models[1:] != models[:-1]:
        return None
    old, new = _answering(first), _answering(second)
    if not old or not new:
        return None
    judge = repr(second.judge)
    if set(old) != set(new):
        return Phrase.of("differs.model_behind", judge=judge, old=_listed(old), new=_listed(new))
    systems = [{one for each in said.values() for one in each} for said in (old, new)]
    if all(systems) and not systems[0] & systems[1]:
        was, now = (", ".join(sorted(each)) for each in systems)
        return Phrase.of("differs.system_behind", judge=judge, old=was, new=now)
    return None


def _answering(run: Run) -> dict[str, set[str]]:
    """Return the models that replies said they are from, each with its systems' fingerprints."""
    found: dict[str, set[str]] = {}
    for record in run.records:
        for said in record.get("answered_by") or ():
            model, _, system = said.partition(" ")
            found.setdefault(model, set()).update([system] if system else [])
    return found


def _listed(models: Iterable[str]) -> Phrase | str:
    names: list[Phrase | str] = [repr(model) for model in sorted(models)]
    return reduce(lambda one, other: Phrase.of("differs.both", one=one, other=other), names)


def _settings(first: Run, second: Run) -> Iterator[Phrase]:
    for key in _SETTINGS:
        old, new = first.identity.get(key), second.identity.get(key)
        if old != new:
            yield Phrase.of(f"differs.{key}", old=_value(old), new=_value(new))


def _value(value: object) -> Phrase | str:
    return Phrase("differs.none") if value is None else repr(value)


def _graders(first: Run, second: Run) -> Iterator[Phrase]:
    old, new = (run.identity.get("graders", {}) for run in (first, second))
    models = [run.identity.get("models", {}) for run in (first, second)]
    for grader in first.graders:
        if grader not in second.graders:
            yield Phrase.of("differs.first_only", grader=grader)
            continue
        if old and new and old.get(grader) != new.get(grader):
            yield Phrase.of("differs.prompt", grader=grader)
        named = [each.get(grader) for each in models]
        if old and new and named[0] != named[1]:
            asked = {"old": _value(named[0]), "new": _value(named[1])}
            yield Phrase.of("differs.model", grader=grader, **asked)
    for grader in second.graders:
        if grader not in first.graders:
            yield Phrase.of("differs.second_only", grader=grader)
    lonely = [
        [grader for grader in run.graders if grader not in other.graders]
        for run, other in ((first, second), (second, first))
    ]
    if all(lonely):
        yield Phrase.of("differs.pair", pair=f"{lonely[0][0]}={lonely[1][0]}")


def _data(first: Run, second: Run) -> Iterator[Phrase]:
    common = [sample_id for sample_id in first.samples if sample_id in second.samples]
    if not common:
        if first.identity.get("data") != second.identity.get("data"):
            yield Phrase("differs.data")
        return
    changed = {
        name: sum(
            getattr(first.samples[row], name) != getattr(second.samples[row], name)
            for row in common
        )
        for name in ("question", "answer", "chunks")
    }
    if any(changed.values()):
        told: dict[str, Phrase | str] = {
            name: Phrase.of(f"differs.another_{name}", count=str(count)) if count else ""
            for name, count in changed.items()
        }
        yield Phrase.of("differs.rows", rows=str(len(common)), **told)
