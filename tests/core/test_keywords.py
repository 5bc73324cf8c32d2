"""What a caller says counts: an unknown keyword, grader or column is refused."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, model_validator

import rag_evals
from rag_evals import (
    ChunkPrecision,
    ColumnMap,
    Faithfulness,
    FaithfulnessResult,
    Sample,
    base,
    errors,
    evaluate,
    guard_stream,
    guard_sync,
)
from rag_evals.core import fields_of_judge
from rag_evals.core.result import ByCode, JudgeModel
from tests.conftest import EIFFEL

ROW = {"question": "Where?", "answer": "It is in Paris.", "context": ["It is in Paris."]}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public function, constructor and method, with its name."""
    for name in rag_evals.__all__:
        value = getattr(rag_evals, name)
        if inspect.ismodule(value):
            continue
        kind = value if inspect.isclass(value) else type(value)
        if inspect.isfunction(value):
            yield name, value
            continue
        # pydantic checks the fields of its models itself.
        if not issubclass(kind, BaseModel) and "__init__" in vars(kind):
            yield f"{name}()", kind.__init__
        for member, method in inspect.getmembers(kind, inspect.isfunction):
            if not member.startswith("_") and method.__module__.startswith("rag_evals"):
                yield f"{name}.{member}", method


def test_no_public_function_takes_just_anything() -> None:
    """Every keyword stands in the signature, where an editor and a checker see it.

    There, or in the typed dictionary that it unpacks.
    """
    callables = dict(public_callables())
    loose = [
        f"{name}(**{parameter.name})"
        for name, function in callables.items()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
        and "Unpack" not in type(parameter.annotation).__name__
    ]

    assert not loose
    assert {"evaluate", "compare", "Faithfulness.grade", "Sample()", "Run.summary"} <= set(
        callables
    )


def test_an_unknown_setting_is_refused() -> None:
    """What is unpacked is checked when it is given, too."""
    with pytest.raises(errors.ConfigurationError, match="temperatur"):
        Faithfulness.with_settings(temperatur=0.3)  # type: ignore[call-arg]  # a misspelt name


def test_an_unknown_keyword_is_refused() -> None:
    """The call of another tool does not run, and its words lead to ours."""
    wrong: list[tuple[Callable[..., Any], str, str]] = [
        (evaluate, "metrics", "graders=? it accepts data, graders, client, out, on_outcome, model"),
        (evaluate, "judge", "client=?"),
        (Faithfulness.grade, "contexts", "context=? it accepts question, answer, context, client"),
        (partial(guard_sync, "It is.", []), "threshold", "min_support=? it accepts answer, cont"),
    ]
    for function, name, said in wrong:
        with pytest.raises(errors.UnknownArgumentError) as seen:
            function(**{"data": [ROW]} if function is evaluate else {}, **{name: "x"})
        assert f"has no argument {name!r}; did you mean {said}" in str(seen.value)


def test_an_unknown_keyword_of_a_stream_is_refused() -> None:
    """When its first sentence is asked for."""

    async def pieces() -> AsyncIterator[str]:
        yield "It is."

    async def guarded() -> None:
        options: dict[str, Any] = {"threshold": 0.5}
        async for _ in guard_stream(pieces(), [], **options):
            pass

    said = (
        r"guard_stream\(\) has no argument 'threshold'; did you mean min_support=\? it accepts tok"
    )
    with pytest.raises(errors.UnknownArgumentError, match=said):
        asyncio.run(guarded())


class Mixed(JudgeModel):
    """A reply of which code sets two fields."""

    plain: int = 1
    bounded: Annotated[int, Field(ge=0)]
    by_code: ByCode[int] = 0
    both: Annotated[ByCode[int], Field(ge=0)] = 0


class Renamed(JudgeModel):
    """A reply with a field that has another name in JSON."""

    text: str = Field(validation_alias="said")


def test_a_judge_is_asked_for_the_fields_that_code_does_not_set() -> None:
    """Each of them is required, and the schema has no word that costs tokens for nothing."""
    assert list(fields_of_judge(Mixed)) == ["plain", "bounded"]
    assert Mixed.model_json_schema() == {
        "type": "object",
        "properties": {"plain": {"type": "integer"}, "bounded": {"type": "integer", "minimum": 0}},
        "required": ["plain", "bounded"],
    }


