"""Is every score in exactly one band?"""

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, InvalidScoresError, UnpairedScoresError
from rag_evals.stats import (
    DEFAULT_BANDS,
    Band,
    band_of,
    build_bands,
    count_bands,
    majority,
    summarize_groups,
)
from rag_evals.stats.bands import spread_of


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (1.0, "high"),
        (0.9, "high"),
        (0.8999, "good"),
        (0.7, "good"),
        (0.69, "medium"),
        (0.5, "medium"),
        (0.4999, "low"),
        (0.0, "low"),
    ],
)
def test_a_lower_limit_belongs_to_its_band(score: float, name: str) -> None:
    """Scores at a limit are in the band that starts there."""
    assert band_of(score).name == name


def test_rounding_does_not_lower_a_band() -> None:
    """Nine tenths added up, 0.8999999999999999 in binary, are high."""
    # `sum` compensates for rounding since Python 3.12.
    tenths = reduce(add, [0.1] * 9)

    assert tenths < 0.9
    assert band_of(tenths).name == "high"


def test_labels_in_two_languages() -> None:
    """Every default band has an English and a Russian label; other languages see the name."""
    assert [band.label("ru") for band in DEFAULT_BANDS] == [
        "Высокая достоверность",
        "Хорошая достоверность",
        "Средняя достоверность",
        "Низкая достоверность",
    ]
    assert [band.label() for band in DEFAULT_BANDS] == ["high", "good", "medium", "low"]
    assert DEFAULT_BANDS[0].label("fr") == "high"


def test_words_of_bands_belong_to_their_grader() -> None:
    """A relevance of 0 says nothing of statements; bands of a user are of every grader."""
    low = DEFAULT_BANDS[-1]

    assert low.meaning("en", "faithfulness_audited") == low.meaning()
    assert low.meaning("en", "answer_relevance") is None
    assert low.label("ru", "answer_relevance") == "Низкая оценка"
    assert Band("all", 0, {"ru": "все"}).label("ru", "tone") == "все"


@given(st.lists(st.floats(0, 1), max_size=50))
def test_counts_add_up(scores: list[float]) -> None:
    """Every score is counted once, and empty bands are counted as 0."""
    counts = count_bands(scores)

    assert list(counts) == ["high", "good", "medium", "low"]
    assert sum(counts.values()) == len(scores)


def test_own_bands() -> None:
    """Names and limits are the user's, in any order."""
    bands = build_bands({"fail": 0, "pass": 0.8})

    assert band_of(0.8, bands=bands).label("ru") == "pass"
    assert count_bands([0.1, 0.79, 0.9], bands=bands) == {"pass": 1, "fail": 2}


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"pass": 0.5}, "no band starts at 0"),
        ({}, "no band starts at 0"),
        ({"a": 0, "b": 1.5}, "'b' starts at 1.5"),
        ({"a": 0, "b": 0.5, "c": 0.5}, "both start at 0.5"),
    ],
)
def test_bands_with_gaps_or_doubles_are_refused(limits: dict[str, float], complaint: str) -> None:
    """Limits that leave a score without a band, or in two, raise with the culprit."""
    with pytest.raises(ConfigurationError, match=complaint):
        build_bands(limits)


@pytest.mark.parametrize("score", [float("nan"), 1.01, -0.1, 87.0])
def test_what_is_not_a_score_has_no_band(score: float) -> None:
    """NaN, percent and negative numbers raise."""
    with pytest.raises(InvalidScoresError):
        band_of(score)


@pytest.mark.parametrize(
    ("scores", "most"),
    [
        ([0.5], 0.5), ([1.0, 0.0, 1.0], 1.0), ([0.0, 1.0], 0.0), ([1.0, 0.0], 0.0),
        # Of two pairs the one near the median 0.5; of two as near, the lower one.
        ([0.0, 0.0, 0.5, 1.0, 0.75, 0.75], 0.75), ([0.25, 0.25, 0.75, 0.75, 0.5], 0.25),
        ([0.0, 0.0, 0.25, 0.25, 1.0], 0.25), ([0.1, 0.9, 0.5], 0.5),
    ],
)  # fmt: skip
def test_the_majority_is_the_most_frequent_score(scores: list[float], most: float) -> None:
    """In a tie the one nearest to the median, and then the more cautious one."""
    assert majority(scores) == majority(scores[::-1]) == most
    with pytest.raises(InvalidScoresError, match="repeats is empty"):
        majority([])


def test_equal_scores_are_counted_each() -> None:
    """By the bands that are given, and each as often as it occurs."""
    bands = build_bands({"fail": 0, "pass": 0.5, "all": 1})
    scores = [0.25, 0.25, 0.5, 0.5, 0.5, 1.0]

    assert count_bands(scores, bands=bands) == {"all": 1, "pass": 3, "fail": 2}
    (group,) = summarize_groups(scores, ["x"] * 6, bands=bands)
    assert group.bands == {"all": 1, "pass": 3, "fail": 2}
    with pytest.raises(ConfigurationError, match="'low' starts at -0.1"):
        build_bands({"low": -0.1, "high": 0.5, "zero": 0})


def test_scores_lie_around_their_median() -> None:
    """Two scores have a spread, one has none, and no score has nothing."""
    two, none = spread_of([0.25, 0.75]), spread_of([])

    assert two == {
        "median": 0.5,
        "std": pytest.approx(0.125**0.5),
        "min": 0.25,
        "max": 0.75,
        "n": 2,
    }
    assert none == {"median": None, "std": None, "min": None, "max": None, "n": 0}
    assert spread_of([0.0, 0.0, 1.0, 1.0])["std"] == pytest.approx((1 / 3) ** 0.5)


def test_a_score_of_0_is_one_of_its_group() -> None:
    """Only rows without a score have a reason; a group has its own rows alone."""
    first, second = summarize_groups(
        [0.0, None, 1.0, 0.0], ["a", "a", "b", "a"], reasons=["x", "y", None, None]
    )

    assert (first.rows, first.scored, first.unscored) == (3, 2, {"y": 1})
    assert first.mean is not None
    assert first.mean.estimate == 0
    assert (second.rows, second.scored, dict(second.unscored)) == (1, 1, {})
    with pytest.raises(UnpairedScoresError, match="2 scores, 1 clusters"):
        summarize_groups([1.0, 1.0], ["a", "a"], clusters=["x"])
