"""The mapping from a row's columns to a sample's fields."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from rag_evals.core import Sample
from rag_evals.errors import ConfigurationError, DataError, MissingColumnError

# Providers cache prompt prefixes for a few minutes, long enough to grade about this many rows.
_WINDOW_ROWS = 256


class Row(NamedTuple):
    """A row of a file; `place` is its location as shown in messages, such as `line 7`."""

    place: str
    values: Mapping[str, Any]


class Cells(dict[str, Any]):
    """A table row in which a number may stand for text, such as an answer "1987"."""

    def text(self, value: object) -> object:
        """Return a number as text, such as "1987", and any other value unchanged."""
        if isinstance(value, bool):
            return value
        if isinstance(value, Integral):
            return str(int(value))
        # Missing cells turn a column of integers into floats. Spreadsheets store 15 digits.
        if isinstance(value, Real) and math.isfinite(value):
            return f"{float(value):.15g}"
        return value


class NumberedSample(NamedTuple):
    """A data row that is ready for a grader.

    Attributes:
        position: Position in the data, from 0.
        sample_id: The id in the row, else a hash of its content; for an unreadable row without an
            id, its position, such as `row-7`.
        sample: The sample, or the error in the row.
        columns: The row's other columns, used for groups and labels; empty for a `Sample`.
        fingerprint: Hash of everything a prompt may show; empty for an unreadable row.
    """

    position: int
    sample_id: str | None
    sample: Sample | DataError
    columns: Mapping[str, Any] = MappingProxyType({})
    fingerprint: str = ""

    @property
    def name(self) -> str:
        """The row's name in results."""
        return self.sample_id or f"row-{self.position}"


def in_windows(numbered: Iterator[NumberedSample]) -> Iterator[NumberedSample]:
    """Move rows with identical contexts next to each other, within small windows."""
    while window := list(islice(numbered, _WINDOW_ROWS)):
        groups: dict[tuple[str, ...], list[NumberedSample]] = {}
        for row in window:
            chunks = row.sample.context if isinstance(row.sample, Sample) else ()
            groups.setdefault(tuple(chunk.text for chunk in chunks), []).append(row)
        for group in groups.values():
            yield from group


def check_header(header: Sequence[object], where: str = "the table") -> None:
    twice = sorted(repr(name) for name, times in Counter(header).items() if name and times > 1)
    if twice:
        raise DataError(f"{where}: the header contains {', '.join(twice)} twice")


ColumnSource = str | Callable[[Mapping[str, Any]], Any] | None
"""A column, a dotted path into one, or a function of the row; None means the usual names."""

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "user_input", "query", "input", "вопрос"),
    "answer": ("answer", "response", "output", "prediction", "actual_output", "ответ"),
    "context": (
        *("retrieval_context", "context", "contexts", "retrieved_contexts", "documents"),
        *("passages", "source_documents", "source_nodes", "контекст", "источники"),
    ),
    "reference": (
        *("reference", "ground_truth", "expected_output", "expected_answer"),
        *("expected", "golden", "эталон"),
    ),
    "id": ("id", "sample_id", "uid"),
    "language": ("language", "lang", "язык"),
    "relevant_ids": ("relevant_ids",),
    "turns": ("messages", "turns"),
}
"""Column names recognised for each field of a sample, ignoring case."""

_TOOL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("request", "inputs", "attributes.input.value", "запрос"),
    "answer": ("result", "replies", "predictions", "outputs", "attributes.output.value"),
    "context": (
        *("retrieved_context", "attributes.retrieval.documents"),
        *("контексты", "фрагменты", "документы"),
    ),
    "reference": (
        *("ground_truths", "reference_answer", "reference_outputs", "expected_response"),
        *("targets", "ground_truth_output", "эталонный ответ", "правильный ответ"),
    ),
    "id": ("record_id", "context.span_id"),
}
"""Column names used by LangChain, Haystack, mlflow, langsmith, openevals, phoenix and trulens, for
fields that have none of their usual names."""

