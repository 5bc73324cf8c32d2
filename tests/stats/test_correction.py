"""Are corrected scores right, and are they refused when they could not be?"""

import random
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evals.errors import (
    ConfigurationError,
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
)
from rag_evals.stats import mean_interval, prediction_powered_mean
from rag_evals.stats.intervals import mean_error, weighted_values, wilson_limits
from tests.late import Late

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

YES_NO = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=20, max_size=60)


def test_ppi_agrees_with_ppi_py() -> None:
    """With 400 labels and a biased judge, mean and interval are those of ppi_py."""
    # python -c "import numpy as np; from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    # y = np.array([(i * 37 % 101) / 100 for i in range(400)])
    # f = .5 * y + .5 * np.array([(i * 29 % 97) / 96 for i in range(400)])
    # u = np.array([.5 * (i * 53 % 101) / 100 + .5 * (i * 31 % 97) / 96 for i in range(5000)])
    # print(ppi_mean_pointestimate(y, f, u), ppi_mean_ci(y, f, u, alpha=.05))"  ppi-python 0.2.3
    labels = [(row * 37 % 101) / 100 for row in range(400)]
    judged = [0.5 * label + 0.5 * (row * 29 % 97) / 96 for row, label in enumerate(labels)]
    unlabelled = [0.5 * (row * 53 % 101) / 100 + 0.5 * (row * 31 % 97) / 96 for row in range(5_000)]

    result = prediction_powered_mean(labels, judged, unlabelled)

    assert result.corrected.estimate == pytest.approx(0.49966808728979617, abs=2e-4)
    assert result.corrected.low == pytest.approx(0.47879100707644395, abs=5e-4)
    assert result.corrected.high == pytest.approx(0.5205451675031484, abs=5e-4)


def test_ppi_worked_by_hand() -> None:
    """A judge that is always 0.1 too strict is corrected by 0.1 times the power."""
    labels = [0.2 + 0.6 * (row % 5) / 4 for row in range(40)]
    unlabelled = [0.1 + 0.6 * (row % 5) / 4 for row in range(1_000)]

    result = prediction_powered_mean(labels, [label - 0.1 for label in labels], unlabelled)

    # The judge's means agree on both samples, so that the shift is 0 and the labels' mean stays.
    assert result.corrected.estimate == pytest.approx(0.5)
    assert result.judged == pytest.approx(0.4)
    assert result.power > 0.9
    assert result.corrected.width < 0.5 * result.labels_only.width
    assert result.effective_labels > 160


@pytest.mark.parametrize("is_weighted", [False, True])
def test_ppi_agrees_with_its_formulas(is_weighted: bool) -> None:
    """Power, mean and interval are those of moments with a row spread over the four corners."""
    labels = [float(n % 3 > 0) for n in range(40)]
    judged = [float(n % 3 > 0 if n % 5 else n % 2) for n in range(40)]
    unlabelled = [float(n % 4 > 0) for n in range(100)]
    weights = [1.0] * 40 if is_weighted else None
    found = prediction_powered_mean(labels, judged, unlabelled, weights=weights)

    rows = np.array([*zip(labels, judged, strict=True), (0, 0), (0, 1), (1, 0), (1, 1)])
    share = np.array([1.0] * 40 + [0.25] * 4)
    off = rows - np.average(rows, axis=0, weights=share)
    (own, both), (_, judge) = ((off * share[:, None]).T @ off / (41 - 1)).tolist()
    other = float(np.var(unlabelled, ddof=1))
    pooled = (1 + 40 / 100) * (40 * judge + 100 * other) / 140
    power = both / (judge + 40 * other / 100 if is_weighted else pooled)
    mean = fmean(labels) + power * (0.75 - fmean(judged))
    variance = (own - 2 * power * both + power**2 * judge) / 40 + power**2 * other / 100
    smoothed, t = (40 * mean + 0.5) / 41, float(scipy_stats.t.ppf(0.975, 38))
    low, high = wilson_limits(mean, smoothed * (1 - smoothed) / variance, t)
    assert found.power == pytest.approx(power)
    assert found.corrected.estimate == pytest.approx(mean)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((low, high))
    # Widths fall with the root of the number of labels.
    narrower = found.labels_only.width / found.corrected.width
    assert found.effective_labels == pytest.approx(40 * narrower * narrower)


