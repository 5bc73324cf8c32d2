"""Which column of a row holds which field of a sample.

A column is found by name, path or function, by the names of the tool that wrote it, or by the usual
names.
"""

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

# Providers cache the start of a prompt for minutes; these many rows are graded sooner.
_WINDOW_ROWS = 256


class Row(NamedTuple):
    """A row of a file. `place` is for messages, such as `line 7`."""

    place: str
    values: Mapping[str, Any]


class Cells(dict[str, Any]):
    """A row of a table; its numbers may stand for text."""

    def text(self, value: object) -> object:
        """Return a number as text, such as "1987"; other values unchanged."""
        if isinstance(value, bool):
            return value
        if isinstance(value, Integral):
            return str(int(value))
        # A missing cell turns a column of whole numbers into floats. Spreadsheets have 15 digits.
        if isinstance(value, Real) and math.isfinite(value):
            return f"{float(value):.15g}"
        return value


class SheetCells(Cells):
    """A row of a spreadsheet, which stores a typed "true" as a boolean."""

    def text(self, value: object) -> object:
        return str(value).upper() if isinstance(value, bool) else super().text(value)


class NumberedSample(NamedTuple):
    """One row of the data, ready for a grader.

    Attributes:
        position: Position in the data, from 0.
        sample_id: The row's own id, else a hash of its content; an unreadable row without an id is
            named by its position, such as `row-7`.
        sample: The sample, or the error in the row.
        columns: The row's other columns, to group or label by; empty for a `Sample`.
        fingerprint: Hash of everything that a prompt may show; empty for an unreadable row.
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
    """Move rows with equal contexts next to each other, within small windows."""
    while window := list(islice(numbered, _WINDOW_ROWS)):
        groups: dict[tuple[str, ...], list[NumberedSample]] = {}
        for row in window:
            chunks = row.sample.context if isinstance(row.sample, Sample) else ()
            groups.setdefault(tuple(chunk.text for chunk in chunks), []).append(row)
        for group in groups.values():
            yield from group


def check_header(header: Sequence[object], where: str | None = None) -> None:
    twice = sorted(repr(name) for name, times in Counter(header).items() if name and times > 1)
    if twice and where is None:
        raise DataError(f"the table has two columns {twice[0]}; rename one")
    if twice:
        raise DataError(f"{where}: the header names {', '.join(twice)} twice")


ColumnSource = str | Callable[[Mapping[str, Any]], Any] | None
"""A column, a dotted path into one, or a function of the row; None for the usual names."""

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "user_input", "query", "input"),
    "answer": ("answer", "response", "output", "prediction"),
    "context": ("context", "contexts", "retrieved_contexts", "documents", "passages"),
    "reference": (
        "reference",
        "ground_truth",
        "expected_output",
        "expected_answer",
        "expected",
        "golden",
    ),
    "id": ("id", "sample_id", "uid"),
    "language": ("language", "lang"),
    "relevant_ids": ("relevant_ids",),
    "turns": ("messages", "turns"),
}
"""Columns that are recognised for each field of a sample."""


class Preset(NamedTuple):
    """The column names of one tool.

    Attributes:
        name: Name on the command line and in messages.
        fields: Columns or dotted paths for each field; the first that a row has counts.
        marks: Sets of columns; a row with all columns of a set comes from this tool.
    """

    name: str
    fields: Mapping[str, tuple[str, ...]]
    marks: tuple[frozenset[str], ...]


def _preset(name: str, *marks: str, **fields: str) -> Preset:
    split = {field: tuple(paths.split(" | ")) for field, paths in fields.items()}
    return Preset(name, split, tuple(frozenset(mark.split(" + ")) for mark in marks))


PRESETS: tuple[Preset, ...] = (
    _preset(
        "deepeval", "actual_output",
        question="input", answer="actual_output", context="retrieval_context | context",
        reference="expected_output",
    ),
    _preset(
        "ragas", "user_input + response", "user_input + retrieved_contexts",
        question="user_input", answer="response", context="retrieved_contexts",
        reference="reference | ground_truth",
    ),
    _preset(
        "ragas-0.1", "question + answer + contexts",
        question="question", answer="answer", context="contexts",
        reference="ground_truth | ground_truths | reference",
    ),
    _preset(
        "haystack", "replies", "query + data + documents",
        question="query | question", answer="replies | data", context="documents",
    ),
    _preset(
        "llamaindex", "response + source_nodes", "query + response + contexts",
        question="query | question", answer="response", context="source_nodes | contexts",
        reference="reference | reference_answer",
    ),
    _preset(
        "langchain", "result + source_documents", "query + result", "input + answer + context",
        question="query | input", answer="result | answer", context="source_documents | context",
        reference="reference | ground_truth",
    ),
    _preset(
        "phoenix", "attributes.output.value",
        question="attributes.input.value | input", answer="attributes.output.value | output",
        context="attributes.retrieval.documents | reference", id="context.span_id",
    ),
    _preset(
        "trulens", "record_id + input + output",
        question="input", answer="output", context="contexts | context",
        reference="ground_truth_output | ground_truth", id="record_id",
    ),
    _preset(
        "openevals", "inputs + outputs + context",
        question="inputs.question | inputs.query | inputs.input | inputs",
        answer="outputs.answer | outputs.output | outputs.response | outputs", context="context",
        reference="reference_outputs.answer | reference_outputs.output | reference_outputs",
    ),
    _preset(
        "mlflow", "inputs + outputs + expectations", "request + response", "inputs + predictions",
        question="inputs.question | inputs.query | inputs.input | inputs | request",
        answer="outputs.response | outputs.answer | outputs | response | predictions",
        context="retrieved_context | outputs.retrieved_context | outputs.context | context",
        reference="expectations.expected_response | expected_response | targets | ground_truth",
    ),
    _preset(
        "langsmith", "inputs + outputs", "inputs.question",
        question="inputs.question | inputs.query | inputs.input | inputs",
        answer="outputs.answer | outputs.output | outputs.response | outputs",
        context="outputs.documents | outputs.contexts | outputs.context | inputs.documents | "
        "inputs.context",
        reference="reference_outputs.answer | reference_outputs.output | reference_outputs | "
        "reference.answer",
    ),
    _preset(
        "otel", "gen_ai.input.messages", "gen_ai.output.messages",
        turns="gen_ai.input.messages", answer="gen_ai.output.messages",
    ),
    _preset(
        "russian", "вопрос", "ответ", "контекст",
        question="вопрос | запрос", answer="ответ",
        context="контекст | контексты | источники | фрагменты | документы",
        reference="эталон | эталонный ответ | правильный ответ", language="язык",
    ),
)  # fmt: skip
"""Presets in order of precedence: the first one whose marks a row has counts."""

_MISSING = object()
# Fields that turns contain.
_OF_TURNS = frozenset({"question", "answer", "context"})
_PLACE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Where each field of a sample comes from.

    If the row has the key `"a.b"`, then `"a.b"` is that key, else a path. A field without a source
    is searched by the names of the tool that wrote the row, if its columns show which, and then by
    the usual names, ignoring case.

    Attributes:
        question: Source of the question.
        answer: Source of the answer.
        context: Source of the chunks; one text becomes one chunk.
        reference: Source of the right answer.
        id: Source of the row's name.
        language: Source of the language code.
        relevant_ids: Source of the ids of relevant chunks.
        turns: Source of the messages of a conversation; the usual names only count in rows without
            an answer.
        preset: The tool whose names count, such as `"deepeval"`; None recognises it.
    """

    question: ColumnSource = None
    answer: ColumnSource = None
    context: ColumnSource = None
    reference: ColumnSource = None
    id: ColumnSource = None
    language: ColumnSource = None
    relevant_ids: ColumnSource = None
    turns: ColumnSource = None
    preset: str | None = None

    def __post_init__(self) -> None:
        if self.preset is not None:
            _preset_named(self.preset)

    @classmethod
    def of(cls, columns: "Columns") -> "ColumnMap":
        """Make a map from a preset's name or a mapping; return a map unchanged."""
        if columns is None or isinstance(columns, ColumnMap):
            return columns or cls()
        if isinstance(columns, str):
            return cls(preset=columns)
        if not isinstance(columns, Mapping):
            raise ConfigurationError(
                f"columns is {columns!r}; expected field and column, as in "
                "{'answer': 'response'}, or a preset, as in 'deepeval'"
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
        sources: dict[str, Any] = dict(columns)
        return cls(**sources)

    @classmethod
    def parse(cls, pairs: list[str], preset: str | None = None) -> "ColumnMap":
        """Parse `FIELD=SOURCE` pairs of the command line."""
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
        return cls(**sources, preset=preset)

    def sample(self, row: Mapping[str, Any], required: frozenset[str] = frozenset()) -> Sample:
        """Make a sample from a row.

        Each required field must have a column; its value may be empty.

        Raises:
            MissingColumnError: A required or named column is not in the row.
            DataError: A value does not fit its field, or two columns could be the same field.
        """
        values: dict[str, Any] = {}
        if required and (self.turns or self._recognised(row, "turns")):
            required -= _OF_TURNS
        for name in USUAL_NAMES:
            value = self._value(row, name, required)
            if value is not _MISSING and not _is_empty(value, words=True):
                value = row.text(value) if isinstance(row, Cells) else value
                values[name] = _id_text(value) if name == "id" else value
        return Sample(**values)

    def taken(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Return the column of each field that the row has."""
        found: dict[str, str] = {}
        for name in USUAL_NAMES:
            source = getattr(self, name)
            if callable(source):
                found[name] = "a function"
            elif (column := source or self._recognised(row, name)) is not None:
                found[name] = column
        return found

    def preset_for(self, row: Mapping[str, Any]) -> str | None:
        """Return the tool that wrote a row; None if unknown or not needed."""
        if self.preset is None and self.answer and self.context:
            return None
        preset = self._preset(row)
        return None if preset is None else preset.name

    def id_in(self, row: Mapping[str, Any]) -> str | None:
        """Return a row's own id, or None if it has no readable one."""
        try:
            value = self._value(row, "id", frozenset())
        except DataError:
            return None
        value = _id_text(value)
        return value if isinstance(value, str) and value.strip() else None

    def others(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns that hold no field."""
        # A run stores the ids of relevant chunks only as a column.
        used = {column for name, column in self.taken(row).items() if name != "relevant_ids"}
        return {
            column: None if _is_empty(value) else value
            for column, value in row.items()
            if column not in used
        }

    @property
    def has_functions(self) -> bool:
        """True if a function computes a field."""
        return any(callable(getattr(self, name)) for name in USUAL_NAMES)

    def described(self) -> dict[str, str]:
        """Return the sources as text that can be stored."""
        named = {name: getattr(self, name) for name in USUAL_NAMES}
        named["preset"] = self.preset
        return {
            name: source if isinstance(source, str) else getattr(source, "__qualname__", "function")
            for name, source in named.items()
            if source is not None
        }

    def _preset(self, row: Mapping[str, Any]) -> Preset | None:
        return _preset_of(tuple(row)) if self.preset is None else _preset_named(self.preset)

    def _recognised(self, row: Mapping[str, Any], name: str) -> str | None:
        columns = tuple(row)
        known = None if self.preset is not None else _known_columns(columns)
        if name == "turns" and self.answer is not None:
            return None
        if known is not None:
            return known[name]
        preset = self._preset(row)
        paths = () if preset is None else preset.fields.get(name, ())
        keys, usual = _keys(columns), _usual(columns, name)
        for path in paths:
            found = _path_in(row, keys, path)
            if found is not None:
                # The user may mean another column, which the tool does not have.
                doubtful = [key for key in usual if _normalised(key) not in paths]
                if doubtful and self.preset is None:
                    raise _doubt([found, *doubtful], name)
                return found
        if preset is not None:
            taken = {path for own in preset.fields.values() for path in own}
            usual = [key for key in usual if _normalised(key) not in taken]
            if name == "turns" and self._recognised(row, "answer"):
                return None
        if len(usual) > 1:
            raise _doubt(usual, name)
        return usual[0] if usual else None

    def _value(self, row: Mapping[str, Any], name: str, required: frozenset[str]) -> Any:
        source: ColumnSource = getattr(self, name)
        if source is None:
            column = self._recognised(row, name)
            if column is not None:
                value = _descend(row, column.split("."))
                # `expected` may also be the score that the row should get.
                is_score = column == "expected" and isinstance(value, int | float)
                return _MISSING if is_score and name not in required else value
            if name in required:
                usual = ", ".join(repr(candidate) for candidate in USUAL_NAMES[name])
                raise MissingColumnError(
                    f"no column for {name!r} (one of {usual}); the row has {_columns(row)}; "
                    f"name it by --column {name}=COLUMN (in Python columns={{{name!r}: 'COLUMN'}})"
                )
            return _MISSING
        if isinstance(source, str):
            value = _descend(row, source.split("."))
            if value is _MISSING:
                raise MissingColumnError(
                    f"no column {source!r} for {name!r}; the row has {_columns(row)}"
                )
            return value
        try:
            return source(row)
        except Exception as error:
            raise DataError(
                f"the function for {name!r} raised {type(error).__name__}: {error}"
            ) from error


Columns = ColumnMap | Mapping[str, ColumnSource] | str | None
"""Where the fields are: a map, a mapping from field to source, or the name of a preset; None for
the names of known tools and the usual ones."""


def _preset_named(name: str) -> Preset:
    for preset in PRESETS:
        if preset.name == name:
            return preset
    names = ", ".join(preset.name for preset in PRESETS)
    raise ConfigurationError(f"preset {name!r} is unknown; expected one of {names}")


@lru_cache(maxsize=256)
def _preset_of(columns: tuple[str, ...]) -> Preset | None:
    names = frozenset(_keys(columns))
    return next((each for each in PRESETS if any(mark <= names for mark in each.marks)), None)


def _normalised(column: object) -> str:
    return str(column).strip().lstrip("\ufeff").casefold()


@lru_cache(maxsize=256)
def _keys(columns: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for column in columns:
        found.setdefault(_normalised(column), []).append(column)
    return found


@lru_cache(maxsize=256)
def _usual(columns: tuple[str, ...], name: str) -> Sequence[str]:
    keys = _keys(columns)
    return tuple(key for candidate in USUAL_NAMES[name] for key in keys.get(candidate, ()))


@lru_cache(maxsize=256)
def _known_columns(columns: tuple[str, ...]) -> Mapping[str, str | None] | None:
    """Return the column of each field if names alone decide, else None."""
    usual = {name: _usual(columns, name) for name in USUAL_NAMES}
    if _preset_of(columns) is not None or any(len(found) > 1 for found in usual.values()):
        return None
    if usual["answer"]:
        usual["turns"] = ()
    return {name: found[0] if found else None for name, found in usual.items()}


def _path_in(row: Mapping[str, Any], keys: Mapping[str, Sequence[str]], path: str) -> str | None:
    """Return a preset's path in the row's spelling; None if it leads nowhere."""
    if path in keys:
        return keys[path][0]
    first, dot, rest = path.partition(".")
    for key in keys.get(first, ()) if dot else ():
        if _descend(row[key], rest.split(".")) is not _MISSING:
            return f"{key}.{rest}"
    return None


def _doubt(columns: Sequence[str], name: str) -> DataError:
    both = " and ".join(repr(column) for column in columns)
    return DataError(f"{both} could both be {name!r}; say which, as in {name}={columns[0]}")


def _id_text(value: Any) -> Any:
    """Return a whole number, such as 7 or 7.0 from a sheet, as text."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return str(int(value)) if whole else value


# Missing values as pandas, Python, SQL and JSON write them. Case matters: an answer may be "none".
_NOTHING = frozenset({"NaN", "nan", "None", "NULL", "null", "<NA>", "NaT"})


def _is_empty(value: Any, *, words: bool = False) -> bool:
    """True for NaN, NaT and NA; with `words`, also for their names."""
    if isinstance(value, str):
        return words and len(value) < 20 and value.strip() in _NOTHING
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NaTType", "NAType")


def _descend(value: Any, parts: list[str]) -> Any:
    """Follow a dotted path; the longest matching key wins at each step."""
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
    if isinstance(value, list) and parts[0].isdecimal() and len(parts[0]) <= _PLACE_DIGITS:
        place = int(parts[0])
        return _descend(value[place], parts[1:]) if place < len(value) else _MISSING
    return _MISSING


def _columns(row: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(key)) for key in row) or "no columns"
