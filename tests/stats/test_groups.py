"""Does a table by group count every row?"""

import pytest

from rag_evals.errors import InvalidScoresError, UnpairedScoresError
from rag_evals.stats import mean_interval, summarize_groups


def test_rows_without_a_score_are_counted_by_reason() -> None:
    """A group reports all its rows, and why some have no score."""
    table = summarize_groups(
        [1.0, None, 0.6, None, None],
        ["law", "law", "law", "tax", "law"],
        reasons=[None, "no_statements", None, "failed", None],
    )

    assert [line.group for line in table] == ["law", "tax"]
    assert (table[0].rows, table[0].scored) == (4, 2)
    assert table[0].unscored == {"no_statements": 1, "unscored": 1}
    assert table[0].bands == {"high": 1, "good": 0, "medium": 1, "low": 0}
    assert table[0].mean == mean_interval([1.0, 0.6])


def test_a_group_without_scores_has_no_mean() -> None:
    """A group whose rows all failed has no mean, rather than 0 or NaN."""
    (line,) = summarize_groups([None, None], [None, None])

    assert line.mean is None
    assert line.group is None
    assert line.unscored == {"unscored": 2}


def test_clusters_follow_their_rows() -> None:
    """Each group's interval uses the clusters of its own scored rows."""
    table = summarize_groups(
        [1.0, 0.0, 1.0, None, 0.0, 0.5],
        ["a", "a", "a", "a", "a", "b"],
        clusters=["x", "x", "y", "y", "z", "z"],
    )

    assert table[0].mean == mean_interval([1.0, 0.0, 1.0, 0.0], clusters=["x", "x", "y", "z"])


def test_misaligned_columns_are_refused() -> None:
    """A column of another length raises and says which."""
    with pytest.raises(UnpairedScoresError, match="2 scores, 1 groups"):
        summarize_groups([0.1, 0.2], ["a"])
    with pytest.raises(UnpairedScoresError, match="2 scores, 1 reasons"):
        summarize_groups([0.1, 0.2], ["a", "a"], reasons=[None])
    with pytest.raises(InvalidScoresError, match="empty"):
        summarize_groups([], [])
