"""What a reply of a judge must hold, and what a result says of itself."""

from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, model_validator

from rag_evals import Result
from rag_evals.core import ChunkId, OptionalList, Reasoning, SentenceId, StatementText, facts_for
from rag_evals.core.result import (
    JudgeModel,
    check_chunk_ids,
    check_each_once,
    facts_of,
    is_last_attempt,
    names_chunks,
    required_fields,
    sign_result,
)
from rag_evals.errors import ConfigurationError, UnknownArgumentError
from rag_evals.response_models import FaithfulnessResult, PassFailResult

FACTS: dict[str, Any] = {"chunk_count": 2, "chunks": ["a", "b"], "sentences": ["x", "y", "z"]}


class Told(BaseModel):
    """Keeps what its validator was told of a call."""

    facts: Any = None
    is_last: Any = None

    @model_validator(mode="after")
    def _tell(self, info: ValidationInfo) -> "Told":
        self.facts, self.is_last = facts_of(info), is_last_attempt(info)
        return self


def test_the_facts_of_a_call_number_its_chunks_from_nought() -> None:
    """Whatever else the call says is there too, and whether no other attempt follows."""
    chunks = [{"id": 0, "chunk": "a"}, {"id": 1, "chunk": "b"}]
    for last in (True, False):
        facts = facts_for(FACTS, is_last=last)
        assert facts == {**FACTS, "context": chunks, "is_last_attempt": last}
        told = Told.model_validate({}, context=facts)
        assert (told.facts, told.is_last) == (facts, last)
    assert facts_for({"chunk_count": 0}, is_last=True)["context"] == []
    for odd in (MappingProxyType(FACTS), FACTS):
        assert Told.model_validate({}, context=odd).facts == FACTS
        assert Told.model_validate({}, context=odd).is_last is False
    other = Told.model_validate({}, context={"is_last_attempt": True})
    assert (other.facts, other.is_last) == (None, False)


class Named(JudgeModel):
    """One of each field that is checked."""

    chunk: ChunkId = 0
    sentence: SentenceId = 0
    text: StatementText = "t"
    reasoning: Reasoning = None
    ids: OptionalList[ChunkId] = Field(default_factory=list)


GIVEN: dict[str, Any] = {"chunk": 1, "sentence": 2, "text": "t", "reasoning": "r", "ids": [0, 1]}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"ids": None}, None),
        ({"reasoning": ""}, None),
        ({"chunk": 2}, "chunk id 2 does not exist; ids run from 0 to 1"),
        ({"chunk": -1}, "chunk id -1 does not exist; ids run from 0 to 1"),
        ({"ids": [0, 2]}, "chunk id 2 does not exist; ids run from 0 to 1"),
        ({"sentence": 3}, "sentence id 3 does not exist; ids run from 0 to 2"),
        ({"sentence": -1}, "sentence id -1 does not exist; ids run from 0 to 2"),
        ({"text": " \n"}, "a statement is empty"),
        ({"reasoning": None}, "reasoning is null; give it in words"),
    ],
)
def test_a_field_of_a_reply_is_checked_in_a_reply_alone(
    changed: dict[str, Any], fault: str | None
) -> None:
    """In Python the same values are taken as they are."""
    given = GIVEN | changed
    own = Named.model_validate(given)
    assert own.ids == (given["ids"] or [])
    assert Named(**given) == own
    if fault is None:
        assert Named.model_validate(given, context=FACTS) == own
        return
    with pytest.raises(ValidationError, match=fault):
        Named.model_validate(given, context=FACTS)


@pytest.mark.parametrize("left", ["chunk", "text", "reasoning", "ids"])
def test_a_reply_leaves_no_field_out(left: str) -> None:
    """Whatever its default is."""
    given = {name: value for name, value in GIVEN.items() if name != left}
    with pytest.raises(ValidationError, match=rf"missing: {left} \["):
        Named.model_validate(given, context=FACTS)
    nothing = {**FACTS, "chunk_count": 0}
    with pytest.raises(ValidationError, match="chunk id 1 does not exist; there are no chunks"):
        Named.model_validate(GIVEN, context=nothing)


