"""Whose table is this? The columns that other tools and Russian readers write, by tool."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rag_evals.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Preset:
    """How one tool names its columns.

    Attributes:
        name: What the command line and messages call it.
        fields: Columns or dotted paths for each field; the first that a row has counts.
        marks: Sets of columns; a row that has all of one set is this tool's. None of them: the
            preset is taken only where it is named.
    """

    name: str
    fields: Mapping[str, tuple[str, ...]]
    marks: tuple[frozenset[str], ...] = ()


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
        "russian", "вопрос", "ответ", "контекст",
        question="вопрос | запрос", answer="ответ",
        context="контекст | контексты | источники | фрагменты | документы",
        reference="эталон | эталонный ответ | правильный ответ", language="язык",
    ),
)  # fmt: skip
"""Looked through in this order; the first whose marks a row has is taken."""

NAMES = tuple(preset.name for preset in PRESETS)


def preset_named(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        ConfigurationError: There is none of that name.
    """
    for preset in PRESETS:
        if preset.name == name:
            return preset
    raise ConfigurationError(f"preset {name!r} is unknown; expected one of {', '.join(NAMES)}")


def preset_of(columns: Iterable[str]) -> Preset | None:
    """Return the preset that a row's columns show; None for none.

    Args:
        columns: Names of the row's columns; upper and lower case are the same.
    """
    return _preset_of(tuple(columns))


def normalised(column: object) -> str:
    """Write a column's name as presets and usual names have it: without case and outer spaces."""
    return str(column).strip().lstrip("\ufeff").casefold()


@lru_cache(maxsize=256)
def _preset_of(columns: tuple[str, ...]) -> Preset | None:
    names = frozenset(map(normalised, columns))
    for preset in PRESETS:
        if any(mark <= names for mark in preset.marks):
            return preset
    return None
