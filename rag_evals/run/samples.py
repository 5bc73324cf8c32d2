"""What was graded? `samples.jsonl` stores each sample, so that a report needs only the folder.

The lines hold what a report shows (question, answer, chunks) and the row's other columns, so that
results can be grouped and compared with labels without the data file.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, Self

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic takes Python's own from 3.12 on

from rag_evals.core import Chunk, Places, Sample, key_of
from rag_evals.dataset import NumberedSample
from rag_evals.errors import DataError
from rag_evals.run.lines import LineLog, lines_about, placed_lines, read_lines

SAMPLES = "samples.jsonl"

_ID_FIRST = re.compile(rb'\{"sample_id": "([^"\\]+)"[,}][^\x00]*\}\n')


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
        fingerprint: Hash of the sample, as outcomes have it; empty where none was kept.
        in_data: False for a row that the data had and has no more.
    """

    sample_id: str
    question: str | None = None
    answer: str | None = None
    chunks: tuple[str, ...] = ()
    metadata: tuple[Mapping[str, Any], ...] = ()
    reference: str | None = None
    language: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    in_data: bool = True


def stored_sample(row: NumberedSample) -> StoredSample | None:
    """Return a row as a run in memory keeps it; None for one of which nothing could be read."""
    sample = row.sample
    if not isinstance(sample, Sample):
        return StoredSample(row.name, columns=row.columns) if row.columns else None
    return StoredSample(
        sample_id=row.name,
        question=sample.question,
        answer=sample.answer,
        chunks=tuple(chunk.text for chunk in sample.context),
        metadata=tuple(chunk.metadata for chunk in sample.context),
        reference=sample.reference,
        language=sample.language,
        columns=row.columns,
        fingerprint=row.fingerprint,
    )


class _StoredChunk(TypedDict):
    text: str
    metadata: dict[str, Any]


class _Line(TypedDict):
    sample_id: str
    fingerprint: NotRequired[str]
    question: NotRequired[str | None]
    answer: NotRequired[str | None]
    context: NotRequired[list[str | _StoredChunk]]
    reference: NotRequired[str | None]
    language: NotRequired[str | None]
    columns: NotRequired[dict[str, Any]]
    in_data: NotRequired[bool]


_read_line = TypeAdapter(_Line).validate_json


class SampleLog:
    """The samples of a run, as they were graded last; held by the run's store.

    A line is written when a row is new or not what it was, and when it is in the data no more.
    """

    def __init__(self, folder: Path) -> None:
        self._log = LineLog(folder / SAMPLES)
        # Lines of an earlier run whose rows did not come yet; a new run has none. Hashes, because
        # the texts of a million rows would fill the memory.
        self._lines = Places()

    def __enter__(self) -> Self:
        """Mend the file, and open it."""
        self._log.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._log.__exit__()

    @property
    def log(self) -> LineLog:
        """The file."""
        return self._log

    def learn(self, begins: int = 0) -> None:
        """Learn what is in the file.

        Args:
            begins: As for `placed_lines`; what stands before it need not be known.

        Raises:
            DataError: A line is broken.
        """
        self._lines = Places(room=0 if begins else lines_about(self._log.path))
        for _, (key, line) in placed_lines(self._log.path, _key_and_hash, begins):
            self._lines.put(key, line)

    def keep(self, row: NumberedSample) -> None:
        """Write a row before it is graded; one that could not be read has no sample to show."""
        if isinstance(row.sample, Sample):
            self._write(_fields(row, row.sample))
        elif row.columns:
            self._write({"sample_id": row.name, "columns": dict(row.columns)})
        elif key_of(row.name) in self._lines:
            self._write({"sample_id": row.name})

    def copy(self, line: bytes) -> None:
        """Write a line of another run's file."""
        self._log.append(line)

    def leave_out(self, sample_ids: Iterable[str]) -> None:
        """Note which rows are in the data no more, once all of it was read.

        Args:
            sample_ids: Those that have outcomes; others are found here.
        """
        gone = dict.fromkeys(sample_ids)
        if self._lines:
            stored = read_lines(self._log.path, _read_line)
            gone |= dict.fromkeys(
                line["sample_id"] for line in stored if key_of(line["sample_id"]) in self._lines
            )
        for sample_id in gone:
            self._write({"sample_id": sample_id, "in_data": False})

    def _write(self, fields: Mapping[str, Any]) -> None:
        line = _packed(fields)
        if self._lines.pop(key_of(fields["sample_id"])) != _hash_of(line):
            self._log.append(line)


def _key_and_hash(line: bytes) -> tuple[int, int]:
    found = _ID_FIRST.match(line)
    # What is not as this version writes it is read and checked whole.
    sample_id = found[1].decode() if found else _read_line(line)["sample_id"]
    return key_of(sample_id), _hash_of(line)


def _hash_of(line: bytes) -> int:
    return key_of(line) >> 1


def read_samples(folder: Path) -> dict[str, StoredSample]:
    """Read the samples of a run by id, in the order they were graded; none where none were kept.

    Raises:
        DataError: A line is broken; a torn last one is passed over.
    """
    return {line["sample_id"]: _stored(line) for line in read_lines(folder / SAMPLES, _read_line)}


def _fields(row: NumberedSample, sample: Sample) -> dict[str, Any]:
    fields = {
        "sample_id": row.name,
        "fingerprint": row.fingerprint,
        "question": sample.question,
        "answer": sample.answer,
        "context": [_chunk(chunk) for chunk in sample.context],
        "reference": sample.reference,
        "language": sample.language,
        "columns": dict(row.columns),
    }
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _packed(fields: Mapping[str, Any]) -> bytes:
    # Columns and metadata may hold anything; a report needs something that can be read.
    text = json.dumps(fields, ensure_ascii=False, default=str, skipkeys=True)
    return text.encode("utf-8", "replace") + b"\n"


def _chunk(chunk: Chunk) -> str | dict[str, Any]:
    return {"text": chunk.text, "metadata": dict(chunk.metadata)} if chunk.metadata else chunk.text


def _stored(line: "_Line") -> StoredSample:
    context = line.get("context", [])
    return StoredSample(
        sample_id=line["sample_id"],
        question=line.get("question"),
        answer=line.get("answer"),
        chunks=tuple(c if isinstance(c, str) else c["text"] for c in context),
        metadata=tuple({} if isinstance(c, str) else c["metadata"] for c in context),
        reference=line.get("reference"),
        language=line.get("language"),
        columns=line.get("columns", {}),
        fingerprint=line.get("fingerprint", ""),
        in_data=line.get("in_data", True),
    )


def column_value(sample: StoredSample, name: str, folder: Path | None) -> str | None:
    """Return a column of one row as text; None where the row lacks it.

    Args:
        sample: The row.
        name: A column, or a dotted path into one; `language` too.
        folder: Of the run, for the message.

    Raises:
        DataError: The value is a list or an object.
    """
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
