"""Is agreement with people measured as others measure it, and with honest intervals?"""

import random
from collections.abc import Hashable, Sequence
from dataclasses import astuple
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evals.errors import InvalidScoresError, UnpairedScoresError
from rag_evals.stats import Interval, krippendorff_interval, mean_interval, measure_agreement
from rag_evals.stats.agreement import (
    Confusion,
    count_confusion,
)
from rag_evals.stats.intervals import effective_rows

LABELS = [row * 7 % 10 < 7 for row in range(60)]
SCORES = [round(0.4 * label + 0.6 * (row * 37 % 101) / 100, 2) for row, label in enumerate(LABELS)]
VERDICTS = [score >= 0.5 for score in SCORES]
PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50)


# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C: four people, twelve
# items, some labels missing.
KRIPPENDORFF: list[list[int | None]] = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, 3, None, None],
]


def kappa_of(labels: Sequence[bool], verdicts: Sequence[bool]) -> float | None:
    """Return kappa without its interval."""
    found = measure_agreement(labels, verdicts).kappa
    return None if found is None else found.estimate


def alpha_of(ratings: Sequence[Sequence[Hashable | None]]) -> float | None:
    """Return alpha without its interval."""
    found = krippendorff_interval(ratings)
    return None if found is None else found.estimate


def test_rates_agree_with_scikit_learn() -> None:
    """Counts and rates are those of scikit-learn."""
    # python -c "from sklearn import metrics as m
    # L = [i * 7 % 10 < 7 for i in range(60)]
    # V = [round(.4 * l + .6 * (i * 37 % 101) / 100, 2) >= .5 for i, l in enumerate(L)]
    # print(m.confusion_matrix(L, V), m.cohen_kappa_score(L, V), m.balanced_accuracy_score(L, V),
    #       m.precision_score(L, V), m.recall_score(L, V))" scikit-learn 1.9.1
    counts = count_confusion(LABELS, VERDICTS)

    assert counts == Confusion(36, 2, 6, 16)
    assert kappa_of(LABELS, VERDICTS) == pytest.approx(0.7014925373134329)
    found = measure_agreement(LABELS, VERDICTS)
    assert found.balanced_accuracy is not None
    assert found.balanced_accuracy.estimate == pytest.approx(0.873015873015873)
    assert found.sensitivity is not None
    assert found.specificity is not None
    assert found.precision is not None
    assert found.sensitivity.estimate == pytest.approx(0.8571428571428571)
    assert found.specificity.estimate == pytest.approx(16 / 18)
    assert found.precision.estimate == pytest.approx(0.9473684210526315)
    assert found.raw_agreement.estimate == pytest.approx(52 / 60)
    assert found.base_rate.estimate == pytest.approx(0.7)


def test_kappa_of_cohens_kind_of_table() -> None:
    """Twenty, five, ten and fifteen rows give kappa 0.4: (0.7 - 0.5) / (1 - 0.5)."""
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15

    assert kappa_of(first, second) == pytest.approx(0.4)


