"""What did a run find? Fresh from `evaluate` or read from its folder, it answers the same."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import index
from pathlib import Path
from typing import Any, overload

from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError, DataError, NotInRunError
from rag_evals.run.decision import DEFAULT_ERROR, GateDecision, decide_gate
from rag_evals.run.designs import choose_designs
from rag_evals.run.export import Layout, frame_of, write_run
from rag_evals.run.gate import DEFAULT_MIN_SCORED
from rag_evals.run.kept import read_kept
from rag_evals.run.kept_run import KeptRun
from rag_evals.run.outcome import Outcome
from rag_evals.run.plots import plot_records
from rag_evals.run.sampled import free_folder
from rag_evals.run.scores import GraderOutcomes, ScoreNumbers
from rag_evals.run.summary import GraderSummary, Summary, summary_html
from rag_evals.run.summary_html import lowest_html
from rag_evals.run.tables import Shape, rows_of_run


class Run(KeptRun, ScoreNumbers):
    """What a run found, as `evaluate` returns it and as `load_run` reads it from its folder.

    One that `evaluate` returns reads what its folder keeps when it is first asked for it.

    Attributes:
        folder: Where it is kept; None for a run that only memory has.
        graded: Gradings that `evaluate` made now; the rest were there from an earlier run, as all
            are in one that is read.
    """

    _free: "Run | None" = None

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes."""
        return iter(self.outcomes)

    def __len__(self) -> int:
        """Count the outcomes."""
        return len(self.records) if self._outcomes is None else len(self._outcomes)

    def __bool__(self) -> bool:
        """A run without outcomes is a run too."""
        return True

    @overload
    def __getitem__(self, name: str) -> GraderOutcomes: ...
    @overload
    def __getitem__(self, name: int) -> Outcome: ...
    @overload
    def __getitem__(self, name: slice) -> list[Outcome]: ...
    def __getitem__(self, name: str | int | slice) -> GraderOutcomes | Outcome | list[Outcome]:
        """Return what a grader found, or, by a sample's id, what all graders found in it.

        A number or a slice counts outcomes, in their order from 0.

        Raises:
            DataError: Nothing in the run is called so, or two things are.
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
            raise DataError(f"{name!r} is a grader and a sample id; take .of_grader({name!r})")
        if not of_grader and not of_sample:
            raise NotInRunError(
                f"no grader and no sample {name!r} in the run; graders are "
                f"{', '.join(self.graders) or 'none'}"
            )
        return GraderOutcomes(name, of_grader or of_sample, self.summary().designs.get(name))

    def _at(self, given: Any) -> Outcome:
        try:
            place = index(given)  # numpy's numbers are numbers too
        except TypeError:
            raise DataError(
                f"a run is indexed by a place, a grader or a sample id, not by {given!r}"
            ) from None
        outcomes, as_id = self.outcomes, str(place)
        found = outcomes[place] if -len(outcomes) <= place < len(outcomes) else None
        # Whoever numbers rows from 1 means the id, and would be given the next row.
        if (found is None or found.sample_id != as_id) and any(
            outcome.sample_id == as_id for outcome in outcomes
        ):
            raise DataError(
                f"{place} is a place and the id of another row; take run[{as_id!r}] for the row, "
                f"run.outcomes[{place}] for the place"
            )
        if found is None:
            raise NotInRunError(f"no outcome {place} in the run; it has {len(outcomes)}, from 0 on")
        return found

    def __repr__(self) -> str:
        """One line: graders, means and counts, and where it is kept."""
        means = "; ".join(each.line() for each in self.summary().graders.values())
        return f"Run({means or 'no outcomes'}; {self.folder or 'in memory'})"

    def __str__(self) -> str:
        """What the summary says, and where the run is kept."""
        kept = "" if self.folder is None else f"\nrun folder: {self.folder}"
        return f"{self.summary()}{kept}"

    def rows(self, shape: Shape = "wide", *, language: str = "en") -> Iterator[dict[str, Any]]:
        """Yield the run as flat rows, the data's own columns first; `rows_of_run` has the columns.

        Args:
            shape: `"wide"` is one row a sample, `"long"` one row a finding.
            language: Of names, labels and reasons, "en" or "ru"; the data's columns stay.
        """
        return rows_of_run(
            self.records, self.samples, self.graders, self.judge, shape, language=language
        )

    def to_pandas(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `pandas.DataFrame`; arguments as for `rows`.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.rows(shape, language=language), "pandas")

    def to_polars(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `polars.DataFrame`; arguments as for `rows`.

        Raises:
            ConfigurationError: polars is not installed.
        """
        return frame_of(self.rows(shape, language=language), "polars")

    def to_arrow(self, shape: Shape = "wide", *, language: str = "en") -> Any:
        """Return the run as a `pyarrow.Table`; arguments as for `rows`.

        Raises:
            ConfigurationError: pyarrow is not installed.
        """
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
        """Write the run as a file that only its owner can read; no cell is a formula.

        Args:
            path: Ends with `.parquet`, `.csv`, `.xlsx` or `.jsonl`.
            shape: As for `rows`.
            language: As for `rows`.
            decimal: Of numbers in CSV: `"."` or `","`.
            delimiter: Between the cells of CSV; None: `","`, or `";"` where decimal is a comma.

        Raises:
            ConfigurationError: Another kind of file, signs that are none, a library that is not
                installed, or a place that cannot be written to.
        """
        layout = Layout(decimal, delimiter)
        return write_run(self.rows(shape, language=language), Path(path), layout)

    def plot(self, by: str | None = None, axes: Any = None, *, language: str = "en") -> Any:
        """Draw the scores of each grader, or the mean of each group, with matplotlib.

        Args:
            by: Column to group by; None draws how the scores lie.
            axes: Matplotlib's axes to draw into, and to return; None makes a figure.
            language: Of the words on the plot: `en` or `ru`.

        Raises:
            ConfigurationError: matplotlib is not installed, or there is nothing to draw.
        """
        found = {grader: self.of_grader(grader) for grader in self.graders}
        groups = None if by is None else self.column(by)
        return plot_records(found, groups, axes, language=language)

    def summary(self) -> Summary:
        """Return means, counts, usage and cost."""
        if self._summary is not None:
            return self._summary
        summary = self._unfilled()
        for record in self.records:
            summary.add(Outcome.from_record(record))
        manifest = self.manifest
        choose_designs(
            summary, self.of_grader, manifest.get("stopped"), self.free, manifest.get("budget")
        )
        return summary

    def column(self, name: str) -> dict[str, str | None]:
        """Return a column as `KeptRun` does; where this run is of a sample, of every row."""
        return super().column(name) if self.free is None else self.free.column(name)

    @property
    def free(self) -> "Run | None":
        """The free judge's run of every row, where this one is of a sample; else None."""
        if self._free is None and self.folder is not None and self.identity.get("sample"):
            self._free = load_run(free_folder(self.folder))
        return self._free

    def beside(self, free: "Run") -> "Run":
        """Note the free judge's run of every row, of which this one graded a sample."""
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
        """Say whether the mean of every grader is shown to reach a gate, however often one asks.

        Args:
            mean: The mean score that is asked for, 0 to 1.
            error: Chance of a wrong answer, above 0 and up to 0.5.
            min_scored: Least share of the rows that must have a score, 0 to 1.
            count: Numbers for reasons of rows without a score, such as `{"empty_context": 0.0}`.
            cluster: Column that rows from one document or conversation share.

        Raises:
            ConfigurationError: A number is out of its range, or there is no such reason.
            DataError: The column is not in the data.
        """
        summary = self.summary()
        decided = decide_gate(
            {name: self.of_grader(name) for name in summary.graders},
            mean,
            error=error,
            min_scored=min_scored,
            count=count,
            clusters=None if cluster is None else self.column(cluster),
            designs=summary.designs,
        )
        return replace(decided, pending=summary.pending)

    def notes(self, *, say: Phrases | None = None) -> list[str]:
        """Say in lines what a reader must know beside the numbers, in the language of `say`."""
        chosen = self.manifest.get("stopped") or self.free
        return (self.summary() if chosen else self._unfilled()).notes(say=say)

    @property
    def scores(self) -> list[float]:
        """The scores of the rows that have one, 0 to 1.

        In the order of the data where outcomes are in memory, else as their gradings ended.
        """
        numbers = self._numbers()
        if self._outcomes is None:
            return list(numbers.scores)
        return [outcome.score for outcome in self._outcomes if outcome.score is not None]

    def _numbers(self) -> GraderSummary:
        found = self.summary().graders
        if len(found) > 1:
            first = next(iter(found))
            raise DataError(
                f"the run has the graders {', '.join(found)}; take one, as in run[{first!r}].mean()"
            )
        return next(iter(found.values()), GraderSummary(""))

    def _repr_html_(self) -> str:
        shown = summary_html(self.summary(), self.folder)
        # What is not in memory stays where it is: a folder may hold a million rows.
        in_memory = self._outcomes is not None or self._in_folder is not None
        return shown + (lowest_html(self.outcomes) if in_memory else "")


def load_run(run: str | os.PathLike[str] | Run) -> Run:
    """Read a run folder.

    Args:
        run: The folder; a run is taken as it is.

    Raises:
        DataError: The folder holds no run, or a broken one.
        ConfigurationError: It is neither a folder nor a run.
    """
    if isinstance(run, Run):
        return run
    if not isinstance(run, str | os.PathLike):
        raise ConfigurationError(
            f"run is {run!r}; expected a run folder, or what evaluate returned"
        )
    folder = Path(run)
    kept = read_kept(folder)
    return Run(
        kept.records,
        folder=folder,
        manifest=kept.manifest,
        samples=kept.samples,
        left_out=kept.left_out,
    )
