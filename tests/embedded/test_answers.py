"""Whole answers: what ranks them, and why no padding makes one pass."""

import random
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate
from rag_evals.analysis import agreement
from rag_evals.cache import StatementCache
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.grading import SentenceExtractor, VerifiedFaithfulness, VerifiedFaithfulnessResult
from rag_evals.run import load_run
from rag_evals.verify import CascadeVerifier
from tools.train_embedded.cases import verify_answer

CHUNK = (
    "The Eiffel Tower stands in Paris. It was completed in 1889 and is 330 metres tall. "
    "Глубина озера Байкал составляет 1642 метра."
)
TRUE = "The Eiffel Tower stands in Paris."
WORDS = "apple river seven cloud window yellow engine market paper doctor music summer".split()


def grade(answer: str) -> VerifiedFaithfulnessResult:
    """Grade an answer offline."""
    result = Faithfulness.grade(answer=answer, context=[CHUNK], client="embedded")
    assert isinstance(result, VerifiedFaithfulnessResult)
    return result


@pytest.mark.parametrize(
    "false", ["The Eiffel Tower is 500 metres tall.", "Глубина озера Байкал составляет 2642 метра."]
)
@pytest.mark.parametrize("times", [1, 3, 50])
def test_true_sentences_do_not_help_a_false_one(false: str, times: int) -> None:
    """Its verdict and support stay, and the answer ranks no higher with the padding."""
    alone, padded = grade(false), grade(" ".join([*[TRUE] * times, false]))

    assert not padded.statements[-1].is_supported
    assert padded.statements[-1].support == alone.statements[0].support
    assert alone.answer_support is not None
    assert padded.answer_support is not None
    assert padded.answer_support <= alone.answer_support


def test_random_sentences_are_not_supported_by_their_number() -> None:
    """A thousand sentences of random words score next to nothing."""
    draw = random.Random(3)
    answer = " ".join(f"{' '.join(draw.choices(WORDS, k=6)).capitalize()}." for _ in range(1000))
    result = grade(answer)

    assert result.score < 0.01
    assert result.answer_support == pytest.approx(0.1)


def test_answer_support_never_rises_with_a_further_statement() -> None:
    """It is 0.8 for none, and each statement lowers it, a sure one hardly."""
    support = EmbeddedVerifier().answer_support

    assert support([]) == 0.8
    assert support([0.9]) > support([0.9, 0.9]) > support([0.9, 0.9, 0.1])
    assert support([0.9] * 5) > 0.75
    assert support([0.0] * 5000) == pytest.approx(0.1)
    assert support([0.0] * 5000) <= support([1.0, 0.0]) < 0.16
    assert support([1.0, 1.0]) == pytest.approx(0.8)


def test_grader_verifier_and_cache_decide_alike() -> None:
    """A statement has one verdict, alone, in an answer and from the cache."""
    answer = f"{TRUE} The Eiffel Tower is 500 metres tall."
    found = [v.is_supported for _, v in verify_answer(EmbeddedVerifier(), answer, [CHUNK])]
    cached = VerifiedFaithfulness(extractor=SentenceExtractor(), cache=StatementCache())
    again = cached.grade(answer=answer, context=[CHUNK], client="embedded")

    assert [s.is_supported for s in grade(answer).statements] == found == [True, False]
    assert again.ranking_score == grade(answer).ranking_score is not None


def test_only_calibrated_verifiers_rank_answers() -> None:
    """Others say yes or no: the score itself ranks their answers."""
    cascade = CascadeVerifier(EmbeddedVerifier(), EmbeddedVerifier())

    assert cascade.traits.answer_support is None


def test_runs_keep_the_ranking_and_agreement_ranks_by_it(tmp_path: Path) -> None:
    """Rows of equal score are told apart, in the folder, in CSV and in AUROC."""
    answers = ["It is 331 metres tall.", "The tower sings of yellow rivers at noon.", TRUE, CHUNK]
    rows = [
        {"id": f"{n}", "answer": answer, "context": [CHUNK], "label": int(n >= 2)}
        for n, answer in enumerate(answers)
    ]
    run = evaluate(rows, graders="faithfulness", client="embedded", out=tmp_path / "run")
    stored = load_run(tmp_path / "run")
    ranked = [outcome.ranking_score for outcome in run.outcomes]

    assert all(value is not None for value in ranked)
    assert ranked == [record["ranking_score"] for record in stored.records]
    assert ranked[0] != ranked[1]
    table = next(table for table in agreement(stored).tables if table.level == "row")
    assert table.ranked_by == "ranking"
    assert "AUROC of ranking" in str(agreement(stored))


def test_an_unclear_yes_does_not_count_into_the_support() -> None:
    """A yes to a question of two sides is no statement: with or without it the support is one."""
    row: dict[str, Any] = {
        "question": "Is the tower old, or is it new?",
        "context": ["The Eiffel Tower stands in Paris."],
    }
    alone: Any = Faithfulness.grade(answer="The Eiffel Tower stands in Paris.", **row)
    unclear: Any = Faithfulness.grade(answer="Yes. The Eiffel Tower stands in Paris.", **row)

    assert [one.reason for one in unclear.no_claim_sentences] == ["unclear_yes_no"]
    assert unclear.answer_support == alone.answer_support