# Each example draws thousands of samples for the intervals.
@settings(max_examples=15)
@given(PAIRS)
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[bool, bool]]) -> None:
    """Who is called the judge does not matter, and nothing exceeds full agreement."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    kappa = kappa_of(first, second)

    assert kappa_of(second, first) == pytest.approx(kappa)
    assert kappa is None or -1 <= kappa <= 1


@settings(max_examples=25)
@given(PAIRS)
def test_every_interval_holds_its_estimate(pairs: list[tuple[bool, bool]]) -> None:
    """Whatever the labels, each number is inside its interval or explicitly absent."""
    result = measure_agreement([a for a, _ in pairs], [b for _, b in pairs])
    absent_or_held = [
        result.sensitivity,
        result.specificity,
        result.precision,
        result.balanced_accuracy,
        result.kappa,
    ]

    for interval in (result.raw_agreement, result.base_rate, result.judged_rate, *absent_or_held):
        assert interval is None or interval.low <= interval.estimate <= interval.high
    assert (result.balanced_accuracy is None) == (len({a for a, _ in pairs}) < 2)
    assert sum(astuple(result.confusion)) == len(pairs)


def test_full_agreement_on_few_rows_is_not_certainty() -> None:
    """Thirty rows without a disagreement leave kappa room down to about 0.8, ten to 0.53."""
    labels = [True] * 20 + [False] * 10

    # Kappa's 0.025 quantile in 2 million of numpy's draws from Dirichlet(20.25, 0.25, 0.25, 10.25),
    # and from Dirichlet(6.25, 0.25, 0.25, 4.25).
    for chosen, low in ((labels, 0.8166), (labels[14:24], 0.5325)):
        kappa = measure_agreement(chosen, chosen).kappa
        assert kappa is not None
        assert kappa.estimate == kappa.high == 1
        assert kappa.low == pytest.approx(low, abs=0.02)


def test_kappa_has_the_standard_error_of_its_authors() -> None:
    """At 500 rows the interval is kappa +- 1.96 standard errors (Fleiss, Cohen, Everitt 1969)."""
    labels = [True] * 250 + [False] * 250
    kappa = measure_agreement(
        labels, [True] * 200 + [False] * 50 + [True] * 100 + [False] * 150
    ).kappa

    # Of the table 0.4, 0.1, 0.2, 0.3 the formula gives 0.04016.
    assert kappa is not None
    assert (kappa.low, kappa.high) == pytest.approx((0.4 - 0.0787, 0.4 + 0.0787), abs=0.008)


@pytest.mark.parametrize("label", [True, False])
def test_balanced_accuracy_is_as_unsure_as_its_few_rows(label: bool) -> None:
    """Eight of ten right, and all of 2,000 of the other label: half of Jeffreys' interval."""
    labels = [label] * 10 + [not label] * 2_000
    verdicts = [label] * 8 + [not label] * 2_002
    found = measure_agreement(labels, verdicts).balanced_accuracy

    # scipy.stats.beta.ppf([0.025, 0.975], 8.5, 2.5) is 0.49723 and 0.95594.
    assert found is not None
    assert found.estimate == pytest.approx(0.9)
    assert found.low == pytest.approx((1 + 0.49723) / 2, abs=0.01)
    assert found.high == pytest.approx((1 + 0.95594) / 2, abs=0.005)


@pytest.mark.slow
def test_kappa_intervals_cover_in_simulation() -> None:
    """At 40 rows the 95 % interval holds the true kappa in at least 92 % of 400 draws."""
    rng = random.Random(11)
    held = []
    for _ in range(400):
        labels = [rng.random() < 0.7 for _ in range(40)]
        verdicts = [label == (rng.random() < 0.85) for label in labels]
        # Base rate 0.7 and 85 % right: chance agreement is 0.7 * 0.64 + 0.3 * 0.36 = 0.556.
        interval = measure_agreement(labels, verdicts).kappa
        held.append(interval is not None and interval.contains((0.85 - 0.556) / (1 - 0.556)))

    assert fmean(held) >= 0.92


def test_clusters_widen_every_interval() -> None:
    """Statements repeated five times inside answers know as much as the answers."""
    labels, verdicts = LABELS[:20], VERDICTS[:20]
    clusters = [place for place in range(20) for _ in range(5)]
    alone = measure_agreement(labels, verdicts)

    clustered = measure_agreement(
        [label for label in labels for _ in range(5)],
        [verdict for verdict in verdicts for _ in range(5)],
        clusters=clusters,
    )

    assert clustered.raw_agreement.low == pytest.approx(alone.raw_agreement.low)
    for wide, single in (
        (clustered.kappa, alone.kappa),
        (clustered.balanced_accuracy, alone.balanced_accuracy),
        (clustered.sensitivity, alone.sensitivity),
    ):
        assert wide is not None
        assert single is not None
        assert wide.width == pytest.approx(single.width, rel=0.15)


def test_what_cannot_be_known_is_none() -> None:
    """With one label only, specificity, balanced accuracy and kappa are None, never NaN or 0."""
    result = measure_agreement([True, True], [True, True])

    assert result.specificity is None
    assert result.balanced_accuracy is None
    assert result.kappa is None
    assert measure_agreement([False], [True]).sensitivity is None


def test_misaligned_labels_are_refused() -> None:
    """Unequal and empty requests raise."""
    with pytest.raises(UnpairedScoresError, match="2 labels, 1 verdicts"):
        measure_agreement([True, False], [True])
    with pytest.raises(InvalidScoresError, match="empty"):
        measure_agreement([], [])


