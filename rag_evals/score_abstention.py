"""Checks that the answer declines if, and only if, the context does not answer the question."""

from typing import ClassVar, Literal

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import Finding, JudgeModel, Reasoning, Result, SampleField, Tallies
from rag_evals.prompt import Prompt

__all__ = ["Abstention", "AbstentionLabel", "AbstentionResult"]

Cell = Literal[
    "answered",
    "answered_in_part",
    "unfounded_answer",
    "needless_abstention",
    "right_abstention",
]
"""The outcome, given how far the context answers the question and the answer declines it."""

_Degree = Literal["no", "partly", "yes"]

# Keys: whether the context answers the question, and whether the answer declines.
_CELLS: dict[tuple[_Degree, _Degree], Cell] = {
    ("yes", "no"): "answered",
    ("yes", "partly"): "needless_abstention",
    ("yes", "yes"): "needless_abstention",
    ("partly", "no"): "unfounded_answer",
    ("partly", "partly"): "answered_in_part",
    ("partly", "yes"): "right_abstention",
    ("no", "no"): "unfounded_answer",
    ("no", "partly"): "unfounded_answer",
    ("no", "yes"): "right_abstention",
}
_RIGHT = ("answered", "answered_in_part", "right_abstention")


class AbstentionLabel(JudgeModel):
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    label: _Degree = Field(description="Whether it is so.")


class AbstentionResult(Result):
    """Whether the context answers the question, and whether the answer declines."""

    requires: ClassVar[tuple[SampleField, ...]] = ("question", "answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ()

    answerable: AbstentionLabel = Field(
        description="The chunks alone hold what is needed to answer the question."
    )
    abstained: AbstentionLabel = Field(
        description="The answer declines: it says that it does not know or that the context does "
        "not say, and answers the question not at all, or only in part."
    )

    @property
    def cell(self) -> Cell:
        return _CELLS[self.answerable.label, self.abstained.label]

    @property
    def score(self) -> float:
        """1.0 if answering or declining was the right decision, else 0.0."""
        return float(self.cell in _RIGHT)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (
            Finding(
                text="the answer declines when, and only when, the context lacks what was asked",
                verdict=self.score == 1.0,
                label=self.cell.replace("_", " "),
            ),
            Finding("answerable", None, self.answerable.label, self.answerable.reasoning),
            Finding("abstained", None, self.abstained.label, self.abstained.reasoning),
        )

    @property
    def tallies(self) -> Tallies:
        """Number of errors of each type, out of the rows in which that type can occur."""
        if self.answerable.label == "yes":
            return {"needless abstentions": (int(self.cell == "needless_abstention"), 1)}
        return {"unfounded answers": (int(self.cell == "unfounded_answer"), 1)}


Abstention = ContextEvaluation(
    prompt=Prompt.shipped("score_abstention"), response_model=AbstentionResult
)
"""1.0 if the answer declines when, and only when, the context does not answer the question."""
