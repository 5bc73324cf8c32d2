"""Base classes of results: models filled in by a judge, with a score computed from labels."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import InitErrorDetails, core_schema

from rag_evals.core.arguments import require_known
from rag_evals.core.finding import (
    Finding,
    default_findings,
    findings_line,
    findings_lines,
    result_html,
)
from rag_evals.core.wording import Phrases, notebook_phrases, phrases
from rag_evals.errors import ConfigurationError, NotScorableReason

Name = TypeVar("Name", bound=Hashable)


def facts_of(info: ValidationInfo) -> Mapping[str, Any] | None:
    """Return the validation context of a judge's reply, or None if no judge was called.

    The keys are `question`, `answer`, `reference` (strings or None), `chunks` (a list of strings),
    `context` (the chunks as a list of `{"id": 0, "chunk": "text"}`), `chunk_count`, `sentences`
    (the answer's sentences) and `criteria` (names); a grader may add others.
    """
    context = info.context
    # Called for every field of a reply, so check for a dict first: checking for a Mapping is slow.
    if context is None or not (type(context) is dict or isinstance(context, Mapping)):
        return None
    return context if "chunk_count" in context else None


_LAST_ATTEMPT = "is_last_attempt"


def is_last_attempt(info: ValidationInfo) -> bool:
    """True for the last attempt and for stored replies: their faults are marked, not rejected."""
    facts = facts_of(info)
    return facts is not None and bool(facts.get(_LAST_ATTEMPT))


def facts_for(facts: Mapping[str, Any], *, is_last: bool) -> dict[str, Any]:
    """Return the validation context for one attempt: the call's facts, its chunks and `is_last`."""
    chunks = [{"id": place, "chunk": text} for place, text in enumerate(facts.get("chunks", ()))]
    return {"context": chunks, **facts, _LAST_ATTEMPT: is_last}


def _checked_id(noun: str, count_in: Callable[[Mapping[str, Any]], int]) -> AfterValidator:
    def check(number: int, info: ValidationInfo) -> int:
        facts = facts_of(info)
        if facts is not None and not 0 <= number < count_in(facts):
            raise _no_such(noun, number, count_in(facts))
        return number

    return AfterValidator(check)


def _no_such(noun: str, number: int, count: int) -> ValueError:
    there_are = f"ids run from 0 to {count - 1}" if count else f"there are no {noun}s"
    return ValueError(f"{noun} id {number} does not exist; {there_are}")


ChunkId = Annotated[int, _checked_id("chunk", lambda facts: facts["chunk_count"])]
"""Index of a chunk in the context, from 0; a nonexistent id in a reply leads to a re-ask."""

SentenceId = Annotated[int, _checked_id("sentence", lambda facts: len(facts["sentences"]))]
"""Index of a sentence in the answer, from 0; a nonexistent id in a reply leads to a re-ask."""


_CHUNK_ID_FIELDS = frozenset({"chunk_id", "chunk_ids", "supporting_chunk_ids"})


@cache
def names_chunks(model: type[BaseModel]) -> bool:
    """True if a model has a field with a usual name for chunk ids, such as `chunk_ids`."""
    schema = model.model_json_schema(by_alias=False)
    places = [schema, *schema.get("$defs", {}).values()]
    return any(not _CHUNK_ID_FIELDS.isdisjoint(place.get("properties", ())) for place in places)


def check_chunk_ids(reply: BaseModel, facts: Mapping[str, Any] | None) -> None:
    """Raise `ValidationError`, listing every fault, if chunk ids in a reply do not exist.

    Only fields in `_CHUNK_ID_FIELDS` are checked. `facts` is None if no judge was called.
    """
    if facts is None or "chunk_count" not in facts or not names_chunks(type(reply)):
        return
    count = facts["chunk_count"]
    faults: list[InitErrorDetails] = [
        {
            "type": "value_error",
            "loc": place,
            "input": number,
            "ctx": {"error": _no_such("chunk", number, count)},
        }
        for place, number in _named_chunks(reply, ())
        if not 0 <= number < count
    ]
    if faults:
        raise ValidationError.from_exception_data(type(reply).__name__, faults)


def _named_chunks(value: Any, place: tuple[int | str, ...]) -> Iterator[tuple[Any, int]]:
    """Yield the chunk ids at any depth of a reply, each with its path."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, BaseModel):
        parts = vars(value).items()
    elif is_dataclass(value):
        parts = [(one.name, getattr(value, one.name)) for one in fields(value)]
    elif isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = enumerate(value)
    is_id = any(name in _CHUNK_ID_FIELDS for name in place[-2:])
    if is_id and isinstance(value, int) and not isinstance(value, bool):
        yield place, value
    for name, inner in parts:
        yield from _named_chunks(inner, (*place, name))


def _not_empty(statement: str, info: ValidationInfo) -> str:
    if facts_of(info) is not None and not statement.strip():
        raise ValueError("a statement is empty; every statement must contain text")
    return statement


StatementText = Annotated[str, AfterValidator(_not_empty)]
"""The text of one claim; an empty string in a reply leads to a re-ask."""


def check_each_once(
    things: str,
    given: Iterable[Name],
    wanted: Collection[Name],
    *,
    missing: str = "have no verdict",
    repeated: str = "have two verdicts",
    wish: str = "",
) -> None:
    """Reject a reply unless `given` contains each item of `wanted` exactly once.

    The error message has `things` (a plural noun), the faulty items, what is wrong, and `wish`.
    """
    counts = Counter(given)
    for faulty, fault in (
        ([name for name in wanted if name not in counts], missing),
        ([name for name in counts if name not in wanted], "do not exist"),
        ([name for name, times in counts.items() if times > 1], repeated),
    ):
        if faulty:
            raise ValueError("; ".join(filter(None, (f"{things} {faulty} {fault}", wish))))


SampleField = Literal["question", "answer", "context", "reference"]
"""Fields of a sample that a grader may show to a judge."""


def required_fields(model: type[BaseModel]) -> tuple[SampleField, ...]:
    """Return the fields of a sample that a response model requires.

    A model may list them in `requires`. By default, models with statements or chunk ids require
    the answer and the context; other models require only the answer.
    """
    if any("requires" in vars(each) for each in model.__mro__ if each is not Result):
        return model.requires  # type: ignore[attr-defined, no-any-return]  # checked above
    reads_chunks = "statements" in model.model_fields or names_chunks(model)
    return ("answer", "context") if reads_chunks else ("answer",)


def _require_every_property(schema: dict[str, Any]) -> None:
    """Mark every field as required, even if it has a default."""
    properties = schema.get("properties", {})
    for entry in properties.values():
        entry.pop("default", None)
        # Schema titles repeat the field names and cost tokens in every call.
        entry.pop("title", None)
    schema["required"] = list(properties)
    # Docstrings are for people; the judge reads the prompt and the field descriptions.
    for name in ("title", "description"):
        schema.pop(name, None)


Tallies = Mapping[str, tuple[int, int]]
"""Counts and totals by name, such as `{"contradicted": (1, 4)}`; a run adds them up."""


class JudgeModel(BaseModel):
    """A model filled in by a judge; a reply must contain every field, even those with defaults.

    In Python, the defaults apply, so results can be created by hand.
    """

    model_config = ConfigDict(json_schema_extra=_require_every_property)

    # Type checkers would otherwise take the arguments from this method, not from the fields.
    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            """Reject unknown keywords; replies and stored results skip this check.

            A class that configures `extra` or has a "before" validator may accept more keywords.
            """
            known = _keywords(type(self))
            if known is not None:
                require_known(type(self).__name__, values, known)
            super().__init__(**values)

        # Without this marker, pydantic would call the method above to validate every reply.
        __init__.__pydantic_base_init__ = True

    @model_validator(mode="after")
    def _filled(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None:
            wanted, given = fields_of_judge(type(self)), self.model_fields_set
            if not given >= wanted.keys():
                missing = [name for name in wanted if name not in given]
                raise ValueError(f"missing: {', '.join(missing)}")
        return self


@cache
def fields_of_judge(model: type[BaseModel]) -> Mapping[str, object]:
    """Return the fields filled in by the judge, by name; the others are set by code."""
    return {
        name: field
        for name, field in model.model_fields.items()
        if not any(type(mark).__name__ == "SkipJsonSchema" for mark in field.metadata)
    }


@cache
def _keywords(model: type[BaseModel]) -> Sequence[str] | None:
    """Return the keywords that a constructor accepts; None if the class handles unknown ones."""
    validators = model.__pydantic_decorators__.model_validators.values()
    if model.model_config.get("extra") or any(each.info.mode != "after" for each in validators):
        return None
    # An alias may be a path into a value, so unknown names cannot be detected.
    if any(entry.validation_alias is not None for entry in model.model_fields.values()):
        return None
    return list(model.model_fields)


def _given_in_a_reply(value: str | None, info: ValidationInfo) -> str | None:
    if value is None and facts_of(info) is not None:
        raise ValueError("reasoning is null; give it in words")
    return value


Reasoning = Annotated[
    str | None, AfterValidator(_given_in_a_reply), WithJsonSchema({"type": "string"})
]
"""Reasoning before a verdict: required from a judge, None by default in Python."""


def _or_empty(items: Any) -> Any:
    return [] if items is None else items


class _NullIsEmpty:
    """Reads `null` as an empty list; the schema still requires a list."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        # A "before" validator would make pydantic read strict replies as Python instead of JSON.
        nullable = core_schema.nullable_schema(handler(source))
        return core_schema.no_info_after_validator_function(_or_empty, nullable)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        of_list, _null = handler(schema)["anyOf"]
        return of_list  # type: ignore[no-any-return]  # JSON


T = TypeVar("T")

ByCode = Annotated[T, SkipJsonSchema()]
"""A field set by code; the judge does not see it."""

OptionalList = Annotated[list[T], _NullIsEmpty()]
"""A list that may be empty; None is read as an empty list in replies and in Python."""


class Result(JudgeModel):
    """The result of a grader.

    A subclass must not define a field with the same name as one of the properties below.

    Attributes:
        requires: Fields that a sample must have.
        accepts: Optional fields, shown to the judge if the sample has them.
        numbered_sentences: True if the prompt shows the answer as numbered sentences.
    """

    requires: ClassVar[tuple[SampleField, ...]] = ("answer",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "context", "reference")
    numbered_sentences: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        kinds = property, cached_property
        own = {name for name, value in vars(Result).items() if isinstance(value, kinds)}
        for name in sorted(declared & own):
            raise ConfigurationError(
                f"{cls.__name__} has a field {name!r}, but {name!r} is a property of every Result; "
                f"rename the field, as in 'own_{name}'"
            )

    @property
    @abstractmethod
    def score(self) -> float:
        """A number from 0 to 1, computed from the labels; higher is better."""

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """Why the score is not valid, or None if it is."""
        return None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The decisions shown in reports and tables, and used for labels and agreement.

        By default, they are derived from the model's only list of labelled items; see
        `rag_evals.core.finding.default_findings`.
        """
        return default_findings(self)

    @property
    def warnings(self) -> list[str]:
        """Oddities in the reply that are not errors."""
        return []

    @property
    def tallies(self) -> Tallies:
        """Counts and totals by name, which a run adds up in addition to the score."""
        return {}

    @property
    def further_scores(self) -> Mapping[str, float]:
        """Additional metrics by name, from 0 to 1, excluding those that do not apply.

        A run reports the mean and confidence interval of each.
        """
        return {}

    @property
    def ranking_score(self) -> float | None:
        """A number from 0 to 1 that ranks rows more finely than the score, or None."""
        return None

    @cached_property
    def decided_by(self) -> str | None:
        """The judge, such as `embedded` or `openai/gpt-4o-mini`; None if created by hand.

        It is not a field, so the judge does not fill it in, and equality ignores it.
        """
        return None

    def _ending(self, say: Phrases) -> str:
        if (reason := self.not_scorable) is None:
            return f"score={self.score:.2f}"
        status = say.named("statuses", "not_scorable")
        return say("notebook.ended", status=status, why=say.reason(reason))

    def __repr__(self) -> str:
        try:
            rest = f"{self._ending(phrases())}; {findings_line(self.findings) or 'no findings'}"
            rest += "" if self.decided_by is None else f"; judge: {self.decided_by}"
        except Exception:  # noqa: BLE001 - an error in a user's score must not hide the result
            return super().__repr__()
        return f"{type(self).__name__}({rest})"

    def __str__(self) -> str:
        try:
            say = phrases()
            warned = [say("notebook.warning", text=one) for one in self.warnings]
            return "\n".join([repr(self), *findings_lines(self.findings), *warned])
        except Exception:  # noqa: BLE001 - as above
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        """Return coloured findings for a notebook; None if they cannot be computed."""
        try:
            say = notebook_phrases()
            counted = findings_line(self.findings, say)
            if self.not_scorable is None:
                head = say("notebook.score", score=say.number(self.score), findings=counted)
            else:
                head = "; ".join(filter(None, (self._ending(say), counted)))
            # `grade`, which has the chunks, stores a function that finds passages in them.
            passages = vars(self).get("_passage_words")
            return result_html(type(self).__name__, head, self.findings, self.warnings, passages)
        except Exception:  # noqa: BLE001 - an error in a user's score must not hide the result
            return None


def sign_result(result: object, judge: str) -> None:
    """Store the judge's name on a result, outside of the fields that the judge fills in."""
    if judge and isinstance(result, Result) and result.decided_by is None:
        vars(result)["decided_by"] = judge
