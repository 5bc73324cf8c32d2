"""What does a grader return? Models that a judge fills, with a score computed from its labels."""

from abc import abstractmethod
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
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
    """Return what a validator may know of the call, or None when no judge was asked.

    The keys are `question`, `answer`, `reference` (text or None), `chunks` (a list of texts),
    `context` (the same as a list of `{"id": 0, "chunk": "text"}`), `chunk_count`, `sentences`
    (those of the answer, texts) and `criteria` (names); a grader may add its own.
    """
    context = info.context
    # A dict first: this is asked for every field of a reply, and finding out the rest is costly.
    if context is None or not (type(context) is dict or isinstance(context, Mapping)):
        return None
    return context if "chunk_count" in context else None


_LAST_ATTEMPT = "is_last_attempt"


def is_last_attempt(info: ValidationInfo) -> bool:
    """Say whether a reply will not be asked again: what code can mark is then better than nothing.

    True also for a reply that was taken earlier and kept.
    """
    facts = facts_of(info)
    return facts is not None and bool(facts.get(_LAST_ATTEMPT))


def facts_for(facts: Mapping[str, Any], *, is_last: bool) -> dict[str, Any]:
    """Return the facts of a call as validators of one attempt get them."""
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
"""Place of a chunk in the context, from 0; the id of one that was not shown is asked again."""

SentenceId = Annotated[int, _checked_id("sentence", lambda facts: len(facts["sentences"]))]
"""Place of a sentence in the answer, from 0; one that does not exist is asked again."""


_CHUNK_ID_FIELDS = frozenset({"chunk_id", "chunk_ids", "supporting_chunk_ids"})


@cache
def names_chunks(model: type[BaseModel]) -> bool:
    """Say whether a reply names chunks by id, in a field of one of the usual names."""
    schema = model.model_json_schema(by_alias=False)
    places = [schema, *schema.get("$defs", {}).values()]
    return any(not _CHUNK_ID_FIELDS.isdisjoint(place.get("properties", ())) for place in places)


def check_chunk_ids(reply: BaseModel, facts: Mapping[str, Any] | None) -> None:
    """Refuse ids of chunks that were not shown, in any model that names them by a usual name.

    Args:
        reply: What a judge filled, validated.
        facts: Of the call; None where no judge was asked.

    Raises:
        ValidationError: It names each place, for the judge to answer again.
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
    """Yield the ids of chunks in a reply, at any depth, each with the way to it."""
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
        raise ValueError("a statement is empty; every statement needs its text")
    return statement


StatementText = Annotated[str, AfterValidator(_not_empty)]
"""One claim in words; an empty one is asked again."""


def check_each_once(
    things: str,
    given: Iterable[Name],
    wanted: Collection[Name],
    *,
    missing: str = "have no verdict",
    repeated: str = "have two verdicts",
    wish: str = "",
) -> None:
    """Refuse a reply that does not mention each thing exactly once.

    Args:
        things: What they are, in the plural, such as `chunks`.
        given: Names or numbers that the reply has, in the order to show them.
        wanted: Those that it must have, in the order to show them.
        missing: What to say about those that the reply lacks.
        repeated: What to say about those that it has twice.
        wish: What the judge shall do instead; empty where the faults say it.
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
"""The parts of a sample that a grader may show to a judge."""


def required_fields(model: type[BaseModel]) -> tuple[SampleField, ...]:
    """Return the fields of a sample that must not be empty for a response model.

    Those of its `requires`; else answer and context where it has statements or names chunks, and
    the answer for any other.
    """
    if any("requires" in vars(each) for each in model.__mro__ if each is not Result):
        return model.requires  # type: ignore[attr-defined, no-any-return]  # as was just looked at
    reads_chunks = "statements" in model.model_fields or names_chunks(model)
    return ("answer", "context") if reads_chunks else ("answer",)


def _require_every_property(schema: dict[str, Any]) -> None:
    """Tell the judge that no field may be left out, whatever Python code may leave out."""
    properties = schema.get("properties", {})
    for entry in properties.values():
        entry.pop("default", None)
        # The property's own name says it; every call would pay for the repetition.
        entry.pop("title", None)
    schema["required"] = list(properties)
    # Docstrings are for people; what a judge needs is in the prompt and in the fields.
    for name in ("title", "description"):
        schema.pop(name, None)


Tallies = Mapping[str, tuple[int, int]]
"""Parts of wholes by name, such as `{"contradicted": (1, 4)}`; a run adds them up."""


class JudgeModel(BaseModel):
    """A model that a judge fills: in a reply, every field is required, defaults or not.

    In Python the defaults hold, so that a result can be written by hand.
    """

    model_config = ConfigDict(json_schema_extra=_require_every_property)

    # A checker that saw it would no longer read the arguments from the fields.
    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            """Refuse a keyword that is no field; replies and stored results are read without it.

            A class with `extra` in its configuration, or with a validator before its fields, may
            take more.
            """
            known = _keywords(type(self))
            if known is not None:
                require_known(type(self).__name__, values, known)
            super().__init__(**values)

        # Without this mark pydantic would read every reply through the method above.
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
    """Return the fields that a judge fills, by name; code fills the others."""
    return {
        name: field
        for name, field in model.model_fields.items()
        if not any(type(mark).__name__ == "SkipJsonSchema" for mark in field.metadata)
    }


