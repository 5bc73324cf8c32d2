"""The outcome of grading one row with one grader."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Generic, Literal, NotRequired

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict, TypeVar  # before 3.12, pydantic rejects Python's TypedDict

from rag_evals.core import (
    Finding,
    Phrases,
    Result,
    Sample,
    Tallies,
    Usage,
    findings_of,
    phrases,
    sign_result,
)
from rag_evals.core.finding import read_findings
from rag_evals.dataset import NumberedSample, required_module
from rag_evals.errors import (
    DataError,
    InvalidScoresError,
    NotScorableError,
    NotScorableReason,
)
from rag_evals.run.record.facts import FACTS, RowFacts
from rag_evals.run.record.lines import fault_of
from rag_evals.run.record.samples import StoredSample
from rag_evals.text import shortened


class StoredResult(Result):
    """A stored result whose class can no longer be found."""

    model_config = ConfigDict(extra="allow")

    # The outcome's score, reason, findings, warnings, tallies and ranking score.
    _outcome: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, outcome: Mapping[str, Any]) -> "StoredResult":
        stored = cls.model_validate(dict(outcome["result"]))
        stored._outcome = {**outcome, "result": None}
        return stored

    @property
    def score(self) -> float:
        return self._outcome.get("score") or 0.0

    @property
    def not_scorable(self) -> NotScorableReason | None:
        return self._outcome.get("reason")

    @property
    def findings(self) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = self._outcome.get("findings", ())
        return findings

    @property
    def warnings(self) -> list[str]:
        return list(self._outcome.get("warnings", ()))

    @property
    def tallies(self) -> Tallies:
        tallies: Tallies = self._outcome.get("tallies", {})
        return tallies

    @property
    def ranking_score(self) -> float | None:
        return self._outcome.get("ranking_score")


def type_name(model: type) -> str:
    """Return the name under which a class is stored, such as `my_graders:Strict`."""
    return f"{model.__module__}:{model.__qualname__}"


def _find_class(name: str) -> type[BaseModel] | None:
    """Find a class in this package or in a loaded module; other modules are never imported."""
    module_name, _, qualified = name.partition(":")
    if module_name.startswith("rag_evals."):
        with suppress(ImportError):
            import_module(module_name)
    found: Any = sys.modules.get(module_name)
    for part in qualified.split("."):
        # `getattr` is avoided because a module's `__getattr__` may run arbitrary code.
        found = vars(found).get(part) if isinstance(found, type | ModuleType) else None
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


# Nested values are stored as JSON, because their structure differs between graders.
_AS_JSON = ("result", "findings", "tallies", "further_scores", "repeats", "settings")
_COUNTS = tuple(Usage.__dataclass_fields__)
# In a table, a column named `question` would seem to contain the question's text.
_FACTS = dict(
    zip(FACTS, ("question_hash", "context_hash", "answer_words", *FACTS[3:]), strict=True)
)
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
    "further_scores": _TEXT,
    "repeats": _TEXT,
    "judge": _TEXT,
    "settings": _TEXT,
    "answered_by": _TEXTS,
    **dict.fromkeys(_FACTS.values(), _WHOLE),
    "sample_fingerprint": _TEXT,
    "grader_fingerprint": _TEXT,
    "sample": _TEXT,
}
"""The columns of an outcome row, with their Arrow types."""


def flat_row(record: Mapping[str, Any], sample: bytes | None) -> dict[str, Any]:
    error, usage = record["error"] or {}, record["usage"]
    of_error = {"error_type": error.get("type"), "error_message": error.get("message")}
    facts = {_FACTS[name]: value for name, value in record["facts"].items()}
    text = None if sample is None else sample.decode().strip()
    row = {**record, **of_error, **usage, **facts, "sample": text}
    for name in _AS_JSON:
        row[name] = None if row[name] is None else to_json(row[name]).decode()
    return {name: row[name] for name in COLUMNS}


def record_of_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Convert a row from `flat_row` back to a record; unrecognised columns are ignored.

    Raises:
        DataError: The row lacks a required column, or a column contains invalid JSON.
    """
    missing = [name for name in ("sample_id", "grader", "status") if row.get(name) is None]
    if missing:
        raise DataError(
            f"{where}: no {', '.join(missing)}; expected the columns of outcome.to_row(), or a run "
            "folder; a table from `rag-evals export` cannot be merged, but its run folder can"
        )
    record = {name: row[name] for name in COLUMNS if row.get(name) is not None}
    record.pop("sample", None)
    error = {name: record.pop(f"error_{name}", None) for name in ("type", "message")}
    record["error"] = error if error["type"] is not None else None
    record["usage"] = {name: record.pop(name) for name in _COUNTS if name in record}
    columns = _FACTS.items()
    record["facts"] = {name: record.pop(column) for name, column in columns if column in record}
    for name in _AS_JSON:
        if isinstance(record.get(name), str):
            try:
                record[name] = from_json(record[name])
            except ValueError as error:
                raise DataError(f"{where}: {name} is not JSON: {error}") from None
    return {"score": None, **record}


