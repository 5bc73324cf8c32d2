"""A faithfulness result computes its score, and checks what a judge fills in."""

import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, ValidationError

from rag_evals import FaithfulnessResult, StatementEvaluation
from rag_evals.core.result import JudgeModel, check_chunk_ids
from rag_evals.errors import UnknownArgumentError
from rag_evals.response_models.statements import (
    EXACT,
    ByStatement,
    KeyedVerdict,
    ReplyForm,
    ReplyShape,
    TurnVerdict,
    Unread,
    VerdictUnit,
    keyed_reply,
)

FACTS = {"chunk_count": 2}


def filled(**changes: Any) -> dict[str, Any]:
    """Return a reply with one statement, some of its fields changed."""
    statement = {
        "statement": "Paris is in France.",
        "reasoning": "Chunk 0 says so.",
        "supporting_chunk_ids": [0],
        "is_supported": True,
    }
    return {"statements": [statement | changes]}


def test_the_owners_example_scores_one() -> None:
    """Written by hand, a supported statement needs neither a call nor a reasoning."""
    result = FaithfulnessResult(
        statements=[
            StatementEvaluation(statement="...", is_supported=True, supporting_chunk_ids=[0])
        ]
    )

    assert result.score == 1.0
    assert result.statements[0].reasoning is None


class Loose(StatementEvaluation):
    """A user's class that says what becomes of other names."""

    model_config = ConfigDict(extra="ignore")


def test_a_keyword_that_is_no_field_is_refused() -> None:
    """A typing error loses no chunk ids; replies may hold more, and so may a class that says so."""
    words: dict[str, Any] = {"statement": "s", "is_supported": True, "suporting_chunk_ids": [0]}

    with pytest.raises(UnknownArgumentError, match="did you mean supporting_chunk_ids="):
        StatementEvaluation(**words)
    assert StatementEvaluation.model_validate(words).supporting_chunk_ids == []
    assert FaithfulnessResult.model_validate({"statements": [words]}).score == 1.0
    assert Loose(**words).statement == "s"


def test_no_statements_score_zero_and_are_not_scorable() -> None:
    """The score is 0.0 by rule; the reason says that it means nothing."""
    result = FaithfulnessResult(statements=[])

    assert result.score == 0.0
    assert result.not_scorable == "no_statements"


@given(st.lists(st.booleans(), min_size=1, max_size=50))
def test_the_score_is_the_supported_share(verdicts: list[bool]) -> None:
    """Supported divided by all, whatever the order."""
    result = FaithfulnessResult(
        statements=[StatementEvaluation(statement="s", is_supported=v) for v in verdicts]
    )

    assert result.score == sum(verdicts) / len(verdicts)
    assert len(result.unsupported) == verdicts.count(False)
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"supporting_chunk_ids": [2]}, "chunk id 2 does not exist; ids run from 0 to 1"),
        ({"supporting_chunk_ids": [-1]}, "chunk id -1 does not exist"),
        ({"statement": " \n"}, "a statement is empty"),
        ({"reasoning": None}, "reasoning is null"),
        ({"supporting_chunk_ids": [1.5]}, "valid integer"),
        ({"is_supported": "yes"}, "valid boolean"),
    ],
)
def test_a_reply_with_a_fault_is_refused(changes: dict[str, Any], fault: str) -> None:
    """In a call, every fault is named exactly, for the judge to mend."""
    with pytest.raises(ValidationError, match=fault):
        FaithfulnessResult.model_validate(filled(**changes), strict=True, context=FACTS)


@pytest.mark.parametrize("name", ["statement", "reasoning", "supporting_chunk_ids", "is_supported"])
def test_a_reply_may_leave_nothing_out(name: str) -> None:
    """Defaults are for people; a judge must fill every field."""
    reply = filled()
    del reply["statements"][0][name]

    with pytest.raises(ValidationError, match=name):
        FaithfulnessResult.model_validate(reply, context=FACTS)


def test_the_schema_asks_for_every_field_in_order() -> None:
    """Reasoning and evidence come before the verdict, and no field has a default."""
    schema = FaithfulnessResult.model_json_schema()["$defs"]["StatementEvaluation"]

    assert schema["required"] == list(schema["properties"])
    assert schema["required"].index("reasoning") < schema["required"].index("is_supported")
    assert all("default" not in entry for entry in schema["properties"].values())
    assert schema["properties"]["reasoning"]["type"] == "string"


NO = {"not_supported_because": "not_in_context"}
CLAIM = {"statement": "s", "reasoning": "r", "verdict": NO}


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        (
            {"reasoning": "r", "verdict": {"supported_by": [0], **NO}},
            "give either supported_by, with at least one chunk id, or not_supported_because",
        ),
        ({"reasoning": "r", "verdict": {}}, "give either supported_by"),
        ({"reasoning": "r", "verdict": NO, "claims": [CLAIM]}, "give exactly one of"),
        ({"claims": [CLAIM], "claims_nothing": "a greeting"}, "give exactly one of"),
        ({}, "give exactly one of"),
    ],
)
def test_a_sentence_has_one_verdict_and_one_kind_of_reply(
    sentence: dict[str, Any], fault: str
) -> None:
    """A reply that says two things is asked again; none of the two is chosen."""
    model = keyed_reply(FaithfulnessResult, ReplyShape("claims", 1, 2))

    with pytest.raises(ValidationError, match=fault):
        model.model_validate({"s0": sentence}, context=FACTS | {"sentences": ["s"]})


