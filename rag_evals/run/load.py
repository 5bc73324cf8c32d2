"""What did an earlier run find? Reads a run folder: the manifest, the outcomes and the samples."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from rag_evals.core import named_arguments
from rag_evals.errors import DataError
from rag_evals.run.collector import collector_paused
from rag_evals.run.lines import fault_of
from rag_evals.run.outcome import Outcome
from rag_evals.run.results import type_name
from rag_evals.run.runner import Run
from rag_evals.run.samples import StoredSample, read_samples
from rag_evals.run.store import Record, read_manifest, read_records
from rag_evals.run.summary import Summary, summary_html


class StoredRun:
    """A run that was kept, read back.

    Attributes:
        folder: Where it is kept; None for a run that only memory has.
        manifest: What `manifest.json` holds; empty for a run that only memory has.
        records: The last line of each (sample, grader), in the order of the data.
        samples: What was graded, by sample id; empty where a run did not keep it.
        left_out: Rows that were graded and are not counted: the data has them no more, or they
            changed and were not graded again.
    """

    def __init__(
        self,
        records: Iterable[Record],
        *,
        folder: Path | None = None,
        manifest: Mapping[str, Any] | None = None,
        samples: Mapping[str, StoredSample] | None = None,
        left_out: int = 0,
        models: Iterable[type[BaseModel]] = (),
    ) -> None:
        latest = {(record["sample_id"], record["grader"]): record for record in records}
        self.graders: list[str] = _grader_names(latest.values(), manifest or {})
        order = {name: place for place, name in enumerate(self.graders)}
        self.records: Sequence[Record] = sorted(
            latest.values(), key=lambda record: (record["index"], order[record["grader"]])
        )
        self.folder = folder
        self.manifest = manifest or {}
        self.samples = samples or {}
        self.left_out = left_out
        self._models = {type_name(model): model for model in models}

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes the run this run: data hash, judge, fingerprints of the graders, settings."""
        identity: Mapping[str, Any] = self.manifest.get("identity", {})
        return identity

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """The outcomes with their results, in the order of the data, then of the graders.

        Results are what `grade` returned: objects of the same class, which is looked for by its
        name; where there is none any more, a `StoredResult`.
        """
        return [self._outcome(record) for record in self.records]

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
            sample_id: _group(sample, name, self.folder)
            for sample_id, sample in self.samples.items()
        }
        if all(value is None for value in values.values()):
            names = sorted({key for sample in self.samples.values() for key in sample.columns})
            raise DataError(f"no column {name!r} in the data; it has {', '.join(names) or 'none'}")
        return values

    def _outcome(self, record: Record) -> Outcome:
        try:
            return Outcome.from_record(record, self._models, self.folder)
        except ValidationError as error:
            where = f"row {record['sample_id']!r}, grader {record['grader']!r}"
            raise DataError(
                f"{where}: the result is no {record['result_type']}: {fault_of(error)}"
            ) from error

    def summary(self) -> Summary:
        """Return means, counts and usage."""
        summary = self._unfilled()
        for record in self.records:
            summary.add(Outcome.from_record(record))
        return summary

    def notes(self) -> list[str]:
        """Say in lines what a reader must know beside the numbers; mostly nothing."""
        return self._unfilled().notes()

    def _unfilled(self) -> Summary:
        unfinished = self.manifest.get("format", 1) > 1 and self.manifest.get("finished") is None
        judge = self.identity.get("judge")
        return Summary(left_out=self.left_out, unfinished=unfinished, judge=judge)

    def _repr_html_(self) -> str:
        return summary_html(self.summary(), self.folder)


@named_arguments
def load_run(run: str | Path | Run | StoredRun) -> StoredRun:
    """Read a run folder.

    Args:
        run: The folder; a run in memory is read from its folder, or taken as it is without one.

    Raises:
        DataError: The folder holds no run, or a broken one.
    """
    if isinstance(run, StoredRun):
        return run
    folder = run.folder if isinstance(run, Run) else Path(run)
    graded = run.outcomes if isinstance(run, Run) else []
    models = {type(outcome.result) for outcome in graded if outcome.result is not None}
    if folder is None:
        return StoredRun((from_json(outcome.to_line()) for outcome in graded), models=models)
    manifest = read_manifest(folder)
    with collector_paused():
        samples = read_samples(folder)
        current, left_out = _of_the_data(read_records(folder), samples)
        there = {name: sample for name, sample in samples.items() if sample.in_data}
        return StoredRun(
            current,
            folder=folder,
            manifest=manifest,
            samples=there,
            left_out=left_out,
            models=models,
        )


def _of_the_data(
    records: Iterable[Record], samples: Mapping[str, StoredSample]
) -> tuple[list[Record], int]:
    """Take the records of the rows as they are now, and count the rows that have none of these."""
    current: list[Record] = []
    others: set[tuple[str, str]] = set()
    for record in records:
        sample = samples.get(record["sample_id"])
        graded = record.get("sample_fingerprint", "")
        if sample is None or (sample.in_data and graded == sample.fingerprint):
            current.append(record)
        else:
            others.add((record["sample_id"], record["grader"]))
    others -= {(record["sample_id"], record["grader"]) for record in current}
    return current, len({sample_id for sample_id, _ in others})


def _grader_names(records: Iterable[Record], manifest: Mapping[str, Any]) -> list[str]:
    """Name the graders in the order of the manifest, then those that only results have."""
    named = list(manifest.get("identity", {}).get("graders", {}))
    return list(dict.fromkeys([*named, *(record["grader"] for record in records)]))


def _group(sample: StoredSample, name: str, folder: Path | None) -> str | None:
    value: Any = sample.columns
    if name == "language" and name not in sample.columns:
        value = sample.language
    elif name in sample.columns:
        value = sample.columns[name]
    else:
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list | Mapping):
        kind = "a list" if isinstance(value, list) else "an object"
        raise DataError(
            f"column {name!r} is {kind} in row {sample.sample_id!r} of {str(folder)!r}; "
            "group by a column of single values, or by a path into it such as meta.topic"
        )
    return None if value is None else str(value)
