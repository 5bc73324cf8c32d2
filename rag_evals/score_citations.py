"""Checks that each cited chunk supports the citing sentence, for answers with marks such as [1]."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from rag_evals.base import JudgedGrader
from rag_evals.core import (
    Finding,
    Flow,
    JudgeModel,
    OptionalList,
    Reasoning,
    Result,
    Sample,
    SampleField,
    Tallies,
    yes_or_no,
)
from rag_evals.errors import ConfigurationError, NotScorableReason
from rag_evals.grading import require_fields
from rag_evals.prompt import Prompt
from rag_evals.response_models import each_once
from rag_evals.text.citations import CitingSentence, citing_sentences

__all__ = [
    "Citation",
    "CitationFaithfulness",
    "CitationFaithfulnessResult",
    "CitationGrader",
    "CitationsReply",
]


class CitationVerdict(JudgeModel):
    citation_id: int = Field(description="The citation's id, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    is_supported: bool = Field(description="True when that chunk supports the sentence.")


class CitationsReply(JudgeModel):
    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    numbered_statements: ClassVar[bool] = True
    numbered_sentences: ClassVar[bool] = True

    citations: list[CitationVerdict] = Field(description="Every citation exactly once.")

    _every_citation_once = each_once("citations", "citation_id", "citations")


class Citation(JudgeModel):
    """A citation mark in the answer, and whether its chunk supports the sentence.

    Attributes:
        sentence: The sentence, without its marks.
        number: The number in the mark.
        chunk_id: Index of the chunk; None if there is no such chunk.
    """

    sentence_id: int
    sentence: str
    number: int
    chunk_id: int | None = None
    reasoning: Reasoning = None
    is_supported: bool

    @property
    def finding(self) -> Finding:
        label = yes_or_no("supported", self.is_supported)
        return Finding(
            text=f"{self.sentence} [{self.number}]",
            verdict=self.is_supported,
            label="no such chunk" if self.chunk_id is None else label,
            reasoning=self.reasoning,
            chunk_ids=() if self.chunk_id is None else (self.chunk_id,),
            sentence_ids=(self.sentence_id,),
            about="citation",
        )


class CitationFaithfulnessResult(Result):
    """The answer's citations, and whether their chunks support them."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    citations: list[Citation]
    uncited_sentence_ids: OptionalList[int] = Field(default_factory=list)
    sentence_count: int = 0

    @property
    def score(self) -> float:
        """Share of supported citations, 0 to 1; 0.0 if there are no citations."""
        if not self.citations:
            return 0.0
        return sum(c.is_supported for c in self.citations) / len(self.citations)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(citation.finding for citation in self.citations)

    @property
    def not_scorable(self) -> NotScorableReason | None:
        return None if self.citations else "no_citations"

    @property
    def warnings(self) -> list[str]:
        return [
            f"citation [{c.number}] in sentence {c.sentence_id} does not match any chunk"
            for c in self.citations
            if c.chunk_id is None
        ]

    @property
    def tallies(self) -> Tallies:
        cited = self.sentence_count - len(self.uncited_sentence_ids)
        return {"sentences with citations": (cited, self.sentence_count)}


class CitationGrader(JudgedGrader[CitationFaithfulnessResult, CitationsReply]):
    """Finds the citations, and asks the judge whether each cited chunk supports its sentence.

    Attributes:
        first_number: The citation number of the first chunk.
    """

    shapes = (*JudgedGrader.shapes, "first_number")

    def __init__(self, prompt: str | Prompt, *, name: str | None = None) -> None:
        super().__init__(prompt, CitationsReply, CitationFaithfulnessResult, name=name)
        self.first_number = 1

    def with_first_number(self, first_number: Literal[0, 1]) -> Self:
        """Return a copy for answers whose citation numbers start at 0 or 1."""
        if first_number not in (0, 1):
            raise ConfigurationError(f"first_number is {first_number!r}; expected 0 or 1")
        return self._copy_with(first_number=first_number)

    def flow(self, sample: Sample) -> Flow[CitationFaithfulnessResult]:
        """Ask the judge about citations of existing chunks; make no call if there are none."""
        require_fields(sample, self.requires)
        citing = citing_sentences(sample.answer or "")
        sentences = [sentence.text for sentence in citing]
        citations = self._citations(citing, len(sample.context))
        asked = [one for one in citations if one.chunk_id is not None]
        if asked:
            shown = [f"sentence {one.sentence_id}, chunk {one.chunk_id}" for one in asked]
            call = self.call(sample, sentences=sentences, statements=shown)
            (reply,) = yield [call]
            verdicts = sorted(call.read(reply).citations, key=lambda verdict: verdict.citation_id)
            for one, verdict in zip(asked, verdicts, strict=True):
                one.reasoning, one.is_supported = verdict.reasoning, verdict.is_supported
        cited = {one.sentence_id for one in citations}
        return CitationFaithfulnessResult(
            citations=citations,
            uncited_sentence_ids=[n for n in range(len(sentences)) if n not in cited],
            sentence_count=len(sentences),
        )

    def _citations(self, sentences: Sequence[CitingSentence], chunk_count: int) -> list[Citation]:
        """Return the citations, all marked as unsupported until the judge replies."""
        found = []
        for sentence_id, sentence in enumerate(sentences):
            for number in sentence.numbers:
                place = number - self.first_number
                citation = Citation(
                    sentence_id=sentence_id,
                    sentence=sentence.claim,
                    number=number,
                    chunk_id=place if 0 <= place < chunk_count else None,
                    reasoning="no chunk has this number",
                    is_supported=False,
                )
                found.append(citation)
        return found


CitationFaithfulness = CitationGrader(Prompt.shipped("score_citations"))
"""The share of citations whose chunk supports the citing sentence."""