def reply_schema(unit: VerdictUnit, sentences: int, chunks: int, form: ReplyForm = EXACT) -> Any:
    """Return the schema that a judge is sent."""
    model = keyed_reply(FaithfulnessResult, ReplyShape(unit, sentences, chunks))
    return model.for_host(form).model_json_schema()


def keys_of(schema: Any) -> list[list[str]]:
    """Return the keys of each alternative."""
    assert all(one["required"] == list(one["properties"]) for one in schema["anyOf"])
    return [one["required"] for one in schema["anyOf"]]


def test_a_schema_has_the_alternatives_of_its_unit() -> None:
    """A sentence may be broken into claims only where claims are what is judged."""
    by_claim, by_sentence = (reply_schema(unit, 2, 3) for unit in ("claims", "sentence"))
    whole = reply_schema("answer", 2, 3)
    alone, nothing = ["reasoning", "verdict"], ["claims_nothing"]

    assert keys_of(by_claim["$defs"]["s"]) == [alone, ["claims"], nothing]
    assert keys_of(by_sentence["$defs"]["s"]) == [alone, nothing]
    assert by_claim["required"] == by_sentence["required"] == ["s0", "s1"]
    assert whole["required"] == alone
    for one in (by_claim, by_sentence, whole):
        assert keys_of(one["$defs"]["v"]) == [["supported_by"], ["not_supported_because"]]


def test_a_schema_counts_only_for_a_host_that_reads_counts() -> None:
    """The ids are those of the chunks; lengths, numbers of items and choices are left out."""
    exact, plain = (
        reply_schema("claims", 1, 3, form)
        for form in (EXACT, ReplyForm(counts=False, lengths=False, choices=False))
    )
    exact_ids, plain_ids = (
        one["$defs"]["v"]["anyOf"][0]["properties"]["supported_by"] for one in (exact, plain)
    )
    exact_claims, plain_claims = (
        one["$defs"]["s"]["anyOf"][1]["properties"]["claims"] for one in (exact, plain)
    )

    assert exact_ids["items"] == {"type": "integer", "enum": [0, 1, 2]}
    assert (exact_ids["minItems"], exact_ids["maxItems"]) == (1, 3)
    assert plain_ids == {
        "type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 2}
    }  # fmt: skip
    assert (exact_claims["minItems"], exact_claims["maxItems"]) == (1, 5)
    assert plain_claims.keys() == {"type", "items"}
    assert exact_claims["items"]["properties"]["reasoning"] == {"type": "string", "maxLength": 300}
    assert plain_claims["items"]["properties"]["reasoning"] == {"type": "string"}


@pytest.mark.parametrize(
    ("sentences", "required", "keys"),
    [(1, 1, 1), (8, 8, 8), (9, 9, 10), (10, 9, 10), (13, 13, 16), (16, 13, 16), (31, 31, 40)],
)
def test_a_padded_schema_requires_what_every_answer_of_its_size_has(
    sentences: int, required: int, keys: int
) -> None:
    """The rest may be null; a host that compiles schemas has then few of them to compile."""
    schema = reply_schema("claims", sentences, 8, ReplyForm(padded=True))
    may_be_null = [one for one in schema["properties"].values() if "anyOf" in one]

    assert len(schema["properties"]) == keys
    assert len(may_be_null) == keys - required
    assert all({"type": "null"} in one["anyOf"] for one in may_be_null)


@pytest.mark.parametrize(("chunks", "known"), [(1, 8), (8, 8), (9, None)])
def test_a_padded_schema_names_eight_chunks_or_any(chunks: int, known: int | None) -> None:
    """More than eight are not counted in the schema; the ids are checked afterwards."""
    schema = reply_schema("claims", 1, chunks, ReplyForm(padded=True))
    ids = schema["$defs"]["v"]["anyOf"][0]["properties"]["supported_by"]

    assert ids["items"].get("enum") == (None if known is None else list(range(known)))
    assert ids.get("maxItems") == known


@pytest.mark.parametrize(
    ("ids", "said"),
    [([3], "3"), ([2, 3], "2-3"), ([2, 5, 6, 7, 9], "2, 5-7, 9"), ([0, 1, 2, 4, 5], "0-2, 4-5")],
)
def test_chunks_that_were_not_read_are_named_by_their_spans(ids: list[int], said: str) -> None:
    """Neighbours are one span; the turn is named where there are several."""
    unread = Unread(read=14, passages=60, chunk_ids=ids)

    assert str(unread) == f"read 14 of 60 passages; not read in full: chunks {said}"
    turned = unread.model_copy(update={"turn": 2})
    assert str(turned) == f"read 14 of 60 passages of turn 2; not read in full: chunks {said}"


