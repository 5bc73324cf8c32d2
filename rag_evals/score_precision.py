"""Is each retrieved chunk relevant to the question? One label for each chunk."""

from typing import ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.base import ContextEvaluation
from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    Reasoning,
    Result,
    SampleField,
    check_every_chunk_once,
    chunk_text,
    facts_of,
    yes_or_no,
)
from rag_evals.prompt import Prompt

__all__ = ["ChunkPrecision", "ChunkPrecisionResult", "GradedChunk"]


class GradedChunk(JudgeModel):
    """One chunk and whether it helps to answer the question."""

    id_chunk: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(
        default=None,
        description="What in the chunk helps to answer the question, or why nothing does.",
    )
    score: bool = Field(description="True when the chunk is relevant to the question.")


class ChunkPrecisionResult(Result):
    """Which of the chunks are relevant to the question."""

    requires: ClassVar[tuple[SampleField, ...]] = ("question", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ()

    graded_chunks: list[GradedChunk] = Field(description="Every chunk exactly once.")

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_every_chunk_once([chunk.id_chunk for chunk in self.graded_chunks], facts)
        return self

    @property
    def score(self) -> float:
        """Relevant chunks divided by all, 0 to 1; 0.0 when there are none."""
        if not self.graded_chunks:
            return 0.0
        return sum(chunk.score for chunk in self.graded_chunks) / len(self.graded_chunks)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each chunk, relevant or not."""
        return tuple(
            Finding(
                text=chunk_text(chunk.id_chunk),
                verdict=chunk.score,
                label=yes_or_no("relevant", chunk.score),
                reasoning=chunk.reasoning,
                chunk_ids=(chunk.id_chunk,),
                about="chunk",
            )
            for chunk in self.graded_chunks
        )

    @property
    def avg_score(self) -> float:
        """The same as `score`."""
        return self.score


ChunkPrecision = ContextEvaluation(
    prompt=Prompt.shipped("score_precision"), response_model=ChunkPrecisionResult
)
"""The share of the retrieved chunks that are relevant to the question."""
