"""Two runs are compared row by row, and the answer says how sure it is."""

import random
from pathlib import Path

import pytest

from rag_evals import evaluate
from rag_evals.errors import DataError, UnpairedScoresError
from rag_evals.quality import compare
from rag_evals.run import StoredRun
from tests.quality.runs import record, scores_run


def test_a_run_is_not_distinguishable_from_itself() -> None:
    """No difference, p = 1, and the interval still says what so few rows cannot rule out."""
    run = scores_run([1.0, 0.5, 0.75, 0.0])
    (grader,) = compare(run, run).graders

    assert grader.verdict == "not distinguishable"
    assert (grader.paired.significance.p_value, grader.paired.ties) == (1.0, 4)
    assert grader.paired.difference.low < 0 < grader.paired.difference.high
    assert grader.changed == ()


def test_a_clear_loss_is_found_with_its_size() -> None:
    """Every row one fifth worse: the interval lies below zero, and the text says so."""
    rng = random.Random(1)
    before = [rng.choice([0.4, 0.6, 0.8, 1.0]) for _ in range(60)]
    after = [score - rng.choice([0.1, 0.2, 0.3]) for score in before]
    compared = compare(scores_run(before), scores_run(after))
    (grader,) = compared.graders

    assert grader.verdict == "worse"
    assert grader.paired.losses == 60
    assert compared.is_worse(margin=0.1)
    assert not compared.is_worse(margin=0.3)
    assert "the candidate is worse" in str(compared)
    assert len(grader.changed) == 20
    assert grader.changed[0].baseline - grader.changed[0].candidate == pytest.approx(0.3)


def test_rows_of_one_run_only_are_listed() -> None:
    """Nothing is dropped silently: rows in one run, and rows that only one run could score."""
    one = scores_run({"a": 1.0, "b": 0.5, "c": None, "d": 1.0})
    other = scores_run({"b": 0.5, "c": 1.0, "d": 1.0, "e": 0.0})
    compared = compare(one, other)
    (grader,) = compared.graders

    assert (grader.only_baseline, grader.only_candidate) == (("a",), ("e",))
    assert [(row.sample_id, row.run, row.why) for row in grader.scored_once] == [
        ("c", "candidate", "empty_context")
    ]
    assert grader.paired.samples == 2
    assert "only in the baseline: 1 rows: a" in str(compared)
    assert "only the candidate scored c; the other: empty_context" in str(compared)


def test_passes_are_compared_by_mcnemar() -> None:
    """Rows that reach the threshold are counted in both runs; the test is of those that moved."""
    compared = compare(scores_run([1.0] * 6), scores_run([0.5] * 5 + [1.0]), threshold=0.9)
    (grader,) = compared.graders

    assert grader.passed == (6, 1)
    assert (grader.passes.only_baseline, grader.passes.only_candidate) == (5, 0)
    assert grader.passes.p_value == pytest.approx(2 * 0.5**5)


def test_several_graders_are_adjusted_together() -> None:
    """Holm: the smallest of two p-values counts twice."""

    def run(first: float) -> StoredRun:
        rows = [record(n, f"r{n}", first * (1 - n / 100), grader="one") for n in range(6)]
        return StoredRun([*rows, *(record(n, f"r{n}", 0.5, grader="two") for n in range(6))])

    one, two = compare(run(0.2), run(0.9)).graders

    assert one.paired.significance.p_value == pytest.approx(2 / 64)
    assert one.adjusted_p == pytest.approx(4 / 64)
    assert two.adjusted_p == 1
    assert one.paired.verdict == "better"
    assert one.verdict == "not distinguishable"


def test_groups_are_compared_each() -> None:
    """One line for each value of the column; rows without it are a group too."""
    columns = {f"r{n}": {"topic": "x" if n < 6 else None} for n in range(12)}
    one = scores_run([0.2] * 12, columns=columns)
    other = scores_run([0.9] * 6 + [0.2] * 6, columns=columns)
    (grader,) = compare(one, other, by="topic").graders

    assert [(g.group, g.paired.samples, g.paired.wins) for g in grader.groups] == [
        ("x", 6, 6),
        (None, 6, 0),
    ]
    assert "(none): +0.000" in str(compare(one, other, by="topic"))


def test_rows_of_one_document_count_as_one() -> None:
    """With clusters the same difference is less sure."""
    columns = {f"r{n}": {"document": f"d{n % 3}"} for n in range(30)}
    one = scores_run([0.5] * 30, columns=columns)
    other = scores_run([0.5 + 0.1 * (n % 3) for n in range(30)], columns=columns)
    alone = compare(one, other).graders[0].paired
    clustered = compare(one, other, cluster="document").graders[0].paired

    assert clustered.clusters == 3
    assert clustered.difference.width > 3 * alone.difference.width


def test_other_differences_are_named() -> None:
    """A changed judge, prompt or limit is said before the numbers; so are other answers."""
    old = {"judge": "embedded", "graders": {"faithfulness": "1"}, "limit": None, "data": "x"}
    new = {"judge": "openai/m", "graders": {"faithfulness": "2"}, "limit": 4, "data": "y"}
    one, other = scores_run([1.0], identity=old), scores_run([1.0], identity=new)

    assert compare(one, other).warnings == (
        "the judge differs: 'embedded' and 'openai/m'",
        "the limit differs: None and 4",
        "the prompt or the way of grading of faithfulness differs",
        "the data differs",
    )
    assert compare(one, one).warnings == ()


def test_changed_answers_are_counted(tmp_path: Path) -> None:
    """Two systems on the same questions: the note says how many answers differ."""
    rows = [{"id": f"{n}", "question": "q", "answer": "It is.", "context": ["c"]} for n in "ab"]
    evaluate(rows, out="one")
    evaluate([{**rows[0], "answer": "It was."}, rows[1]], out="two")

    assert compare("one", "two").warnings == (
        "the data differs: of 2 rows with the same id, another answer in 1",
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (scores_run({"x": 1.0}), "need an id column"),
        (scores_run([1.0], grader="relevance"), "no grader in common: faithfulness and relevance"),
    ],
)
def test_runs_without_a_common_row_are_refused(other: StoredRun, message: str) -> None:
    """The message says what would make them comparable."""
    with pytest.raises(UnpairedScoresError, match=message):
        compare(scores_run([1.0]), other)


def test_a_folder_without_a_run_is_refused() -> None:
    """The message names the folder."""
    with pytest.raises(DataError, match="'nowhere' holds no run"):
        compare("nowhere", "nowhere")
