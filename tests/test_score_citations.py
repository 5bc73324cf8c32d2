"""Citation faithfulness: code finds the citations, the judge decides each one once."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import CitationFaithfulness
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.run import evaluate
from rag_evals.score_citations import CitationFaithfulnessResult
from rag_evals.testing import Script, ScriptedJudge

Start = Callable[[Script], ScriptedJudge]
ROW: dict[str, Any] = {
    "answer": "It stands in Paris [1]. It was built in 1889. [2][7] It is tall.",
    "context": ["The tower stands in Paris.", "Built in 1889."],
}


def verdicts(*supported: bool) -> dict[str, Any]:
    """Return one verdict for each citation, in order."""
    return {
        "citations": [
            {"citation_id": n, "reasoning": f"r{n}", "is_supported": is_supported}
            for n, is_supported in enumerate(supported)
        ]
    }


def test_each_citation_is_decided_against_its_own_chunk(scripted: Start) -> None:
    """Marks count from 1; the judge is asked by ids, and a mark without a chunk is not asked."""
    judge = scripted(verdicts(True, False))
    result = CitationFaithfulness.grade(**ROW, client="openai/m")

    assert judge.requests[0].statements == ["sentence 0, chunk 0", "sentence 1, chunk 1"]
    assert judge.requests[0].sentences[1] == "It was built in 1889. [2][7]"
    assert [(c.number, c.chunk_id, c.is_supported) for c in result.citations] == [
        (1, 0, True),
        (2, 1, False),
        (7, None, False),
    ]
    assert [(one.label, one.verdict, one.chunk_ids) for one in result.findings] == [
        ("supported", True, (0,)),
        ("not supported", False, (1,)),
        ("no such chunk", False, ()),
    ]
    assert result.findings[0].text == "It stands in Paris. [1]"
    assert result.citations[0].sentence == "It stands in Paris."
    assert result.citations[1].reasoning == "r1"
    assert result.score == pytest.approx(1 / 3)
    assert result.uncited_sentence_ids == [2]
    assert result.warnings == ["citation [7] in sentence 1 does not match any chunk"]
    assert result.tallies == {"sentences with citations": (2, 3)}


def test_verdicts_in_another_order_stay_with_their_citations(scripted: Start) -> None:
    """The id says which citation a verdict is for."""
    reply = verdicts(True, False)
    scripted({"citations": reply["citations"][::-1]})
    result = CitationFaithfulness.grade(**ROW, client="openai/m")

    assert [(one.reasoning, one.is_supported) for one in result.citations[:2]] == [
        ("r0", True),
        ("r1", False),
    ]


def test_a_judge_cannot_change_what_is_cited(scripted: Start) -> None:
    """It names citations by id: the words of a sentence come from the answer alone."""
    reply = verdicts(True, True)
    for verdict in reply["citations"]:
        verdict |= {"sentence": "It was built in 1923.", "number": 2, "chunk_id": 1}
    scripted(reply)
    result = CitationFaithfulness.grade(**ROW, client="openai/m")

    assert [(c.sentence, c.number, c.chunk_id) for c in result.citations[:2]] == [
        ("It stands in Paris.", 1, 0),
        ("It was built in 1889.", 2, 1),
    ]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (verdicts(True), "citations [1] have no verdict"),
        (verdicts(True, True, True), "citations [2] do not exist"),
        (
            {"citations": verdicts(True, True)["citations"] * 2},
            "citations [0, 1] have two verdicts",
        ),
    ],
)
def test_every_citation_gets_one_verdict(scripted: Start, reply: Any, fault: str) -> None:
    """What is missing, invented or repeated is asked again."""
    judge = scripted([reply, verdicts(True, True)])
    CitationFaithfulness.grade(**ROW, client="openai/m")

    assert fault in str(judge.requests[1].messages[-1]["content"])


def test_no_citations_are_none_that_are_supported() -> None:
    """The score is 0.0 by rule, and does not count."""
    result = CitationFaithfulnessResult(citations=[], sentence_count=3)

    assert (result.score, result.not_scorable) == (0.0, "no_citations")
    assert result.tallies == {"sentences with citations": (3, 3)}


def test_numbers_may_count_from_zero(scripted: Start) -> None:
    """An option says which number cites the first chunk."""
    judge = scripted(verdicts(True))
    from_zero = CitationFaithfulness.with_first_number(0)
    assert from_zero.with_first_number(1).first_number == 1
    result = from_zero.grade(answer="Paris [0].", context=["Paris."], client="openai/m")

    assert result.citations[0].chunk_id == 0
    assert from_zero.fingerprint() != CitationFaithfulness.fingerprint()
    assert len(judge.requests) == 1
    with pytest.raises(ConfigurationError, match="first_number is 2"):
        CitationFaithfulness.with_first_number(2)  # type: ignore[arg-type]  # a user's mistake


@pytest.mark.parametrize(
    ("first", "ids"), [(1, [None, 0, 1, None, None]), (0, [0, 1, None, None, None])]
)
def test_only_numbers_of_chunks_are_asked_about(
    scripted: Start, first: Any, ids: list[int | None]
) -> None:
    """Of two chunks neither one before the first nor one behind the last."""
    judge = scripted(verdicts(True, True))
    answer = "A [0]. B [1]. C [2]. D [3]. E [9]."
    grader = CitationFaithfulness.with_first_number(first)
    result = grader.grade(answer=answer, context=["a", "b"], client="openai/m")

    assert [one.chunk_id for one in result.citations] == ids
    assert len(judge.requests[0].statements) == 2
    assert result.score == 2 / 5


def test_citations_without_a_context_are_not_scorable(scripted: Start) -> None:
    """Nothing is asked of an empty context."""
    judge = scripted(None)
    with pytest.raises(NotScorableError, match="empty_context"):
        CitationFaithfulness.grade(answer="It is [1].", context=[], client="openai/m")

    assert judge.requests == []


def test_an_answer_without_citations_is_not_scorable(scripted: Start) -> None:
    """Nothing is asked, and the row is counted with its reason; so are marks without a chunk."""
    judge = scripted(None)
    run = evaluate(
        [{"answer": "It is.", "context": ["c"]}, {"answer": "It is [9].", "context": ["c"]}],
        [CitationFaithfulness],
        "openai/m",
    )

    assert [o.reason for o in run.outcomes] == ["no_citations", None]
    assert run.outcomes[1].score == 0.0
    assert judge.requests == []


def test_a_sentence_that_cites_no_chunk_there_is_cites_all_the_same(scripted: Start) -> None:
    """Its citation is wrong, and it is not counted among those without one."""
    judge = scripted(None)
    answer = "It is red [7]. It is old. It is big [1][2]."
    result = CitationFaithfulness.grade(answer=answer, context=["It is big."], client="openai/m")

    assert [(one.sentence_id, one.number, one.chunk_id) for one in result.citations] == [
        (0, 7, None),
        (2, 1, 0),
        (2, 2, None),
    ]
    assert (result.uncited_sentence_ids, result.sentence_count) == ([1], 3)
    assert result.tallies == {"sentences with citations": (2, 3)}
    assert result.warnings == [
        "citation [7] in sentence 0 does not match any chunk",
        "citation [2] in sentence 2 does not match any chunk",
    ]
    assert [one.label for one in result.findings][::2] == ["no such chunk"] * 2
    assert result.score == sum(one.is_supported for one in result.citations) / 3
    assert len(judge.requests) == 1
    assert CitationFaithfulness.with_first_number(0).fingerprint() != (
        CitationFaithfulness.fingerprint()
    )
