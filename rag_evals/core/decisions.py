"""What is a decision model asked, and what does it answer? Typed questions, numbers, no text."""

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, Field, ValidationInfo, model_validator

from rag_evals.core.facts import check_each_once, facts_of

QuestionKind = Literal["predicate", "choice", "score"]
"""A predicate is true or not; a choice is one of several options; a score one of ordered levels."""

InOrder = "in order"
"""Marks labels that are ordered from the lowest, as in `Annotated[Literal["no", "yes"], InOrder]`:
a decision model then scores them."""

State = tuple[tuple[str, str], ...]
"""What the questions are about: texts by name, such as the chunks, in the order they are read."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a decision model.

    Attributes:
        name: Names it in the request and in the reply; no two questions of a call share one.
        kind: What is answered.
        instructions: What is asked, in words.
        options: Of a choice, in any order; of a score, its levels from the lowest; else empty.
    """

    name: str
    kind: QuestionKind
    instructions: str
    options: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that is sent of it, for keys and for counting tokens."""
        return "\n".join((self.instructions, *self.options))


class DecisionAnswer(BaseModel):
    """What a decision model says to one question.

    Attributes:
        probability: Of a predicate: how likely it is true, 0 to 1.
        choice: Of a choice, its option; of a score, its level. The likeliest one.
        probabilities: Of a choice or a score, by option; empty where the host gives none.
        score: Of a score: the mean level, from 0 for the lowest.
        refusal: Why the model declines to answer; None where it answers.
    """

    probability: float | None = None
    choice: str | None = None
    probabilities: dict[str, float] = Field(default_factory=dict)
    score: float | None = None
    refusal: str | None = None


class Decisions(BaseModel):
    """The answers to the questions of one call.

    Attributes:
        answers: By the question's name.
        faults: Why a question has no answer, by its name, after all that were asked again.
    """

    answers: dict[str, DecisionAnswer]
    faults: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _every_question_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_each_once("questions", [*self.answers, *self.faults], facts["questions"])
        return self


def state_text(state: State) -> str:
    """Return what the model reads before the questions."""
    return "\n".join(text for _, text in state)
