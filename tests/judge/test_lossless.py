"""What a reply says in another form counts; what it does not say is asked again."""

import datetime
import json
from collections.abc import Callable
from typing import Any, ClassVar, get_args, get_origin

import instructor
import pytest
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator

from rag_evals import Faithfulness, base, catalog
from rag_evals.core import SampleField
from rag_evals.errors import NotScorableError
from rag_evals.grading import two_step as verified
from rag_evals.grading.extract import ExtractionReply
from rag_evals.judge.wire.exchange import prepared, validated
from rag_evals.response_models.rubrics import RatingResult
from rag_evals.score_faithfulness_audited import AuditReply
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import llm
from tests.conftest import EIFFEL, statement
from tests.judge.modes import MODES

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("given", "field", "read"),
    [
        ({"supporting_chunk_ids": None, "is_supported": False}, "supporting_chunk_ids", []),
        ({"supporting_chunk_ids": ["0", "1"]}, "supporting_chunk_ids", [0, 1]),
        ({"supporting_chunk_ids": [1.0]}, "supporting_chunk_ids", [1]),
        ({"is_supported": "true"}, "is_supported", True),
        ({"is_supported": "False"}, "is_supported", False),
        ({"is_supported": "Yes"}, "is_supported", True),
        ({"is_supported": "no"}, "is_supported", False),
    ],
)
def test_a_form_that_loses_nothing_costs_one_call(
    scripted: Start,
    client_of: ClientOf,
    mode: instructor.Mode,
    given: dict[str, Any],
    field: str,
    read: object,
) -> None:
    """`null` for a list is an empty one, "0" is 0, "true" is True: nobody is asked again."""
    judge = scripted([{"statements": [statement(EIFFEL["answer"]) | given]}])
    result = Faithfulness.grade(**EIFFEL, client=client_of(judge, mode), model="m")

    assert len(judge.requests) == 1
    value = getattr(result.statements[0], field)
    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize(
    "given",
    [
        {"supporting_chunk_ids": ["1.5"]},
        {"supporting_chunk_ids": [1.5]},
        {"supporting_chunk_ids": ["first"]},
        {"supporting_chunk_ids": ["²"]},
        {"supporting_chunk_ids": ["9"]},
        {"supporting_chunk_ids": [True]},
        {"supporting_chunk_ids": [None]},
        {"is_supported": "perhaps"},
        {"is_supported": 1},
        {"is_supported": 2},
        {"is_supported": None},
        {"statement": None},
    ],
    ids=str,
)
def test_a_form_that_has_to_be_guessed_is_asked_again(
    scripted: Start, client_of: ClientOf, given: dict[str, Any]
) -> None:
    """No id is "1.5", and "perhaps" and 1 are no verdict: the judge is asked once more."""
    judge = scripted(
        [{"statements": [statement(EIFFEL["answer"]) | given]}, {"statements": [statement()]}]
    )
    Faithfulness.grade(**EIFFEL, client=client_of(judge), model="m")

    assert len(judge.requests) == 2


def test_required_lists_stay_required(scripted: Start, client_of: ClientOf) -> None:
    """`null` for the statements themselves says nothing about the answer: it is asked again."""
    judge = scripted([{"statements": None}, {"statements": [statement()]}])
    Faithfulness.grade(**EIFFEL, client=client_of(judge), model="m")

    assert len(judge.requests) == 2


class Dated(BaseModel):
    """A reply of a user's own, with what JSON can only say as text."""

    day: datetime.date
    pages: tuple[int, ...]
    mark: float
    note: int | None = None


def test_a_users_own_model_is_read_as_json_all_the_same() -> None:
    """What JSON has no form for, such as a day, is still read where another field is mended."""
    read = validated(
        Dated, '{"day": "2026-01-02", "pages": ["3"], "mark": "0.5"}', {"strict": True}
    )

    assert read == Dated(day=datetime.date(2026, 1, 2), pages=(3,), mark=0.5)


@pytest.mark.parametrize(
    ("mark", "read"),
    [('"0.5"', 0.5), ('"-3"', -3.0), ('" 12.25 "', 12.25), ('"7"', 7.0), ("7", 7.0)],
)
def test_a_number_in_quotes_is_the_number(mark: str, read: float) -> None:
    """Whole or not, below nought or not."""
    text = f'{{"day": "2026-01-02", "pages": [3], "mark": {mark}}}'

    assert validated(Dated, text, {"strict": True}).mark == read


