"""Comparing two runs: pairs their rows by sample id, and tests the difference."""

import math
from array import array
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import islice, repeat
from typing import TypedDict, Unpack

from rag_evals.analysis.comparison import (
    ChangedRow,
    Comparison,
    GraderComparison,
    GroupComparison,
    PairCoverage,
    SizeChange,
)
from rag_evals.analysis.labels import RunInput
from rag_evals.core import Phrase, require_known
from rag_evals.errors import ConfigurationError, UnknownNameError, UnpairedScoresError
from rag_evals.run import (
    DEFAULT_ERROR,
    NOT_CLUSTERED,
    Run,
    load_run,
    require_counts,
    require_gate,
)
from rag_evals.run.record.facts import SIZES
from rag_evals.run.record.index import ScoredRow
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
from rag_evals.stats.paired import PairedComparison, count_difference

_CHANGES_KEPT = 20
# The data of a run whose rows came from no file.
_NO_FILE = "rows"
_RESAMPLES = 10_000
_SETTINGS = ("judge", "address", "columns", "limit", "settings")


class CompareOptions(TypedDict, total=False):
    """Keyword arguments of `compare`.

    Attributes:
        count: Scores of rows that are not scorable, by reason, such as `{"empty_context": 0.0}`.
        by: Column of the data that names the group of each row; None compares no groups.
        cluster: Column that dependent rows share, such as a document; "none" means independent
        rows. By default rows are clustered by question, else by context, if more than 5 % of
        them share it.
        gate: Acceptable loss, 0 to 1, which `decision()` tests.
        error: Chance of a wrong decision, above 0 and up to 0.5; default 0.05.
        confidence: Coverage of each interval, as a fraction; default 0.95.
        resamples: Number of random sign patterns, if the test draws any; default 10,000.
        seed: Same seed, same p-values; default 0.
    """

    count: Mapping[str, float] | None
    by: str | None
    cluster: str | None
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
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare two runs, or two graders of one run, row by row.

    Args:
        baseline: The run to compare with.
        candidate: The run to compare; None compares `pairs` of graders of the first run.
        pairs: Graders to compare, the baseline's first, such as `{"strict": "mild"}`; None compares
        all graders that both runs have.
        options: Groups, clusters, gate and more; see `CompareOptions`.

    Raises:
        ConfigurationError: One run without a pair of its graders, or an unknown grader or reason.
        DataError: A folder has no run, or a column is not in the data.
        UnpairedScoresError: No grader scored the same row in both runs.
    """
    if candidate is None and not pairs:
        raise ConfigurationError(
            "one run is compared by two of its graders, as in --pair strict=mild (in Python "
            "pairs={'strict': 'mild'}); or give a second run"
        )
    require_known("compare", options, list(CompareOptions.__annotations__))
    require_counts(options.get("count") or {})
    if (gate := options.get("gate")) is not None:
        require_gate("gate", gate, options.get("error", DEFAULT_ERROR))
    first = load_run(baseline)
    second = first if candidate is None else load_run(candidate)
    first, second = paired_runs(first, second, pairs or {})
    groups, cluster = _column(options.get("by"), second, first), options.get("cluster")
    clusters = None if cluster is None else _column(cluster, second, first)
    common = [grader for grader in first.graders if grader in second.graders]
    every = [_Pair(grader, first, second, options, clusters) for grader in common]
    with_rows = [pair for pair in every if pair.rows]
    if not with_rows:
        raise UnpairedScoresError(_no_pair(first, second))
    overall = [pair.test(pair.rows) for pair in with_rows]
    adjusted = holm_adjusted([each.significance.p_value for each in overall])
    return Comparison(
        _name(first),
        _name(second),
        tuple(
            replace(pair.compared(each, p_value, groups), gate=pair.gate(len(with_rows)))
            for pair, each, p_value in zip(with_rows, overall, adjusted, strict=True)
        ),
        tuple(pair.coverage() for pair in every if not pair.rows),
        tuple(named_differences(first, second)),
        sum(run.summary().pending for run in ((first,) if second is first else (first, second))),
    )


def _column(name: str | None, *runs: Run) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for run in () if name in (None, NOT_CLUSTERED) else runs:
        found |= run.column(str(name))
    return found


class _Rows:
    """One grader's ids and scores in both runs; loading whole outcomes would take too much memory.

    Attributes:
        ids: The first run's rows, then the rows that only the second run has.
        scores: By run, the score of each row; NaN if there is none.
        whys: By run, why a row has no score, by index.
        common: Number of rows in the first run.
        missing: Indices of rows that the second run lacks.
        sizes: By run, the number of statements and words in each row; -1 if unknown.
        shared: Hashes of each row's question and context; 0 if empty.
    """

    def __init__(self, first: Run, second: Run, grader: str, count: Mapping[str, float]) -> None:
        self.ids: list[str] = []
        self.scores = (array("d"), array("d"))
        self.whys: tuple[dict[int, str], dict[int, str]] = ({}, {})
        self.sizes = tuple({name: array("i") for name in SIZES} for _ in range(2))
        self.shared = {name: array("q") for name in ("question", "context")}
        for row in first.scored_rows(grader):
            self.ids.append(row.sample_id)
            self._add(0, row, len(self.scores[0]), count)
        self.common = len(self.ids)
        self.scores[1].extend(repeat(math.nan, self.common))
        for column in self.sizes[1].values():
            column.extend(repeat(-1, self.common))
        self.missing = self._match(second.scored_rows(grader), count)

    def _match(self, rows: Iterable[ScoredRow], count: Mapping[str, float]) -> "array[int]":
        has = bytearray(self.common)
        places: dict[str, int] | None = None
        for expected, row in enumerate(rows):
            name = row.sample_id
            place: int | None = expected
            if expected >= self.common or self.ids[expected] != name:
                # Runs of the same data have the same order; others need a table.
                places = places or {known: at for at, known in enumerate(self.ids[: self.common])}
                place = places.get(name)
            if place is None:
                place = len(self.ids)
                self.ids.append(name)
                self.scores[0].append(math.nan)
                for column in self.sizes[0].values():
                    column.append(-1)
            else:
                has[place] = 1
            self._add(1, row, place, count)
        return array("q", (place for place in range(self.common) if not has[place]))

    def _add(self, run: int, row: ScoredRow, place: int, count: Mapping[str, float]) -> None:
        facts = row.facts
        score = count.get(row.reason or "") if row.score is None else row.score
        if place == len(self.scores[run]):
            self.scores[run].append(math.nan)
            for column in self.sizes[run].values():
                column.append(-1)
        if place == len(self.shared["question"]):
            for name, hashes in self.shared.items():
                hashes.append(getattr(facts, name) or 0)
        if row.status != "failed":
            for name, column in self.sizes[run].items():
                column[place] = facts.size(name)
        if score is None:
            self.whys[run][place] = row.reason or ""
        else:
            self.scores[run][place] = score

    def sized(self, name: str) -> "array[int]":
        pairs = enumerate(zip(*(sizes[name] for sizes in self.sizes), strict=True))
        return array("q", (at for at, both in pairs if min(both) >= 0))

    def scored(self) -> "array[int]":
        pairs = enumerate(zip(*self.scores, strict=True))
        return array("q", (at for at, both in pairs if not any(map(math.isnan, both))))


class _Pair:
    def __init__(
        self,
        grader: str,
        first: Run,
        second: Run,
        options: CompareOptions,
        clusters: Mapping[str, str | None] | None,
    ) -> None:
        self.grader = grader
        self._table = _Rows(first, second, grader, options.get("count") or {})
        self._whole = (first, second)
        self._options = options
        self._column = clusters
        self.rows: Sequence[int] = self._table.scored()
        # Clusters include rows without a score.
        self.clusters = None if clusters is not None else find_clusters(self._table.shared)
        self.same = self._is_same()

    def _is_same(self) -> bool:
        first, second = self._whole
        if first is second:
            return True
        one, other = self._table.scores
        if len(self._table.missing) or len(one) > self._table.common:
            return False
        if any(a != b and not math.isnan(a + b) for a, b in zip(one, other, strict=True)):
            return False
        both = zip(first.of_grader(self.grader), second.of_grader(self.grader), strict=True)
        return all(old == new for old, new in both)

    def name(self, row: int) -> str:
        return self._table.ids[row]

    def scores(self, run: int, rows: Sequence[int]) -> "array[float]":
        scores = self._table.scores[run]
        return array("d", (scores[row] for row in rows))

    def clusters_of(self, rows: Iterable[int]) -> list[Hashable | None] | None:
        if self._column is not None:
            column = self._column
            return [column.get(self.name(row)) for row in rows] if column else None
        return None if self.clusters is None else [self.clusters.keys[row] for row in rows]

    @property
    def clustered_by(self) -> str | None:
        if self._column is not None:
            return self._options.get("cluster") if self._column else None
        return None if self.clusters is None else self.clusters.by

    def sizes(self, confidence: float) -> Iterator[SizeChange]:
        one, other = self._table.sizes
        names = (
            SIZES if any(max(s["statements"], default=0) > 0 for s in (one, other)) else ["words"]
        )
        for name in names:
            rows = self._table.sized(name)
            if rows:
                old, new = ([sizes[name][row] for row in rows] for sizes in (one, other))
                keys = self.clusters_of(rows)
                mean = partial(count_interval, clusters=keys, lowest=0.0, confidence=confidence)
                change = count_difference(old, new, clusters=keys, confidence=confidence)
                yield SizeChange(name, len(rows), mean(old), mean(new), change)

    def mean(self, run: int, confidence: float) -> Interval:
        clusters = self.clusters_of(self.rows)
        return mean_interval(self.scores(run, self.rows), clusters=clusters, confidence=confidence)

    def coverage(self) -> PairCoverage:
        reasons = Counter(why for _, why in self._left_out())
        rows = len(self.rows) + reasons.total()
        return PairCoverage(self.grader, rows, len(self.rows), dict(reasons), self.same)

    def _why(self, place: int, missing: Container[int]) -> str:
        one, other = (whys.get(place) for whys in self._table.whys)
        if place in missing:
            return "only in the baseline"
        if place >= self._table.common:
            return "only in the candidate"
        if one is not None and one == other:
            return f"{one} in both"
        return f"{other} in the candidate" if other is not None else f"{one} in the baseline"

    def compared(
        self,
        paired: PairedComparison,
        adjusted_p: float,
        groups: Mapping[str, str | None],
    ) -> GraderComparison:
        old, new = self.scores(0, self.rows), self.scores(1, self.rows)
        # 0.1 + 0.2 against 0.3 is no change.
        changed = [place for place in range(len(old)) if abs(new[place] - old[place]) > 1e-9]
        changed.sort(key=lambda place: -abs(new[place] - old[place]))
        return GraderComparison(
            grader=self.grader,
            coverage=self.coverage(),
            baseline=self.mean(0, paired.difference.confidence),
            candidate=self.mean(1, paired.difference.confidence),
            paired=paired,
            adjusted_p=adjusted_p,
            changed=tuple(
                ChangedRow(self.name(self.rows[place]), old[place], new[place])
                for place in changed[:_CHANGES_KEPT]
            ),
            left_out=tuple(islice(self._left_out(), _CHANGES_KEPT)),
            groups=tuple(self._by_group(groups)),
            sizes=tuple(self.sizes(paired.difference.confidence)),
            clustered_by=self.clustered_by,
        )

    def test(self, rows: Sequence[int]) -> PairedComparison:
        confidence = self._options.get("confidence", 0.95)
        compared = compare_paired(
            self.scores(0, rows),
            self.scores(1, rows),
            clusters=self.clusters_of(rows),
            confidence=confidence,
            resamples=self._options.get("resamples", _RESAMPLES),
            seed=self._options.get("seed", 0),
        )
        if self.same:
            # The difference of a run from itself is exactly 0; there is no sampling error.
            itself = Interval(0.0, 0.0, 0.0, confidence, "the same outcomes")
            return replace(compared, difference=itself)
        return compared

    def gate(self, graders: int) -> GateTest | None:
        margin, error = self._options.get("gate"), self._options.get("error", DEFAULT_ERROR)
        if margin is None:
            return None
        pairs = zip(self.scores(0, self.rows), self.scores(1, self.rows), strict=True)
        test = gate_test(
            [(1 + new - old) / 2 for old, new in pairs],
            (1 - margin) / 2,
            error=error,
            fail_error=error / graders,
            clusters=self.clusters_of(self.rows),
        )
        # A run cannot be worse than itself.
        return (replace(test, verdict="passed") if self.same else test).of_differences()

    def _by_group(self, groups: Mapping[str, str | None]) -> Iterator[GroupComparison]:
        members: dict[str | None, list[int]] = {}
        for row in self.rows if groups else ():
            members.setdefault(groups.get(self.name(row)), []).append(row)
        compared = [self.test(rows) for rows in members.values()]
        p_values = [each.significance.p_value for each in compared]
        adjusted = holm_adjusted(p_values) if p_values else []
        yield from map(GroupComparison, members, compared, adjusted)

    def _left_out(self) -> Iterator[tuple[str, str]]:
        missing = set(self._table.missing)
        places = {place for whys in self._table.whys for place in whys} | missing
        for place in sorted(places.union(range(self._table.common, len(self._table.ids)))):
            yield self.name(place), self._why(place, missing)


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
        # A run that is compared with itself is named once.
        runs = {id(run): run for run in (first, second)}.values()
        whose = " and ".join(f"{_name(run)!r} ({_without(run)})" for run in runs)
        return f"no row has a score in both runs, though {len(shared)} have the same id: {whose}"
    return (
        "no row has a score in both runs; rows are paired by id, so both data files need an id "
        "column with the same values (without one, an id is made from the row's content)"
    )


def paired_runs(first: Run, second: Run, pairs: Mapping[str, str]) -> tuple[Run, Run]:
    """Rename paired graders to a common name, such as "strict -> mild", and drop the others."""
    if not pairs:
        return first, second
    renamed = []
    for run, which, place in ((first, "baseline", 0), (second, "candidate", 1)):
        names: list[tuple[str, str]] = []
        for pair in pairs.items():
            if pair[place] not in run.graders:
                raise UnknownNameError.of(f"{which} grader", pair[place], run.graders)
            names.append((pair[place], pair[0] if pair[0] == pair[1] else " -> ".join(pair)))
        renamed.append(_renamed(run, names))
    return renamed[0], renamed[1]


def _renamed(run: Run, names: Sequence[tuple[str, str]]) -> Run:
    identity = dict(run.identity)
    for key in ("graders", "models"):
        known = identity.get(key) or {}
        identity[key] = {new: known[old] for old, new in names if old in known}
    return Run(
        [{**record, "grader": new} for old, new in names for record in run.of_grader(old)],
        folder=run.folder,
        manifest={**run.manifest, "identity": identity},
        samples=run.samples,
    )


def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    """Parse the command line's pairs of graders, such as `strict=mild`."""
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
    moved = _moved_judge(first, second)
    told = [] if moved is None else [moved]
    # A run in memory has no settings.
    if first.identity and second.identity:
        told += _settings(first, second)
    return [*told, *_graders(first, second), *_data(first, second)]


def _moved_judge(first: Run, second: Run) -> Phrase | None:
    """Return a note if different models answered to the same judge string."""
    models = [run.identity.get("models") or {} for run in (first, second) if run.identity]
    # A reply names its model, and the fingerprint of its system after a space.
    old, new = ({said.partition(" ")[0] for said in run.answering()} for run in (first, second))
    if first.judge != second.judge or models[1:] != models[:-1] or not (old and new) or old == new:
        return None
    judge = repr(second.judge)
    return Phrase.of("differs.model_behind", judge=judge, old=_listed(old), new=_listed(new))


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
        return
    if any(changed.values()):
        told: dict[str, Phrase | str] = {
            name: Phrase.of(f"differs.another_{name}", count=str(count)) if count else ""
            for name, count in changed.items()
        }
        yield Phrase.of("differs.rows", rows=str(common), **told)
