"""Which column holds which field? A name, a dotted path, a function, or the usual names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rag_evals.core import Sample
from rag_evals.errors import ConfigurationError, DataError, MissingColumnError

Source = str | Callable[[Mapping[str, Any]], Any] | None
"""A column, a dotted path into one, or a function of the row; None looks for the usual names."""

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "user_input", "query", "input"),
    "answer": ("answer", "response", "output", "prediction"),
    "context": ("context", "contexts", "retrieved_contexts", "documents", "passages"),
    "reference": ("reference", "ground_truth", "expected_output", "expected_answer"),
    "id": ("id", "sample_id", "uid"),
    "language": ("language", "lang"),
}
"""Columns that are recognised without being told, for each field of a sample."""

_MISSING = object()
_PLACE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Where each field of a sample comes from.

    A key of the row wins over a path: with the key `"a.b"` in the row, `"a.b"` is that key.

    Attributes:
        question: Source of the question.
        answer: Source of the answer.
        context: Source of the chunks; one text becomes one chunk.
        reference: Source of the right answer.
        id: Source of the row's name.
        language: Source of the language code.
    """

    question: Source = None
    answer: Source = None
    context: Source = None
    reference: Source = None
    id: Source = None
    language: Source = None

    @classmethod
    def of(cls, columns: "Columns") -> "ColumnMap":
        """Return a map unchanged, or make one from a mapping of field to source.

        Raises:
            ConfigurationError: An unknown field, or a source that is neither name nor function.
        """
        if columns is None or isinstance(columns, ColumnMap):
            return columns or cls()
        if not isinstance(columns, Mapping):
            raise ConfigurationError(
                f"columns is {columns!r}; expected field and column, as in {{'answer': 'response'}}"
            )
        for name, source in columns.items():
            if name not in USUAL_NAMES:
                raise ConfigurationError(
                    f"columns names no field {name!r}; the field comes first, as in "
                    f"{{'answer': 'response'}}, and fields are {', '.join(USUAL_NAMES)}"
                )
            if not (isinstance(source, str) and source) and not callable(source):
                raise ConfigurationError(
                    f"the source of {name!r} is {source!r}; expected a column, such as 'response', "
                    "a path into one, such as 'meta.answer', or a function of the row"
                )
        return cls(**columns)

    @classmethod
    def parse(cls, pairs: list[str]) -> "ColumnMap":
        """Read `FIELD=SOURCE` pairs, as the command line has them.

        Raises:
            DataError: No equals sign, an unknown field, or a field named twice.
        """
        known = [field.name for field in fields(cls)]
        sources: dict[str, Source] = {}
        for pair in pairs:
            name, equals, source = pair.partition("=")
            if not equals or not source or name not in known:
                raise DataError(
                    f"column {pair!r} is not FIELD=SOURCE; fields are {', '.join(known)}, "
                    "as in answer=response"
                )
            if name in sources:
                raise DataError(f"column {name!r} is given twice: {sources[name]!r} and {source!r}")
            sources[name] = source
        return cls(**sources)

    def sample(self, row: Mapping[str, Any], required: frozenset[str] = frozenset()) -> Sample:
        """Make a sample from a row.

        Args:
            row: One row of the data.
            required: Fields that must have a column; the column's value may still be empty.

        Raises:
            MissingColumnError: A required or a named column is not in the row.
            DataError: A value is not what the field takes, or two columns could be one field.
        """
        values: dict[str, Any] = {}
        for name in USUAL_NAMES:
            value = self._value(row, name, required)
            if value is not _MISSING:
                values[name] = str(value) if name == "id" and isinstance(value, int) else value
        return Sample(**values)

    def taken(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Say which column each field is taken from in a row; fields without one are left out."""
        found: dict[str, str] = {}
        for name in USUAL_NAMES:
            source = getattr(self, name)
            if callable(source):
                found[name] = "a function"
            elif (column := source or _usual_column(row, name)) is not None:
                found[name] = column
        return found

    def others(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a row that no field is taken from."""
        used = set(self.taken(row).values())
        return {column: value for column, value in row.items() if column not in used}

    def described(self) -> dict[str, str]:
        """Return the sources that were named, in a form that can be stored."""
        named = {name: getattr(self, name) for name in USUAL_NAMES}
        return {
            name: source if isinstance(source, str) else getattr(source, "__qualname__", "function")
            for name, source in named.items()
            if source is not None
        }

    def _value(self, row: Mapping[str, Any], name: str, required: frozenset[str]) -> Any:
        source: Source = getattr(self, name)
        if source is None:
            column = _usual_column(row, name)
            if column is not None:
                return row[column]
            if name in required:
                usual = ", ".join(repr(candidate) for candidate in USUAL_NAMES[name])
                raise MissingColumnError(
                    f"no column for {name!r} (one of {usual}); the row has {_columns(row)}; "
                    f"name one, as in {name}=COLUMN"
                )
            return _MISSING
        if isinstance(source, str):
            return _follow(row, source, name)
        try:
            return source(row)
        except Exception as error:
            raise DataError(
                f"the function for {name!r} raised {type(error).__name__}: {error}"
            ) from error


Columns = ColumnMap | Mapping[str, Source] | None
"""Where the fields are: a map, or field and source as a mapping; None looks for the usual names."""


def _usual_column(row: Mapping[str, Any], name: str) -> str | None:
    found = [candidate for candidate in USUAL_NAMES[name] if candidate in row]
    if len(found) > 1:
        both = " and ".join(repr(column) for column in found)
        raise DataError(f"{both} could both be {name!r}; say which, as in {name}={found[0]}")
    return found[0] if found else None


def _follow(row: Mapping[str, Any], path: str, name: str) -> Any:
    """Take a key, else follow a dotted path; at each step the longest key that is there wins."""
    value = _descend(row, path.split("."))
    if value is _MISSING:
        raise MissingColumnError(f"no column {path!r} for {name!r}; the row has {_columns(row)}")
    return value


def _descend(value: Any, parts: list[str]) -> Any:
    if not parts:
        return value
    if isinstance(value, Mapping):
        for length in range(len(parts), 0, -1):
            key = ".".join(parts[:length])
            if key in value:
                found = _descend(value[key], parts[length:])
                if found is not _MISSING:
                    return found
    # Not isdigit(), which takes "²" for a digit; a place has few of them.
    if isinstance(value, list) and parts[0].isdecimal() and len(parts[0]) <= _PLACE_DIGITS:
        place = int(parts[0])
        return _descend(value[place], parts[1:]) if place < len(value) else _MISSING
    return _MISSING


def _columns(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(key)) for key in row) or "no columns"
