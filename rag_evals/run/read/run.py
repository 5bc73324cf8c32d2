"""A run and its statistics, whether returned by `evaluate` or loaded from a folder."""

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import index
from pathlib import Path
from typing import Any, Self, TypeVar, cast, overload

from pydantic import BaseModel
from pydantic_core import from_json

from rag_evals.core import Phrases, phrases
from rag_evals.errors import ConfigurationError, DataError, NotInRunError
from rag_evals.grading import Grader
from rag_evals.run.plan.gate import DEFAULT_MIN_SCORED, GateDecision, decide_gate
from rag_evals.run.plan.options import DEFAULT_ERROR
from rag_evals.run.plan.sampling import FREE_FOLDER, choose_designs
from rag_evals.run.read.export import (
    Layout,
    RunTable,
    Shape,
    frame_of,
    with_own_cells,
    write_run,
)
from rag_evals.run.record.extras import labels_by_finding
from rag_evals.run.record.facts import NOT_CLUSTERED, RowTable, stable_hash
from rag_evals.run.record.index import RunIndex, ScoredRow
from rag_evals.run.record.outcome import Outcome, Record, findings_in, type_name
from rag_evals.run.record.reading import RunRecords
from rag_evals.run.record.samples import StoredSample, column_value
from rag_evals.run.record.summary import (
    MOST_ROWS_SHOWN,
    Design,
    GraderSummary,
    Shifts,
    Stages,
    Summary,
    lowest_html,
    measure_shifts,
    summary_html,
)
from rag_evals.stats import Interval
from rag_evals.stats.tuned import SupportShift
from rag_evals.verify import Confidence
from rag_evals.verify.tuned import stage_confidences


class ScoreNumbers(ABC):
    """Statistics of one grader's scores."""

    @abstractmethod
    def _numbers(self) -> GraderSummary: ...

    @property
    @abstractmethod
    def scores(self) -> list[float | None]:
        """The score of every row, 0 to 1, in the order of the data; None for a row without one."""

    @property
    def n(self) -> int:
        """Number of rows with a score."""
        return self._numbers().scored

    def mean(self) -> float | None:
        """Return the mean score; None if there are no scores."""
        return self._numbers().mean()

    def median(self) -> float | None:
        """Return the median score; None if there are no scores."""
        return self._numbers().spread()["median"]

    def std(self) -> float | None:
        """Return the standard deviation of the scores (n - 1); None for fewer than two."""
        return self._numbers().spread()["std"]

    def min(self) -> float | None:
        """Return the lowest score; None if there are no scores."""
        return self._numbers().spread()["min"]

    def max(self) -> float | None:
        """Return the highest score; None if there are no scores."""
        return self._numbers().spread()["max"]

    def interval(self, confidence: float = 0.95) -> Interval | None:
        """Return the mean with its interval; None if there are no scores.

        Args:
            confidence: Coverage of the interval, as a fraction; rows that share a question or a
                context are clustered.
        """
        return self._numbers().interval(confidence)


class GraderOutcomes(list[Outcome], ScoreNumbers):
    """One grader's outcomes in a run, in the order of the data."""

    def __init__(
        self, grader: str, outcomes: Iterable[Outcome], design: Design | None = None
    ) -> None:
        super().__init__(outcomes)
        self.grader = grader
        self._design = design

    @property
    def scores(self) -> list[float | None]:
        return [outcome.score for outcome in self]

    def __str__(self) -> str:
        return self._numbers().line()

    def __repr__(self) -> str:
        return f"GraderOutcomes({self})"

    def _numbers(self) -> GraderSummary:
        summary = GraderSummary(self.grader, design=self._design)
        for outcome in self:
            summary.add(outcome)
        return summary


R = TypeVar("R", bound=BaseModel)


