"""Abstention: answerable or not, answered or declined, or both in part."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import Abstention
from rag_evals.run import evaluate
from rag_evals.score_abstention import AbstentionResult
from rag_evals.testing import Script, ScriptedJudge

ROW = {"question": "q", "answer": "a", "context": ["c"]}


def labels(answerable: str, abstained: str) -> dict[str, Any]:
    """Return a reply."""
    return {
        "answerable": {"reasoning": "r", "label": answerable},
        "abstained": {"reasoning": "r", "label": abstained},
    }


@pytest.mark.parametrize(
    ("answerable", "abstained", "cell", "score"),
    [
        ("yes", "no", "answered", 1.0),
        ("no", "yes", "right_abstention", 1.0),
        ("no", "no", "unfounded_answer", 0.0),
        ("yes", "yes", "needless_abstention", 0.0),
        ("yes", "partly", "needless_abstention", 0.0),
        ("partly", "partly", "answered_in_part", 1.0),
        ("partly", "yes", "right_abstention", 1.0),
        ("partly", "no", "unfounded_answer", 0.0),
        ("no", "partly", "unfounded_answer", 0.0),
    ],
)
def test_the_right_cells_score_one(
    answerable: str, abstained: str, cell: str, score: float
) -> None:
    """Answering what can be answered and declining what cannot score 1, in part as well."""
    result = AbstentionResult.model_validate(labels(answerable, abstained))

    assert (result.cell, result.score) == (cell, score)


def test_a_run_counts_each_error_where_it_could_be_made(
    scripted: Callable[[Script], ScriptedJudge],
) -> None:
    """Needless abstentions are counted over answerable rows, unfounded answers over the others."""
    pairs = [("yes", "no"), ("yes", "yes"), ("no", "no"), ("partly", "no")]
    scripted([labels(*pair) for pair in pairs])
    rows = [ROW | {"answer": f"a{n}"} for n in range(4)]
    run = evaluate(rows, [Abstention], "openai/m", concurrency=1)

    assert run.summary().graders["abstention"].tallies == {
        "needless abstentions": (1, 2),
        "unfounded answers": (2, 2),
    }
    assert run.summary().graders["abstention"].mean() == pytest.approx(1 / 4)


def test_the_reply_is_asked_for_in_one_call(
    scripted: Callable[[Script], ScriptedJudge],
) -> None:
    """Both labels, each behind its reasoning."""
    judge = scripted(labels("no", "yes"))

    assert Abstention.grade(**ROW, client="openai/m").cell == "right_abstention"  # type: ignore[arg-type]  # a table's row
    assert len(judge.requests) == 1
