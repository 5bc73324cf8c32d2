"""Chunk utility: was each chunk used in the answer?"""

from collections.abc import Callable

import pytest
from pydantic import ValidationError

from rag_evals import ChunkUtility
from rag_evals.score_utility import ChunkUtilityResult
from rag_evals.testing import Script, ScriptedJudge


def test_the_score_is_the_used_share(scripted: Callable[[Script], ScriptedJudge]) -> None:
    """One of two chunks went into the answer."""
    judge = scripted(
        {
            "chunks": [
                {"chunk_id": 0, "reasoning": "The place.", "is_used": True},
                {"chunk_id": 1, "reasoning": "Nothing.", "is_used": False},
            ]
        }
    )
    result = ChunkUtility.grade(answer="In Paris.", context=["Paris.", "Rome."], client="openai/m")

    assert result.score == 0.5
    assert judge.requests[0].answer == "In Paris."


@pytest.mark.parametrize(
    ("ids", "fault"),
    [
        ([0], r"chunks \[1\] are not graded"),
        ([0, 1, 1], r"chunks \[1\] are graded twice"),
        ([0, 2], "chunk id 2 does not exist"),
    ],
)
def test_every_chunk_is_labelled_once(ids: list[int], fault: str) -> None:
    """A chunk left out, repeated or invented is named."""
    chunks = [{"chunk_id": n, "reasoning": "r", "is_used": True} for n in ids]

    with pytest.raises(ValidationError, match=fault):
        ChunkUtilityResult.model_validate({"chunks": chunks}, context={"chunk_count": 2})


def test_no_chunks_score_zero() -> None:
    """A result written by hand may be empty."""
    assert ChunkUtilityResult(chunks=[]).score == 0.0
