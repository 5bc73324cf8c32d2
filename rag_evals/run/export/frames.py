"""How does a run become a frame? The library is imported only here, and only when asked for."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rag_evals.dataset import required_module

Library = Literal["pandas", "polars", "pyarrow"]
"""Which frame."""

_EXTRAS = {"pandas": "pandas", "polars": "polars", "pyarrow": "data"}
_TEXTS = "list of texts"


def frame_of(rows: Iterable[Mapping[str, Any]], library: Library) -> Any:
    """Make a frame of flat rows.

    A column whose values are of several kinds, or are objects, is a column of text, its values
    written as JSON.

    Args:
        rows: All with the same columns.
        library: Which frame.

    Raises:
        ConfigurationError: The library is not installed.
    """
    columns = columns_of(rows)
    module = required_module(library, _EXTRAS[library], f"make a {library} table")
    if library == "pyarrow":
        arrays = {name: module.array(values, type=None) for name, values in columns.items()}
        return module.table(_typed(arrays, module))
    return module.DataFrame(columns)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into columns that each hold one kind of value."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: _of_one_kind(values) for name, values in columns.items()}


def json_text(value: Any) -> str:
    """Write a value as JSON; what JSON does not have as text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _of_one_kind(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if kinds <= {"number", "whole"} or (len(kinds) <= 1 and kinds <= {"text", "yes", _TEXTS}):
        return values
    return [
        value if value is None or isinstance(value, str) else json_text(value) for value in values
    ]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "yes"
    if isinstance(value, int):
        # Arrow's whole numbers have 64 bits.
        return "whole" if -(2**63) <= value < 2**63 else "object"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    whole_list = isinstance(value, list) and all(isinstance(one, str | int) for one in value)
    return _TEXTS if whole_list else "object"


def _typed(arrays: Mapping[str, Any], arrow: Any) -> dict[str, Any]:
    """Give a column without any value the type of text, which every file format has."""
    return {
        name: array.cast(arrow.string()) if arrow.types.is_null(array.type) else array
        for name, array in arrays.items()
    }