def outcome_schema() -> Any:
    """Return the Arrow schema of the rows returned by `Outcome.to_row`.

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


# The default allows `Outcome` without a parameter, whose result is then any model.
R_co = TypeVar("R_co", bound=BaseModel, default=BaseModel, covariant=True)

Status = Literal["scored", "not_scorable", "failed"]

_NO_SCORE = "no score"


Record = Mapping[str, Any]
"""One outcome, as parsed from `results.jsonl`; `result` is a mapping or None."""


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
    # Preserves fields written by newer versions.
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
    findings: NotRequired[list[dict[str, Any]] | None]
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


OUTCOME = TypeAdapter(Annotated[_StoredOutcome, AfterValidator(_consistent)])
"""Parses a line of `results.jsonl`."""


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R_co]):
    """The outcome of one grading: one sample, one grader.

    Attributes:
        index: The row's position in the data, from 0.
        sample_id: The row's id, or a hash of its content.
        grader: The grader's name.
        status: `scored`, `not_scorable` or `failed`.
        score: 0 to 1 if scored, otherwise None; never NaN.
        ranking_score: 0 to 1, for ranking rows more finely than by score; None if the result does
            not define it.
        reason: Why the row is not scorable, or None.
        result: The grader's result; None if it failed.
        result_type: Name of the result's class, used to load the result.
        findings: The result's findings, as shown in reports and tables.
        error: Why the grading failed, or None.
        attempts: Number of replies requested; 0 if no judge was needed.
        seconds: Duration of the grading.
        usage: Number of calls and tokens.
        cost_usd: List price of the usage in US dollars; None if the model's price is unknown.
        warnings: Warnings about the result.
        tallies: The result's other counts by name, each as a part and its total.
        further_scores: The result's additional scores by name, 0 to 1.
        repeats: The score of each repeat, or None; empty for a row graded once.
        answered_by: Models named in the judge's replies, each with the provider's system
            fingerprint if available.
        facts: Row metadata: hashes of question and context, and the length of the answer.
        sample_fingerprint: Hash of the sample; empty for a row that could not be read.
        grader_fingerprint: Beginning of the grader's fingerprint.
        judge: The judge's name in the run; empty in outcomes from earlier versions.
        settings: Request settings for the judge, such as `{"temperature": 0}`, including its
            `address` and a grader-specific `model`; None if no endpoint is called.
    """

    index: int
    sample_id: str
    grader: str
    status: Status
    score: float | None = None
    ranking_score: float | None = None
    reason: NotScorableReason | None = None
    result: R_co | None = None
    result_type: str | None = None
    findings: tuple[Finding, ...] = ()
    error: ErrorRecord | None = None
    attempts: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()
    tallies: dict[str, tuple[int, int]] = field(default_factory=dict)
    further_scores: dict[str, float] = field(default_factory=dict)
    repeats: tuple[float | None, ...] = ()
    answered_by: tuple[str, ...] = ()
    facts: RowFacts = field(default_factory=RowFacts)
    sample_fingerprint: str = ""
    grader_fingerprint: str = ""
    judge: str = ""
    settings: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        sign_result(self.result, self.judge)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Key that identifies the grading: sample id, grader, and the fingerprint of each."""
        return self.sample_id, self.grader, self.sample_fingerprint, self.grader_fingerprint

    def words(self, say: Phrases | None = None) -> str:
        """Describe the outcome in one line: "scored 0.50", "not scorable: empty_context"."""
        say = say or phrases()
        if self.score is not None:
            return say("notebook.scored", score=say.number(self.score))
        error = self.error
        why = f"{error.type}: {shortened(error.message)}" if error else say.reason(f"{self.reason}")
        return say("notebook.ended", status=say.named("statuses", self.status), why=why)

    def __repr__(self) -> str:
        return f"Outcome({shortened(self.sample_id, 60)!r}, {self.grader}: {self.words()})"

    def to_line(self) -> bytes:
        """Return the outcome as one line of JSON, including the newline."""
        return _encoder()(self) + b"\n"

    def to_row(self, sample: Sample | NumberedSample | None = None) -> dict[str, Any]:
        """Return a flat table row of strings, numbers and lists of strings.

        Its Arrow schema is `rag_evals.run.outcome_schema()`; `merge` combines such rows into a run.

        Args:
            sample: The graded sample; include it if a merged run should be able to display it.
        """
        if isinstance(sample, Sample):
            sample = NumberedSample(
                self.index, self.sample_id, sample, fingerprint=self.sample_fingerprint
            )
        stored = None if sample is None else StoredSample.of_row(sample)
        return flat_row(from_json(self.to_line()), None if stored is None else stored.to_line())

    @classmethod
    def from_record(
        cls,
        record: Mapping[str, Any],
        known: Mapping[str, type[BaseModel]] | None = None,
    ) -> "Outcome":
        """Create an outcome from a line written by `to_line`.

        Args:
            record: The line, parsed from JSON.
            known: Result classes by `result_type`; other classes are looked up. If None, results
                and findings are omitted, and no class is imported.

        Raises:
            DataError: The stored result or its findings cannot be read.
        """
        values = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        for name, kind in (("error", ErrorRecord), ("usage", Usage), ("facts", RowFacts)):
            if (stored := values.pop(name, None)) is not None:
                fields = kind.__dataclass_fields__
                values[name] = kind(**{key: stored[key] for key in fields if key in stored})
        for name in ("warnings", "repeats", "answered_by"):
            values[name] = tuple(values.get(name, ()))
        tallies = values.get("tallies", {})
        values["tallies"] = {name: (part, whole) for name, (part, whole) in tallies.items()}
        wanted = known is not None and "findings" in record
        values["findings"] = findings_in(record) if wanted else ()
        if values.get("result") is not None:
            values["result"] = None if known is None else _result(values, known)
        return cls(**values)


