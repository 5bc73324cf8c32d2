"""Do curves, areas and calibration agree with scikit-learn and with counting by hand?"""

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import (
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
)
from rag_evals.stats import auroc_interval, best_threshold, calibration_error
from rag_evals.stats.agreement import count_confusion
from rag_evals.stats.intervals import MeanError

LABELS = [row * 7 % 10 < 7 for row in range(60)]
SCORES = [round(0.4 * label + 0.6 * (row * 37 % 101) / 100, 2) for row, label in enumerate(LABELS)]
ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 10).map(lambda tenths: tenths / 10)),
    min_size=2,
    max_size=40,
).filter(lambda rows: len({label for label, _ in rows}) == 2)


def test_auroc_agrees_with_scikit_learn() -> None:
    """The area under the ROC curve is that of scikit-learn, ties included."""
    # python -c "from sklearn.metrics import roc_auc_score
    # L = [i * 7 % 10 < 7 for i in range(60)]
    # S = [round(.4 * l + .6 * (i * 37 % 101) / 100, 2) for i, l in enumerate(L)]
    # print(roc_auc_score(L, S))"                                           scikit-learn 1.9.1
    assert auroc_interval(LABELS, SCORES).estimate == pytest.approx(0.9603174603174603)


@given(ROWS)
def test_no_threshold_is_better_than_the_best(rows: list[tuple[bool, float]]) -> None:
    """No other score has a better balanced accuracy of the verdicts score >= threshold."""
    labels, scores = [label for label, _ in rows], [score for _, score in rows]
    best = best_threshold(labels, scores)

    def accuracy(threshold: float) -> float:
        found = count_confusion(labels, [score >= threshold for score in scores])
        hits = found.true_positives / sum(labels)
        return hits + found.true_negatives / (len(labels) - sum(labels))

    for score in set(scores):
        assert (accuracy(score), score) <= (accuracy(best) + 1e-12, best)


def test_the_best_threshold_by_hand() -> None:
    """Balanced accuracy is best at 0.35, which finds both True rows and one False one."""
    assert best_threshold([False, False, True, True], [0.1, 0.3, 0.35, 0.8]) == 0.35
    # 0.2 and 0.4 are equally good: the higher, more cautious one is taken.
    assert best_threshold([False, True, False, True], [0.1, 0.2, 0.3, 0.4]) == 0.4


def test_an_area_interval_covers_in_simulation() -> None:
    """With 20 True and 20 False labels the 95 % interval holds the true area in 93 % or more."""
    # Normal scores one apart: the area is Phi(1 / sqrt 2) = 0.7602.
    rng = random.Random(4)
    labels = [True] * 20 + [False] * 20
    held = [
        auroc_interval(labels, [rng.gauss(float(label), 1) for label in labels]).contains(0.7602)
        for _ in range(500)
    ]

    assert fmean(held) >= 0.93


def test_an_area_worked_by_hand() -> None:
    """Three True rows are above 2, 1 and 1 of two False ones: shares 1, 1/2 and 1/2."""
    area = auroc_interval([True] * 3 + [False] * 2, [0.9, 0.4, 0.3, 0.5, 0.1])
    # DeLong: (1/18) * 3 / (3 * 2) and, of shares 1/3 and 1, (2/9) / (2 * 1).
    expected = MeanError(2 / 3, (1 / 36 + 1 / 9) ** 0.5, 1, 2).wilson_interval()

    assert area.estimate == pytest.approx(2 / 3)
    assert (area.low, area.high) == pytest.approx((expected.low, expected.high))


def test_a_perfect_order_is_not_certainty() -> None:
    """An area of 1 from ten rows has an interval below 1."""
    result = auroc_interval([True] * 5 + [False] * 5, [0.9] * 5 + [0.1] * 5)

    assert result.estimate == 1
    assert result.low < 0.7


def test_calibration_by_hand() -> None:
    """Two bins, off by 0.1 and 0.3 with half of the rows each, give an error of 0.2."""
    found = calibration_error([True, True, False, False], [0.9, 0.9, 0.3, 0.3])

    assert found == pytest.approx(0.2)
    # The last range holds 0.9 to 1, and 0.85 is in the one before: gaps of 0.05 + 0 and 0.85.
    last = calibration_error([True, True, False], [0.95, 1.0, 0.85])
    assert last == pytest.approx((0.05 + 0.85) / 3)
    # 0.1 starts the second range, also where it is 0.09999999999999998.
    assert calibration_error([True, False], [0.05, 1 - 0.9]) == pytest.approx((0.95 + 0.1) / 2)


@given(ROWS)
def test_scores_equal_to_labels_are_calibrated(rows: list[tuple[bool, float]]) -> None:
    """A judge that says 1 for True and 0 for False has no calibration error."""
    labels = [label for label, _ in rows]

    assert calibration_error(labels, [float(label) for label in labels]) == 0


def test_one_label_only_is_refused() -> None:
    """Without both labels there is no curve, area or threshold, and the message says which is."""
    with pytest.raises(TooFewLabelsError, match="all 2 labels are True"):
        auroc_interval([True, True], [0.1, 0.2])
    with pytest.raises(TooFewLabelsError, match="all 1 labels are False"):
        best_threshold([False], [0.1])
    with pytest.raises(TooFewLabelsError, match="occurs only once"):
        auroc_interval([True, False, False], [0.3, 0.1, 0.2])


def test_bad_scores_are_refused() -> None:
    """Empty, misaligned, non-finite and out-of-range scores raise."""
    with pytest.raises(UnpairedScoresError):
        best_threshold([True, False], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidScoresError):
        auroc_interval([], [])
    with pytest.raises(InvalidScoresError):
        best_threshold([True, False], [0.1, float("nan")])
    with pytest.raises(InvalidScoresError):
        calibration_error([True], [1.5])