_MISSING = object()
_OF_TURNS = frozenset({"question", "answer", "context"})
_Usual = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Maps the fields of a sample to their sources in a row.

    `"a.b"` is the key `"a.b"` if the row has one, else a path. None means the usual names.

    Attributes:
        context: Source of the chunks; a single string becomes one chunk.
        turns: Source of a conversation's messages; by default, they are only looked for in rows
            without an answer.
    """

    question: ColumnSource = None
    answer: ColumnSource = None
    context: ColumnSource = None
    reference: ColumnSource = None
    id: ColumnSource = None
    language: ColumnSource = None
    relevant_ids: ColumnSource = None
    turns: ColumnSource = None

    @classmethod
    def of(cls, columns: "Columns") -> "ColumnMap":
        """Create a map from a mapping; return a `ColumnMap` unchanged."""
        if columns is None or isinstance(columns, ColumnMap):
            return columns or cls()
        if not isinstance(columns, Mapping):
            raise ConfigurationError(
                f"columns is {columns!r}; expected a mapping, such as {{'answer': 'response'}}"
            )
        for name, source in columns.items():
            if name not in USUAL_NAMES:
                raise ConfigurationError(
                    f"columns has an unknown field {name!r}; keys must be fields, as in "
                    f"{{'answer': 'response'}}; fields are {', '.join(USUAL_NAMES)}"
                )
            if not (isinstance(source, str) and source) and not callable(source):
                raise ConfigurationError(
                    f"the source of {name!r} is {source!r}; expected a column, such as 'response', "
                    "a path into one, such as 'meta.answer', or a function of the row"
                )
        sources: dict[str, Any] = dict(columns)
        return cls(**sources)

    @classmethod
    def parse(cls, pairs: list[str]) -> "ColumnMap":
        """Parse `FIELD=SOURCE` pairs from the command line."""
        sources: dict[str, ColumnSource] = {}
        for pair in pairs:
            name, equals, source = pair.partition("=")
            if not equals or not source or name not in USUAL_NAMES:
                raise DataError(
                    f"column {pair!r} is not FIELD=SOURCE; fields are {', '.join(USUAL_NAMES)}, "
                    "as in answer=response"
                )
            if name in sources:
                raise DataError(f"column {name!r} is given twice: {sources[name]!r} and {source!r}")
            sources[name] = source
        return cls(**sources)

    def sample(self, row: Mapping[str, Any], required: frozenset[str] = frozenset()) -> Sample:
        """Create a sample from a row.

        Each required field must have a column, whose value may be empty.

        Raises:
            MissingColumnError: The row lacks a required or specified column.
            DataError: A value is invalid for its field, or two columns match the same field.
        """
        values: dict[str, Any] = {}
        usual = _usual_columns(tuple(row))
        if required and (self.turns or self._recognised(row, usual, "turns")):
            required -= _OF_TURNS
        for name in USUAL_NAMES:
            value = self._value(row, usual, name, required)
            if value is not _MISSING and not _is_empty(value, words=True):
                value = row.text(value) if isinstance(row, Cells) else value
                values[name] = _id_text(value) if name == "id" else value
        return Sample(**values)

    def taken(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Return the column used for each field found in the row."""
        found: dict[str, str] = {}
        usual = _usual_columns(tuple(row))
        for name in USUAL_NAMES:
            source = getattr(self, name)
            if callable(source):
                found[name] = "a function"
            elif (column := source or self._recognised(row, usual, name)) is not None:
                found[name] = column
        return found

    def id_in(self, row: Mapping[str, Any]) -> str | None:
        """Return the id in the row, or None if there is no readable id."""
        try:
            value = self._value(row, _usual_columns(tuple(row)), "id", frozenset())
        except DataError:
            return None
        value = _id_text(value)
        return value if isinstance(value, str) and value.strip() else None

    def others(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns that are not mapped to a field."""
        # A run stores `relevant_ids` only as a column, not with the sample.
        used = {column for name, column in self.taken(row).items() if name != "relevant_ids"}
        return {
            column: None if _is_empty(value) else value
            for column, value in row.items()
            if column not in used
        }

    @property
    def has_functions(self) -> bool:
        """True if any field is computed by a function."""
        return any(callable(getattr(self, name)) for name in USUAL_NAMES)

    def described(self) -> dict[str, str]:
        """Return the sources as text, for storage."""
        named = {name: getattr(self, name) for name in USUAL_NAMES}
        return {
            name: source if isinstance(source, str) else getattr(source, "__qualname__", "function")
            for name, source in named.items()
            if source is not None
        }

    def _recognised(self, row: Mapping[str, Any], usual: _Usual, name: str) -> str | None:
        found = usual[name]
        if not found or (name == "turns" and (self.answer is not None or usual["answer"])):
            return None
        if "expected" in found and isinstance(row["expected"], int | float):
            # A number in "expected" is a score, not a reference answer.
            found = [column for column in found if column != "expected"]
        if len(found) > 1:
            both = " and ".join(map(repr, found))
            raise DataError(f"{both} could both be {name!r}; specify one, as in {name}={found[0]}")
        return found[0] if found else None

    def _value(
        self, row: Mapping[str, Any], usual: _Usual, name: str, required: frozenset[str]
    ) -> Any:
        source: ColumnSource = getattr(self, name)
        if source is None:
            column = self._recognised(row, usual, name)
            if column is not None:
                return row[column]
            if name in required:
                names = ", ".join(map(repr, USUAL_NAMES[name]))
                raise MissingColumnError(
                    f"no column for {name!r} (one of {names}); the row has {_listed(row)}; "
                    f"specify it: --column {name}=COLUMN (in Python columns={{{name!r}: 'COLUMN'}})"
                )
            return _MISSING
        if isinstance(source, str):
            value = _descend(row, source.split("."))
            if value is _MISSING:
                raise MissingColumnError(
                    f"no column {source!r} for {name!r}; the row has {_listed(row)}"
                )
            return value
        try:
            return source(row)
        except Exception as error:
            raise DataError(
                f"the function for {name!r} raised {type(error).__name__}: {error}"
            ) from error


Columns = ColumnMap | Mapping[str, ColumnSource] | None
"""Sources of the fields: a `ColumnMap`, a mapping from field to source, or None (usual names)."""


@lru_cache(maxsize=256)
def _usual_columns(columns: tuple[str, ...]) -> _Usual:
    """For each field, return the columns that have one of its usual names."""
    by_name: dict[str, list[str]] = {}
    for column in columns:
        by_name.setdefault(str(column).strip().lstrip("\ufeff").casefold(), []).append(column)
    if "retrieval_context" in by_name:
        by_name.pop("context", None)  # In deepeval's rows, `context` is the ideal context.
    return {
        field: [column for name in names for column in by_name.get(name, ())]
        or [column for name in _TOOL_NAMES.get(field, ()) for column in by_name.get(name, ())]
        for field, names in USUAL_NAMES.items()
    }


def _id_text(value: Any) -> Any:
    """Return a whole number, such as 7 or a spreadsheet's 7.0, as text."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return str(int(value)) if whole else value


# How pandas, Python, SQL and JSON write missing values. Case matters: an answer may be "none".
_NOTHING = frozenset({"NaN", "nan", "None", "NULL", "null", "<NA>", "NaT"})


def _is_empty(value: Any, *, words: bool = False) -> bool:
    """True for NaN, NaT and NA and, if `words` is True, for their names."""
    if isinstance(value, str):
        return words and len(value) < 20 and value.strip() in _NOTHING
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NaTType", "NAType")


def _descend(value: Any, parts: list[str]) -> Any:
    """Follow a dotted path, using the longest matching key at each step."""
    if not parts:
        return value
    if isinstance(value, Mapping):
        for length in range(len(parts), 0, -1):
            key = ".".join(parts[:length])
            if key in value:
                found = _descend(value[key], parts[length:])
                if found is not _MISSING:
                    return found
    # Not isdigit(), which accepts "²".
    if isinstance(value, list) and parts[0].isdecimal() and len(parts[0]) < 10:
        place = int(parts[0])
        return _descend(value[place], parts[1:]) if place < len(value) else _MISSING
    return _MISSING


def _listed(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(key)) for key in row) or "no columns"
