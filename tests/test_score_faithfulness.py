"""Faithfulness, asked of a judge and decided by the embedded verifier."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import instructor
import openai
import pytest

from rag_evals import (
    Faithfulness,
    FaithfulnessResult,
    base,
    evaluate,
    load_run,
    open_session,
    stream,
)
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, statement

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]


def test_the_owners_call_works(scripted: Start, client_of: ClientOf) -> None:
    """`Faithfulness.grade(question, answer, context, client)` with an instructor client."""
    client = client_of(scripted({"statements": [statement()]}))
    question, answer, context = EIFFEL["question"], EIFFEL["answer"], EIFFEL["context"]
    grader = base.ContextEvaluation(
        prompt=Faithfulness.prompt, response_model=FaithfulnessResult, model="m"
    )

    assert grader.grade(question, answer, context, client).score == 1.0
    assert Faithfulness.grade(
        question=question, answer=answer, context=context, client=client, model="m"
    ).statements[0].supporting_chunk_ids == [0]


def test_calling_it_names_the_method() -> None:
    """Other tools create an object first."""
    with pytest.raises(TypeError, match="ready to use: call Faithfulness.grade"):
        Faithfulness()


def test_sync_and_async_are_the_same(scripted: Start) -> None:
    """`agrade` sends what `grade` sends and returns what it returns."""
    judge = scripted(None)
    with openai.OpenAI() as sdk:
        expected = Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk), model="m")

    async def grade() -> FaithfulnessResult:
        async with openai.AsyncOpenAI() as sdk:
            client = instructor.from_openai(sdk)
            return await Faithfulness.agrade(**EIFFEL, client=client, model="m")

    assert asyncio.run(grade()) == expected
    assert judge.requests[0].body == judge.requests[1].body


def test_a_question_is_optional(scripted: Start) -> None:
    """Without one, the data block has none."""
    judge = scripted({"statements": [statement()]})
    Faithfulness.grade(answer="a", context=["c"], client="openai/m")

    assert judge.requests[0].question is None
    assert judge.requests[0].chunks == ["c"]


@pytest.mark.parametrize(
    ("row", "score"),
    [
        (
            {
                "question": "When was the first Super Bowl?",
                "answer": "The first Super Bowl was played on Jan 15, 1967.",
                "context": ["The first Super Bowl was played on January 15, 1967."],
            },
            1.0,
        ),
        (EIFFEL, 0.5),
        (
            {
                "answer": "Эйфелева башня стоит в Париже. Её построили в 1923 году.",
                "context": ["Эйфелева башня стоит в Париже.", "Её построили в 1889 году."],
            },
            0.5,
        ),
    ],
)
def test_the_embedded_judge_needs_nothing(row: dict[str, Any], score: float) -> None:
    """No key, no network: the Super Bowl is 1.0, the Eiffel Tower 0.5."""
    assert Faithfulness.grade(**row, client="embedded").score == score
    assert asyncio.run(Faithfulness.agrade(**row, client="embedded")).score == score


def test_the_embedded_judge_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `client=` it decides, unless the environment names another judge."""
    result = Faithfulness.grade(**EIFFEL)
    assert result.statements[0].supporting_chunk_ids == [0]
    assert result.statements[1].supporting_chunk_ids == []
    assert "1923" in str(result.statements[1].reasoning)

    monkeypatch.setenv("RAG_EVALS_JUDGE", "nonsense")
    with pytest.raises(ConfigurationError, match="judge 'nonsense' is neither"):
        Faithfulness.grade(**EIFFEL)


def test_a_judge_that_nobody_named_warns_once_a_process() -> None:
    """With its name and the one word to change, at the caller's line; a named one is silent."""
    script = (
        "import os\n"
        "from rag_evals import Faithfulness, evaluate\n"
        "row = dict(answer='It is 5.', context=['It is 5.'])\n"
        "def ask(**judge):\n"
        "    evaluate([row], progress=False, **judge)\n"
        "    Faithfulness.grade(**row, **judge)\n"
        "ask(client='embedded')\n"
        "os.environ['RAG_EVALS_JUDGE'] = 'embedded'\n"
        "ask()\n"
        "del os.environ['RAG_EVALS_JUDGE']\n"
        "def first():\n"
        "    evaluate([row], progress=False)\n"
        "first()\n"
        "ask()\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stderr

    assert said.count("Warning") == 1
    assert said.startswith("<string>:12: UserWarning: no judge given: using the embedded judge")
    assert "pass client='openai/gpt-4o-mini' to use a model" in said


@pytest.mark.parametrize("judge", ["embedded", "openai/m", "embedded>openai/m"])
def test_every_way_names_who_decided(judge: str, scripted: Start) -> None:
    """One grading, a run, its folder, rows one by one, a session, and a table."""
    scripted(None)

    async def grade() -> FaithfulnessResult:
        return await Faithfulness.agrade(**EIFFEL, client=judge)

    run = evaluate([EIFFEL], client=judge, out="kept", progress=False)
    outcomes = [*run.outcomes, *load_run("kept").outcomes, *stream([EIFFEL], client=judge)]
    with open_session(client=judge) as session:
        outcomes.append(session.grade(EIFFEL))
    results: list[Any] = [one.result for one in outcomes]
    results += [Faithfulness.grade(**EIFFEL, client=judge), asyncio.run(grade())]

    assert {one.decided_by for one in results} == {judge}
    assert {one.judge for one in outcomes} == {one.to_row()["judge"] for one in outcomes} == {judge}
    assert str(run.summary()).startswith(f"judge: {judge}")


def test_a_result_names_who_decided(scripted: Start) -> None:
    """The judge string, or the verifier; equality and JSON do not know it."""
    scripted({"statements": [statement()]})

    graded = Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")
    by_hand = FaithfulnessResult.model_validate(graded.model_dump())

    assert graded.decided_by == "openai/gpt-4o-mini"
    assert repr(graded).endswith("; judge: openai/gpt-4o-mini)")
    assert by_hand.decided_by is None
    assert graded == by_hand
    assert Faithfulness.grade(**EIFFEL, client="embedded@strict").decided_by == "embedded"


def test_an_answer_without_claims_has_no_statements() -> None:
    """The result is empty and not scorable; nothing is invented."""
    result = Faithfulness.grade(answer="I'm sorry, I don't know.", context=["c"])

    assert result.statements == []
    assert result.not_scorable == "no_statements"


def test_a_custom_prompt_cannot_be_embedded() -> None:
    """The embedded judge reads no prompt, and says so instead of ignoring it."""
    custom = base.ContextEvaluation(prompt="My words.", response_model=FaithfulnessResult)

    with pytest.raises(ConfigurationError, match="cannot use 'embedded', which judges"):
        custom.grade(**EIFFEL, client="embedded")


def test_nothing_to_grade_raises_before_any_call(scripted: Start) -> None:
    """No request is paid for when the answer or the context is empty."""
    judge = scripted(None)
    for row in ({"answer": "", "context": ["c"]}, {"answer": "a", "context": []}):
        with pytest.raises(NotScorableError):
            Faithfulness.grade(**row, client="openai/m")  # type: ignore[arg-type]  # rows of a table
        with pytest.raises(NotScorableError):
            Faithfulness.grade(**row, client="embedded")  # type: ignore[arg-type]  # as above

    assert judge.requests == []