def test_alpha_of_krippendorffs_example() -> None:
    """The worked example of Krippendorff (2011) gives his 0.743."""
    # krippendorff 0.9.0: krippendorff.alpha(..., level_of_measurement="nominal")
    assert alpha_of(KRIPPENDORFF) == pytest.approx(0.743421052631579)


def test_alpha_of_his_binary_example() -> None:
    """Two people, ten items, ones and zeros: Krippendorff (2011), example A, gives 0.095."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]

    assert alpha_of(list(zip(first, second, strict=True))) == pytest.approx(0.095, abs=5e-4)


@settings(max_examples=20)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=1, max_size=30))
def test_alpha_of_two_people_is_near_scotts_pi(ratings: list[list[str]]) -> None:
    """For two people alpha is pi corrected for the number of labels: 1 - (1 - pi)(n - 1) / n."""
    alpha = alpha_of(ratings)
    labels = [label for item in ratings for label in item]
    shares = [labels.count(label) / len(labels) for label in "abc"]
    chance = sum(share * share for share in shares)
    if chance == 1:
        assert alpha is None
        return
    scotts_pi = (fmean(a == b for a, b in ratings) - chance) / (1 - chance)

    assert alpha == pytest.approx(1 - (1 - scotts_pi) * (len(labels) - 1) / len(labels))


def test_alpha_interval_holds_alpha() -> None:
    """The interval of the worked example holds the estimate and repeats with its seed."""
    interval = krippendorff_interval(KRIPPENDORFF)

    assert interval is not None
    assert interval.low < interval.estimate < interval.high <= 1
    assert interval == krippendorff_interval(KRIPPENDORFF)


@pytest.mark.parametrize("ratings", [[], [[1, None], [None, 2]], [[1, 1], [1, 1]]])
def test_alpha_without_evidence_is_none(ratings: list[list[int | None]]) -> None:
    """No pair of labels, or a single category, gives no alpha."""
    assert alpha_of(ratings) is None
    assert krippendorff_interval(ratings) is None


@pytest.mark.parametrize("factor", [0.01, 1.0, 40.0])
def test_only_the_shares_of_weights_count(factor: float) -> None:
    """A row that stands for twice as many has twice the weight, in whatever unit."""
    labels = [True, True, False, False, True, False, True, True]
    verdicts = [True, False, False, True, True, False, True, True]
    weights = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0]
    once = measure_agreement(labels, verdicts, weights=weights)
    scaled = measure_agreement(labels, verdicts, weights=[factor * one for one in weights])

    assert once.kappa is not None
    assert scaled.kappa is not None
    assert (scaled.kappa.estimate, scaled.kappa.low, scaled.kappa.high) == pytest.approx(
        (once.kappa.estimate, once.kappa.low, once.kappa.high)
    )
    # Of a weight of 12, 4 are found, 3 are false, 2 missed and 3 rejected.
    chance = (7 * 6 + 5 * 6) / 144
    assert once.kappa.estimate == pytest.approx((7 / 12 - chance) / (1 - chance))


def _kept(values: Sequence[Any], chosen: Sequence[bool]) -> list[Any]:
    return [value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_each_rate_is_the_mean_of_its_own_rows(is_weighted: bool, is_clustered: bool) -> None:
    """With the weights and the clusters of just these rows; precision of the rows judged True."""
    weights = [1.0 + row % 3 for row in range(60)] if is_weighted else None
    clusters = [row // 4 if row % 4 else None for row in range(60)] if is_clustered else None
    found = measure_agreement(LABELS, VERDICTS, clusters=clusters, weights=weights)

    def mean(values: Sequence[bool], rows: Sequence[bool] = (True,) * 60) -> Interval:
        return mean_interval(
            _kept(values, rows),
            clusters=clusters and _kept(clusters, rows),
            weights=weights and _kept(weights, rows),
        )

    matches = [label == verdict for label, verdict in zip(LABELS, VERDICTS, strict=True)]
    unlike = [not label for label in LABELS]
    assert found.confusion == Confusion(36, 2, 6, 16)
    assert found.raw_agreement == mean(matches)
    assert found.base_rate == mean(LABELS)
    assert found.judged_rate == mean(VERDICTS) != found.base_rate
    assert found.sensitivity == mean(matches, LABELS)
    assert found.specificity == mean(matches, unlike)
    assert found.precision == mean(matches, VERDICTS)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_balanced_accuracy_and_kappa_know_effective_rows(
    is_weighted: bool, is_clustered: bool
) -> None:
    """Draws of Jeffreys' distributions, and of a table of effective rows, again with numpy."""
    weights = [1.0 + row % 3 for row in range(60)] if is_weighted else None
    clusters = [row // 4 for row in range(60)] if is_clustered else None
    found = measure_agreement(LABELS, VERDICTS, clusters=clusters, weights=weights)
    matches = [label == verdict for label, verdict in zip(LABELS, VERDICTS, strict=True)]
    each, draws = np.array(weights or [1.0] * 60), np.random.default_rng(0)

    rates, shapes = [], []
    for side in (True, False):
        rows = [label is side for label in LABELS]
        own = _kept(matches, rows)
        rate = float(np.average(own, weights=_kept(each.tolist(), rows)))
        size = effective_rows(
            own,
            clusters=clusters and _kept(clusters, rows),
            weights=weights and _kept(weights, rows),
        )
        rates.append(rate)
        shapes.append((rate * size + 0.5, (1 - rate) * size + 0.5))
    drawn = sum(draws.beta(*shape, size=40_000) for shape in shapes) / 2
    share = effective_rows(matches, clusters=clusters, weights=weights) / 60
    pairs = [(True, True), (False, True), (True, False), (False, False)]
    counts = [
        float(sum(w for w, *pair in zip(each, LABELS, VERDICTS, strict=True) if (*pair,) == one))
        for one in pairs
    ]
    table = np.array([count * 60 / each.sum() * share + 0.25 for count in counts])
    both, judge, people, neither = draws.gamma(table[:, None], size=(4, 40_000))
    total = both + judge + people + neither
    chance = (both + judge) * (both + people) + (neither + judge) * (neither + people)
    kappas = (total * (both + neither) - chance) / (total**2 - chance)

    assert found.balanced_accuracy is not None
    assert found.kappa is not None
    assert found.balanced_accuracy.estimate == pytest.approx(fmean(rates))
    for interval, values in ((found.balanced_accuracy, drawn), (found.kappa, kappas)):
        assert interval.method == "smoothed bootstrap"
        low, high = np.quantile(values, [0.025, 0.975])
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.012)


