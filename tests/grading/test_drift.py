"""A judge that changes what it extracts is told so, then named: a corpus of judges that drift."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rag_evals import AuditedFaithfulness, TwoStepFaithfulness, evaluate
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.grading.guarding import DRIFT_NAMES
from rag_evals.testing import Script, ScriptedJudge

Start = Callable[[Script], ScriptedJudge]

TOWER: dict[str, Any] = {
    "question": "What is known of the Eiffel Tower?",
    "answer": (
        "The Eiffel Tower in Paris was completed in 1923 by Gustave Eiffel. "
        "It does not stand on the Left Bank of the Seine, and it is 330 metres tall. "
        "Hope this helps!"
    ),
    "context": [
        "The Eiffel Tower in Paris was completed in 1889 by Gustave Eiffel.",
        "The Eiffel Tower in Paris was painted brown by gentle workmen.",
    ],
}
BRIDGE: dict[str, Any] = {
    "question": "Что известно о мосте?",
    "answer": (
        "Мост в Туле построили в 1995 году по проекту Анны Филд. "
        "Он никогда не закрывался, и его длина 270 метров. Надеюсь, это поможет!"
    ),
    "context": ["Мост в Туле построили в 1985 году."],
}
FIRST = "The Eiffel Tower in Paris was completed in 1923 by Gustave Eiffel."
SECOND = "The Eiffel Tower does not stand on the Left Bank of the Seine, and is 330 metres tall."
FIRST_RU = "Мост в Туле построили в 1995 году по проекту Анны Филд."
SECOND_RU = "Мост в Туле никогда не закрывался, и длина моста 270 метров."
Given = Sequence[tuple[int, str]]


def english(first: Given | str = FIRST, second: Given | str = SECOND) -> Given:
    """Return statements of both sentences; a text is one statement."""
    one = [(0, first)] if isinstance(first, str) else list(first)
    return one + ([(1, second)] if isinstance(second, str) else list(second))


def russian(first: Given | str = FIRST_RU, second: Given | str = SECOND_RU) -> Given:
    """Return the same for the Russian answer."""
    return english(first, second)


OF_CONTEXT = "The Eiffel Tower in Paris was painted brown by gentle workmen."
IN_1889 = FIRST.replace("1923", "1889")
JUDGES: list[tuple[str, dict[str, Any], Given]] = [
    # It corrects numbers by the context, or by what it knows.
    ("changed number", TOWER, english(IN_1889)),
    ("changed number", TOWER, english([(0, FIRST), (0, "It was completed in 1889.")])),
    ("changed number", TOWER, english(second=SECOND.replace("330", "300"))),
    ("changed number", TOWER, english(second=SECOND.replace("330", "1,083"))),
    ("changed number", TOWER, english(FIRST.replace("in 1923", "on 31 March 1923"))),
    ("changed number", TOWER, english([(0, FIRST), (0, "The Eiffel Tower has three floors.")])),
    ("changed number", BRIDGE, russian(FIRST_RU.replace("1995", "1985"))),
    ("changed number", BRIDGE, russian(second=SECOND_RU.replace("270", "370"))),
    ("changed number", BRIDGE, russian([(0, FIRST_RU), (0, "У моста две полосы.")])),
    # It leaves numbers out.
    ("lost number", TOWER, english("The Eiffel Tower in Paris was completed by Gustave Eiffel.")),
    ("lost number", TOWER, english(FIRST.replace("in 1923", "in the twenties"))),
    (
        "lost number",
        TOWER,
        english(second="It does not stand on the Left Bank of the Seine."),
    ),
    ("lost number", TOWER, english(second=SECOND.replace("330 metres", "very"))),
    ("lost number", BRIDGE, russian("Мост в Туле построили по проекту Анны Филд.")),
    ("lost number", BRIDGE, russian(second="Мост в Туле никогда не закрывался.")),
    # It leaves names out, or takes others.
    ("lost name", TOWER, english("The Eiffel Tower in Paris was completed in 1923.")),
    ("lost name", TOWER, english("The Eiffel Tower was completed in 1923 by Gustave Eiffel.")),
    ("lost name", TOWER, english(FIRST.replace("Paris", "Lyon"))),
    ("lost name", TOWER, english(FIRST.replace("Gustave Eiffel", "Stephen Sauvestre"))),
    ("lost name", TOWER, english(second=SECOND.replace("Seine", "Thames"))),
    ("lost name", TOWER, english(second=SECOND.replace("Left Bank", "shore"))),
    ("lost name", BRIDGE, russian(FIRST_RU.replace("Анны Филд", "Ивана Ли"))),
    ("lost name", BRIDGE, russian("Мост построили в 1995 году по проекту Анны Филд.")),
    # It turns a denial.
    ("lost negation", TOWER, english(second=SECOND.replace("does not stand", "stands"))),
    (
        "lost negation",
        TOWER,
        english(second=[(1, "It stands on the Left Bank of the Seine."), (1, "It is 330 m tall.")]),
    ),
    ("added negation", TOWER, english(FIRST.replace("was completed", "was not completed"))),
    ("added negation", TOWER, english([(0, FIRST), (0, "Nobody completed the tower in 1923.")])),
    ("lost negation", BRIDGE, russian(second="Мост в Туле закрывался, и длина моста 270 метров.")),
    ("added negation", BRIDGE, russian(FIRST_RU.replace("построили", "не построили"))),
    # It translates.
    ("other language", TOWER, english("Эйфелеву башню в Париже достроил в 1923 Гюстав Эйфель.")),
    ("other language", TOWER, english("Der Eiffelturm wurde 1923 von Gustave Eiffel vollendet.")),
    ("other language", TOWER, english("埃菲尔铁塔于1923年建成。")),
    ("other language", BRIDGE, russian("The bridge in Tula was built in 1995 by Anna Field.")),
    ("other language", BRIDGE, russian(second="The bridge was never closed, it is 270 m long.")),
    # It says what the context says, or names somebody else.
    ("of the context", TOWER, english([(0, FIRST), (0, OF_CONTEXT)])),
    ("changed name", TOWER, english([(0, FIRST), (0, "Stephen Sauvestre completed it.")])),
    ("changed name", BRIDGE, russian([(0, FIRST_RU), (0, "Мост в Туле построил Иван Ли.")])),
    # It makes things up, or speaks of something else.
    ("other words", TOWER, english([(0, FIRST), (0, "Visitors enjoy wonderful evening views.")])),
    ("other words", TOWER, english([(0, FIRST), (0, "Cheap tickets sell quickly online.")])),
    ("other words", TOWER, english([(0, FIRST), (0, "Iron rusts when painters stop working.")])),
    ("other words", BRIDGE, russian([(0, FIRST_RU), (0, "Туристы любят вечерние прогулки.")])),
    ("other words", TOWER, english([(0, FIRST), (0, "Lyon hosts many foreign artists.")])),
    # It repeats itself, or breaks one sentence into many.
    ("merged", TOWER, english([(0, FIRST)] * 50)),
    ("merged", TOWER, english([(0, FIRST), (0, FIRST.upper())])),
    ("merged", BRIDGE, russian([(0, FIRST_RU)] * 3)),
    (
        "too many statements",
        TOWER,
        english([(0, FIRST), *((0, f"The Eiffel Tower is {chr(97 + n)}.") for n in range(20))]),
    ),
    # It passes over what claims something.
    ("left out", TOWER, [(1, SECOND)]),
    ("left out", TOWER, [(0, FIRST)]),
    ("left out", BRIDGE, [(1, SECOND_RU)]),
    ("left out", BRIDGE, [(0, FIRST_RU)]),
]


def reply_of(given: Given, sentences: int) -> dict[str, Any]:
    """Return an extraction; sentences without a statement are passed over."""
    claimed = {number for number, _ in given}
    return {
        "statements": [{"sentence_id": number, "statement": text} for number, text in given],
        "no_claim_sentences": [
            {"sentence_id": number, "reason": "It claims nothing."}
            for number in range(sentences)
            if number not in claimed
        ],
    }


BY_WORDS = TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier())


def graded(judge: ScriptedJudge, sample: dict[str, Any]) -> Any:
    """Grade in two steps; only the extraction asks."""
    del judge
    return BY_WORDS.grade(**sample, client="openai/m")


@pytest.mark.parametrize(
    ("name", "sample", "given"), JUDGES, ids=[f"{n}-{name}" for n, (name, *_) in enumerate(JUDGES)]
)
def test_a_judge_that_drifts_is_named(
    scripted: Start, name: str, sample: dict[str, Any], given: Given
) -> None:
    """Each is asked again with its fault, once; a warning says what stays of one that insists."""
    judge = scripted(lambda _: reply_of(given, 3))
    result = graded(judge, sample)
    asked_again = [str(request.messages[-1]) for request in judge.requests[1:]]

    assert name in DRIFT_NAMES
    assert any(warning.startswith(name) for warning in result.warnings), result.warnings
    assert name == "merged" or len(asked_again) == 1
    assert all(name == "merged" or name in text for text in asked_again)


def test_there_are_enough_judges_that_drift() -> None:
    """Every kind of drift has judges, forty in all, but for what a first step cannot say."""
    assert len(JUDGES) >= 40
    assert {name for name, *_ in JUDGES} == set(DRIFT_NAMES) - {"long sentence", "two verdicts"}


@pytest.mark.parametrize(
    ("sample", "given"),
    [
        (TOWER, english()),
        (BRIDGE, russian()),
        (
            TOWER,
            english(
                [
                    (0, "The Eiffel Tower is in Paris."),
                    (0, "The tower was completed in 1923."),
                    (0, "Gustave Eiffel completed it."),
                ],
                [(1, "It does not stand on the Left Bank of the Seine."), (1, "It is 330 m tall.")],
            ),
        ),
        (
            {**TOWER, "question": "Is the tower 330 metres tall?", "answer": "Yes, it is."},
            [(0, "The tower is 330 metres tall.")],
        ),
    ],
)
def test_a_judge_that_keeps_to_the_answer_is_not_asked_again(
    scripted: Start, sample: dict[str, Any], given: Given
) -> None:
    """Names in place of pronouns and words of the question are no drift."""
    sentences = 3 if len({number for number, _ in given}) == 2 else 1
    judge = scripted(lambda _: reply_of(given, sentences))
    result = graded(judge, sample)

    assert (len(judge.requests), result.drift) == (1, [])


def test_a_judge_that_mends_its_drift_leaves_no_warning(scripted: Start) -> None:
    """The second reply counts."""
    replies = iter([reply_of(english(IN_1889), 3), reply_of(english(), 3)])
    judge = scripted(lambda _: next(replies))
    result = graded(judge, TOWER)

    assert (len(judge.requests), result.drift) == (2, [])
    assert result.statements[0].statement == FIRST


def test_the_summary_counts_drift_by_name(scripted: Start) -> None:
    """Fifty times one statement is one statement; what drifted is in the summary's line."""
    given = english([(0, IN_1889)] * 50)
    scripted(lambda _: reply_of(given, 3))
    run = evaluate([TOWER], [BY_WORDS], "openai/m", progress=False)
    summary = run.summary().graders["faithfulness_two_step"]

    result = run.of(BY_WORDS)[0].result
    assert result is not None
    assert len(result.statements) == 2
    assert summary.drift == {"changed number": 1, "lost number": 1, "merged": 1}
    assert "changed number" in str(run.summary())


def test_the_audited_judge_is_held_to_the_answer(scripted: Start) -> None:
    """It extracts too: a corrected number is asked again, and named."""
    statement = {
        "sentence_ids": [0],
        "statement": "The Eiffel Tower was completed in 1889.",
        "reasoning": "r",
        "evidence": [{"chunk_id": 0, "quote": "was completed in 1889"}],
        "verdict": "supported",
    }
    judge = scripted(lambda _: {"statements": [statement] * 3, "no_claim_sentences": []})
    sample = {**TOWER, "answer": "The Eiffel Tower was completed in 1923."}
    result = AuditedFaithfulness.grade(**sample, client="openai/m")

    assert len(judge.requests) == 2
    assert "which sentence 0 does not say" in str(judge.requests[1].messages[-1])
    assert [warning.partition(":")[0] for warning in result.drift][-1] == "merged"
    assert len(result.statements) == 1
    assert any(warning.startswith("changed number") for warning in result.warnings)