class Run(ScoreNumbers):
    """A run, returned by `evaluate` or loaded from a folder by `load_run`.

    A run returned by `evaluate` reads its folder only when necessary.

    Attributes:
        folder: The run's folder; None for a run in memory.
        graded: Number of gradings made by this call to `evaluate`; 0 for a loaded run.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        folder: Path | None = None,
        manifest: Mapping[str, Any] | None = None,
        samples: Mapping[str, StoredSample] | None = None,
        models: Iterable[type[BaseModel]] = (),
        outcomes: list[Outcome] | None = None,
        summary: Summary | None = None,
        graded: int = 0,
    ) -> None:
        self.folder = folder
        self.graded = graded
        self._given = list(records)
        self._manifest = manifest or {}
        self._records: RunRecords | None = None
        self._models = {type_name(model): model for model in models}
        self._outcomes = outcomes
        self._samples = samples or {}
        # The summary of a run that was just graded.
        self._summary = summary
        self._filled: Summary | None = None
        self._free: Run | None = None

    @classmethod
    def stored(cls, folder: Path, *, unchecked: bool = False) -> Self:
        """Open the run in a folder, like `load_run`; `unchecked` skips hash verification."""
        run = cls(folder=folder)
        run._records = RunRecords.of_folder(folder, unchecked=unchecked)
        return run

    @property
    def _kept(self) -> RunRecords:
        if self._records is None and self.folder is not None and not self._given:
            # For a fresh run, the store that wrote the folder has just verified it.
            self._records = RunRecords.of_folder(self.folder, unchecked=self._summary is not None)
        elif self._records is None:
            given, made = self._given, self._outcomes or []
            index = RunIndex.in_memory(map(Outcome.from_record, given) if given else made)
            read = given.__getitem__ if given else lambda place: from_json(made[place].to_line())
            self._records = RunRecords(index, self._manifest, read, self._samples)
        return self._records

    def __getstate__(self) -> dict[str, Any]:
        """Omit attributes that can be recreated."""
        return self.__dict__ | {"_records": None, "_filled": None}

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The content of `manifest.json`; empty for a run in memory."""
        return self._kept.manifest

    @property
    def graders(self) -> list[str]:
        """Grader names, in the order of the manifest."""
        return self._kept.graders

    @property
    def records(self) -> Sequence[Record]:
        """The latest record of each (sample, grader) pair, in the order of the data."""
        return self._kept.records()

    @property
    def samples(self) -> Mapping[str, StoredSample]:
        """The samples by id; empty if the run did not store them."""
        return self._kept.samples

    def row_records(self, sample_id: str) -> Sequence[Record]:
        """Return one row's records, in the order of the graders.

        Raises:
            NotInRunError: No row has this id.
        """
        found = self._kept.read(self._kept.index.of_sample(sample_id))
        if not found:
            raise NotInRunError(
                f"no row {sample_id!r} in the run; `rag-evals grade` and `export` show the ids"
            )
        return found

    def chunks(self, sample_id: str) -> Sequence[str]:
        """Return a row's chunks; empty if the run did not store them."""
        sample = self.samples.get(sample_id)
        return () if sample is None else sample.chunks

    @property
    def left_out(self) -> int:
        """Number of graded rows that are excluded from the results.

        They are no longer in the data, or they changed and were not graded again.
        """
        return self._kept.index.left_out()

    @property
    def identity(self) -> Mapping[str, Any]:
        """What identifies the run: data hash, judge, grader fingerprints and settings."""
        identity: Mapping[str, Any] = self.manifest.get("identity", {})
        return identity

    @property
    def judge(self) -> str | None:
        """The judge; None if a stored run does not record it."""
        if self._summary is not None:
            return self._summary.judge
        judge: str | None = self.identity.get("judge")
        return judge

    @property
    def stages(self) -> Stages:
        """Each grader's verifiers and their tuning; empty if only judges are used."""
        if self._summary is not None:
            return self._summary.stages
        stages: Stages = self.manifest.get("stages", {})
        return stages

    @property
    def pending(self) -> int:
        """Number of gradings still waiting for replies from a batch."""
        return self.summary().pending

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes with their results, ordered by row and then by grader.

        Results loaded from a folder have the class that `grade` returned, or `StoredResult` if
        that class no longer exists.
        """
        if self._outcomes is None:
            wholes = self._kept.wholes()
            self._outcomes = [Outcome.from_record(record, self._models) for record in wholes]
        return self._outcomes

    def of(self, grader: Grader[R]) -> list[Outcome[R]]:
        """Return one grader's outcomes, typed with its result class.

        Args:
            grader: One of the run's graders, identified by name.
        """
        found = [outcome for outcome in self.outcomes if outcome.grader == grader.name]
        # The grader's name determines the type of its results.
        return cast("list[Outcome[R]]", found)

    def of_grader(self, grader: str) -> Sequence[Record]:
        """Return one grader's records, in the order of the data."""
        return self._kept.records(grader)

    def scored_rows(self, grader: str) -> Iterator[ScoredRow]:
        """Read a grader's outcomes for a comparison, in the order of the data."""
        return self._kept.index.scored_rows(grader)

    def answering(self) -> set[str]:
        """Return the models that answered, each followed by a space and its system fingerprint."""
        return self._kept.index.answering()

    def column(self, name: str) -> dict[str, str | None]:
        """Return a data column as strings by sample id; None for rows without the column.

        The column includes all rows of the data, even if the run graded only a sample of them.

        Args:
            name: A column or a dotted path into one, or `question`, `context` or `language`.

        Raises:
            DataError: No row has the column, or its values are lists.
        """
        source = self.samples if self.free is None else self.free.samples
        values = {
            sample_id: column_value(sample, name, self.folder)
            for sample_id, sample in source.items()
        }
        if all(value is None for value in values.values()):
            names = sorted({key for sample in source.values() for key in sample.columns})
            raise DataError(f"no column {name!r} in the data; it has {', '.join(names) or 'none'}")
        return values

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.records) if self._outcomes is None else len(self._outcomes)

    def __bool__(self) -> bool:
        """A run is truthy even without outcomes."""
        return True

    @overload
    def __getitem__(self, name: str) -> GraderOutcomes: ...
    @overload
    def __getitem__(self, name: int) -> Outcome: ...
    @overload
    def __getitem__(self, name: slice) -> list[Outcome]: ...
    def __getitem__(self, name: str | int | slice) -> GraderOutcomes | Outcome | list[Outcome]:
        """Return the outcomes of a grader, given its name, or of a sample, given its id.

        An integer or a slice selects outcomes by zero-based position.

        Raises:
            DataError: The name is not found, or is both a grader and a sample id.
        """
        if isinstance(name, slice):
            return self.outcomes[name]
        if isinstance(name, str):
            return self._named(name)
        return self._at(name)

    def _named(self, name: str) -> GraderOutcomes:
        outcomes = self.outcomes
        of_grader = [outcome for outcome in outcomes if outcome.grader == name]
        of_sample = [outcome for outcome in outcomes if outcome.sample_id == name]
        if of_grader and of_sample:
            raise DataError(f"{name!r} is a grader and a sample id; use .of_grader({name!r})")
        if not of_grader and not of_sample:
            raise NotInRunError(
                f"no grader and no sample {name!r} in the run; graders are "
                f"{', '.join(self.graders) or 'none'}"
            )
        numbers = self.summary().graders.get(name)
        design = None if numbers is None else numbers.design
        return GraderOutcomes(name, of_grader or of_sample, design)

    def _at(self, given: Any) -> Outcome:
        try:
            place = index(given)  # also accepts NumPy integers
        except TypeError:
            raise DataError(
                f"a run is indexed by a position, a grader or a sample id, not by {given!r}"
            ) from None
        outcomes, as_id = self.outcomes, str(place)
        found = outcomes[place] if -len(outcomes) <= place < len(outcomes) else None
        # If ids start at 1, the caller may mean the id but would get the following row.
        if (found is None or found.sample_id != as_id) and any(
            outcome.sample_id == as_id for outcome in outcomes
        ):
            raise DataError(
                f"{place} is a position and the id of another row; use run[{as_id!r}] for the row, "
                f"run.outcomes[{place}] for the position"
            )
        if found is None:
            raise NotInRunError(f"no outcome {place} in the run; it has {len(outcomes)}, from 0")
        return found

    def __repr__(self) -> str:
        means = "; ".join(each.line() for each in self.summary().graders.values())
        return f"Run({means or 'no outcomes'}; {self.folder or 'in memory'})"

    def __str__(self) -> str:
        return self.words()

    def words(self, *, cluster: str | None = None) -> str:
        """Return the summary and the run folder as text; see `summary` for the arguments."""
        kept = "" if self.folder is None else f"\nrun folder: {self.folder}"
        return f"{self.summary(cluster=cluster)}{kept}"

    def rows(self, shape: Shape = "wide", *, language: str = "en") -> Iterator[dict[str, Any]]:
        """Yield the run as flat rows, with the data's columns first; see `RunTable`.

        Args:
            shape: `"wide"` is one row per sample, `"long"` one row per finding.
            language: Language of names, labels and reasons, "en" or "ru".
        """
        table = RunTable(
            self.records,
            self.samples,
            self.graders,
            self.judge,
            phrases(language),
            labels_by_finding(self.folder),
            self.confidences(),
        )
        return table.rows(shape)

    def confidences(self) -> dict[str, dict[str, Confidence]]:
        """Return the confidence of tuned verdicts, by grader and verifier."""
        found = {grader: stage_confidences(stages) for grader, stages in self.stages.items()}
        return {grader: of_stages for grader, of_stages in found.items() if of_stages}

    def to_pandas(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `pandas.DataFrame`; see `rows` for the arguments."""
        return frame_of(self.rows(shape, language=language), "pandas")

    def to_polars(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `polars.DataFrame`; see `rows` for the arguments."""
        return frame_of(self.rows(shape, language=language), "polars")

    def to_arrow(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `pyarrow.Table`; see `rows` for the arguments."""
        return frame_of(self.rows(shape, language=language), "pyarrow")

    def write(
        self,
        path: str | Path,
        shape: Shape = "wide",
        *,
        language: str = "en",
        decimal: str = ".",
        delimiter: str | None = None,
    ) -> Path:
        """Write the run to a file that only its owner can read; formulas in cells are escaped.

        Args:
            path: The file, with the suffix `.parquet`, `.csv`, `.xlsx` or `.jsonl`.
            shape: As for `rows`.
            language: As for `rows`.
            decimal: Decimal separator in CSV: `"."` or `","`.
            delimiter: Cell separator in CSV; None means `","`, or `";"` if `decimal` is a comma.

        Raises:
            ConfigurationError: The suffix or a separator is invalid, a library is not installed,
                or the file cannot be written.
        """
        layout, rows = Layout(decimal, delimiter), self.rows(shape, language=language)
        if Path(path).suffix.lower() == ".xlsx" and shape == "wide":
            rows = with_own_cells(rows, self.manifest.get("columns", {}), language=language)
        return write_run(rows, Path(path), layout)

    def summary(self, *, cluster: str | None = None) -> Summary:
        """Return means, counts, usage and cost.

        Args:
            cluster: Column by which to cluster rows in intervals and gates, such as a document's
                id; "none" treats rows as independent. By default, rows are clustered by question,
                or else by context, if more than 5 % of the rows share it with another row.

        Raises:
            DataError: The column is not in the data.
        """
        summary, manifest, free = self._summary or self._filled, self._manifest, self._free
        if summary is None:
            summary = self._filled = self._count()
            manifest, free = self.manifest, self.free
        if summary.shifts is None:
            choose_designs(summary, self.of_grader, manifest, free)
            summary.shifts = self._shifts(summary.stages)
        return summary if cluster is None else self._clustered(summary, cluster)

    def _shifts(self, stages: Stages) -> Shifts:
        shifts: dict[tuple[str, str], SupportShift | None] = {}
        for grader, of_grader in stages.items():
            if any(stage["tuned"] for stage in of_grader):
                rows = [(one["sample_id"], findings_in(one)) for one in self.of_grader(grader)]
                shifts.update(measure_shifts(grader, of_grader, rows))
        return shifts

    def _clustered(self, summary: Summary, cluster: str) -> Summary:
        column = {} if cluster == NOT_CLUSTERED else self.column(cluster)
        graders = {}
        for name, numbers in summary.graders.items():
            scores, rows = array("d"), RowTable(cluster)
            for row in self.scored_rows(name):
                value = column.get(row.sample_id)
                key = None if value is None else stable_hash(value)
                if row.status != "failed":
                    rows.add(replace(row.facts, question=key), row.reason)
                if row.score is not None:
                    scores.append(row.score)
            graders[name] = replace(numbers, scores=scores, rows=rows)
        return replace(summary, graders=graders)

    def shared(self, *, cluster: str | None = None) -> tuple[str | None, Mapping[str, Hashable]]:
        """Return what rows are clustered by, and each sample's cluster.

        Args:
            cluster: As for `summary`.

        Returns:
            None and an empty mapping if rows are independent. Rows outside any cluster are omitted
            from the mapping.
        """
        if cluster == NOT_CLUSTERED:
            return None, {}
        if cluster is not None:
            column = self.column(cluster).items()
            return cluster, {row: value for row, value in column if value is not None}
        tables = [numbers.rows.whole() for numbers in self.summary().graders.values()]
        by = next((found.by for found in tables if found is not None), None)
        if by is None:
            return None, {}
        rows = chain.from_iterable(map(self.scored_rows, self.graders))
        keys = ((row.sample_id, getattr(row.facts, by)) for row in rows)
        return by, {name: key for name, key in keys if key is not None}

    @property
    def free(self) -> "Run | None":
        """The cheap judge's run over all rows, if this run graded only a sample; otherwise None."""
        if self._free is None and self.folder is not None and self.identity.get("sample"):
            self._free = load_run(self.folder / FREE_FOLDER)
        return self._free

    def beside(self, free: "Run") -> "Run":
        """Attach the cheap judge's run over all rows to this run of a sample."""
        self._free = free
        return self

    def gate(
        self,
        mean: float,
        *,
        error: float = DEFAULT_ERROR,
        min_scored: float = DEFAULT_MIN_SCORED,
        count: Mapping[str, float] | None = None,
        cluster: str | None = None,
    ) -> GateDecision:
        """Decide whether each grader's mean passes a gate; may be called any number of times.

        Args:
            mean: The required mean score, 0 to 1.
            error: Accepted probability of a wrong decision, above 0 and up to 0.5.
            min_scored: Minimum share of rows with a score, 0 to 1.
            count: Scores assigned to unscored rows by reason, such as `{"empty_context": 0.0}`.
            cluster: As for `summary`.

        Raises:
            ConfigurationError: A number is out of range, or a reason is not recognised.
            DataError: The column is not in the data.
        """
        summary = self.summary(cluster=cluster)
        return decide_gate(summary, mean, error=error, min_scored=min_scored, count=count)

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Return the notes needed to interpret the statistics."""
        return self.summary().notes(say=say)

    @property
    def scores(self) -> list[float | None]:
        """The score of every row, 0 to 1, in the order of the data; None for a row without one."""
        self._numbers()
        return [record["score"] for record in self.records]

    def lowest(self, most: int) -> list[Outcome]:
        """Return the outcomes to look at first: failed rows, then low scores, then unscored rows.

        Args:
            most: Maximum number of outcomes.
        """
        return [Outcome.from_record(record, self._models) for record in self.lowest_records(most)]

    def lowest_records(self, most: int, begin: int = 0) -> Sequence[Record]:
        """Like `lowest`, but return records, starting at `begin`."""
        return self._kept.read(self._kept.index.lowest(most, begin))

    def usage(self) -> dict[str, float]:
        """Return the total calls, tokens, cost and seconds of all outcomes, omitting zeros."""
        found = self._kept.index.usage()
        return found | {"seconds": round(found.get("seconds", 0.0), 1)}

    def _numbers(self) -> GraderSummary:
        found = self.summary().graders
        if len(found) > 1:
            first = next(iter(found))
            raise DataError(
                f"the run has the graders {', '.join(found)}; pick one, as in run[{first!r}].mean()"
            )
        return next(iter(found.values()), GraderSummary(""))

    def _repr_html_(self) -> str:
        summary = self.summary()
        low = sum(sum(score < 1 for score in each.scores) for each in summary.graders.values())
        shown = self.lowest(MOST_ROWS_SHOWN)
        return summary_html(summary, self.folder) + lowest_html(
            [(one, self.chunks(one.sample_id)) for one in shown], low + summary.failed
        )

    def _count(self) -> Summary:
        manifest = self.manifest
        unfinished = manifest.get("format", 1) > 1 and manifest.get("finished") is None
        spent = self._kept.index.spent()
        summary = Summary(
            usage=spent.usage,
            cost_usd=spent.cost_usd,
            left_out=self.left_out,
            unfinished=unfinished,
            pending=manifest.get("pending", 0) if unfinished else 0,
            judge=self.judge,
            stages=self.stages,
            answered=self._kept.index.answered(),
            versions=tuple(manifest.get("versions", ())),
            overlaps=manifest.get("overlaps", 0),
        )
        self._kept.index.fill(summary)
        return summary


def load_run(run: str | os.PathLike[str] | Run) -> Run:
    """Load a run from its folder.

    Args:
        run: The folder; a `Run` is returned unchanged.

    Raises:
        DataError: The folder does not contain a run, or the run is damaged.
        ConfigurationError: `run` is neither a path nor a run.
    """
    if isinstance(run, Run):
        return run
    if not isinstance(run, str | os.PathLike):
        raise ConfigurationError(
            f"run is {run!r}; expected a run folder, or what evaluate returned"
        )
    return Run.stored(Path(run))
