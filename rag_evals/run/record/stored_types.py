"""The types of a run's files; unknown fields written by a newer version are kept."""

from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict  # pydantic takes Python's own from 3.12 on

from rag_evals.core import Finding
from rag_evals.run.record.outcome import Status


class _StoredError(TypedDict):
    type: str
    message: str


class _StoredFacts(TypedDict, total=False):
    question: int | None
    context: int | None
    words: int | None
    statements: int | None
    supported: int | None


class _StoredOutcome(TypedDict):
    # Fields of newer versions are kept.
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic looks for it

    index: Annotated[int, Field(ge=0)]
    sample_id: str
    grader: str
    status: Status
    score: Annotated[float, Field(ge=0, le=1)] | None
    ranking_score: NotRequired[Annotated[float, Field(ge=0, le=1)] | None]
    reason: NotRequired[str | None]
    result: NotRequired[dict[str, Any] | None]
    result_type: NotRequired[str | None]
    findings: NotRequired[tuple[Finding, ...] | None]
    error: NotRequired[_StoredError | None]
    attempts: NotRequired[int]
    seconds: NotRequired[float]
    usage: NotRequired[dict[str, int]]
    cost_usd: NotRequired[float | None]
    warnings: NotRequired[list[str]]
    tallies: NotRequired[dict[str, tuple[int, int]]]
    further_scores: NotRequired[dict[str, float]]
    repeats: NotRequired[list[Annotated[float, Field(ge=0, le=1)] | None]]
    answered_by: NotRequired[list[str]]
    facts: NotRequired[_StoredFacts]
    sample_fingerprint: NotRequired[str]
    grader_fingerprint: NotRequired[str]
    judge: NotRequired[str]
    settings: NotRequired[dict[str, Any] | None]


def _consistent(record: _StoredOutcome) -> _StoredOutcome:
    if (record["status"] == "scored") is (record["score"] is None):
        raise ValueError(f"status is {record['status']!r} and score is {record['score']!r}")
    return record


class _StoredSampling(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    rows: int
    of: int


class _Identity(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    graders: dict[str, str]
    data: NotRequired[str]
    file: NotRequired[str | None]
    judge: NotRequired[str]
    address: NotRequired[str | None]
    models: NotRequired[dict[str, str]]
    columns: NotRequired[dict[str, str]]
    limit: NotRequired[int | None]
    settings: NotRequired[dict[str, Any] | None]
    sample: NotRequired[_StoredSampling]
    order: NotRequired[str]


class _StoredPromise(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    supported_from: float | None
    unsupported_up_to: float | None
    expected_error: float
    max_error: float
    confidence: float


class _StoredTuning(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    labels: int
    level: str
    labels_from: list[str]
    map: str
    threshold: float
    promise: _StoredPromise | None
    spread: NotRequired[list[float]]
    worth: NotRequired[Annotated[float, Field(gt=0)]]


class _StoredStage(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    name: str
    fingerprint: str
    as_used: str
    has_support: bool
    prompt: str
    unsure: NotRequired[tuple[float, float]]
    tuned: _StoredTuning | None


class _StoredStop(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    rows: int
    of: int


class _StoredBudget(TypedDict):
    budget_usd: float
    spent_usd: float | None
    rows: int
    drawn: int


class _StoredManifest(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # as above

    identity: _Identity
    format: NotRequired[int]
    rag_evals: NotRequired[str]
    versions: NotRequired[list[str]]
    created: NotRequired[str]
    finished: NotRequired[str | None]
    rows: NotRequired[int | None]
    columns: NotRequired[dict[str, str]]
    stages: NotRequired[dict[str, list[_StoredStage]]]
    stopped: NotRequired[_StoredStop | None]
    budget: NotRequired[_StoredBudget | None]
    pending: NotRequired[Annotated[int, Field(ge=0)]]
    overlaps: NotRequired[Annotated[int, Field(ge=0)]]


OUTCOME = TypeAdapter(Annotated[_StoredOutcome, AfterValidator(_consistent)])
"""Parses a line of `results.jsonl`."""
RUN_MANIFEST = TypeAdapter(_StoredManifest)
"""Parses `manifest.json`."""
