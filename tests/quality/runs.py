"""Runs made by hand: scores and verdicts by row, as a run folder would hold them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.run import StoredRun, StoredSample

GRADER = "faithfulness"


def record(
    index: int, sample_id: str, score: float | None, *, grader: str = GRADER, **more: Any
) -> dict[str, Any]:
    """Return one outcome as `results.jsonl` has it; no score means an empty context."""
    reason = None if score is not None else "empty_context"
    status = "scored" if score is not None else "not_scorable"
    return {
        "index": index, "sample_id": sample_id, "grader": grader, "status": status,
        "score": score, "reason": reason, "usage": {}, "warnings": [], **more,
    }  # fmt: skip


def scores_run(
    scores: Mapping[str, float | None] | Sequence[float | None],
    *,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    identity: Mapping[str, Any] | None = None,
    grader: str = GRADER,
) -> StoredRun:
    """Make a run of one grader from scores."""
    named = scores if isinstance(scores, Mapping) else {f"r{n}": s for n, s in enumerate(scores)}
    return StoredRun(
        [record(n, name, score, grader=grader) for n, (name, score) in enumerate(named.items())],
        manifest={"identity": identity or {}},
        samples={
            name: StoredSample(name, columns=values) for name, values in (columns or {}).items()
        },
    )


def statements_run(
    rows: Mapping[str, Sequence[tuple[str, bool]]],
    columns: Mapping[str, Mapping[str, Any]] | None = None,
) -> StoredRun:
    """Make a run from the statements of each row and the judge's verdicts on them."""
    records = [
        record(
            number,
            name,
            sum(verdict for _, verdict in statements) / len(statements),
            result={
                "statements": [
                    {"statement": text, "is_supported": verdict} for text, verdict in statements
                ]
            },
        )
        for number, (name, statements) in enumerate(rows.items())
    ]
    samples = {name: StoredSample(name, columns=values) for name, values in (columns or {}).items()}
    return StoredRun(records, samples=samples)
