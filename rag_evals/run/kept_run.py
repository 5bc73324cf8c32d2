"""What does a run have? Outcomes, records and samples, from memory or from its folder."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import from_json

from rag_evals.errors import DataError
from rag_evals.grading import Grader
from rag_evals.run.kept import Kept, read_kept
from rag_evals.run.outcome import Outcome, read_outcome
from rag_evals.run.results import type_name
from rag_evals.run.samples import StoredSample, column_value
from rag_evals.run.stages import Stages
from rag_evals.run.store import Record
from rag_evals.run.summary import Summary

R = TypeVar("R", bound=BaseModel)


class KeptRun:
    """What a run has; `Run` is what can be asked of it.

    Attributes:
        folder: Where it is kept; None for a run that only memory has.
        graded: Gradings that `evaluate` made now; the rest were there from an earlier run, as all
            are in one that is read.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        folder: Path | None = None,
        manifest: Mapping[str, Any] | None = None,
        samples: Mapping[str, StoredSample] | None = None,
        left_out: int = 0,
        models: Iterable[type[BaseModel]] = (),
    ) -> None:
        self.folder = folder
        self.graded = 0
        self._in_folder: Kept | None = Kept.of(
            records, manifest=manifest, samples=samples, left_out=left_out
        )
        self._models = {type_name(model): model for model in models}
        self._outcomes: list[Outcome] | None = None
        self._summary: Summary | None = None
        self._samples: Mapping[str, StoredSample] | None = None

    @classmethod
    def fresh(
        cls,
        outcomes: Sequence[Outcome] | None,
        summary: Summary,
        folder: Path | None,
        graded: int,
        samples: Mapping[str, StoredSample] | None = None,
    ) -> Self:
        """Make the run that was just graded.

        Args:
            outcomes: All of them, in order; None where they were not kept in memory.
            summary: What they come to.
            folder: Where they are kept, or None.
            graded: Gradings that were made now.
            samples: What was graded, by id, for a run without a folder.
        """
        run = cls(folder=folder)
        run.graded = graded
        run._in_folder = None  # looked for when it is first asked for
        run._outcomes = None if outcomes is None else list(outcomes)
        run._summary = summary
        run._samples = samples
        return run

    @property
    def _kept(self) -> Kept:
        if self._in_folder is None:
            self._in_folder = (
                read_kept(self.folder)
                if self.folder is not None
                else Kept.of(
                    (from_json(outcome.to_line()) for outcome in self._outcomes or ()),
                    samples=self._samples,
                )
            )
        return self._in_folder

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What `manifest.json` holds; empty for a run that only memory has."""
        return self._kept.manifest

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in the order of the manifest."""
        return self._kept.graders

    @property
    def records(self) -> Sequence[Record]:
        """The last line of each (sample, grader), in the order of the data."""
        return self._kept.records

    @property
    def samples(self) -> Mapping[str, StoredSample]:
        """What was graded, by sample id; empty where a run did not keep it."""
        return self._kept.samples

    @property
    def left_out(self) -> int:
        """Rows that were graded and are not counted.

        The data has them no more, or they changed and were not graded again.
        """
        return self._kept.left_out

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes the run this run: data hash, judge, fingerprints of the graders, settings."""
        identity: Mapping[str, Any] = self.manifest.get("identity", {})
        return identity

    @property
    def judge(self) -> str | None:
        """Who graded; None where a stored run does not say."""
        if self._summary is not None:
            return self._summary.judge
        judge: str | None = self.identity.get("judge")
        return judge

    @property
    def stages(self) -> Stages:
        """Who decides statements, for each grader, and by which labels; empty where judges do."""
        return self._unfilled().stages if self._summary is None else self._summary.stages

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes with their results, in the order of the data, then of the graders.

        Read from a folder, results are what `grade` returned: objects of the same class, which is
        looked for by its name; where there is none any more, a `StoredResult`.
        """
        if self._outcomes is None:
            self._outcomes = [self._outcome(record) for record in self.records]
        return self._outcomes

    def of(self, grader: Grader[R]) -> list[Outcome[R]]:
        """Return the outcomes of one grader, their results typed as it returns them.

        Args:
            grader: One that graded here; found by its name.
        """
        found = [outcome for outcome in self.outcomes if outcome.grader == grader.name]
        # The name says which grader it was, and so which result it returned.
        return cast("list[Outcome[R]]", found)

    def of_grader(self, grader: str) -> list[Record]:
        """Return the records of one grader, in the order of the data."""
        return [record for record in self.records if record["grader"] == grader]

    def column(self, name: str) -> dict[str, str | None]:
        """Return a column of the data as text, by sample id; None where a row lacks it.

        Args:
            name: A column, or a dotted path into one; `language` too.

        Raises:
            DataError: No row has it, or its values are lists.
        """
        values = {
            sample_id: column_value(sample, name, self.folder)
            for sample_id, sample in self.samples.items()
        }
        if all(value is None for value in values.values()):
            names = sorted({key for sample in self.samples.values() for key in sample.columns})
            raise DataError(f"no column {name!r} in the data; it has {', '.join(names) or 'none'}")
        return values

    def _outcome(self, record: Record) -> Outcome:
        return read_outcome(record, self._models, self.folder)

    def _unfilled(self) -> Summary:
        unfinished = self.manifest.get("format", 1) > 1 and self.manifest.get("finished") is None
        return Summary(
            left_out=self.left_out,
            unfinished=unfinished,
            pending=self.manifest.get("pending", 0) if unfinished else 0,
            judge=self.identity.get("judge"),
            presets=tuple(self.manifest.get("presets", ())),
            stages=self.manifest.get("stages", {}),
        )