@pytest.mark.parametrize("context", [None, 7, "chunk_count", ["chunk_count"], {"own": 1}])
def test_a_context_of_ones_own_is_no_reply_of_a_judge(context: Any) -> None:
    """Fields with a default may then be left out, as in Python; in a reply they may not."""
    assert Mixed.model_validate({"bounded": 3}, context=context).plain == 1
    with pytest.raises(ValueError, match="missing: plain"):
        Mixed.model_validate({"bounded": 3}, context={"chunk_count": 1})


def test_a_model_of_a_reply_refuses_unknown_fields_in_python() -> None:
    """Unless an alias hides which names there are."""
    with pytest.raises(errors.UnknownArgumentError, match="did you mean bounded="):
        Mixed(bounded=1, bonded=2)  # type: ignore[call-arg]  # a misspelt name
    assert Renamed(said="a").text == "a"  # type: ignore[call-arg]  # the name in JSON


class OfEarlier(JudgeModel):
    """A reply with a name that it had before."""

    text: str

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return {"text": given["said"]} if "said" in given else given


def test_a_model_of_a_reply_that_reads_other_names_is_given_them() -> None:
    """A validator that sees the fields first decides which names there are."""
    assert OfEarlier(said="a").text == "a"  # type: ignore[call-arg]  # the earlier name


def test_a_custom_prompt_needs_an_llm() -> None:
    """The error does not name the grader itself as the way out."""
    strict = base.ContextEvaluation(prompt="Be strict.", response_model=FaithfulnessResult)
    with pytest.raises(errors.ConfigurationError) as seen:
        strict.grade("Where?", "It is in Paris.", ["It is in Paris."], "embedded")

    assert "because a custom prompt needs an LLM judge" in str(seen.value)
    assert "use 'faithfulness'" not in str(seen.value)


@pytest.mark.parametrize("graders", ["faithfulness", Faithfulness, [Faithfulness], (Faithfulness,)])
def test_one_grader_needs_no_list(graders: Any) -> None:
    """A name or a grader alone is what is graded."""
    run = evaluate([ROW], graders=graders, client="embedded", progress=False)

    assert [outcome.grader for outcome in run.outcomes] == ["faithfulness"]
    assert run.outcomes[0].score == 1.0


@pytest.mark.parametrize("graders", [FaithfulnessResult, [base.ContextEvaluation], [None], 3])
def test_what_is_no_grader_is_refused(graders: Any) -> None:
    """A class or a number in place of a grader is named, and what would be right."""
    with pytest.raises(errors.ConfigurationError, match="expected a grader, such as Faithfulness"):
        evaluate([ROW], graders=graders)


def test_columns_may_be_a_mapping() -> None:
    """Field and column, a path into a dictionary, or a function of the row."""
    row = {
        "q": {"text": "Where?"},
        "response": "It is in Paris.",
        "docs": "It is in Paris.|It rains.",
    }
    run = evaluate(
        [row],
        columns={
            "question": "q.text",
            "answer": "response",
            "context": lambda row: row["docs"].split("|"),
        },
        client="embedded",
        progress=False,
    )

    assert run.outcomes[0].score == 1.0
    result = run.outcomes[0].result
    assert isinstance(result, FaithfulnessResult)
    assert result.statements[0].supporting_chunk_ids == [0]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"response": "answer"}, "keys must be fields, as in {'answer': 'response'}"),
        ({"answer": 3}, "the source of 'answer' is 3"),
        ({"answer": ""}, "the source of 'answer' is ''"),
        (["answer=response"], "expected a mapping"),
    ],
)
def test_columns_that_cannot_be_are_refused(columns: Any, fault: str) -> None:
    """Nothing is graded with a map that names no field or no source."""
    with pytest.raises(errors.ConfigurationError) as seen:
        evaluate([ROW], columns=columns, client="embedded")

    assert fault in str(seen.value)


def test_a_column_map_stays_what_it_was() -> None:
    """`ColumnMap` is taken as it is."""
    columns = ColumnMap(answer="response")

    assert ColumnMap.of(columns) is columns


def test_a_sample_can_be_graded() -> None:
    """A `Sample` alone says question, answer and context, also when awaited."""
    sample = Sample(**EIFFEL)
    plain = Faithfulness.grade(**EIFFEL, client="embedded")

    assert Faithfulness.grade(sample, client="embedded") == plain
    assert asyncio.run(Faithfulness.agrade(sample, client="embedded")) == plain


def test_a_sample_and_fields_besides_are_refused() -> None:
    """What is in the Sample is not overridden in silence."""
    with pytest.raises(errors.ConfigurationError, match="a Sample is given together with answer"):
        ChunkPrecision.grade(Sample(**EIFFEL), "openai/m")
