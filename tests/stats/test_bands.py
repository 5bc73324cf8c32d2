"""Is every score in exactly one band?"""

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import DEFAULT_BANDS, Band, band_of, build_bands, count_bands


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
