"""What did a judge decide, one by one? The verdicts inside a stored result, of any shipped kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_evals.run import Record

_NO_SCORE = "no score"


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One verdict of a judge: on a statement, or on a chunk.

    Attributes:
        text: The statement; for a chunk, "chunk" and its id.
        verdict: True for supported or relevant.
    """

    text: str
    verdict: bool


def judged_items(record: Record) -> list[JudgedItem]:
    """List the verdicts of one outcome, in the order of its result; none where it has no such.

    Args:
        record: A line of `results.jsonl`.
    """
    result: Mapping[str, Any] = record.get("result") or {}
    if isinstance(statements := result.get("statements"), list):
        return [
            JudgedItem(str(statement.get("statement")), bool(statement.get("is_supported")))
            for statement in statements
            if isinstance(statement, Mapping)
        ]
    if isinstance(chunks := result.get("graded_chunks"), list):
        return [
            JudgedItem(f"chunk {chunk.get('id_chunk')}", bool(chunk.get("score")))
            for chunk in chunks
            if isinstance(chunk, Mapping)
        ]
    return []


def reason_of(record: Record) -> str | None:
    """Say why an outcome has no score: the reason, or the type of the error; None when it has."""
    if record.get("score") is not None:
        return None
    error: Mapping[str, Any] = record.get("error") or {}
    return record.get("reason") or error.get("type") or _NO_SCORE
