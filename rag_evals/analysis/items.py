"""What does a stored outcome say? Its verdicts one by one, or why it has no score."""

from collections.abc import Mapping
from typing import Any

from rag_evals.run import Record, findings_in

_NO_SCORE = "no score"


def has_verdicts(record: Record) -> bool:
    """Say whether an outcome has anything that people can agree with or not."""
    return any(finding.verdict is not None for finding in findings_in(record))


def reason_of(record: Record) -> str | None:
    """Say why an outcome has no score: the reason, or the type of the error; None when it has."""
    if record.get("score") is not None:
        return None
    error: Mapping[str, Any] = record.get("error") or {}
    return record.get("reason") or error.get("type") or _NO_SCORE