class Loose(JudgeModel):
    """Chunk ids in whatever it may hold."""

    chunk_ids: Any = None
    chunk_id: Any = None
    supporting_chunk_ids: Any = None
    other: Any = None


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({"chunk_ids": [0, 2, 1, 7]}, ["chunk_ids.1", "chunk_ids.3"]),
        ({"chunk_ids": (2,)}, ["chunk_ids.0"]),
        ({"chunk_ids": {2}}, ["chunk_ids.0"]),
        ({"chunk_ids": frozenset([-1])}, ["chunk_ids.0"]),
        ({"chunk_ids": {"a": 2}}, ["chunk_ids.a"]),
        ({"chunk_ids": {"a": [9]}}, []),
        ({"chunk_id": 2}, ["chunk_id"]),
        ({"chunk_id": True}, []),
        ({"chunk_id": 5.0}, []),
        ({"supporting_chunk_ids": [3]}, ["supporting_chunk_ids.0"]),
        ({"other": [{"chunk_id": 9}, {"ids": 9}]}, ["other.0.chunk_id"]),
        ({"other": Named(chunk=9)}, []),
    ],
)
def test_chunk_ids_are_known_by_the_names_of_their_fields(
    given: dict[str, Any], places: list[str]
) -> None:
    """At any depth; all that do not exist are named at once."""
    reply = Loose(**given)
    check_chunk_ids(reply, None)
    check_chunk_ids(reply, {"chunks": []})
    check_chunk_ids(Loose(chunk_id=True), {"chunk_count": 0})
    if not places:
        check_chunk_ids(reply, FACTS)
        return
    with pytest.raises(ValidationError) as caught:
        check_chunk_ids(reply, FACTS)
    assert [".".join(map(str, one["loc"])) for one in caught.value.errors()] == places


@pytest.mark.parametrize(
    ("given", "wanted", "fault"),
    [
        ([0, 1, 2], range(3), None),
        ([2, 0, 1], [0, 1, 2], None),
        ([0, 2], range(3), "things [1] lack; please"),
        ([0, 1, 2, 3, 5], range(3), "things [3, 5] do not exist; please"),
        ([0, 1, 1, 2], range(3), "things [1] twice; please"),
        ([0, 0, 7], range(3), "things [1, 2] lack; please"),
        (["b", "b", "c"], ["b"], "things ['c'] do not exist; please"),
        ([], [], None),
    ],
)
def test_each_is_given_once(given: list[Any], wanted: Any, fault: str | None) -> None:
    """What is missing is told first, then what there is not, then what came twice."""
    words = {"missing": "lack", "repeated": "twice", "wish": "please"}
    if fault is None:
        check_each_once("things", given, wanted, **words)
        return
    with pytest.raises(ValueError, match=r"^things") as caught:
        check_each_once("things", given, wanted, **words)
    assert str(caught.value) == fault


def test_what_a_model_needs_is_what_it_says_or_shows() -> None:
    """One about statements or chunks needs the chunks, any other the answer alone."""

    class Plain(Result):
        label: bool

        @property
        def score(self) -> float:
            return 1.0

    class Stating(Plain):
        statements: list[str]

    class Citing(Plain):
        parts: list[Loose]

    class Saying(Citing):
        requires = ("question",)

    class Below(Saying):
        more: int = 0

    assert required_fields(Plain) == ("answer",)
    assert required_fields(Stating) == required_fields(Citing) == ("answer", "context")
    assert required_fields(Saying) == required_fields(Below) == ("question",)
    assert (names_chunks(Plain), names_chunks(Citing)) == (False, True)


@pytest.mark.parametrize(
    "name", ["decided_by", "further_scores", "ranking_score", "tallies", "warnings"]
)
def test_what_every_result_says_is_no_field(name: str) -> None:
    """Whether it is worked out once or each time."""
    with pytest.raises(ConfigurationError, match=f"has a field '{name}'"):
        type("Own", (Result,), {"__annotations__": {name: str}, "__module__": __name__})


def test_a_result_is_signed_once() -> None:
    """By a judge with a name; what it says is no part of its value."""
    one, other = (PassFailResult(passed=True) for _ in range(2))
    sign_result(one, "")
    assert repr(one) == repr(other)
    sign_result(one, "first")
    sign_result(one, "second")
    assert (one.decided_by, other.decided_by) == ("first", None)
    assert one == other
    assert repr(one) == "PassFailResult(score=1.00; 1 passed; judge: first)"
    assert repr(other) == "PassFailResult(score=1.00; 1 passed)"
    sign_result(FACTS, "first")
    empty = FaithfulnessResult(statements=[])
    assert repr(empty) == "FaithfulnessResult(not scorable: no_statements; no findings)"


class Wrapped(JudgeModel):
    """Its validator may read other names."""

    text: str = "t"

    @model_validator(mode="wrap")
    @classmethod
    def _any(cls, given: Any, handler: Any) -> Any:
        return handler({"text": given.get("said", "t")})


class Aliased(JudgeModel):
    """One of its fields has another name."""

    text: str = Field(validation_alias="said")
    number: int = 0


class Checked(JudgeModel):
    """Its validator sees the fields last."""

    text: str = "t"

    @model_validator(mode="after")
    def _fine(self) -> "Checked":
        return self


def test_unknown_keywords_are_taken_where_something_may_read_them() -> None:
    """Else they are misspelt."""
    assert Wrapped(said="a").text == "a"  # type: ignore[call-arg]  # read by its validator
    assert Aliased(said="a", odd=1).text == "a"  # type: ignore[call-arg]  # as above
    with pytest.raises(UnknownArgumentError, match="no argument 'said'"):
        Checked(said="a")  # type: ignore[call-arg]  # a mistake
