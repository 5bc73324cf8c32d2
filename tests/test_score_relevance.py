"""Answer relevance: three aspects, each no, partly or yes; their mean, and 0 off topic."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals import AnswerRelevance
from rag_evals.errors import JudgeOutputError
from rag_evals.score_relevance import AnswerRelevanceResult, AspectEvaluation
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]
VALUES = {"no": 0.0, "partly": 0.5, "yes": 1.0}


def reply(topical: str, complete: str, concise: str) -> dict[str, dict[str, str]]:
    """Return a reply as a judge would send it."""
    return {
        "topical_match": {"reasoning": "r", "label": topical},
        "completeness": {"reasoning": "r", "label": complete},
        "conciseness": {"reasoning": "r", "label": concise},
    }


def test_the_score_is_the_mean_of_three_aspects(scripted: Start) -> None:
    """yes, partly, no is (1 + 0.5 + 0) / 3; the context is not shown."""
    judge = scripted(reply("yes", "partly", "no"))
    result = AnswerRelevance.grade(**EIFFEL, client="openai/m")

    assert result.score == pytest.approx(0.5)
    assert result.completeness.value == 0.5
    assert judge.requests[0].chunks == []
    assert judge.requests[0].question == EIFFEL["question"]


def test_another_label_is_asked_again(scripted: Start) -> None:
    """Only the three labels are taken; nothing is guessed from another word."""
    scripted(reply("yes", "mostly", "no"))

    with pytest.raises(JudgeOutputError, match="completeness.label: Input should be 'no'"):
        AnswerRelevance.grade(**EIFFEL, client="openai/m")


@given(*[st.sampled_from(["no", "partly", "yes"])] * 3)
def test_every_combination_has_its_mean(topical: str, complete: str, concise: str) -> None:
    """A short answer to another question earns nothing for being short."""
    labels = (topical, complete, concise)
    result = AnswerRelevanceResult.model_validate(reply(*labels))

    mean = sum(VALUES[label] for label in labels) / 3
    assert result.score == pytest.approx(0.0 if topical == "no" else mean)


def test_an_aspect_can_be_written_by_hand() -> None:
    """Outside a call the reasoning may be left out."""
    assert AspectEvaluation(label="partly").value == 0.5