@pytest.mark.parametrize("mark", ["half", "1e5", "1_0.5", "٣.5", "nan", "", "1.", "0x1"])
def test_a_word_in_place_of_a_number_is_a_fault(mark: str) -> None:
    """As is every form that has to be guessed."""
    text = f'{{"day": "2026-01-02", "pages": [3], "mark": "{mark}"}}'

    with pytest.raises(ValidationError, match="mark"):
        validated(Dated, text, {"strict": True})


class Listed(BaseModel):
    """A reply with one list, of numbers."""

    numbers: list[int]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[3]", [3]),
        ("[3, 4]", [3, 4]),
        ("[]", []),
        ('[{"numbers": [3]}]', [3]),
        ('{"numbers": [3], "numbers": [3]}', [3]),
    ],
)
def test_a_list_alone_is_the_list_of_the_reply(text: str, numbers: list[int]) -> None:
    """Whatever is in it; an object with the reply's field in a list is the reply."""
    assert validated(Listed, text, {"strict": True}).numbers == numbers


@pytest.mark.parametrize(
    "text",
    [
        '{"properties": {"numbers": [3]}, "type": "object"}',
        '{"Listed": {"numbers": [3]}}',
        '{"listed": [3]}',
        '{"name": "listed", "parameters": {"numbers": [3]}}',
        '{"name": "Listed", "arguments": {"numbers": [3]}}',
    ],
)
def test_a_wrapper_around_a_reply_is_taken_off(text: str) -> None:
    """The schema, the reply's name, or a call of a tool, whatever the call has beside it."""
    assert validated(Listed, text, {"strict": True}).numbers == [3]


@pytest.mark.parametrize(
    "text",
    [
        '{"properties": {"numbers": [3]}, "remark": "or so"}',
        '{"Listed": {"numbers": [3]}, "remark": "or so"}',
        '{"Other": {"numbers": [3]}}',
        '{"name": "other", "arguments": {"numbers": [3]}}',
        '{"type": "object"}',
        '[{"numbers": [3]}, {"numbers": [3]}]',
        '[{"remark": "or so"}]',
        "[[3]]",
        "7",
    ],
)
def test_what_may_be_no_wrapper_is_a_fault(text: str) -> None:
    """Something else that the judge said would be lost, or nobody knows what it said."""
    with pytest.raises(ValidationError):
        validated(Listed, text, {"strict": True})


class Loose(BaseModel):
    """A reply that may leave everything out."""

    numbers: list[int] = []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("{}", []),
        ('{"remark": "or so"}', []),
        ('{"Loose": {"numbers": [3]}}', [3]),
        ('{"loose": {}}', []),
        ("[3]", [3]),
    ],
)
def test_a_wrapper_is_taken_off_where_no_field_is_required(text: str, numbers: list[int]) -> None:
    """Else it would be read as a reply that says nothing."""
    assert validated(Loose, text, {"strict": True}).numbers == numbers


class Item(BaseModel):
    """One of several."""

    note: str


class Noted(BaseModel):
    """A reply whose own note is called as that of its items."""

    items: list[Item]
    note: str | None = None


class Aliased(BaseModel):
    """A reply whose field has another name in JSON."""

    number: int = Field(alias="n")


def test_a_list_is_read_by_the_names_in_json() -> None:
    """An object in it is the reply only if it has all that the reply needs."""
    (item,) = validated(Noted, '[{"note": "x"}]', {"strict": True}).items
    assert item.note == "x"
    whole = validated(Noted, '[{"items": [], "note": "x"}]', {"strict": True})
    assert (whole.items, whole.note) == ([], "x")
    for text in ('[{"n": 7}]', '{"Aliased": {"n": 7}}', '{"n": "7"}'):
        assert validated(Aliased, text, {"strict": True}).number == 7


def test_of_a_calls_arguments_and_parameters_the_arguments_are_read() -> None:
    """The parameters may be the schema."""
    call = '{"name": "Listed", "parameters": {"numbers": [4]}, "arguments": {"numbers": [3]}}'
    assert validated(Listed, call, {"strict": True}).numbers == [3]


