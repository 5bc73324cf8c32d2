"""Answer relevance: rates three aspects of the answer as no, partly or yes."""

from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import Finding, JudgeModel, Reasoning, Result, SampleField
from rag_evals.prompt import Prompt

__all__ = ["AnswerRelevance", "AnswerRelevanceResult", "AspectEvaluation"]

_VALUES = {"no": 0.0, "partly": 0.5, "yes": 1.0}


class AspectEvaluation(JudgeModel):
    reasoning: Reasoning = Field(
        default=None, description="Why this label, in one or two sentences."
    )
    label: Literal["no", "partly", "yes"] = Field(description="How far the aspect holds.")

    @property
    def value(self) -> float:
        return _VALUES[self.label]

    def finding(self, aspect: str) -> Finding:
        return Finding(
            text=aspect,
            verdict=None,
            label=self.label,
            reasoning=self.reasoning,
            support=self.value,
        )


class AnswerRelevanceResult(Result):
    """How well the answer addresses the question, regardless of whether it is true."""

    requires: ClassVar[tuple[SampleField, ...]] = ("question", "answer")
    accepts: ClassVar[tuple[SampleField, ...]] = ()

    topical_match: AspectEvaluation = Field(description="The answer is about what was asked.")
    completeness: AspectEvaluation = Field(description="Every part of the question is answered.")
    conciseness: AspectEvaluation = Field(
        description="The answer has nothing that was not asked for."
    )

    @property
    def score(self) -> float:
        """Mean of the three aspects, 0 to 1; 0 if the answer is off-topic."""
        if self.topical_match.label == "no":
            return 0.0
        return fmean((self.topical_match.value, self.completeness.value, self.conciseness.value))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (
            self.topical_match.finding("topical match"),
            self.completeness.finding("completeness"),
            self.conciseness.finding("conciseness"),
        )


AnswerRelevance = ContextEvaluation(
    prompt=Prompt.shipped("score_relevance"), response_model=AnswerRelevanceResult
)
"""Mean of topical match, completeness and conciseness; 0 if the answer is off-topic."""
