"""Steps and other letters are read as meant."""

import re

import pytest

from rag_evals import Faithfulness
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.grading import VerifiedFaithfulnessResult
from tools.train_embedded.cases import verify_answer

COOKING = ["Rinse the rice. Boil it for 10 minutes.", "Промойте рис. Варите его 10 минут."]
MOSCOW = ["Поезд идёт в город Москва. Он выходит утром."]


@pytest.mark.parametrize(
    "step",
    [
        "First, rinse the rice.", "Firstly, rinse the rice.", "Second, boil it for 10 minutes.",
        "Во-первых, промойте рис.", "Сначала промойте рис.", "Во-вторых, варите его 10 минут.",
    ],
)  # fmt: skip
def test_the_number_of_a_step_is_no_claim(step: str) -> None:
    """All words of the step are said."""
    ((_, verdict),) = verify_answer(EmbeddedVerifier(), step, COOKING)

    assert verdict.is_supported
    assert verdict.reason.startswith(("all", "все"))


def test_an_ordinal_that_counts_is_a_claim() -> None:
    """Only an ordinal in front of a comma heads a step."""
    (other, several) = EmbeddedVerifier().verify(
        ["The first tower stood in Rome.", "First, second and third prize went to Rome."],
        ["The second tower stood in Rome.", "First, second and fourth prize went to Rome."],
    )

    assert not other.is_supported
    assert not several.is_supported


def test_an_absence_in_the_same_letters_stays_sure() -> None:
    """A found name is found, a missing one is missing."""
    found, missing = EmbeddedVerifier().verify(
        ["Passage 1 does not mention Moscow.", "Passage 1 does not mention Tula."],
        ["The train goes to Moscow (Москва)."],
    )

    assert not found.is_supported
    assert missing.is_supported
    assert missing.support > 0.9


@pytest.mark.parametrize(
    ("answer", "chunk"),
    [
        ("You'll get an email with a link.", "You will receive an email with a link."),
        ("We’ll email you a link.", "We will email you a link."),
        ("They'd opened the bridge in 1900.", "They had opened the bridge in 1900."),
        ("Оно построено в 1900 году.", "Здание построено в 1900 году."),
    ],
)
def test_contracted_verbs_and_pronouns_are_not_missed(answer: str, chunk: str) -> None:
    """The contraction "you'll" claims nothing that "you will" does not."""
    (verdict,) = EmbeddedVerifier().verify([answer], [chunk])

    assert verdict.is_supported
    assert not re.search("missing|не хватает", verdict.reason), verdict.reason


@pytest.mark.parametrize(
    ("question", "answer", "chunk", "says"),
    [
        (
            "Куда идёт поезд?",
            "To Moscow.",
            "The train goes to Moscow.",
            "the question is in Cyrillic letters, but chunk 0 is in Latin letters",
        ),
        (
            None,
            "The train goes to Moscow.",
            MOSCOW[0],
            "the answer is in Latin letters, but chunk 0 is in Cyrillic letters",
        ),
        ("Where does it go?", "The train goes to Москва.", "The train goes to Moscow.", None),
    ],
)
def test_other_letters_are_warned_about(
    question: str | None, answer: str, chunk: str, says: str | None
) -> None:
    """One line in the result names both; a name in other letters is none."""
    result = Faithfulness.grade(
        question=question, answer=answer, context=[chunk], client="embedded"
    )

    assert isinstance(result, VerifiedFaithfulnessResult)
    assert [warning for warning in result.warnings if "letters" in warning] == (
        [result.language_warning] if says else []
    )
    assert says is None or (result.language_warning or "").startswith(says)


def test_years_and_months_are_the_same_amount() -> None:
    """Neither the number nor its unit counts as missing; another amount does."""
    text = ["The warranty covers defects for 24 months after purchase."]
    same, other = EmbeddedVerifier().verify(
        [f"The warranty covers defects for {years} years after purchase." for years in (2, 3)],
        text,
    )

    assert same.is_supported
    assert same.support > 0.8
    assert not other.is_supported


def test_a_reason_counts_the_words_of_its_chunk() -> None:
    """A word that only another chunk has is not said to be in this one."""
    (verdict,) = EmbeddedVerifier().verify(
        ["The Arlen mill was sold to the Baker family in 1902."],
        ["The Arlen mill was sold to a family in 1902.", "The baker sold bread to the family."],
    )

    assert verdict.reason == "5 of 6 content words are in chunk 0"


@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        ("The lamp blinks when the battery is low.", "The lamp blinks if the battery is low."),
        ("Лампа мигает, когда батарея разряжена.", "Если батарея разряжена, лампа мигает."),
    ],
)
def test_a_condition_is_no_hedge(statement: str, chunk: str) -> None:
    """The statement names the same condition with another word."""
    (verdict,) = EmbeddedVerifier().verify([statement], [chunk])

    assert verdict.support > 0.8