def test_the_interval_of_alpha_is_that_of_drawn_items() -> None:
    """2,000 draws of the items that have two labels, again with numpy; items are drawn whole."""
    interval = krippendorff_interval(KRIPPENDORFF)
    items = [[label for label in item if label is not None] for item in KRIPPENDORFF]
    items = [item for item in items if len(item) > 1]
    table = np.array([[item.count(label) for label in range(1, 6)] for item in items], float)
    chosen = np.random.default_rng(0).integers(0, len(items), size=(20_000, len(items)))
    sizes = table.sum(1)
    unlike = ((sizes**2 - (table**2).sum(1)) / (sizes - 1))[chosen].sum(1)
    totals = table[chosen].sum(1)
    total = totals.sum(1)
    alphas = 1 - unlike * (total - 1) / (total**2 - (totals**2).sum(1))

    assert interval is not None
    assert interval.method == "bootstrap of items"
    low, high = np.quantile(alphas, [0.025, 0.975])
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.03)
    # Equal items are drawn as often as they occur: 40 of two kinds, of which 4 are split.
    common = krippendorff_interval([[1, 1]] * 18 + [[2, 2]] * 18 + [[1, 2]] * 4)
    assert common is not None
    assert common.estimate == pytest.approx(1 - 8 * 79 / (80**2 - 2 * 40**2))
    assert (common.low, common.high) == pytest.approx((0.59, 0.95), abs=0.03)


def test_labels_are_named_where_they_are_missing() -> None:
    """Before any rate: the message is of labels, and not of what is made of them."""
    with pytest.raises(InvalidScoresError, match="^labels is empty"):
        measure_agreement([], [])
