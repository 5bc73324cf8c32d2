"""What does a run folder hold? The manifest, the outcomes that count, and the samples."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rag_evals.run.collector import collector_paused
from rag_evals.run.samples import StoredSample, read_samples
from rag_evals.run.store import Record, read_manifest, read_records


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a run, in a folder or in memory; the attributes are those of `Run`."""

    manifest: Mapping[str, Any]
    graders: list[str]
    records: Sequence[Record]
    samples: Mapping[str, StoredSample]
    left_out: int

    @classmethod
    def of(
        cls,
        records: Iterable[Record],
        *,
        manifest: Mapping[str, Any] | None = None,
        samples: Mapping[str, StoredSample] | None = None,
        left_out: int = 0,
    ) -> Self:
        """Take the last record of each (sample, grader), and put them in order."""
        latest = {(record["sample_id"], record["grader"]): record for record in records}
        graders = _grader_names(latest.values(), manifest or {})
        order = {name: place for place, name in enumerate(graders)}
        in_order = sorted(
            latest.values(), key=lambda record: (record["index"], order[record["grader"]])
        )
        return cls(manifest or {}, graders, in_order, samples or {}, left_out)


def read_kept(folder: Path) -> Kept:
    """Read a run folder.

    Raises:
        DataError: The folder holds no run, or a broken one.
    """
    manifest = read_manifest(folder)
    with collector_paused():
        samples = read_samples(folder)
        current, left_out = _of_the_data(read_records(folder), samples)
        there = {name: sample for name, sample in samples.items() if sample.in_data}
        return Kept.of(current, manifest=manifest, samples=there, left_out=left_out)


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
