"""Rubrics need no Python: their scores, and what is checked in a reply."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from rag_evals import base
from rag_evals.catalog import RESPONSE_MODELS
from rag_evals.errors import ConfigurationError, PromptError
from rag_evals.judge.wire.exchange import strict_response_format
from rag_evals.response_models import (
    ChecklistResult,
    ChunkLabelsResult,
    PassFailResult,
    RatingResult,
)
from rag_evals.testing import Script, ScriptedJudge

FACTS = {"chunk_count": 2, "criteria": ["polite", "short"]}


def check(name: str, met: bool = True) -> dict[str, Any]:
    return {"criterion": name, "reasoning": "r", "is_met": met}


@pytest.mark.parametrize(
    ("model", "reply", "score"),
    [
        (PassFailResult, {"reasoning": "r", "passed": True}, 1.0),
        (PassFailResult, {"reasoning": "r", "passed": False}, 0.0),
        (RatingResult, {"reasoning": "r", "label": 1}, 0.0),
        (RatingResult, {"reasoning": "r", "label": 2}, 0.25),
        (RatingResult, {"reasoning": "r", "label": 5}, 1.0),
        (ChecklistResult, {"checks": [check("polite"), check("short", False)]}, 0.5),
        (ChecklistResult, {"checks": []}, 0.0),
        (
            ChunkLabelsResult,
            {
                "labels": [
                    {"chunk_id": 0, "reasoning": "r", "passed": True},
                    {"chunk_id": 1, "reasoning": "r", "passed": False},
                ]
            },
            0.5,
        ),
        (ChunkLabelsResult, {"labels": []}, 0.0),
    ],
)
def test_scores_are_shares(model: type[BaseModel], reply: dict[str, Any], score: float) -> None:
    """Each rubric has one formula, from 0 to 1."""
    assert model.model_validate(reply).score == score  # type: ignore[attr-defined]  # a Result


@pytest.mark.parametrize(
    ("model", "reply", "fault"),
    [
        (PassFailResult, {"passed": True}, "missing: reasoning"),
        (RatingResult, {"reasoning": "r", "label": 6}, "Input should be 1, 2, 3, 4 or 5"),
        (ChecklistResult, {"checks": [check("polite")]}, r"criteria \['short'\] have no verdict"),
        (
            ChecklistResult,
            {"checks": [check("polite"), check("short"), check("kind")]},
            r"criteria \['kind'\] do not exist; give each criterion of \['polite', 'short'\]",
        ),
        (
            ChecklistResult,
            {"checks": [check("polite"), check("polite"), check("short")]},
            r"criteria \['polite'\] have two verdicts",
        ),
        (
            ChunkLabelsResult,
            {"labels": [{"chunk_id": 0, "reasoning": "r", "passed": True}]},
            r"chunks \[1\] are not graded",
        ),
        (
            ChunkLabelsResult,
            {"labels": [{"chunk_id": 9, "reasoning": "r", "passed": True}]},
            "chunk id 9 does not exist",
        ),
    ],
)
def test_a_reply_with_a_fault_is_refused(
    model: type[BaseModel], reply: dict[str, Any], fault: str
) -> None:
    """Whatever is missing, unknown or answered twice is named."""
    with pytest.raises(ValidationError, match=fault):
        model.model_validate(reply, context=FACTS)


def test_a_checklist_asks_its_criteria(scripted: Callable[[Script], ScriptedJudge]) -> None:
    """Criteria stand behind the instructions, and a wrong set of answers is asked again."""
    judge = scripted([{"checks": [check("polite")]}, {"checks": [check("short"), check("polite")]}])
    grader = base.ContextEvaluation(
        prompt="Check the answer.",
        response_model=ChecklistResult,
        criteria={"polite": "It is polite.", "short": "It has one sentence."},
    )
    result = grader.grade(answer="Thanks.", client="openai/m")

    assert result.score == 1.0
    assert judge.requests[0].instructions == (
        "Check the answer.\n\nCriteria, each with its name:\n"
        "- polite: It is polite.\n- short: It has one sentence.\n"
    )
    assert "criteria ['short'] have no verdict" in str(judge.requests[1].messages[-1])


def test_criteria_may_be_placed_by_the_prompt() -> None:
    """A prompt that shows them itself gets no list behind it."""
    grader = base.ContextEvaluation(
        prompt="{% for c in criteria %}({{ c.name }}) {{ c.text }}{% endfor %}",
        response_model=ChecklistResult,
        criteria={"polite": "It is polite."},
    )
    from rag_evals import Sample

    assert grader.messages(Sample(answer="a"))[0]["content"] == "(polite) It is polite."


@pytest.mark.parametrize(
    ("prompt", "criteria", "message"),
    [
        ("Check.", None, "a checklist needs criteria"),
        ("{{ answer }}", {"polite": "It is."}, "the template does not show them"),
    ],
)
def test_criteria_that_nobody_sees_are_an_error(
    prompt: str, criteria: dict[str, str] | None, message: str
) -> None:
    """A checklist without criteria, or a template that hides them, is refused at once."""
    with pytest.raises(PromptError, match=message):
        base.ContextEvaluation(prompt=prompt, response_model=ChecklistResult, criteria=criteria)


def test_criteria_without_words_are_refused() -> None:
    """A list of names says what to write."""
    names: Any = ["polite"]
    with pytest.raises(ConfigurationError, match=r"criteria is .*; expected a dictionary"):
        base.ContextEvaluation("Check.", ChecklistResult, criteria=names)


@pytest.mark.parametrize("name", RESPONSE_MODELS)
def test_every_response_model_has_a_strict_schema(name: str) -> None:
    """Hosts that take strict schemas get one: no open dictionary, no words beside a reference."""
    strict = strict_response_format(RESPONSE_MODELS[name])

    assert strict is not None
    assert "'default'" not in str(strict)
    assert "'allOf'" not in str(strict)
    assert not re.search(r"'\$ref': '[^']*',|, '\$ref'", str(strict))
