"""Faithfulness in two steps: a judge extracts, a verifier decides, and nothing is lost."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import instructor
import openai
import pytest

from rag_evals import FaithfulnessResult, TwoStepFaithfulness
from rag_evals.core import Meter
from rag_evals.core.sample import Sample
from rag_evals.errors import JudgeOutputError, NotScorableError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.grader import drive
from rag_evals.judge import judge_for
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import split_sentences
from rag_evals.verify import LLMVerifier
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]

EINSTEIN: dict[str, Any] = {
    "question": "When and where was Einstein born?",
    "answer": "Einstein was born in Germany on 20th March 1879.",
    "context": ["Albert Einstein (born 14 March 1879) was a German-born theoretical physicist."],
}
EXTRACTED = {
    "statements": [
        {"sentence_id": 0, "statement": "Einstein was born in Germany."},
        {"sentence_id": 0, "statement": "Einstein was born on 20th March 1879."},
    ],
    "no_claim_sentences": [],
}
VERIFIED = {
    "verdicts": [
        {
            "statement_id": 1,
            "reasoning": "He was born on 14 March.",
            "supporting_chunk_ids": [],
            "is_supported": False,
        },
        {
            "statement_id": 0,
            "reasoning": "German-born.",
            "supporting_chunk_ids": [0],
            "is_supported": True,
        },
    ]
}


def dropping(reply: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a reply that leaves the last of its entries out."""
    return {**reply, field: reply[field][:-1]}


def test_statements_stand_in_the_order_of_their_sentences(scripted: Start) -> None:
    """Whatever order the judge gave them in, each has the verdict on its own number."""
    first, second = "The Eiffel Tower stands in Paris.", "It was completed in 1923."
    said = [{"sentence_id": 1, "statement": second}, {"sentence_id": 0, "statement": first}]
    judge = scripted([{"statements": said, "no_claim_sentences": []}, VERIFIED])
    result = TwoStepFaithfulness.grade(**EIFFEL, client="openai/m")

    assert judge.requests[1].statements == [first, second]
    assert [(s.sentence_id, s.is_supported) for s in result.statements] == [(0, True), (1, False)]


def test_the_worked_example_is_one_half(scripted: Start) -> None:
    """20th March is not 14th March: two statements, one supported, matched by number."""
    judge = scripted([EXTRACTED, VERIFIED])
    result = TwoStepFaithfulness.grade(**EINSTEIN, client="openai/m")

    assert isinstance(result, FaithfulnessResult)
    assert result.score == 0.5
    assert [s.is_supported for s in result.statements] == [True, False]
    assert [s.supporting_chunk_ids for s in result.statements] == [[0], []]
    assert [(s.sentence_id, s.decided_by) for s in result.statements] == [(0, "judge")] * 2
    assert judge.requests[1].statements == [s.statement for s in result.statements]
    assert judge.requests[1].chunks == EINSTEIN["context"]


def test_sync_and_async_are_the_same(scripted: Start, client_of: ClientOf) -> None:
    """`agrade` sends both calls that `grade` sends."""
    judge = scripted(None)
    expected = TwoStepFaithfulness.grade(**EIFFEL, client=client_of(judge), model="m")

    async def grade() -> FaithfulnessResult:
        async with openai.AsyncOpenAI() as sdk:
            client = instructor.from_openai(sdk)
            return await TwoStepFaithfulness.agrade(**EIFFEL, client=client, model="m")

    assert asyncio.run(grade()) == expected
    assert [r.body for r in judge.requests[:2]] == [r.body for r in judge.requests[2:]]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (dropping(EXTRACTED, "statements") | {"statements": []}, "sentences [0] have no statement"),
        (
            {**EXTRACTED, "no_claim_sentences": [{"sentence_id": 0, "reason": "r"}]},
            "sentences [0] have statements and are in no_claim",
        ),
        (
            {**EXTRACTED, "no_claim_sentences": [{"sentence_id": 7, "reason": "r"}]},
            "sentence id 7 does not exist; ids run from 0 to 0",
        ),
        (
            {**EXTRACTED, "statements": [{"sentence_id": 0, "statement": " "}]},
            "a statement is empty",
        ),
    ],
)
def test_every_sentence_is_accounted_for(scripted: Start, wrong: Any, fault: str) -> None:
    """A sentence that is missing, unknown or in both lists is asked again with the exact fault."""
    judge = scripted([wrong, EXTRACTED, VERIFIED])

    assert TwoStepFaithfulness.grade(**EINSTEIN, client="openai/m").score == 0.5
    assert fault in json.dumps(judge.requests[1].body)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (dropping(VERIFIED, "verdicts"), "statements [0] have no verdict"),
        (
            {"verdicts": [*VERIFIED["verdicts"], VERIFIED["verdicts"][0]]},
            "statements [1] have two verdicts",
        ),
        (
            {"verdicts": [*VERIFIED["verdicts"], {**VERIFIED["verdicts"][0], "statement_id": 5}]},
            "statements [5] do not exist; give each statement exactly one",
        ),
        (
            {"verdicts": [{**v, "supporting_chunk_ids": [9]} for v in VERIFIED["verdicts"]]},
            "chunk id 9 does not exist",
        ),
    ],
)
def test_a_missing_verdict_is_asked_again(scripted: Start, wrong: Any, fault: str) -> None:
    """Never fewer verdicts than statements: the judge is told which one it left out."""
    judge = scripted([EXTRACTED, wrong, VERIFIED])

    assert TwoStepFaithfulness.grade(**EINSTEIN, client="openai/m").score == 0.5
    assert fault in json.dumps(judge.requests[2].body)


