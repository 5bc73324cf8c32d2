"""The same rows and verdicts beside ragas and deepeval: where scores agree, and where they differ.

`tests/data/peers.json` is what the peers themselves gave; `make test-peers` asks them again.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.compat.deepeval.metrics import FaithfulnessMetric
from rag_evals.compat.deepeval.test_case import LLMTestCase
from rag_evals.compat.ragas import evaluate as evaluate_as_ragas
from rag_evals.compat.ragas.metrics import Faithfulness
from rag_evals.errors import NotScorableError
from rag_evals.testing import ScriptedJudge
from tests.peers.rows import ROWS, same_judge

pytestmark = pytest.mark.filterwarnings("ignore::rag_evals.compat.CompatWarning")

STORED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "peers.json").read_text("utf-8")
)


@pytest.fixture
def judge() -> Iterator[str]:
    """Run the judge that gives every tool the same verdicts."""
    with ScriptedJudge(same_judge) as running:
        yield f"openai/any@{running.base_url}"


def test_scores_are_those_of_ragas(judge: str) -> None:
    """Row by row, NaN for a row without statements included; ours says why there is none."""
    rows = [
        {"user_input": row.question, "response": row.answer, "retrieved_contexts": row.context}
        for row in ROWS
    ]

    found = evaluate_as_ragas(rows, [Faithfulness()], llm=judge)["faithfulness"]
    ours = evaluate([row._asdict() for row in ROWS], client=judge)

    assert [None if math.isnan(s) else s for s in found] == STORED["ragas"]["scores"]
    assert [outcome.score for outcome in ours] == STORED["ragas"]["scores"]
    assert ours[-1].reason == "no_statements"


def test_scores_are_those_of_deepeval_that_penalises(judge: str) -> None:
    """As `penalize_ambiguous_claims=True`; a row without statements is no 1 here, but an error."""
    metric = FaithfulnessMetric(model=judge)
    found: list[float | None] = []
    for row in ROWS:
        case = LLMTestCase(
            input=row.question, actual_output=row.answer, retrieval_context=row.context
        )
        try:
            found.append(metric.measure(case))
        except NotScorableError:
            found.append(None)

    assert found[:-1] == STORED["deepeval"]["scores_penalized"][:-1]
    assert (found[-1], STORED["deepeval"]["scores"][-1]) == (None, 1)
    # By default it counts only contradicted statements.
    assert STORED["deepeval"]["scores"] == [1.0, 1.0, 0.5, 1.0, 1]
