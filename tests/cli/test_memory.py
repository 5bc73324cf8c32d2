"""What a run holds in memory does not grow with its rows, except for 8 bytes a score."""

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Grader, Result, Sample, load_run, stream
from rag_evals.core import Flow
from tests.conftest import Command

ROWS = 1351
FIRST = 350
COMMIT_ROWS = 100
MOST_BYTES_A_ROW = 20
HELD: list[int] = []


class Length(Result):
    """A result of a few bytes."""

    words: int

    @property
    def score(self) -> float:
        """The share of a number of words."""
        return min(self.words / 20, 1.0)


class Watch(Grader[Length]):
    """Notes what Python holds each time when it begins with a certain row."""

    name = "watch"
    result_model = Length
    judge_rounds = 0

    def fingerprint(self) -> str:
        return "watch"

    def flow(self, sample: Sample) -> Flow[Length]:
        if sample.id in (f"row-{FIRST}", f"row-{ROWS - 1}"):
            gc.collect()
            HELD.append(tracemalloc.get_traced_memory()[0])
        yield []
        return Length(words=len(str(sample.answer).split()))

    def with_verifier(self, verifier: Any) -> "Watch":
        return self


watch = Watch()


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], float]]:
    """Write the rows; return how many bytes a row the last run added to what Python holds.

    It is looked at twice when about 50 lines wait for the index.
    """
    monkeypatch.setattr("rag_evals.run.record.index._COMMIT_ROWS", COMMIT_ROWS)
    rows = ({"id": f"row-{n}", "answer": f"House {n}. " * 9} for n in range(ROWS))
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    HELD.clear()
    tracemalloc.start()
    yield lambda: (HELD[1] - HELD[0]) / (ROWS - FIRST)
    tracemalloc.stop()


@pytest.mark.slow
def test_a_command_holds_the_scores_and_the_rows_it_shows(
    command: Command, grown: Callable[[], float]
) -> None:
    """The table has the lowest of all rows; outcomes are in the folder only."""
    asked = "grade", "rows.jsonl", "--grader", f"{__name__}:watch", "--out", "run", "--quiet"
    ended = command(*asked)

    assert ended.code == 0, ended.err
    assert f"{ROWS - 20} more" in ended.out
    assert grown() < MOST_BYTES_A_ROW


@pytest.mark.slow
def test_python_holds_the_scores(grown: Callable[[], float]) -> None:
    """Outcomes of a stream are in the folder only."""
    for _ in stream("rows.jsonl", watch, out="run"):
        pass

    assert load_run("run").summary().graders["watch"].scored == ROWS
    assert grown() < MOST_BYTES_A_ROW