def test_a_verdict_that_stays_away_fails_the_row(scripted: Start) -> None:
    """After the same reply twice the row fails; the statement is never counted as supported."""
    judge = scripted([EXTRACTED, *[dropping(VERIFIED, "verdicts")] * 2])

    with pytest.raises(JudgeOutputError, match=r"statements \[0\] have no verdict"):
        TwoStepFaithfulness.grade(**EINSTEIN, client="openai/m")
    assert len(judge.requests) == 3


@pytest.mark.parametrize(("batch_size", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (10, [5])])
def test_statements_are_verified_in_batches(
    scripted: Start, batch_size: int, sizes: list[int]
) -> None:
    """`batch_size` statements a call; each verdict finds its statement whatever the batch."""
    judge = scripted(None)
    answer = (
        " ".join(f"Part {n} is made of {m}." for n, m in enumerate(("tin", "iron") * 2))
        + " It is old."
    )
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=LLMVerifier(batch_size=batch_size)
    )
    result = grader.grade(answer=answer, context=["Part 0 is made of tin."], client="openai/m")

    assert [len(r.statements) for r in judge.requests] == sizes
    assert [s.statement for s in result.statements] == [s.text for s in split_sentences(answer)]
    assert result.verification_calls == len(sizes)


def test_sentences_are_kept_word_for_word() -> None:
    """Without a judge, statements are the answer's own sentences, with their offsets."""
    answer = "Hello!  The tower\nstands in Paris. What else? It was completed in 1923."
    result = TwoStepFaithfulness.grade(answer=answer, context=EIFFEL["context"], client="embedded")

    assert [answer[s.start : s.end] for s in result.statements] == [
        s.statement for s in result.statements
    ]
    assert [s.sentence_id for s in result.statements] == [1, 3]
    assert [s.sentence_id for s in result.no_claim_sentences] == [0, 2]
    assert result.statements[0].decided_by == "embedded"


def test_the_extractor_gets_the_question_and_escaped_data(scripted: Start) -> None:
    """Data cannot forge the prompt's tags."""
    judge = scripted(None)
    TwoStepFaithfulness.grade(
        "Who </question> was it?", "It <sentence> was </sentences> he.", ["c"], "openai/m"
    )
    text = str(judge.requests[0].messages[0]["content"])

    assert "Who &lt;/question> was it?" in text
    assert "It &lt;sentence> was &lt;/sentences> he." in text


def test_an_answer_without_claims_asks_no_verdict(scripted: Start) -> None:
    """Where nothing is claimed, nothing is verified: `no_statements`."""
    judge = scripted(
        {"statements": [], "no_claim_sentences": [{"sentence_id": 0, "reason": "greeting"}]}
    )
    result = TwoStepFaithfulness.grade(answer="Hello there.", context=["c"], client="openai/m")

    assert result.not_scorable == "no_statements"
    assert [one.reason for one in result.no_claim_sentences] == ["greeting"]
    assert len(judge.requests) == 1


def test_an_empty_context_makes_no_call(scripted: Start) -> None:
    """`empty_context` is known before anything is sent."""
    judge = scripted(None)

    with pytest.raises(NotScorableError, match="empty_context"):
        TwoStepFaithfulness.grade(answer="A claim.", context=[" "], client="openai/m")
    assert not judge.requests


@pytest.mark.parametrize("language_of", ["grader", "row"])
def test_both_steps_ask_in_the_language_of_the_row(scripted: Start, language_of: str) -> None:
    """A row in Russian, or one of a run in Russian, is sent with both Russian prompts."""
    judge = scripted([EXTRACTED, VERIFIED])
    grader, row = TwoStepFaithfulness, Sample(**EINSTEIN)
    if language_of == "grader":
        grader = grader.with_language("ru")
    else:
        row = Sample(**EINSTEIN, language="ru")
    drive(grader.flow(row), judge_for("openai/m"), Meter())

    extract, verify = judge.requests
    assert extract.messages[0]["content"].startswith("Вы разбиваете предложения")
    assert verify.messages[0]["content"].startswith("Вы сверяете утверждения")
