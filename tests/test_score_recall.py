"""Context recall: does the context hold what the right answer says?"""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from rag_evals import ContextRecall
from rag_evals.errors import NotScorableError
from rag_evals.score_recall import ContextRecallResult
from rag_evals.testing import Script, ScriptedJudge

Start = Callable[[Script], ScriptedJudge]


def covered(text: str, is_covered: bool = True, *ids: int) -> dict[str, Any]:
    """Return one statement as a judge would send it."""
    return {
        "statement": text,
        "reasoning": "r",
        "supporting_chunk_ids": list(ids),
        "is_covered": is_covered,
    }


def test_the_score_is_the_covered_share(scripted: Start) -> None:
    """Two of the reference's three statements stand in the chunks; the answer is not shown."""
    judge = scripted(
        {
            "statements": [
                covered("Paris.", True, 0),
                covered("1889.", True, 1),
                covered("tall.", False),
            ]
        }
    )
    result = ContextRecall.grade(
        question="q",
        answer="not seen",
        context=["c0", "c1"],
        reference="Paris, 1889, tall.",
        client="openai/m",
    )

    assert result.score == pytest.approx(2 / 3)
    assert judge.requests[0].reference == "Paris, 1889, tall."
    assert judge.requests[0].answer is None
    assert result.warnings == []


def test_a_reference_is_needed(scripted: Start) -> None:
    """Without one there is nothing to look for, and nothing is asked."""
    judge = scripted(None)

    with pytest.raises(NotScorableError) as caught:
        ContextRecall.grade(question="q", context=["c"], client="openai/m")

    assert caught.value.reason == "empty_reference"
    assert judge.requests == []


def test_a_reference_without_claims_is_not_scorable() -> None:
    """The score is 0.0 by rule; the reason says that it means nothing."""
    result = ContextRecallResult(statements=[])

    assert (result.score, result.not_scorable) == (0.0, "no_statements")


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (covered("a", True, 2), "chunk id 2 does not exist"),
        (covered(" "), "a statement is empty"),
    ],
)
def test_a_reply_with_a_fault_is_refused(statement: dict[str, Any], fault: str) -> None:
    """Ids exist and statements have a text."""
    with pytest.raises(ValidationError, match=fault):
        ContextRecallResult.model_validate({"statements": [statement]}, context={"chunk_count": 2})


def test_oddities_are_kept_and_counted() -> None:
    """Covered without ids and not covered with ids are not wrong, only strange."""
    result = ContextRecallResult.model_validate(
        {"statements": [covered("a"), covered("b", False, 0)]}
    )

    assert result.warnings == [
        "statement 0 is covered but cites no chunk",
        "statement 1 is not covered but cites chunks",
    ]
