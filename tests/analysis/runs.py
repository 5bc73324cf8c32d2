"""Runs made by hand: scores and verdicts by row, as a run folder would hold them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from rag_evals import FaithfulnessResult, Result, StatementEvaluation
from rag_evals.core import Usage
from rag_evals.run import Run, StoredSample
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import outcome_of

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


def graded(
    index: int, sample_id: str, result: Result, *, grader: str = GRADER, seconds: float = 0.0
) -> dict[str, Any]:
    """Return the outcome of a result as `results.jsonl` has it."""
    row = {"index": index, "sample_id": sample_id, "grader": grader, "facts": RowFacts()}
    outcome = outcome_of(row, result, seconds, Usage())
    line: dict[str, Any] = from_json(outcome.to_line())
    return line


def scores_run(
    scores: Mapping[str, float | None] | Sequence[float | None],
    *,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    identity: Mapping[str, Any] | None = None,
    grader: str = GRADER,
) -> Run:
    """Make a run of one grader from scores."""
    named = scores if isinstance(scores, Mapping) else {f"r{n}": s for n, s in enumerate(scores)}
    return Run(
        [record(n, name, score, grader=grader) for n, (name, score) in enumerate(named.items())],
        manifest={"identity": identity or {}},
        samples={
            name: StoredSample(name, columns=values) for name, values in (columns or {}).items()
        },
    )


def faithfulness(statements: Sequence[tuple[str, bool]]) -> FaithfulnessResult:
    """Make a result from statements and their verdicts; what is supported cites chunk 0."""
    return FaithfulnessResult(
        statements=[
            StatementEvaluation(
                statement=text, is_supported=verdict, supporting_chunk_ids=[0] if verdict else []
            )
            for text, verdict in statements
        ]
    )


def statements_run(
    rows: Mapping[str, Sequence[tuple[str, bool]]],
    columns: Mapping[str, Mapping[str, Any]] | None = None,
) -> Run:
    """Make a run from the statements of each row and the judge's verdicts on them."""
    records = [
        graded(number, name, faithfulness(statements))
        for number, (name, statements) in enumerate(rows.items())
    ]
    samples = {name: StoredSample(name, columns=values) for name, values in (columns or {}).items()}
    return Run(records, samples=samples)