@cache
def _encoder() -> Callable[[Outcome], bytes]:
    # Knowing the types makes this a third faster than `to_json`.
    return partial(TypeAdapter(Outcome[Any]).serializer.to_json, warnings=False)


def short_fingerprint(fingerprint: str) -> str:
    """Return the prefix of a fingerprint that outcomes store; the manifest has the full value."""
    return fingerprint[:16]


def score_of(record: Mapping[str, Any], count: Mapping[str, float]) -> float | None:
    """Return the score of a stored outcome, or the one that `count` assigns to its reason."""
    score: float | None = record["score"]
    return score if score is not None else count.get(record.get("reason") or "")


def reason_of(record: Mapping[str, Any]) -> str | None:
    """Return the reason or error type of an outcome without a score; None if it has a score."""
    if record.get("score") is not None:
        return None
    error: Mapping[str, Any] = record.get("error") or {}
    return record.get("reason") or error.get("type") or _NO_SCORE


def findings_in(record: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings of a parsed outcome; empty if it failed.

    Raises:
        DataError: The findings cannot be read, or were not stored by an earlier version.
    """
    stored = record.get("findings")
    if stored is None and record.get("result") is None:
        return ()
    where = f"row {record.get('sample_id')!r}, grader {record.get('grader')!r}"
    if stored is None:
        raise DataError(
            f"{where}: the run was written by an earlier rag_evals, which did not store findings; "
            "grade the data again, with --restart"
        )
    try:
        return read_findings(stored)
    except ValueError as error:
        raise DataError(f"{where}: the findings cannot be read: {fault_of(error)}") from error


def _result(values: Mapping[str, Any], known: Mapping[str, type[BaseModel]]) -> BaseModel:
    """Parse a stored result into its class, or into `StoredResult` if the class is not found."""
    name = values.get("result_type")
    model = None if name is None else known.get(name) or _find_class(name)
    if model is None:
        return StoredResult.of(values)
    try:
        return model.model_validate(values["result"])
    except ValidationError as error:
        if not model.__module__.startswith("rag_evals."):
            # The fields of a user-defined class may have changed.
            return StoredResult.of(values)
        where = f"row {values['sample_id']!r}, grader {values['grader']!r}"
        raise DataError(f"{where}: the result is not a valid {name}: {fault_of(error)}") from error


def outcome_of(
    grading: Mapping[str, Any],
    ended: BaseModel | Exception,
    seconds: float,
    usage: Usage,
    cost_usd: float | None = None,
    answered_by: tuple[str, ...] = (),
) -> Outcome:
    """Create an outcome from its first fields, and the result or error from its grading."""
    known: dict[str, Any] = {
        **grading,
        "seconds": seconds,
        "attempts": usage.calls,
        "usage": usage,
        "cost_usd": cost_usd,
        "answered_by": answered_by,
    }
    if not isinstance(ended, Exception):
        try:
            return Outcome(**known | _fields_of(ended, known["facts"]))
        except Exception as error:  # noqa: BLE001 - a result's own properties may raise
            ended = error
    if isinstance(ended, NotScorableError):
        known["facts"] = known["facts"].with_findings((), ended.reason)
        return Outcome(**known, status="not_scorable", reason=ended.reason)
    fault = ErrorRecord(type(ended).__name__, str(ended))
    return Outcome(**known, status="failed", error=fault)


def _fields_of(result: BaseModel, facts: RowFacts) -> dict[str, Any]:
    reason: NotScorableReason | None = getattr(result, "not_scorable", None)
    score = None if reason else float(result.score)  # type: ignore[attr-defined]  # checked before the run
    ranking_score = None if reason else getattr(result, "ranking_score", None)
    further = dict(getattr(result, "further_scores", {})) if reason is None else {}
    for name, value in {**further, "score": score, "ranking_score": ranking_score}.items():
        if value is not None and not 0.0 <= value <= 1.0:
            raise InvalidScoresError(f"{name} is {value:g}; it must be a number from 0 to 1")
    findings = findings_of(result)
    return {
        "status": "scored" if reason is None else "not_scorable",
        "score": score,
        "ranking_score": ranking_score,
        "reason": reason,
        "result": result,
        "result_type": type_name(type(result)),
        "findings": findings,
        "warnings": tuple(getattr(result, "warnings", ())),
        "tallies": dict(getattr(result, "tallies", {})),
        "further_scores": further,
        # Not `getattr`, which is slow for a pydantic model without the field.
        "repeats": tuple(vars(result).get("repeated_scores", ())),
        "facts": facts.with_findings(findings, reason),
    }
