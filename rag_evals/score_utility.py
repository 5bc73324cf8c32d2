"""Chunk utility: labels each retrieved chunk as used or not used by the answer."""

from typing import ClassVar

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import ChunkId, JudgeModel, Reasoning, SampleField
from rag_evals.prompt import Prompt
from rag_evals.response_models.rubrics import PerChunkResult

__all__ = ["ChunkUse", "ChunkUtility", "ChunkUtilityResult"]


class ChunkUse(JudgeModel):
    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(
        default=None, description="Which words of the answer come from the chunk, or that none do."
    )
    is_used: bool = Field(description="True when something in the answer comes from the chunk.")


class ChunkUtilityResult(PerChunkResult):
    """The chunks that the answer uses."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    word: ClassVar[str] = "used"
    labels_in: ClassVar[tuple[str, str, str]] = ("chunks", "chunk_id", "is_used")

    chunks: list[ChunkUse] = Field(description="Every chunk exactly once.")


ChunkUtility = ContextEvaluation(
    prompt=Prompt.shipped("score_utility"), response_model=ChunkUtilityResult
)
"""The share of the retrieved chunks that the answer uses."""
