"""Chunk precision: every chunk graded exactly once, the score is the relevant share."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import ChunkPrecision, Sample
from rag_evals.errors import ConfigurationError, JudgeOutputError, NotScorableError
from rag_evals.score_precision import ChunkPrecisionResult, GradedChunk
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]


def chunk(chunk_id: int, *, relevant: bool = True) -> dict[str, Any]:
    """Return one graded chunk as a judge would send it."""
    return {"id_chunk": chunk_id, "reasoning": "It names the tower.", "score": relevant}


def test_the_score_is_the_relevant_share(scripted: Start) -> None:
    """One of two chunks is relevant; `avg_score` is the same number."""
    judge = scripted({"graded_chunks": [chunk(0), chunk(1, relevant=False)]})
    result = ChunkPrecision.grade(**EIFFEL, client="openai/m")

    assert result.score == result.avg_score == 0.5
    assert result.graded_chunks[0].id_chunk == 0
    assert result.graded_chunks[1].score is False
    assert result.graded_chunks[0].reasoning == "It names the tower."
    # Relevance to the question must not be judged by the answer.
    assert judge.requests[0].answer is None


@pytest.mark.parametrize(
    ("ids", "fault"),
    [
        ([0], r"chunks \[1\] are not graded"),
        ([0, 1, 1], r"chunks \[1\] are graded twice"),
        ([0, 1, 2], "chunk id 2 does not exist"),
        ([], r"chunks \[0, 1\] are not graded"),
    ],
)
def test_every_chunk_is_graded_exactly_once(scripted: Start, ids: list[int], fault: str) -> None:
    """Missing, repeated and invented chunks are asked again, then an error."""
    judge = scripted({"graded_chunks": [chunk(chunk_id) for chunk_id in ids]})

    with pytest.raises(JudgeOutputError, match=fault):
        ChunkPrecision.grade(**EIFFEL, client="openai/m")
    assert len(judge.requests) == 2


def test_a_result_can_be_written_by_hand() -> None:
    """Outside a call nothing is checked against chunks."""
    assert ChunkPrecisionResult(graded_chunks=[GradedChunk(id_chunk=5, score=True)]).score == 1.0
    assert ChunkPrecisionResult(graded_chunks=[]).score == 0.0


def test_it_needs_a_question_and_a_model() -> None:
    """An empty question is not scorable; the embedded judge has no form of this grader."""
    with pytest.raises(ConfigurationError, match="or use 'faithfulness'"):
        ChunkPrecision.grade(**EIFFEL, client="embedded")
    with pytest.raises(NotScorableError, match="empty_question"):
        next(ChunkPrecision.flow(Sample(context=["c"])))
