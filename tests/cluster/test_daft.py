"""Daft grades each row with the class that other engines use.

CI runs this folder in an environment of its own; elsewhere it is skipped: needs Daft.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_evals import open_session
from rag_evals.run import TableGrader

daft: Any = pytest.importorskip("daft", reason="Daft is not installed")

# Libraries of others warn as they like.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_daft_awaits_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of the user's keeps a grader; its async method grades row by row."""
    # Daft starts the Python that it finds first for the processes of a class.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    outcome = daft.DataType.struct({"id": daft.DataType.string(), "score": daft.DataType.float64()})

    @daft.cls(max_concurrency=2)
    class Grade:
        def __init__(self, judge: str) -> None:
            self.grader = TableGrader(lambda: open_session("faithfulness", judge))

        @daft.method(return_dtype=outcome)  # type: ignore[untyped-decorator]
        async def __call__(self, id: str, answer: str, context: list[str]) -> dict[str, Any]:
            row = {"id": id, "answer": answer, "context": context}
            (graded,) = await self.grader.grade_row(row)
            return {"id": graded["sample_id"], "score": graded["score"]}

    rows = daft.from_pydict(
        {
            "id": ["right", "wrong"],
            "answer": ["The tower is in Paris.", "The tower is in Rome."],
            "context": [["The tower is in Paris."]] * 2,
        }
    )
    grade, col = Grade("embedded"), daft.col

    found = rows.select(grade(col("id"), col("answer"), col("context")).alias("graded"))

    assert found.to_pydict()["graded"] == [
        {"id": "right", "score": 1.0},
        {"id": "wrong", "score": 0.0},
    ]
