"""Is the answer correct? Claims of both texts are compared in both directions."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import AnswerCorrectness, evaluate
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.matrix import MatrixClaim
from rag_evals.score_correctness import AnswerCorrectnessResult
from rag_evals.testing import JudgeRequest, Script, ScriptedJudge

Start = Callable[[Script], ScriptedJudge]
ROW: dict[str, Any] = {
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris. It was completed in 1887. It is painted brown.",
    "reference": "The Eiffel Tower stands in Paris. It was completed in 1889.",
}


def said(text: str) -> dict[str, Any]:
    """Return a verdict: the other text says the same."""
    return {"reasoning": text, "verdict": {"supported_by": [0]}}


def unsaid(why: str) -> dict[str, Any]:
    """Return a verdict: the other text does not say it, and why."""
    return {"reasoning": why, "verdict": {"not_supported_because": why}}


def compared(request: JudgeRequest) -> dict[str, Any]:
    """Answer as a judge does who has read both texts."""
    if len(request.sentences) == 3:
        return {"s0": said("same"), "s1": unsaid("contradicted"), "s2": unsaid("not_in_context")}
    return {"s0": said("same"), "s1": unsaid("contradicted")}


def result_of(claims: list[bool], reference: list[bool], **more: Any) -> AnswerCorrectnessResult:
    """Make a result by hand."""
    return AnswerCorrectnessResult(
        claims=[MatrixClaim(statement=f"a{n}", is_in_other=one) for n, one in enumerate(claims)],
        reference_claims=[
            MatrixClaim(statement=f"r{n}", is_in_other=one) for n, one in enumerate(reference)
        ],
        **more,
    )


def test_two_calls_name_what_is_wrong_extra_and_missing(scripted: Start) -> None:
    """Each text is the numbered one once, and the source of the other once."""
    judge = scripted(compared)
    result = AnswerCorrectness.grade(**ROW, client="openai/m")

    assert len(judge.requests) == 2
    assert sorted(request.chunks for request in judge.requests) == sorted(
        [[ROW["reference"]], [ROW["answer"]]]
    )
    assert result.precision == pytest.approx(1 / 3)
    assert result.recall == 0.5
    assert result.score == pytest.approx(0.4)
    assert [one.statement for one in result.wrong] == ["It was completed in 1887."]
    assert [one.statement for one in result.extra] == ["It is painted brown."]
    assert [one.statement for one in result.missing] == ["It was completed in 1889."]
    assert [one.label for one in result.findings] == [
        *("correct", "wrong", "extra"),
        *("said", "missing"),
    ]
    assert result.tallies == {"wrong": (1, 3), "extra": (1, 3), "missing": (1, 2)}
    place = result.wrong[0]
    assert ROW["answer"][place.start : place.end] == place.statement


def test_the_embedded_judge_asks_nobody_and_finds_the_same(scripted: Start) -> None:
    """No call is made; a claim on the same subject that is unsaid on both sides is wrong."""
    judge = scripted(None)
    result = AnswerCorrectness.grade(**ROW, client="embedded")

    assert judge.requests == []
    assert [one.statement for one in result.wrong] == ["It was completed in 1887."]
    assert [one.statement for one in result.extra] == ["It is painted brown."]
    assert [one.statement for one in result.missing] == ["It was completed in 1889."]
    assert "chunk" not in str(result)


def test_a_short_claim_contradicts_a_long_one_on_its_subject() -> None:
    """The words of the shorter of both are the subject; what the longer one adds is no excuse."""
    result = AnswerCorrectness.grade(
        question="When was the mill built?",
        answer="The mill was built in 1887.",
        reference="The mill was built in 1889 by two brothers from Arlen for the old abbey.",
        client="embedded",
    )

    assert [one.label for one in result.findings] == ["wrong", "missing"]


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("The red mill was selling flour.", "wrong"),
        ("The red roof was selling flour.", "extra"),
        ("The tall roof was selling flour.", "extra"),
    ],
)
def test_claims_with_half_their_words_in_common_are_on_one_subject(answer: str, label: str) -> None:
    """Of four words two are enough, and one is not."""
    reference = "The red mill was grinding wheat."
    result = AnswerCorrectness.grade(answer=answer, reference=reference, client="embedded")

    assert [one.label for one in result.findings] == [label, "missing"]


@pytest.mark.parametrize(
    ("claims", "reference", "beta", "score"),
    [
        ([True, True], [True], 1.0, 1.0),
        ([False], [False], 1.0, 0.0),
        ([True, False], [True], 1.0, 2 / 3),
        ([True, False], [True], 2.0, 5 * 0.5 / (4 * 0.5 + 1)),
        ([True, False], [True], 0.5, 1.25 * 0.5 / (0.25 * 0.5 + 1)),
    ],
)
def test_beta_weighs_what_is_missing(
    claims: list[bool], reference: list[bool], beta: float, score: float
) -> None:
    """The F-score by its formula."""
    assert result_of(claims, reference, beta=beta).score == pytest.approx(score, abs=1e-12)


def test_beta_is_set_on_a_copy_and_shapes_the_fingerprint() -> None:
    """Runs with another weight are other runs."""
    recall = AnswerCorrectness.with_beta(2)
    result = recall.grade(**ROW, client="embedded")

    assert (AnswerCorrectness.beta, recall.beta, result.beta) == (1.0, 2.0, 2.0)
    assert recall.fingerprint() != AnswerCorrectness.fingerprint()


@pytest.mark.parametrize("beta", [0, -1, True, "2", float("nan")])
def test_a_weight_that_is_none_is_refused(beta: Any) -> None:
    """Nothing is graded with it."""
    with pytest.raises(ConfigurationError, match="beta is"):
        AnswerCorrectness.with_beta(beta)


@pytest.mark.parametrize("client", ["embedded", "openai/m"])
@pytest.mark.parametrize(
    ("field", "reason"), [("answer", "empty_answer"), ("reference", "empty_reference")]
)
def test_both_texts_are_needed(scripted: Start, field: str, reason: str, client: str) -> None:
    """A row without one has nothing to compare, and nobody is asked."""
    judge = scripted(None)
    with pytest.raises(NotScorableError) as caught:
        AnswerCorrectness.grade(**{**ROW, field: " "}, client=client)

    assert (caught.value.reason, judge.requests) == (reason, [])


def test_a_text_without_claims_is_a_named_outcome() -> None:
    """Of the answer `no_statements`, of the reference `no_reference_statements`."""
    row = {**ROW, "answer": "Hello! How can I help you?"}
    result = AnswerCorrectness.grade(**row, client="embedded")
    assert (result.not_scorable, result.score) == ("no_statements", 0.0)
    row = {**ROW, "reference": "What do you mean?"}
    result = AnswerCorrectness.grade(**row, client="embedded")
    assert (result.not_scorable, result.score) == ("no_reference_statements", 0.0)


def test_the_reference_itself_is_correct_whatever_a_judge_says(scripted: Start) -> None:
    """A warning says that both texts are one."""
    scripted(lambda _: {"s0": unsaid("contradicted"), "s1": unsaid("contradicted")})
    result = AnswerCorrectness.grade(**{**ROW, "answer": ROW["reference"]}, client="openai/m")

    assert result.score == 1.0
    assert result.warnings == ["answer and reference are the same text"]


def test_a_language_that_the_verifier_does_not_read_has_no_score() -> None:
    """As for faithfulness."""
    german = "Der Turm wurde 1889 in Paris gebaut und ist seitdem nicht mehr abgerissen worden."
    row: dict[str, Any] = {
        "question": "Wo steht der Turm?",
        "answer": german,
        "reference": f"{german} Er ist alt.",
    }
    with pytest.warns(UserWarning, match="unread_language; the score of 0.67 does not count"):
        result = AnswerCorrectness.grade(**row, client="embedded")

    assert result.not_scorable == "unread_language"
    # Without a list of languages, every language is read.
    result = AnswerCorrectness.grade(**row, client="embedded?languages=any")
    assert (result.not_scorable, result.precision, result.recall) == (None, 1.0, 0.5)


@pytest.mark.parametrize("name", ["expected", "ground_truth", "reference", "golden"])
def test_usual_columns_are_the_reference(name: str) -> None:
    """A run finds them without being told."""
    rows = [{"question": ROW["question"], "answer": ROW["answer"], name: ROW["reference"]}]
    run = evaluate(rows, ["answer_correctness"], client="embedded")

    assert run.outcomes[0].score == pytest.approx(0.4)
    assert run.summary().graders["answer_correctness"].tallies["missing"] == (1, 2)


@pytest.mark.parametrize("skipped", ["answer", "reference"])
def test_a_sentence_that_a_judge_skips_in_either_text_leaves_no_score(
    scripted: Start, skipped: str
) -> None:
    """Neither the answer nor the reference may be read in part."""

    def all_but_the_second(request: JudgeRequest) -> dict[str, Any]:
        is_skipped = (len(request.sentences) == 3) is (skipped == "answer")
        names = [f"s{n}" for n in range(len(request.sentences)) if n != 1 or not is_skipped]
        return {name: said("same") for name in names}

    scripted(all_but_the_second)
    outcome = evaluate([ROW], ["answer_correctness"], client="openai/m").outcomes[0]

    assert isinstance(outcome.result, AnswerCorrectnessResult)
    assert outcome.result.left_out == [1]
    assert outcome.result.drift == ["left out: sentence 1 makes a claim; state it, with a verdict"]
    assert (outcome.reason, outcome.score) == ("answer_not_covered", None)


@pytest.mark.parametrize(
    ("answer", "is_same"),
    [
        ("It’s  red\nhere.", True),
        ("It's red here.", True),
        ("It's blue here.", False),
    ],
)
def test_texts_that_differ_only_in_their_letters_forms_are_the_same(
    answer: str, is_same: bool
) -> None:
    """Quotes and blanks say nothing; the result says that nothing was compared."""
    result = AnswerCorrectness.grade(answer=answer, reference="It's red here.", client="embedded")

    assert result.is_same_text is is_same
    assert (result.score == 1.0) is is_same
    assert result.warnings == (["answer and reference are the same text"] if is_same else [])