@pytest.mark.parametrize(
    ("field", "longest"),
    [("pages", "9" * 15), ("mark", "-12345678.1234567"), ("mark", "0.1234567")],
)
def test_a_number_in_quotes_has_no_more_digits_than_can_be_kept(field: str, longest: str) -> None:
    """15 whole ones, or eight before and seven after the point."""

    def read(number: str) -> Any:
        given = {"day": "2026-01-02", "pages": [3], "mark": 1}
        given[field] = [number] if field == "pages" else number
        return getattr(validated(Dated, json.dumps(given), {"strict": True}), field)

    assert read(longest) == ((int(longest),) if field == "pages" else float(longest))
    for longer in (f"{longest}9", longest.replace("12345678.", "912345678.")):
        if longer != longest:
            with pytest.raises(ValidationError, match=field):
                read(longer)


def test_two_values_under_one_name_are_a_fault() -> None:
    """JSON parsers keep the last one; nobody knows which is meant."""
    twice = '{"numbers": [3], "numbers": [4]}'

    with pytest.raises(ValidationError, match="numbers is given twice, with different values"):
        validated(Listed, twice, {"strict": True})


def test_a_label_in_quotes_is_the_label() -> None:
    """For one of 1 to 5, "4" is 4, also in a reply that was parsed before."""
    reply = prepared(RatingResult, schema_only=False)
    read: Any = reply.model_validate({"reasoning": "r", "label": "4"}, strict=True)

    assert read.value.label == 4


def models() -> list[type[BaseModel]]:
    """Return every shipped model that a judge fills or a grader returns, with those inside."""
    found: dict[type[BaseModel], None] = {}
    waiting: list[Any] = [
        *catalog.RESPONSE_MODELS.values(),
        *(grader.result_model for grader in catalog.GRADERS.values()),
        *(AuditReply, ExtractionReply, llm.VerifierReply),
        verified.VerifiedFaithfulnessResult,
    ]
    while waiting:
        one = waiting.pop()
        waiting.extend(get_args(one))
        if isinstance(one, type(BaseModel)) and one not in found:
            found[one] = None
            waiting.extend(field.annotation for field in one.model_fields.values())
    return list(found)


OPTIONAL_LISTS = [
    (model, name)
    for model in models()
    for name, field in model.model_fields.items()
    if get_origin(field.annotation) is list
    and not field.is_required()
    and name in model.model_json_schema()["properties"]
]


@pytest.mark.parametrize(
    ("model", "name"), OPTIONAL_LISTS, ids=[f"{m.__name__}.{n}" for m, n in OPTIONAL_LISTS]
)
def test_every_optional_list_takes_none_for_empty(model: type[BaseModel], name: str) -> None:
    """In Python, too, None is an empty list; the schema asks for a list and nothing else."""
    validator = model.__pydantic_validator__
    made = validator.validate_assignment(model.model_construct(), name, None)

    assert getattr(made, name) == []
    assert model.model_json_schema()["properties"][name]["type"] == "array"


def test_there_are_optional_lists_to_test() -> None:
    """The search above finds lists of the replies and of the results."""
    names = {f"{model.__name__}.{name}" for model, name in OPTIONAL_LISTS}

    assert {
        "StatementEvaluation.supporting_chunk_ids",
        "ReferenceStatement.supporting_chunk_ids",
        "AuditedClaim.evidence",
        "ExtractionReply.no_claim_sentences",
        "VerifiedFaithfulnessResult.deciders",
    } <= names
    assert len(names) >= 12


def test_users_can_say_optional_list_too(scripted: Start, client_of: ClientOf) -> None:
    """A model of a user's own takes `null` where its field is an `OptionalList`."""
    from rag_evals.core.result import OptionalList, Result

    class Tagged(Result):
        tags: OptionalList[str] = Field(default_factory=list)

        @property
        def score(self) -> float:
            return float(not self.tags)

    judge = scripted([{"tags": None}])
    grader = base.ContextEvaluation(prompt="Tag it.", response_model=Tagged)

    assert grader.grade(answer="a", client=client_of(judge), model="m").tags == []
    assert len(judge.requests) == 1


class _Evidence(BaseModel):
    chunk_id: int
    words: str


class _Claim(BaseModel):
    text: str
    supporting_chunk_ids: list[int]
    evidence: dict[str, _Evidence] = Field(default_factory=dict)


