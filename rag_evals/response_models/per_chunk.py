"""What does a judge say of each chunk? One label for each, and what such labels come to."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    Reasoning,
    Result,
    SampleField,
    check_each_once,
    chunk_text,
    facts_of,
    yes_or_no,
)


class LabelledChunk(NamedTuple):
    """One chunk as a judge labelled it.

    Attributes:
        chunk_id: Its place in the context, from 0.
        verdict: Whether it counts towards the score.
        reasoning: The judge's words, or None.
    """

    chunk_id: int
    verdict: bool
    reasoning: str | None


class PerChunkResult(Result):
    """One label for each chunk; a subclass has the list that a judge fills, and reads it.

    Attributes:
        word: What a chunk is that counts towards the score, such as `relevant`.
    """

    word: ClassVar[str]

    @abstractmethod
    def labelled_chunks(self) -> Iterator[LabelledChunk]:
        """Yield the labels in the order of the reply."""

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_each_once(
                "chunks",
                sorted(chunk.chunk_id for chunk in self.labelled_chunks()),
                range(facts["chunk_count"]),
                missing="are not graded",
                repeated="are graded twice",
                wish="grade every chunk exactly once",
            )
        return self

    @property
    def score(self) -> float:
        """Chunks that count divided by all, 0 to 1; 0.0 when there are none."""
        verdicts = [chunk.verdict for chunk in self.labelled_chunks()]
        return sum(verdicts) / len(verdicts) if verdicts else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each chunk with its label."""
        return tuple(
            Finding(
                text=chunk_text(chunk.chunk_id),
                verdict=chunk.verdict,
                label=yes_or_no(self.word, chunk.verdict),
                reasoning=chunk.reasoning,
                chunk_ids=(chunk.chunk_id,),
                about="chunk",
            )
            for chunk in self.labelled_chunks()
        )


class ChunkLabel(JudgeModel):
    """Whether one chunk passes a rubric."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the chunk passes.")


class ChunkLabelsResult(PerChunkResult):
    """Which of the chunks pass a rubric."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "answer", "reference")
    word: ClassVar[str] = "passed"

    labels: list[ChunkLabel] = Field(description="Every chunk exactly once.")

    def labelled_chunks(self) -> Iterator[LabelledChunk]:
        """Yield the labels in the order of the reply."""
        for label in self.labels:
            yield LabelledChunk(label.chunk_id, label.passed, label.reasoning)
