"""Very many scores stand in a file, and say what they would say in memory."""

import copy
import gc
import pickle
import random
import statistics
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from rag_evals.run.score_file import ScoreFile
from rag_evals.run.summary import GraderSummary

DRAWN = random.Random(1)
SCORES = [DRAWN.choice([0.0, 0.5, 1.0, DRAWN.random()]) for _ in range(60_000)]


@pytest.mark.parametrize("count", [0, 1, 8191, 8192, 8193, 20_000])
def test_what_is_put_in_comes_out(count: int) -> None:
    """In order, by place and as a slice, and again while more come."""
    scores = ScoreFile(SCORES[: count // 2])
    for score in SCORES[count // 2 : count]:
        scores.append(score)

    assert (len(scores), bool(scores), list(scores)) == (count, count > 0, SCORES[:count])
    assert [scores[place] for place in range(-count, count, 997)] == [
        SCORES[:count][place] for place in range(-count, count, 997)
    ]
    assert list(scores[5:9000:7]) == SCORES[:count][5:9000:7]
    for again in (copy.deepcopy(scores), pickle.loads(pickle.dumps(scores))):
        assert again == scores
    passed = iter(scores)
    first = next(passed, None)
    scores.extend(SCORES[count:])
    assert count == 0 or [first, *passed] == SCORES
    assert scores == ScoreFile(SCORES) != ScoreFile(SCORES[1:])


def test_the_numbers_are_those_of_scores_in_memory() -> None:
    """Mean, interval, spread and bands, with reasons that count as a number as well."""
    summary, few = GraderSummary("g"), GraderSummary("g")
    summary.scores.extend(SCORES)
    few.scores.extend(SCORES[:100])
    summary.not_scorable["empty_context"] = 9000

    assert summary.mean() == pytest.approx(statistics.fmean(SCORES), abs=1e-15)
    assert summary.spread()["median"] == statistics.median(SCORES)
    assert sum(summary.bands().values()) == len(SCORES)
    counted = summary.values({"empty_context": 1.0})
    assert list(counted) == SCORES + [1.0] * 9000
    assert few.mean() == pytest.approx(statistics.fmean(SCORES[:100]), abs=1e-15)


def test_memory_does_not_grow_with_the_scores() -> None:
    """A hundred thousand of them would be 800 kB."""
    scores = ScoreFile()
    tracemalloc.start()
    for _ in range(100_000):
        scores.append(0.5)
    assert sum(scores) == 50_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 400_000


def test_without_a_place_to_write_the_scores_stay_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A temporary folder that is not there ends no run."""
    monkeypatch.setattr(tempfile, "tempdir", str(Path("missing").resolve()))
    scores = ScoreFile(SCORES)

    assert list(scores) == SCORES
    del scores
    gc.collect()
