"""What is an outcome in a table of another engine? One flat row, the same columns for every one."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from rag_evals.core import Usage
from rag_evals.dataset import required_module
from rag_evals.errors import DataError

# What is nested stands in its column as JSON: its form differs from grader to grader.
_AS_JSON = ("result", "findings", "tallies", "repeats")
_COUNTS = tuple(Usage.__dataclass_fields__)
_TEXT, _WHOLE, _NUMBER, _TEXTS = "string", "int64", "float64", "list<string>"
COLUMNS: Mapping[str, str] = {
    "index": _WHOLE,
    "sample_id": _TEXT,
    "grader": _TEXT,
    "status": _TEXT,
    "score": _NUMBER,
    "ranking_score": _NUMBER,
    "reason": _TEXT,
    "result": _TEXT,
    "result_type": _TEXT,
    "findings": _TEXT,
    "error_type": _TEXT,
    "error_message": _TEXT,
    "attempts": _WHOLE,
    "seconds": _NUMBER,
    **dict.fromkeys(_COUNTS, _WHOLE),
    "cost_usd": _NUMBER,
    "warnings": _TEXTS,
    "tallies": _TEXT,
    "repeats": _TEXT,
    "answered_by": _TEXTS,
    "sample_fingerprint": _TEXT,
    "grader_fingerprint": _TEXT,
}
"""Columns of an outcome's row, and the type that Arrow has for each."""


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Write an outcome, as its line in `results.jsonl` has it, as one flat row."""
    error, usage = record["error"] or {}, record["usage"]
    of_error = {"error_type": error.get("type"), "error_message": error.get("message")}
    row = {**record, **of_error, **usage}
    for name in _AS_JSON:
        row[name] = None if row[name] is None else to_json(row[name]).decode()
    return {name: row[name] for name in COLUMNS}


def record_of_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what `flat_row` wrote, and another engine has kept; other columns are left out.

    Args:
        row: Column to value.
        where: What messages call the place.

    Raises:
        DataError: It is no outcome.
    """
    missing = [name for name in ("sample_id", "grader", "status") if row.get(name) is None]
    if missing:
        raise DataError(
            f"{where}: no {', '.join(missing)}; expected the columns of outcome.to_row(), or a run "
            "folder; a table of `rag-evals export` cannot be merged, the folder that it is from can"
        )
    record = {name: row[name] for name in COLUMNS if row.get(name) is not None}
    error = {name: record.pop(f"error_{name}", None) for name in ("type", "message")}
    record["error"] = error if error["type"] is not None else None
    record["usage"] = {name: record.pop(name) for name in _COUNTS if name in record}
    for name in _AS_JSON:
        if isinstance(record.get(name), str):
            try:
                record[name] = from_json(record[name])
            except ValueError as error:
                raise DataError(f"{where}: {name} is no JSON: {error}") from None
    return {"score": None, **record}


def outcome_schema() -> Any:
    """Return the Arrow schema of outcome rows, as `Outcome.to_row` writes them.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    arrow = required_module("pyarrow", "data", "make an Arrow schema")
    types = {
        _TEXT: arrow.string(),
        _WHOLE: arrow.int64(),
        _NUMBER: arrow.float64(),
        _TEXTS: arrow.list_(arrow.string()),
    }
    return arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
