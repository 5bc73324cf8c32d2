"""What was graded? `samples.jsonl` keeps each sample, so that a run explains itself.

The lines hold what a report shows (question, answer, chunks) and the row's other columns, so that
results can be grouped and compared with labels when the data file is gone or was never one.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from rag_evals.dataset import NumberedSample
from rag_evals.errors import DataError
from rag_evals.sample import Chunk, Sample

SAMPLES = "samples.jsonl"
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class StoredSample:
    """One sample as a run keeps it.

    Attributes:
        sample_id: What results call it.
        question: As in the sample, or None.
        answer: As in the sample, or None.
        chunks: Texts, in the order of their ids.
        metadata: What came with each chunk, aligned with `chunks`; empty mappings for nothing.
        reference: As in the sample, or None.
        language: As in the sample, or None.
        columns: The row's other columns.
    """

    sample_id: str
    question: str | None = None
    answer: str | None = None
    chunks: tuple[str, ...] = ()
    metadata: tuple[Mapping[str, Any], ...] = ()
    reference: str | None = None
    language: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)


def keep_samples(rows: Iterable[NumberedSample], folder: Path | None) -> Iterator[NumberedSample]:
    """Hand rows through, and write each to the run's folder before it is graded.

    Args:
        rows: The data; a row that could not be read is handed through and not written.
        folder: Folder of the run, held by its store; None writes nothing.
    """
    if folder is None:
        yield from rows
        return
    path = folder / SAMPLES
    there = _repaired(path)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
    try:
        for row in rows:
            if (
                isinstance(row.sample, Sample)
                and row.sample_id
                and hash(row.sample_id) not in there
            ):
                _write(file, _line(row.sample_id, row.sample, row.columns))
            yield row
    finally:
        os.close(file)


def read_samples(folder: Path) -> dict[str, StoredSample]:
    """Read the samples of a run by id, in the order they were graded; none where none were kept.

    Raises:
        DataError: A line is broken; a torn last one is passed over.
    """
    path = folder / SAMPLES
    if not path.exists():
        return {}
    found: dict[str, StoredSample] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = from_json(line)
                found[record["sample_id"]] = _stored(record)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(f"{str(path)!r}, line {number}: {error}") from error
    return found


def _repaired(path: Path) -> set[int]:
    """Return hashes of the ids that are there, and cut off a last line that was torn by a kill.

    Hashes, because the texts of a million ids would fill the memory.
    """
    ids: set[int] = set()
    if not path.exists():
        return ids
    whole = 0
    with path.open("rb+") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            ids.add(hash(from_json(line)["sample_id"]))
            whole += len(line)
        file.truncate(whole)
    return ids


def _write(file: int, line: bytes) -> None:
    # Past all buffers of this process, as results are: a kill leaves whole lines and one torn one.
    while line:
        line = line[os.write(file, line) :]


def _line(sample_id: str, sample: Sample, columns: Mapping[str, Any]) -> bytes:
    fields = {
        "sample_id": sample_id,
        "question": sample.question,
        "answer": sample.answer,
        "context": [_chunk(chunk) for chunk in sample.context],
        "reference": sample.reference,
        "language": sample.language,
        "columns": dict(columns),
    }
    kept = {name: value for name, value in fields.items() if value not in (None, {}, [])}
    # Columns and metadata may hold anything; a report needs something that can be read.
    text = json.dumps(kept, ensure_ascii=False, default=str, skipkeys=True)
    return text.encode("utf-8", "replace") + b"\n"


def _chunk(chunk: Chunk) -> str | dict[str, Any]:
    return {"text": chunk.text, "metadata": dict(chunk.metadata)} if chunk.metadata else chunk.text


def _stored(record: Mapping[str, Any]) -> StoredSample:
    context = record.get("context", [])
    return StoredSample(
        sample_id=record["sample_id"],
        question=record.get("question"),
        answer=record.get("answer"),
        chunks=tuple(c if isinstance(c, str) else c["text"] for c in context),
        metadata=tuple({} if isinstance(c, str) else c["metadata"] for c in context),
        reference=record.get("reference"),
        language=record.get("language"),
        columns=record.get("columns", {}),
    )
