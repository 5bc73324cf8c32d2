"""Samples stored in `samples.jsonl`; with them, a report needs only the run folder."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NotRequired

from pydantic import TypeAdapter
from pydantic_core import to_json
from typing_extensions import TypedDict  # before 3.12, pydantic rejects Python's own

from rag_evals.core import Sample
from rag_evals.dataset import NumberedSample
from rag_evals.errors import DataError
from rag_evals.run.record.facts import stable_hash

SAMPLES = "samples.jsonl"
# Both encoders write these types in the same way.
_PLAIN = frozenset({str, int, float, bool, type(None)})
_COMPACT = (",", ":")


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample in its stored form.

    Attributes:
        metadata: Metadata of the chunks, aligned with `chunks`; may be empty.
        columns: The row's other columns.
        fingerprint: Hash of the sample, identical to the one in its outcomes; may be empty.
        in_data: False if the row is no longer in the data.
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

    @classmethod
    def of_row(cls, row: NumberedSample) -> "StoredSample | None":
        """Return a row in its stored form; None if it could not be read and has no columns."""
        sample = row.sample
        if not isinstance(sample, Sample):
            return cls(row.name, columns=row.columns) if row.columns else None
        return cls(
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

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> "StoredSample":
        """Create a sample from a parsed line of `samples.jsonl`."""
        known = {name: line[name] for name in cls.__dataclass_fields__ if name in line}
        context = line.get("context", ())
        chunks: list[Mapping[str, Any]] = [
            {"text": one, "metadata": {}} if isinstance(one, str) else one for one in context
        ]
        return cls(
            **known,
            chunks=tuple(chunk["text"] for chunk in chunks),
            metadata=tuple(chunk["metadata"] for chunk in chunks),
        )

    def to_line(self) -> bytes:
        """Return the sample as one line of `samples.jsonl`, including the newline."""
        fields = {
            "sample_id": self.sample_id,
            "fingerprint": self.fingerprint or None,
            "question": self.question,
            "answer": self.answer,
            "context": [
                {"text": text, "metadata": dict(metadata)} if metadata else text
                for text, metadata in zip(self.chunks, self.metadata, strict=True)
            ],
            "reference": self.reference,
            "language": self.language,
            "columns": dict(self.columns),
            "in_data": None if self.in_data else False,
        }
        known = {name: value for name, value in fields.items() if value not in (None, {}, [])}
        columns = self.columns.items()
        if not any(self.metadata) and all(
            type(name) is str and type(value) in _PLAIN for name, value in columns
        ):
            # Three times as fast, but it rejects lone surrogates.
            with suppress(ValueError):
                return to_json(known) + b"\n"
        # Arbitrary objects in columns and metadata are stored as text, which a report can show.
        text = json.dumps(
            known, ensure_ascii=False, default=str, skipkeys=True, separators=_COMPACT
        )
        return text.encode("utf-8", "replace") + b"\n"

    def keyed_line(self) -> tuple["SampleKey", bytes]:
        """Return the fields of `to_line` that are indexed, and the line."""
        line, sample_id = self.to_line(), self.sample_id.encode("utf-8", "replace").decode()
        return SampleKey(sample_id, self.fingerprint, self.in_data, stable_hash(line)), line


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


class SampleKey(NamedTuple):
    """The fields of a stored sample that are indexed; `line` is the hash of its line."""

    sample_id: str
    fingerprint: str
    in_data: bool
    line: int


def read_sample_key(line: bytes) -> SampleKey:
    fields = _read_line(line)
    fingerprint, in_data = fields.get("fingerprint", ""), fields.get("in_data", True)
    return SampleKey(fields["sample_id"], fingerprint, in_data, stable_hash(line))


GROUPING_FIELDS = ("language", "question", "context")
"""Sample fields by which rows can be grouped or clustered, just as by columns."""


def column_value(sample: StoredSample, name: str, folder: Path | None) -> str | None:
    """Return a row's value in a column as text; None if the row does not have the column.

    Raises:
        DataError: The value is a list or an object.
    """
    value: Any = sample.columns
    if name in GROUPING_FIELDS and name not in sample.columns:
        # Normalised in the same way as for automatic clustering.
        same = {
            "language": sample.language,
            "question": " ".join((sample.question or "").casefold().split()),
            "context": "\n".join(sorted(sample.chunks)),
        }
        value = same[name] or None
    else:
        for part in [name] if name in sample.columns else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list | Mapping):
        kind = "a list" if isinstance(value, list) else "an object"
        raise DataError(
            f"column {name!r} is {kind} in row {sample.sample_id!r} of {str(folder)!r}; "
            "group by a column of single values, or by a path into it such as meta.topic"
        )
    return None if value is None else str(value)