def test_a_sentence_that_was_left_out_counts_as_unsupported() -> None:
    """The score would else rise with what the judge did not look at; it does not count either."""
    one = StatementEvaluation(statement="s", is_supported=True, supporting_chunk_ids=[0])
    result = FaithfulnessResult(statements=[one, one], left_out=[1, 4])

    assert (result.score, result.not_scorable) == (0.5, "answer_not_covered")
    assert FaithfulnessResult(statements=[one]).not_scorable is None


def by_turns(*counts: tuple[int, int]) -> FaithfulnessResult:
    """Return a result of turns, each with so many statements, so many of them supported."""
    turns = [
        TurnVerdict(turn=number, statements=total, supported=supported)
        for number, (total, supported) in enumerate(counts, 1)
    ]
    return FaithfulnessResult(statements=[], turns=turns)


def test_a_conversation_says_since_when_and_in_how_many_turns() -> None:
    """A turn that claims nothing, or could not be scored, counts for neither."""
    slipping = by_turns((2, 2), (0, 0), (3, 2), (1, 1))
    left_out = slipping.model_copy(deep=True)
    left_out.turns[2].reason = "answer_not_covered"

    assert slipping.unsupported_since == 3
    assert slipping.further_scores == {"supported_turns": pytest.approx(2 / 3)}
    assert left_out.unsupported_since is None
    assert left_out.further_scores == {"supported_turns": 1.0}
    assert by_turns((2, 0)).further_scores == {"supported_turns": 0.0}
    assert by_turns((0, 0)).further_scores == {}
    assert by_turns().unsupported_since is None


class Rated(StatementEvaluation):
    """A statement with one more question to the judge."""

    rating: int


class RatedResult(ByStatement):
    statements: list[Rated]


class SummedResult(FaithfulnessResult):
    """One more question to the judge beside the statements."""

    summary: str


def test_only_a_reply_of_plain_verdicts_is_given_by_sentence() -> None:
    """Any further field would have no place in such a reply, of a statement or beside them."""
    assert FaithfulnessResult.is_keyed()
    assert not RatedResult.is_keyed()
    assert not SummedResult.is_keyed()


def test_a_verdict_of_ones_own_is_not_checked_as_a_judges() -> None:
    """Both or neither is refused in a call only."""
    assert KeyedVerdict().supported_by is None
    assert KeyedVerdict(supported_by=[0], not_supported_because="contradicted").supported_by == [0]
    for both in ({}, {"supported_by": [0], "not_supported_because": "contradicted"}):
        with pytest.raises(ValidationError, match="give either supported_by"):
            KeyedVerdict.model_validate(both, context=FACTS)


def test_a_turn_without_a_score_has_none_whatever_was_supported() -> None:
    """Its reason says why; the share of what was read would mislead."""
    turn = TurnVerdict(turn=1, statements=2, supported=2)

    assert turn.score == 1.0
    assert turn.finding.label == "2 of 2"
    left_out = turn.model_copy(update={"reason": "answer_not_covered"})
    assert (left_out.score, left_out.finding.label) == (None, "answer_not_covered")
    assert TurnVerdict(turn=1).score is None


def test_oddities_are_kept_and_counted() -> None:
    """Supported without ids and unsupported with ids are not wrong, only strange."""
    result = FaithfulnessResult(
        statements=[
            StatementEvaluation(statement="a", is_supported=True),
            StatementEvaluation(statement="b", is_supported=False, supporting_chunk_ids=[1]),
            StatementEvaluation(statement="c", is_supported=False),
        ]
    )

    assert result.warnings == [
        "statement 0 is supported but cites no chunk",
        "statement 1 is not supported but cites chunks",
    ]


@dataclass
class Place:
    """Where something is said."""

    chunk_id: int


class Naming(JudgeModel):
    """A reply that names chunks at any depth."""

    chunk_ids: list[int] = Field(default_factory=list)
    places: list[Place] = Field(default_factory=list)
    by_word: dict[str, tuple[Place, ...]] = Field(default_factory=dict)
    number: int = 9


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("wrong", [-1, 0, 1, 2, 3, 9])
@pytest.mark.parametrize(
    ("named", "place"),
    [
        (lambda one: {"chunk_ids": [one]}, "chunk_ids.0"),
        (lambda one: {"places": [Place(one)]}, "places.0.chunk_id"),
        (lambda one: {"by_word": {"a": (Place(one),)}}, "by_word.a.0.chunk_id"),
    ],
)
def test_a_chunk_that_does_not_exist_is_named_by_its_place(
    named: Any, place: str, wrong: int, count: int
) -> None:
    """Ids are those from 0 to one below their number; other numbers are no ids."""
    reply = Naming(**named(wrong))
    check_chunk_ids(reply, None)
    if 0 <= wrong < count:
        check_chunk_ids(reply, {"chunk_count": count})
        return
    with pytest.raises(ValidationError) as caught:
        check_chunk_ids(reply, {"chunk_count": count})
    (fault,) = caught.value.errors()
    assert ".".join(map(str, fault["loc"])) == place
