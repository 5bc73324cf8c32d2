"""Ranks by ids: no judge is asked, and every odd list of ids is a named outcome."""

import math
from typing import Any

import pytest

from rag_evals import Sample, evaluate
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.score_ranks import RanksGrader, RetrievalRanks, RetrievalRanksResult


def grade(ids: list[Any], relevant: Any, k: int = 10) -> RetrievalRanksResult:
    """Grade chunks with these ids."""
    context = [{"id": one, "text": f"text {n}"} for n, one in enumerate(ids)]
    return RetrievalRanks.with_k(k).grade(
        Sample(context=context, relevant_ids=relevant), client="embedded"
    )


def test_every_number_counts_what_was_not_found() -> None:
    """Two of four were found, at places 2 and 4; what was missed counts against the row."""
    result = grade(["a", "b", "c", "d"], ["b", "d", "y", "z"], k=3)

    assert result.further_scores == pytest.approx(
        {
            "hit_at_k": 1.0,
            "recall_at_k": 1 / 4,
            "average_precision": (1 / 2 + 2 / 4) / 4,
            "reciprocal_rank": 1 / 2,
        }
    )
    assert result.missing == ["y", "z"]
    assert [(one.label, one.verdict) for one in result.findings] == [
        *[("not relevant", False), ("relevant", True)] * 2,
        *[("retrieval missed it", False)] * 2,
    ]


@pytest.mark.parametrize(
    ("ids", "relevant", "score", "warning"),
    [
        ([], ["a"], 0.0, []),
        (["a"], ["z"], 0.0, []),
        (["a", "a", "b"], ["a"], 1.0, ["duplicate chunk ids; only the first is used"]),
        (["a", "b"], ["a", "a"], 1.0, ["duplicate relevant ids; only the first is used"]),
        ([7, 8], [7], 1.0, []),
        ([7, 0], [0], pytest.approx(1 / math.log2(3)), []),
        (["a"], '["a"]', 1.0, []),
        (["a"], "a", 1.0, []),
    ],
)
def test_odd_lists_have_a_score_or_a_warning(
    ids: list[Any], relevant: Any, score: float, warning: list[str]
) -> None:
    """Nothing found, nothing relevant among it, ids twice, whole numbers, and lists as text."""
    result = grade(ids, relevant)

    assert (result.score, result.warnings) == (score, warning)


def test_chunks_without_ids_have_their_places() -> None:
    """A warning says what was compared."""
    sample = Sample(context=["x", "y"], relevant_ids=[1])
    result = RetrievalRanks.grade(sample, client="embedded")

    assert result.relevant == [False, True]
    assert result.warnings == ["the chunks have no ids, so their positions (from 0) are compared"]


def test_a_chunk_without_an_id_among_others_has_its_place() -> None:
    """Ids are compared then, so no warning says otherwise."""
    sample = Sample(context=[{"id": "a", "text": "x"}, "y"], relevant_ids=["a"])
    result = RetrievalRanks.grade(sample, client="embedded")

    assert result.ids == ["a", "1"]
    assert result.warnings == []


def test_a_run_reads_the_column_and_names_rows_without_it() -> None:
    """The ids are a part of the row: another list is another row."""
    row = {"answer": "x", "context": [{"id": "a", "text": "x"}]}
    run = evaluate([{**row, "relevant_ids": ["a"]}, row], ["retrieval_ranks"], client="embedded")

    assert [one.score for one in run.outcomes] == [1.0, None]
    assert run.outcomes[1].reason == "no_relevant_ids"
    assert run.summary().graders["retrieval_ranks"].further_means()["hit_at_k"].estimate == 1.0
    first, second = (Sample(context=["x"], relevant_ids=ids) for ids in (["a"], ["b"]))
    assert first.fingerprint() != second.fingerprint()


@pytest.mark.parametrize("ids", [[None], [True], [["a"]], 1.5])
def test_what_is_no_id_is_refused(ids: Any) -> None:
    """The message names the field."""
    with pytest.raises(DataError, match="relevant_ids contains"):
        Sample(context=["x"], relevant_ids=ids)


def test_a_k_that_is_none_is_refused() -> None:
    """Before anything is graded."""
    with pytest.raises(ConfigurationError, match="k is 0"):
        RetrievalRanks.with_k(0)


def test_only_three_numbers_end_at_k() -> None:
    """The rank of the first relevant chunk and the average precision count all chunks."""
    result = RetrievalRanksResult(ids=["a", "b", "c", "d"], relevant_ids=["c", "x"], k=2)

    assert (result.score, result.relevant, result.missing) == (
        0.0,
        [False, False, True, False],
        ["x"],
    )
    assert result.further_scores == {
        "hit_at_k": 0.0,
        "recall_at_k": 0.0,
        "average_precision": pytest.approx(1 / 6),
        "reciprocal_rank": pytest.approx(1 / 3),
    }
    found = result.model_copy(update={"k": 3})
    assert found.score == pytest.approx((1 / 2) / (1 + 1 / math.log2(3)))
    assert (found.further_scores["hit_at_k"], found.further_scores["recall_at_k"]) == (1.0, 0.5)
    assert [(one.text, one.verdict, one.label) for one in found.findings] == [
        ("chunk a", False, "not relevant"),
        ("chunk b", False, "not relevant"),
        ("chunk c", True, "relevant"),
        ("chunk d", False, "not relevant"),
        ("chunk x", False, "retrieval missed it"),
    ]


def test_another_k_is_another_grader() -> None:
    """Another name is not."""
    assert RanksGrader(5).fingerprint() != RanksGrader(6).fingerprint()
    assert RanksGrader(10, name="n").fingerprint() == RetrievalRanks.fingerprint()
    assert (RetrievalRanks.k, RetrievalRanks.with_k(3).k, RetrievalRanks.name) == (
        *(10, 3, "retrieval_ranks"),
    )