@cache
def _keywords(model: type[BaseModel]) -> Sequence[str] | None:
    """Name what a constructor takes; None where the class itself says what becomes of others."""
    validators = model.__pydantic_decorators__.model_validators.values()
    if model.model_config.get("extra") or any(each.info.mode != "after" for each in validators):
        return None
    # An alias may be a path into a value; whoever writes one knows the names.
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
"""Words before a verdict: required of a judge, None by default in Python."""


def _or_empty(items: Any) -> Any:
    return [] if items is None else items


class _NullIsEmpty:
    """Makes `null` for a list mean an empty one; the schema goes on asking for a list."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        # Not a function before the list: it would have strict replies read as Python, not as JSON.
        nullable = core_schema.nullable_schema(handler(source))
        return core_schema.no_info_after_validator_function(_or_empty, nullable)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        of_list, _null = handler(schema)["anyOf"]
        return of_list  # type: ignore[no-any-return]  # JSON


T = TypeVar("T")

ByCode = Annotated[T, SkipJsonSchema()]
"""A field that code fills; a judge is not asked for it."""

OptionalList = Annotated[list[T], _NullIsEmpty()]
"""A list that may be empty: in a reply and in Python, None is an empty one."""


_RESERVED = {
    "score": "a property that is computed from the labels",
    "findings": "a property that says what was found, one by one",
    "not_scorable": "a property that says why there is no score",
    "warnings": "a property that lists oddities",
    "tallies": "a property that counts parts of wholes",
    "further_scores": "a property that computes further numbers",
    "ranking_score": "a property that ranks rows more finely than the score",
    "decided_by": "a property that names who decided",
}


class Result(JudgeModel):
    """What a grader returns.

    A field of a subclass cannot be named as one of its properties.

    Attributes:
        requires: Fields without which there is nothing to grade.
        accepts: Further fields that the judge sees when the sample has them.
        numbered_sentences: The data block shows the answer sentence by sentence, each with its id.
    """

    requires: ClassVar[tuple[SampleField, ...]] = ("answer",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "context", "reference")
    numbered_sentences: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse fields whose names are taken."""
        super().__init_subclass__(**kwargs)
        declared = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        for name in sorted(_RESERVED.keys() & declared):
            raise ConfigurationError(
                f"{cls.__name__} has a field {name!r}, but {name!r} of a Result is "
                f"{_RESERVED[name]}; rename the field, as in 'own_{name}'"
            )

    @property
    @abstractmethod
    def score(self) -> float:
        """A number from 0 to 1, computed from the labels; higher is better."""

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """Why the score of this result means nothing, or None when it counts."""
        return None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The single findings: reports, tables, labels and agreement read only these.

        Without a property of its own, a model's one list of labelled things is read; see
        `rag_evals.core.finding.default_findings`.
        """
        return default_findings(self)

    @property
    def warnings(self) -> list[str]:
        """Oddities in the reply that are not errors, in words."""
        return []

    @property
    def tallies(self) -> Tallies:
        """Parts of wholes that a run adds up besides the score."""
        return {}

    @property
    def further_scores(self) -> Mapping[str, float]:
        """Further numbers from 0 to 1 besides the score, by name; those that do not apply left out.

        A run has the mean of each, with its interval.
        """
        return {}

    @property
    def ranking_score(self) -> float | None:
        """A number from 0 to 1 that ranks rows more finely than the score; None where none does."""
        return None

    @cached_property
    def decided_by(self) -> str | None:
        """Who decided, such as `embedded` or `openai/gpt-4o-mini`; None for one written by hand.

        It is no field: a judge does not fill it, and results that differ in it alone are equal.
        """
        return None

    def _ending(self, say: Phrases) -> str:
        """The score; why there is none where it does not count, whatever number it is."""
        if (reason := self.not_scorable) is None:
            return f"score={self.score:.2f}"
        status = say.named("statuses", "not_scorable")
        return say("notebook.ended", status=status, why=say.reason(reason))

    def __repr__(self) -> str:
        """One line: the score, and the findings counted; the fields where there is no score."""
        try:
            rest = f"{self._ending(phrases())}; {findings_line(self.findings) or 'no findings'}"
            rest += "" if self.decided_by is None else f"; judge: {self.decided_by}"
        except Exception:  # noqa: BLE001 - what a user's own score raises must not hide the result
            return super().__repr__()
        return f"{type(self).__name__}({rest})"

    def __str__(self) -> str:
        """The same, and a line for each finding and warning."""
        try:
            say = phrases()
            warned = [say("notebook.warning", text=one) for one in self.warnings]
            return "\n".join([repr(self), *findings_lines(self.findings), *warned])
        except Exception:  # noqa: BLE001 - as above
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the findings in colours; None where they cannot be read."""
        try:
            say = notebook_phrases()
            counted = findings_line(self.findings, say)
            if self.not_scorable is None:
                head = say("notebook.score", score=say.number(self.score), findings=counted)
            else:
                head = "; ".join(filter(None, (self._ending(say), counted)))
            # `grade` knows the chunks, and leaves how to find passages in them.
            passages = vars(self).get("_passage_words")
            return result_html(type(self).__name__, head, self.findings, self.warnings, passages)
        except Exception:  # noqa: BLE001 - as above
            return None


def sign_result(result: object, judge: str) -> None:
    """Note on a result who decided; not as a field, which the judge would be asked for."""
    if judge and isinstance(result, Result) and result.decided_by is None:
        vars(result)["decided_by"] = judge
