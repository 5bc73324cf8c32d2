"""Was each retrieved chunk used in the answer? One label for each chunk."""

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

__all__ = ["ChunkUse", "ChunkUtility", "ChunkUtilityResult"]


class ChunkUse(JudgeModel):
    """One chunk and whether the answer uses it."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(
        default=None, description="Which words of the answer come from the chunk, or that none do."
    )
    is_used: bool = Field(description="True when something in the answer comes from the chunk.")


class ChunkUtilityResult(Result):
    """Which of the chunks the answer uses."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    chunks: list[ChunkUse] = Field(description="Every chunk exactly once.")

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_every_chunk_once([chunk.chunk_id for chunk in self.chunks], facts)
        return self

    @property
    def score(self) -> float:
        """Chunks used divided by all, 0 to 1; 0.0 when there are none."""
        return sum(c.is_used for c in self.chunks) / len(self.chunks) if self.chunks else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each chunk, used or not."""
        return tuple(
            Finding(
                text=chunk_text(chunk.chunk_id),
                verdict=chunk.is_used,
                label=yes_or_no("used", chunk.is_used),
                reasoning=chunk.reasoning,
                chunk_ids=(chunk.chunk_id,),
                about="chunk",
            )
            for chunk in self.chunks
        )


ChunkUtility = ContextEvaluation(
    prompt=Prompt.shipped("score_utility"), response_model=ChunkUtilityResult
)
"""The share of the retrieved chunks that the answer uses."""