class _Plain(BaseModel):
    """A user's own reply: no base class and no type of ours."""

    statements: list[_Claim]
    chunk_ids: set[int] | None = None


WRONG_IDS: dict[str, dict[str, Any]] = {
    "statements.0.supporting_chunk_ids.1": {
        "statements": [{"text": "a", "supporting_chunk_ids": [0, 7]}]
    },
    "statements.0.evidence.x.chunk_id": {
        "statements": [
            {
                "text": "a",
                "supporting_chunk_ids": [],
                "evidence": {"x": {"chunk_id": 7, "words": ""}},
            }
        ]
    },
    "chunk_ids.0": {"statements": [], "chunk_ids": [7]},
    "statements.0.supporting_chunk_ids.0": {
        "statements": [{"text": "a", "supporting_chunk_ids": ["7"]}]
    },
}


@pytest.mark.parametrize("place", WRONG_IDS)
@pytest.mark.parametrize("way", ["string", "client"])
def test_ids_of_chunks_are_checked_by_name_in_any_model(
    scripted: Start, client_of: ClientOf, place: str, way: str
) -> None:
    """A chunk that was not shown is asked again with its place, also in a plain model."""
    judge = scripted([WRONG_IDS[place], {"statements": [], "chunk_ids": [1]}])
    grader = base.ContextEvaluation(prompt="Judge.", response_model=_Plain)
    client, model = (client_of(judge), "m") if way == "client" else ("openai/m", None)
    result = grader.grade(answer="a", context=["b", "c"], client=client, model=model)

    assert result.chunk_ids == {1}
    said = str(judge.requests[1].body["messages"])
    assert place in said
    assert "chunk id 7 does not exist; ids run from 0 to 1" in said


class _Renamed(BaseModel):
    """Chunk ids that have another name in JSON."""

    chunk_ids: list[int] = Field(validation_alias="sources")


def test_ids_of_chunks_are_checked_where_json_has_another_name(scripted: Start) -> None:
    """The name of the field counts: the wrong id is asked again, and the context is needed."""
    judge = scripted([{"sources": [7]}, {"sources": [1]}])
    grader = base.ContextEvaluation(prompt="Judge.", response_model=_Renamed)
    result = grader.grade(answer="a", context=["b", "c"], client="openai/m")

    assert (grader.requires, result.chunk_ids) == (("answer", "context"), [1])
    assert "chunk id 7 does not exist" in str(judge.requests[1].body["messages"])


def test_a_model_with_statements_is_not_sent_an_empty_context(scripted: Start) -> None:
    """It needs answer and context, unless its `requires` says otherwise."""

    class OfAnswer(_Plain):
        requires: ClassVar[tuple[SampleField, ...]] = ("answer",)

    judge = scripted([{"statements": [], "chunk_ids": None}])
    with pytest.raises(NotScorableError, match="empty_context"):
        base.ContextEvaluation("Judge.", _Plain).grade(answer="a", context=[], client="openai/m")
    assert not judge.requests
    assert base.ContextEvaluation("Judge.", OfAnswer).grade(answer="a", client="openai/m")


@pytest.mark.parametrize("way", ["string", "client"])
def test_validators_read_the_context_as_instructors_do(
    scripted: Start, client_of: ClientOf, way: str
) -> None:
    """`info.context["context"]` is a list of ids and chunks, in one call."""
    seen: list[Any] = []

    class Quoting(BaseModel):
        chunk_ids: list[int]

        @field_validator("chunk_ids")
        @classmethod
        def known(cls, ids: list[int], info: ValidationInfo) -> list[int]:
            if info.context is not None:
                seen.append((info.context["context"], info.context["question"]))
                shown = {chunk["id"] for chunk in info.context["context"]}
                if not shown.issuperset(ids):
                    raise ValueError(f"{ids} are not in {shown}")
            return ids

    judge = scripted([{"chunk_ids": [1]}])
    client, model = (client_of(judge), "m") if way == "client" else ("openai/m", None)
    grader = base.ContextEvaluation(prompt="Judge.", response_model=Quoting)
    grader.grade(question="q", answer="a", context=["b", "c"], client=client, model=model)

    assert seen == [([{"id": 0, "chunk": "b"}, {"id": 1, "chunk": "c"}], "q")]
    assert len(judge.requests) == 1
