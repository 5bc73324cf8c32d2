"""Response models become questions to a decision model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from rag_evals import base, evaluate
from rag_evals.analysis import attack, shipped_attacks
from rag_evals.base import ContextEvaluation
from rag_evals.catalog import GRADERS, RUBRICS
from rag_evals.core import InOrder, JudgeModel, Reasoning, Result
from rag_evals.errors import ConfigurationError
from rag_evals.run import make_plan
from tests.conftest import EIFFEL, Command
from tests.scripted import Script, ScriptedJudge

Start = Callable[[Script], ScriptedJudge]

make: Any = ContextEvaluation
LUNA = "decisions:openai/gpt-6-luna"
FIVE = ["faithfulness", "chunk_precision", "chunk_utility", "answer_relevance", "abstention"]
REFERENCE = "The Eiffel Tower stands in Paris. It was completed in 1889."
ROWS = [{"id": f"r{n}", **EIFFEL, "reference": REFERENCE} for n in range(7)]


def test_a_fault_is_not_kept(scripted: Start, tmp_path: Path) -> None:
    """The next run asks again."""
    judge = scripted([{}, {"f_passed": 0.9}])
    grader = make("Judge.", RUBRICS["pass_fail"], name="mine")
    ended = [
        evaluate([EIFFEL], grader, LUNA, cache=tmp_path / "c", reasks=0, max_failures="100%")
        for _ in range(2)
    ]

    assert [run.outcomes[0].status for run in ended] == ["failed", "scored"]
    assert len(judge.requests) == 2


def test_every_rubric_has_questions(scripted: Start) -> None:
    """Its words stand in the state once, and each question names the rubric."""
    judge = scripted(None)
    rubrics = {
        name: RUBRICS[name] for name in ("pass_fail", "rating", "chunk_labels", "statements")
    }
    graders: list[Any] = [
        make(f"Be strict about {name}.", model, name=name) for name, model in rubrics.items()
    ]
    criteria = {"polite": "It is polite.", "short": "It is short."}
    graders.append(make("Check.", RUBRICS["checklist"], name="checklist", criteria=criteria))
    run = evaluate([EIFFEL], graders, LUNA, progress=False, concurrency=1)
    asked = {grader.name: one for grader, one in zip(graders, judge.requests, strict=True)}

    assert {one.grader: one.status for one in run.outcomes} == dict.fromkeys(asked, "scored")
    for name in rubrics:
        assert asked[name].data.count(f"Be strict about {name}.") == 1
    kinds = {(name, one.name): one.kind for name, told in asked.items() for one in told.questions}
    assert kinds["pass_fail", "f_passed"] == "predicate"
    assert kinds["rating", "f_label"] == "score"
    assert kinds["chunk_labels", "f_labels_1_passed"] == "predicate"
    words = {(n, one.name): one.instructions for n, told in asked.items() for one in told.questions}
    assert words["pass_fail", "f_passed"] == "By the rubric of 'pass_fail': The answer passes."
    assert "It is short." in words["checklist", "f_checks_1_is_met"]


def test_labels_come_back_as_what_they_are(scripted: Start) -> None:
    """Levels of a rating are numbers, ordered words are scored, others chosen."""
    scripted({"f_label": "4"})
    rating: Any = make("Rate it.", RUBRICS["rating"])
    result = rating.grade(**EIFFEL, client=LUNA)

    assert (result.label, result.score) == (4, 0.75)
    assert result.reasoning == "P(4) 1.00; mean level 4.00 of 5"


class Quoted(JudgeModel):
    """A quote."""

    quote: str = Field(description="Words of the chunk.")
    holds: bool = Field(description="True when it holds.")


class WithWords(Result):
    """Needs words."""

    quotes: list[Quoted] = Field(description="Quotes.")

    @property
    def score(self) -> float:
        """Nothing."""
        return 0.0


class Mood(Result):
    """A label of the user's own."""

    reasoning: Reasoning = Field(default=None, description="Why.")
    tone: Annotated[Literal["cold", "neutral", "warm"], InOrder] = Field(description="Its tone.")

    @property
    def score(self) -> float:
        """How warm."""
        return ("cold", "neutral", "warm").index(self.tone) / 2


MANY: Any = Literal[tuple(f"word{n}" for n in range(300))]
LEVELS: Any = Literal[tuple(range(11))]


def one_label(kind: Any) -> type[Result]:
    """Make a response model with one label."""

    class Labelled(Result):
        label: kind = Field(description="A label.")

        @property
        def score(self) -> float:
            return 1.0

    return Labelled


NO_FORM = {
    "words": (WithWords, "WithWords.quotes is neither yes or no, nor one of several labels"),
    "options": (one_label(MANY), "Labelled.label has 300 labels; options of a choice are 2 to 255"),
    "levels": (one_label(LEVELS), "Labelled.label has 11 labels; levels of a score are 2 to 10"),
}


@pytest.mark.parametrize("what", NO_FORM)
def test_a_response_model_without_questions_is_refused(what: str) -> None:
    """It names the field, and which judge can fill it."""
    model, words = NO_FORM[what]
    with pytest.raises(ConfigurationError, match=words) as caught:
        make("Judge.", model, name="mine").grade(**EIFFEL, client=LUNA)

    assert "grader 'mine' has no questions" in str(caught.value)
    assert "pass a chat model, such as 'openai/gpt-4o-mini'" in str(caught.value)


def test_a_label_of_ones_own_is_scored_in_order(scripted: Start) -> None:
    """Its levels are the labels, from the lowest."""
    judge = scripted({"f_tone": {"cold": 0.1, "neutral": 0.2, "warm": 0.7}})
    result = ContextEvaluation("Tone.", Mood).grade(**EIFFEL, client=LUNA)

    assert (result.tone, result.score) == ("warm", 1.0)
    assert judge.requests[0].questions[0].options == ("cold", "neutral", "warm")


def test_a_prompt_that_places_data_has_no_questions() -> None:
    """Only instructions can stand beside questions."""
    grader = base.ContextEvaluation("Judge {{ answer }}.", RUBRICS["pass_fail"])
    with pytest.raises(ConfigurationError, match="its prompt places the data itself"):
        grader.grade(**EIFFEL, client=LUNA)


@pytest.mark.parametrize("name", ["faithfulness_audited", "citation_faithfulness"])
def test_a_grader_that_needs_words_says_so(command: Command, name: str) -> None:
    """Exit code 2, one line, and a judge that can."""
    Path("rows.jsonl").write_text(json.dumps(EIFFEL))
    ended = command("grade", "rows.jsonl", "--judge", LUNA, "--grader", name)

    assert ended.code == 2
    assert "openai/gpt-4o-mini" in ended.err
    assert "Traceback" not in ended.err


def test_every_shipped_grader_is_one_of_the_two() -> None:
    """Each has a form, or refuses before anything is sent."""
    for name, grader in GRADERS.items():
        if name in ("faithfulness_audited", "citation_faithfulness", "faithfulness_hhem"):
            continue
        assert make_plan((), name, LUNA).graders[0].endpoints == [LUNA], grader


def test_attacks_are_tried_on_questions_too(scripted: Start) -> None:
    """Hardened, no tag of ours stands in data; without, the attack's own tags do."""
    judge = scripted(None)
    chosen = [one for one in shipped_attacks() if one.kind == "fake_tags"][:2]
    report = attack(GRADERS["faithfulness"], LUNA, attacks=chosen)  # type: ignore[arg-type]

    assert len(report.trials) == 4
    escaped = ["&lt;" in str(request.body) for request in judge.requests]
    assert any(escaped)
    assert not all(escaped)