def test_ppi_counts_clusters_where_all_labels_agree_with_the_judge() -> None:
    """Forty labels of ten documents, all 1: the variance is four times that of independent rows."""
    unlabelled = [1.0] * 90 + [0.0] * 10
    found = prediction_powered_mean(
        [1.0] * 40, [1.0] * 40, unlabelled, label_clusters=[n // 4 for n in range(40)]
    )

    # One row over the corners: 40 times 1 and twice 0.25 are 40.5 of 41.
    mean = 40.5 / 41
    own, both = 41 / 40 * mean * (1 - mean), 41 / 40 * (40.25 / 41 - mean**2)
    other = float(np.var(unlabelled, ddof=1))
    power = both / ((1 + 40 / 100) * (40 * own + 100 * other) / 140)
    rate = 1 - 0.1 * power
    variance = (own * (1 + power**2) - 2 * power * both) / 10 + power**2 * other / 100
    smoothed, t = (40 * rate + 0.5) / 41, float(scipy_stats.t.ppf(0.975, 10 - 2))
    low, high = wilson_limits(rate, smoothed * (1 - smoothed) / variance, t)
    assert found.power == pytest.approx(power)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((low, high))


def test_a_judge_has_a_weight_from_0_to_1() -> None:
    """Half of each label would be doubled, its opposite turned round; and a mean is at most 1."""
    labels = [float(n % 2) for n in range(60)]
    half = prediction_powered_mean(labels, [one / 2 for one in labels], [0.5, 0.0] * 500)
    opposite = prediction_powered_mean(labels, [1 - one for one in labels], [0.0, 1.0] * 500)
    whole = prediction_powered_mean([1.0] * 60, [0.9] * 60, [1.0] * 500)

    assert half.power == 1
    assert (opposite.power, opposite.corrected) == (0, opposite.labels_only)
    assert whole.corrected.estimate == whole.corrected.high == 1


@pytest.mark.slow
def test_weights_make_a_drawn_part_speak_for_all() -> None:
    """Rows drawn twice as often count half; intervals hold the truth in 93 to 97 of 100 draws."""
    rng = random.Random(4)
    covered, corrected = [], []
    for _ in range(600):
        # A third of the rows is hard: the judge is wrong in 40 % of them, and in 3 % of the others.
        hard = [number % 3 == 0 for number in range(900)]
        labels = [float(rng.random() < 0.6) for _ in hard]
        judged = [
            1 - label if rng.random() < (0.4 if is_hard else 0.03) else label
            for label, is_hard in zip(labels, hard, strict=True)
        ]
        chances = [0.2 if is_hard else 0.06 for is_hard in hard]
        drawn = [place for place, chance in enumerate(chances) if rng.random() < chance]
        of_drawn = [labels[place] for place in drawn]
        weights = [1 / chances[place] for place in drawn]
        truth = 0.6
        covered.append(mean_interval(of_drawn, weights=weights).contains(truth))
        found = prediction_powered_mean(
            of_drawn, [judged[place] for place in drawn], judged, weights=weights
        )
        assert found.judged == pytest.approx(fmean(judged))
        corrected.append(found.corrected.contains(truth))

    assert 0.93 <= fmean(covered) <= 0.97
    assert 0.93 <= fmean(corrected) <= 0.97


def test_equal_weights_change_nothing() -> None:
    """Each row standing for seven is each row standing for one; a zero-one mean by hand too."""
    labels = [1.0, 0.0, 1.0, 1.0, 0.0]
    same = mean_interval(labels, weights=[7.0] * 5)
    found = mean_interval(labels, weights=[1.0, 3.0, 1.0, 1.0, 2.0])

    assert same.estimate == pytest.approx(mean_interval(labels).estimate)
    assert same.low == pytest.approx(mean_interval(labels).low)
    assert found.estimate == pytest.approx(3 / 8)


def test_ppi_spends_a_degree_of_freedom_on_the_power() -> None:
    """Twenty labels, half of them 1, which the judge sees; 1,000 other rows, half of them 1."""
    found = prediction_powered_mean([1.0, 0.0] * 10, [1.0, 0.0] * 10, [1.0, 0.0] * 500)

    # Four corners of a quarter: 21 rows, variances 5.25/20, covariance 5/20.
    others = 250 / 999 / 1_000
    power = 0.25 / (1.02 * (5.25 + others * 1_000_000) / 1_020)
    variance = (0.2625 - 2 * power * 0.25 + power**2 * 0.2625) / 20 + power**2 * others
    # Wilson with 0.25 / variance rows and Student's quantile for 20 - 2 degrees of freedom.
    rows, quantile = 0.25 / variance, 2.100922
    half = quantile / (rows + quantile**2) * (rows / 4 + quantile**2 / 4) ** 0.5
    assert found.power == pytest.approx(power)
    assert found.corrected.width == pytest.approx(2 * half, rel=1e-5)


def test_rows_in_clusters_of_one_are_independent() -> None:
    """Twenty labels, each a cluster of its own: the degree of freedom for the power is spent."""
    labels = [1.0, 0.0] * 10
    alone = prediction_powered_mean(labels, labels, labels * 25)
    keyed = prediction_powered_mean(labels, labels, labels * 25, label_clusters=range(20))

    assert keyed.corrected.low == pytest.approx(alone.corrected.low)
    assert keyed.corrected.high == pytest.approx(alone.corrected.high)


def test_a_coin_is_not_trusted() -> None:
    """A judge unrelated to the labels gets next to no power, and costs no width."""
    rng = random.Random(1)
    labels = [rng.random() < 0.8 for _ in range(100)]
    judged = [rng.random() < 0.5 for _ in range(100)]

    result = prediction_powered_mean(labels, judged, [rng.random() < 0.5 for _ in range(1_000)])

    assert result.power < 0.15
    assert result.corrected.width <= result.labels_only.width


@settings(max_examples=50)
@given(YES_NO, st.lists(st.booleans(), min_size=2, max_size=60))
def test_ppi_is_never_wider_than_the_labels_alone(
    rows: list[tuple[bool, bool]], unlabelled: list[bool]
) -> None:
    """Whatever the judge says, the interval is inside 0..1 and no wider than that of the labels."""
    labels, judged = [label for label, _ in rows], [verdict for _, verdict in rows]
    result = prediction_powered_mean(labels, judged, unlabelled)

    assert result.labels_only == mean_interval(labels)
    assert result.corrected.width <= result.labels_only.width
    assert 0 <= result.corrected.low <= result.corrected.estimate <= result.corrected.high <= 1
    assert 0 <= result.power <= 1


def test_thirty_perfect_labels_do_not_promise_a_perfect_judge() -> None:
    """Without any disagreement the interval still allows for one that was not seen."""
    labels = [row % 5 != 0 for row in range(30)]
    unlabelled = [row % 5 != 0 for row in range(10_000)]

    result = prediction_powered_mean(labels, labels, unlabelled)

    assert result.corrected.width > 0.08


def test_ppi_clusters_widen_the_interval() -> None:
    """Statements repeated inside answers know as much as the answers."""
    rng = random.Random(3)
    labels = [rng.random() < 0.7 for _ in range(40)]
    judged = [label == (rng.random() < 0.85) for label in labels]
    unlabelled = [rng.random() < 0.65 for _ in range(1_000)]
    four_times = [place for place in range(40) for _ in range(4)]

    clustered = prediction_powered_mean(
        [labels[place] for place in four_times],
        [judged[place] for place in four_times],
        unlabelled,
        label_clusters=four_times,
    ).corrected
    alone = prediction_powered_mean(labels, judged, unlabelled).corrected
    naive = prediction_powered_mean(
        [labels[place] for place in four_times],
        [judged[place] for place in four_times],
        unlabelled,
    ).corrected

    assert clustered.width == pytest.approx(alone.width, rel=0.1)
    assert clustered.width > 1.6 * naive.width


def test_ppi_clusters_never_narrow_the_interval() -> None:
    """Errors that cancel out in each of these answers need not do so in the next ones."""
    labels = [0.3 + 0.4 * (place // 2 % 2) for place in range(60)]
    judged = [label + (0.1 if place % 2 else -0.1) for place, label in enumerate(labels)]
    answers = [place // 2 for place in range(60)]
    unlabelled = [0.3, 0.7] * 500
    alone = prediction_powered_mean(labels, judged, unlabelled)
    clustered = prediction_powered_mean(labels, judged, unlabelled, label_clusters=answers)

    assert clustered.power == alone.power > 0.9
    assert clustered.corrected.width > alone.corrected.width


@pytest.mark.parametrize(("count", "right"), [(30, 0.95), (30, 0.75), (100, 0.9)])
def test_ppi_covers_in_simulation(count: int, right: float) -> None:
    """The 95 % interval holds the true rate in at least 93 % of 400 draws."""
    rng = random.Random(count)

    def rows(size: int) -> tuple[list[bool], list[bool]]:
        labels = [rng.random() < 0.8 for _ in range(size)]
        return labels, [label == (rng.random() < right) for label in labels]

    held = [
        prediction_powered_mean(*rows(count), rows(300)[1]).corrected.contains(0.8)
        for _ in range(400)
    ]

    assert fmean(held) >= 0.93


def test_ppi_refuses_too_few_labels() -> None:
    """Nineteen labels raise, with the number needed and why."""
    with pytest.raises(TooFewLabelsError, match=r"19 labels; .*at least 20, because"):
        prediction_powered_mean([1.0] * 19, [1.0] * 19, [1.0] * 50)


def test_ppi_refuses_bad_lists() -> None:
    """Misaligned, unlabelled-free and out-of-range input raises."""
    with pytest.raises(UnpairedScoresError, match="20 labels, 19 judged scores"):
        prediction_powered_mean([1.0] * 20, [1.0] * 19, [1.0] * 50)
    with pytest.raises(InvalidScoresError, match="unlabelled is empty"):
        prediction_powered_mean([1.0] * 20, [1.0] * 20, [])
    with pytest.raises(InvalidScoresError, match="1 row without a label"):
        prediction_powered_mean([1.0] * 20, [1.0] * 20, [1.0])
    assert prediction_powered_mean([1.0] * 20, [1.0] * 20, [1.0, 0.0]).unlabelled == 2
    with pytest.raises(InvalidScoresError, match=r"judged\[0\] is 2"):
        prediction_powered_mean([1.0] * 20, [2.0] * 20, [1.0, 0.0])
    with pytest.raises(ConfigurationError, match="confidence=95"):
        prediction_powered_mean([1.0] * 20, [1.0] * 20, [1.0, 0.0], confidence=95)


def _unit_rows(count: int = 40) -> tuple[list[float], list[float], list[float]]:
    """Return labels and the judge's scores, in quarters, and 120 scores of other rows."""
    labels = [(n * 7 % 11 % 5) / 4 for n in range(count)]
    judged = [min(1.0, max(0.0, one + (n % 4 - 1) / 8)) for n, one in enumerate(labels)]
    return labels, judged, [(n * 5 % 13 % 5) / 4 for n in range(120)]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_ppi_by_its_formulas_for_scores_clusters_and_weights(
    is_clustered: bool, is_weighted: bool, confidence: float
) -> None:
    """Scores spread less than yes and no, and so do the corners; clusters count on both sides."""
    labels, judged, others = _unit_rows()
    own = [n // 3 if n % 5 else None for n in range(40)] if is_clustered else None
    their = [n // 4 for n in range(120)] if is_clustered else None
    weights = [1.0 + n % 3 for n in range(40)] if is_weighted else None
    found = prediction_powered_mean(
        labels, judged, others, label_clusters=own, unlabelled_clusters=their, weights=weights,
        confidence=confidence,
    )  # fmt: skip

    label, judge = (np.array(weighted_values(each, weights)) for each in (labels, judged))
    share = np.array([1.0] * 40 + [label.var(ddof=1) / (label.mean() * (1 - label.mean())) / 4] * 4)
    rows = np.vstack([np.column_stack([label, judge]), [(0, 0), (0, 1), (1, 0), (1, 1)]])
    off = rows - np.average(rows, axis=0, weights=share)
    (var, both), (_, judge_var) = ((off * share[:, None]).T @ off / (share.sum() - 1)).tolist()
    plain, other = mean_error(others), mean_error(others, clusters=their)
    pooled = (1 + 40 / 120) * (40 * judge_var + 120 * 120 * plain.standard_error**2) / 160
    spread = judge_var + 40 * plain.standard_error**2 if is_weighted else pooled
    power = both / spread
    mean = label.mean() + power * (other.mean - judge.mean())
    variance, freedom = (var - 2 * power * both + power**2 * judge_var) / 40, 38.0
    if own is not None:
        errors = (label - power * judge).tolist()
        robust, simple = mean_error(errors, clusters=own), mean_error(errors)
        variance *= max(1.0, (robust.standard_error / simple.standard_error) ** 2)
        freedom = robust.degrees_of_freedom - 1
    variance += power**2 * other.standard_error**2
    smoothed, t = (40 * mean + 0.5) / 41, float(scipy_stats.t.ppf((1 + confidence) / 2, freedom))
    low, high = wilson_limits(float(mean), smoothed * (1 - smoothed) / variance, t)
    assert share[-1] < 0.7 / 4
    assert found.labels_only == mean_interval(
        labels, clusters=own, weights=weights, confidence=confidence
    )
    assert found.judged == pytest.approx(fmean(others if is_weighted else [*judged, *others]))
    assert 0.3 < found.power == pytest.approx(power)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((low, high))
    told = (found.corrected.confidence, found.corrected.method, found.labels, found.unlabelled)
    assert told == (confidence, "PPI++", 40, 120)
    assert found.effective_labels == pytest.approx(
        40 * (found.labels_only.width / found.corrected.width) ** 2
    )


def test_a_judge_without_any_spread_has_no_weight() -> None:
    """All other rows have one score, and so have its labelled ones: the labels decide alone."""
    labels = [float(n % 2) for n in range(30)]
    found = prediction_powered_mean(labels, [0.5] * 30, [0.5] * 50)

    assert found.power == pytest.approx(0, abs=1e-9)
    assert found.corrected == found.labels_only == mean_interval(labels)
    assert (found.effective_labels, found.judged) == (30, 0.5)
    assert prediction_powered_mean(labels[:20], labels[:20], labels).labels == 20
    for place, name in enumerate(("labels", "judged", "unlabelled")):
        lists = [labels[:20], labels[:20], labels]
        lists[place] = [*lists[place][:-1], 1.5]
        with pytest.raises(InvalidScoresError, match=rf"{name}\[{len(lists[place]) - 1}\] is 1.5"):
            prediction_powered_mean(*lists)
