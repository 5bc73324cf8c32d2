"""Chunk precision: labels each retrieved chunk as relevant to the question or not."""

from typing import ClassVar

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import ChunkId, JudgeModel, Reasoning, SampleField
from rag_evals.prompt import Prompt
from rag_evals.response_models.rubrics import PerChunkResult

__all__ = ["ChunkPrecision", "ChunkPrecisionResult", "GradedChunk"]


class GradedChunk(JudgeModel):
    id_chunk: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(
        default=None,
        description="What in the chunk helps to answer the question, or why nothing does.",
    )
    score: bool = Field(description="True when the chunk is relevant to the question.")


class ChunkPrecisionResult(PerChunkResult):
    """The chunks that are relevant to the question."""

    requires: ClassVar[tuple[SampleField, ...]] = ("question", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ()
    word: ClassVar[str] = "relevant"
    labels_in: ClassVar[tuple[str, str, str]] = ("graded_chunks", "id_chunk", "score")

    graded_chunks: list[GradedChunk] = Field(description="Every chunk exactly once.")

    @property
    def avg_score(self) -> float:
        return self.score


ChunkPrecision = ContextEvaluation(
    prompt=Prompt.shipped("score_precision"), response_model=ChunkPrecisionResult
)
"""The share of the retrieved chunks that are relevant to the question."""
