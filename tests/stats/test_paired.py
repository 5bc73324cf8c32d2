"""Does a comparison of two runs say no more than its samples can carry?"""

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, InvalidScoresError, UnpairedScoresError
from rag_evals.stats import compare_paired, count_interval, holm_adjusted
from rag_evals.stats.intervals import mean_error, no_spread_interval
from rag_evals.stats.paired import PairedComparison, count_difference, sign_flip_test
from tests.late import Late
from tests.work import work_of

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)


def test_a_comparison_worked_by_hand() -> None:
    """Differences 0.2, 0.2, 0, -0.1, 0.2 have mean 0.1, three wins, one tie and one loss."""
    result = compare_paired([0.5, 0.6, 0.7, 0.8, 0.1], [0.7, 0.8, 0.7, 0.7, 0.3])

    # s = sqrt(0.02), s / sqrt(5) = 0.0632, and t with 4 degrees of freedom is 2.776.
    assert result.difference.estimate == pytest.approx(0.1)
    assert result.difference.high == pytest.approx(0.1 + 2.7764 * 0.02**0.5 / 5**0.5, abs=1e-5)
    assert (result.wins, result.ties, result.losses) == (3, 1, 1)
    assert (result.samples, result.clusters) == (5, 5)
    assert result.verdict == "not distinguishable"


def test_two_samples_have_an_interval_of_their_own() -> None:
    """Differences of 0.01 and 0.02: s / sqrt(2) is 0.005, and t with 1 degree of freedom 12.706."""
    result = compare_paired([0.5, 0.6], [0.51, 0.62])

    assert result.significance.p_value == pytest.approx(0.5)
    assert (result.difference.low, result.difference.high) == pytest.approx(
        (0.015 - 12.7062 * 0.005, 0.015 + 12.7062 * 0.005), abs=1e-6
    )


def test_the_interval_agrees_with_scipy() -> None:
    """The interval is that of scipy's paired t test."""
    baseline = [(row * 37 % 101) / 100 for row in range(40)]
    candidate = [(row * 53 % 97) / 100 for row in range(40)]
    expected = scipy_stats.ttest_rel(candidate, baseline).confidence_interval()

    result = compare_paired(baseline, candidate).difference

    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))


def test_no_difference_is_above_1() -> None:
    """Student's interval of 0.93, of five times 1 and once 0.6, would end at 1.1."""
    won = compare_paired([0.0] * 6, [1.0] * 5 + [0.6]).difference
    lost = compare_paired([1.0] * 5 + [0.6], [0.0] * 6).difference

    # s = 0.4 / sqrt(6), s / sqrt(6) = 0.0667, and t with 5 degrees of freedom is 2.5706.
    assert won.low == pytest.approx(5.6 / 6 - 2.5706 * 0.4 / 6, abs=1e-5)
    assert (won.high, lost.low, lost.high) == (1, -1, -won.low)


@given(PAIRS)
def test_swapping_the_runs_mirrors_the_result(pairs: list[tuple[float, float]]) -> None:
    """Baseline against candidate is the mirror of candidate against baseline."""
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = compare_paired(old, new), compare_paired(new, old)

    assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-9)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.wins + there.ties + there.losses == len(pairs)
    assert -1 <= there.difference.low <= there.difference.estimate <= there.difference.high <= 1


def test_a_run_against_itself() -> None:
    """The same run twice is not distinguishable, and says what so few rows cannot rule out."""
    scores = [0.5, 1.0, 0.0, 0.75] * 25
    result = compare_paired(scores, scores)

    assert result.verdict == "not distinguishable"
    assert result.significance.p_value == 1
    assert result.difference.estimate == 0
    assert -0.05 < result.difference.low < 0 < result.difference.high < 0.05
    assert result.detectable is None


def test_a_clear_loss() -> None:
    """A loss on every sample is worse, and the interval has its size."""
    rng = random.Random(1)
    baseline = [rng.uniform(0.5, 1) for _ in range(50)]
    candidate = [score - rng.uniform(0.1, 0.3) for score in baseline]
    result = compare_paired(baseline, candidate)

    assert result.verdict == "worse"
    assert -0.3 < result.difference.low < result.difference.high < -0.1
    assert compare_paired(candidate, baseline).verdict == "better"


def test_few_samples_cannot_decide() -> None:
    """Four wins, p = 1/8 by sign flips: the t interval, which excludes 0, is widened to it."""
    scores = [0.1, 0.2, 0.3, 0.4], [0.31, 0.4, 0.5, 0.6]
    result = compare_paired(*scores)
    alone = scipy_stats.ttest_rel(scores[1], scores[0]).confidence_interval()

    assert alone.low > 0
    assert (result.difference.low, result.difference.high) == pytest.approx((0.0, alone.high))
    assert "widened to 0" in result.difference.method
    assert result.significance.p_value == 2 / 16
    assert result.verdict == "not distinguishable"


def test_the_t_test_can_be_the_stricter_one() -> None:
    """Six wins of very different size: sign flips say 0.03, the t test more, and that counts."""
    result = compare_paired([0.0] * 6, [0.01, 0.01, 0.02, 0.02, 0.03, 1.0])

    assert result.significance.test == "cluster-robust t"
    assert result.significance.p_value > 0.05
    assert result.difference.contains(0)
    assert result.verdict == "not distinguishable"


def test_equal_differences_have_a_p_value_too() -> None:
    """Five losses of 1 are 2/32 by both tests; 60 equal losses of 0.02 decide nothing."""
    five = compare_paired([1.0] * 5, [0.0] * 5)
    small = compare_paired([0.5] * 60, [0.48] * 60)

    assert five.significance.p_value == pytest.approx(2 / 32)
    assert five.verdict == small.verdict == "not distinguishable"
    assert small.significance.test == "limit for equal values"
    # 2 * 1.02 ** -60
    assert small.significance.p_value == pytest.approx(0.6095, abs=1e-4)


def _scores(rng: random.Random, count: int) -> tuple[list[float], list[float]]:
    """Make scores as runs have them: steps or numbers, few or many changes, a lift or none."""
    steps = rng.choice([1, 2, 4, 1000])
    changed, lift = rng.choice([0.05, 0.2, 0.5, 1.0]), rng.choice([0.0, 0.0, 0.1, 0.3])
    old = [rng.randint(0, steps) / steps for _ in range(count)]
    new = [
        max(0.0, min(1.0, rng.randint(0, steps) / steps + lift))
        if rng.random() < changed
        else score
        for score in old
    ]
    return old, new


def test_verdict_p_value_and_interval_never_disagree() -> None:
    """600 random comparisons, some with clusters: all three say the same of each."""
    rng = random.Random(20)
    verdicts: set[str] = set()
    for draw in range(600):
        old, new = _scores(rng, rng.choice([1, 2, 4, 6, 10, 30, 100]))
        clusters = [row // 3 for row in range(len(old))] if draw % 3 == 0 else None
        confidence = rng.choice([0.9, 0.95, 0.99])
        result = compare_paired(old, new, clusters=clusters, confidence=confidence)
        excludes = not result.difference.contains(0)
        assert excludes == (result.significance.p_value <= 1 - confidence), (draw, result)
        assert excludes == (result.verdict != "not distinguishable"), (draw, result)
        verdicts.add(result.verdict)

    assert verdicts == {"better", "worse", "not distinguishable"}


def test_rounding_is_a_tie() -> None:
    """0.1 + 0.2 against 0.3 is a tie."""
    result = compare_paired([0.1 + 0.2, 0.5], [0.3, 0.5])

    assert (result.wins, result.ties, result.losses) == (0, 2, 0)


def test_clusters_widen_the_interval() -> None:
    """Twelve samples of four documents know as much as four."""
    rng = random.Random(1)
    changes = [rng.uniform(-0.2, 0.2) for _ in range(4)]
    repeated = [change for change in changes for _ in range(3)]
    clusters = [row // 3 for row in range(12)]

    clustered = compare_paired([0.5] * 12, [0.5 + c for c in repeated], clusters=clusters)
    alone = compare_paired([0.5] * 4, [0.5 + c for c in changes])

    assert clustered.difference.width == pytest.approx(alone.difference.width)


@pytest.mark.slow
def test_the_detectable_difference_is_found_in_four_of_five_runs() -> None:
    """A true difference of that size is called in about 80 % of simulated comparisons."""
    rng = random.Random(2)
    noise = [rng.gauss(0, 0.1) for _ in range(100)]
    size = compare_paired([0.5] * 100, [0.5 + change for change in noise]).detectable
    assert size is not None

    found = 0
    for _ in range(400):
        changes = [rng.gauss(size, 0.1) for _ in range(100)]
        candidate = [0.5 + change for change in changes]
        found += compare_paired([0.5] * 100, candidate).difference.low > 0

    # The spread of the pilot, 0.1 give or take 7 %, moves the power by some 5 points.
    assert 0.7 < found / 400 < 0.9


def test_the_rows_needed_are_those_of_normal_theory() -> None:
    """(1.96 + 0.8416)² · 0.263 / 0.1² = 206.6 rows, and two for Student's quantiles."""
    result = compare_paired([0.4] * 20, [1.0, 0.0] * 10)

    assert result.rows_needed == pytest.approx(208, abs=1)
    # Five documents of four rows vary by 0.25: 196.2 documents, and two for the quantiles.
    documents = [place // 4 for place in range(20)]
    assert compare_paired([0.4] * 20, [1.0] * 10 + [0.0] * 10, clusters=documents).rows_needed == (
        pytest.approx(4 * 198.2, abs=4)
    )


@pytest.mark.parametrize(
    ("differences", "confidence", "needed"),
    [
        # Flips of 5 wins are 2/32, of 6 wins 2/64; for 99 %, 2/256 is the first below 0.01.
        ([0.21, 0.2, 0.2, 0.2], 0.95, 6),
        ([0.21, 0.2, 0.2, 0.2], 0.99, 8),
        # Four of 64 patterns are as extreme, though Student's t is 5: one row more is the least.
        ([0.2, 0.2, 0.2, 0.2, 0.2, -0.001], 0.95, 7),
    ],
)
def test_no_fewer_rows_are_needed_than_sign_flips_can_decide_by(
    differences: list[float], confidence: float, needed: int
) -> None:
    """Where few rows hardly vary, sign flips say how many are needed, and not the spread."""
    candidate = [0.5 + change for change in differences]
    result = compare_paired([0.5] * len(differences), candidate, confidence=confidence)

    assert result.verdict == "not distinguishable"
    assert result.rows_needed == needed
    # Each row twice, as one cluster: twice as many rows.
    twice = compare_paired(
        [0.5] * 2 * len(differences),
        [score for score in candidate for _ in range(2)],
        clusters=[place // 2 for place in range(2 * len(differences))],
        confidence=confidence,
    )
    assert twice.rows_needed == 2 * needed


@pytest.mark.slow
def test_as_many_rows_find_the_difference_in_four_of_five_runs() -> None:
    """The promise holds in simulated comparisons of that many rows."""
    rng = random.Random(4)
    pool = [0.6] * 12 + [-0.4] * 8
    rows = compare_paired([0.4] * 20, [0.4 + change for change in pool]).rows_needed
    assert rows is not None

    found = 0
    for _ in range(200):
        drawn = [0.4 + rng.choice(pool) for _ in range(rows)]
        found += compare_paired([0.4] * rows, drawn).verdict == "better"

    assert 0.7 < found / 200 < 0.9


def test_no_rows_are_needed_where_nothing_is_left_to_find() -> None:
    """A difference that is found, none at all, and no spread have no such number."""
    assert compare_paired([0.0] * 20, [1.0, 0.9] * 10).rows_needed is None
    assert compare_paired([0.5] * 20, [1.0, 0.0] * 10).rows_needed is None
    assert compare_paired([0.5] * 20, [0.6] * 20).rows_needed is None
    assert compare_paired([0.5] * 20, [1.0] * 10 + [0.0] * 9 + [0.002]).rows_needed is None


def test_many_clustered_rows_take_work_in_proportion() -> None:
    """Comparing two runs of four times as many rows takes four times the work, not sixteen."""
    rng = random.Random(3)
    baseline, candidate = ([rng.randrange(5) / 4 for _ in range(4_000)] for _ in range(2))
    clusters = [row // 3 for row in range(4_000)]

    def compared(rows: int) -> PairedComparison:
        return compare_paired(baseline[:rows], candidate[:rows], clusters=clusters[:rows])

    assert compared(4_000).significance.test == "cluster-robust t"
    assert work_of(lambda: compared(4_000)) < 5 * work_of(lambda: compared(1_000))


def test_a_missing_sample_is_refused() -> None:
    """Unequal lengths raise; the longer list is never cut silently."""
    with pytest.raises(UnpairedScoresError, match="2 baseline scores, 1 candidate"):
        compare_paired([0.0, 1.0], [1.0])
    with pytest.raises(UnpairedScoresError, match="0 baseline scores"):
        compare_paired([], [])


def test_bad_options_are_refused() -> None:
    """Percent for a confidence raises, and so does what is no score."""
    with pytest.raises(ConfigurationError, match="confidence=95"):
        compare_paired([0.1, 0.2], [0.2, 0.4], confidence=95)
    with pytest.raises(InvalidScoresError, match=r"candidate\[1\] is 1\.4"):
        compare_paired([0.1, 0.2], [0.2, 1.4])


def test_one_pair_says_nothing() -> None:
    """A single pair has an interval of nearly the whole range and no detectable difference."""
    result = compare_paired([0.2], [0.9])

    assert result.difference.low < -0.9
    assert result.detectable is None
    assert result.verdict == "not distinguishable"


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_a_comparison_is_that_of_its_own_confidence(confidence: float) -> None:
    """Limits by Student's t, and what 80 of 100 would find; both with clusters of two."""
    old, new = [0.5] * 8, [0.5, 0.7, 0.6, 0.4, 0.9, 0.5, 0.6, 0.8]
    clusters = ["a", "a", "b", "b", "c", "c", None, None]
    found = compare_paired(old, new, clusters=clusters, confidence=confidence)
    changes = [b - a for a, b in zip(old, new, strict=True)]
    error = mean_error(changes, clusters=clusters)
    t, power = scipy_stats.t.ppf([(1 + confidence) / 2, 0.8], error.degrees_of_freedom)

    assert (found.samples, found.clusters) == (8, 5)
    assert found.difference.confidence == confidence
    assert found.difference.high == pytest.approx(error.mean + t * error.standard_error)
    assert found.detectable == pytest.approx((t + power) * error.standard_error)
    assert error.degrees_of_freedom < 4
    p_value = 2 * scipy_stats.t.sf(error.mean / error.standard_error, error.degrees_of_freedom)
    flips = sign_flip_test(changes, clusters=clusters)
    assert flips is not None
    assert found.significance.p_value == pytest.approx(max(float(p_value), flips.p_value))


@pytest.mark.parametrize("rows", [1, 2, 5, 40])
def test_equal_changes_are_as_sure_as_their_number(rows: int) -> None:
    """Each document has the same change: p is 2 * 1.5 ** -n, and the limit reaches 0 with it."""
    clusters = [row // 2 for row in range(2 * rows)]
    found = compare_paired([0.25] * 2 * rows, [0.75] * 2 * rows, clusters=clusters)
    expected = no_spread_interval(0.5, rows, bounds=(-1.0, 1.0))

    flips = 2 / 2**rows if rows <= 28 else 1 / 10_001
    p_value = max(min(1.0, 2 * 1.5**-rows), flips)
    assert found.significance.p_value == pytest.approx(p_value)
    assert (found.clusters, found.detectable) == (rows, None)
    assert found.difference.high == expected.high
    assert found.difference.low == (expected.low if rows == 40 else min(0.0, expected.low))
    assert found.verdict == ("better" if rows == 40 else "not distinguishable")
    assert compare_paired([0.75] * 9, [0.25] * 9, confidence=0.9).difference.confidence == 0.9


def test_a_p_value_at_the_limit_is_significant() -> None:
    """Five equal wins are 2/32: they decide at a confidence of 30/32, and not above."""
    old, new = [0.1] * 5, [0.9, 0.8, 0.9, 0.8, 0.9]
    at, above = (compare_paired(old, new, confidence=one) for one in (30 / 32, 30 / 32 + 1e-9))

    assert (at.significance.p_value, at.verdict) == (2 / 32, "better")
    assert (above.verdict, above.difference.low) == ("not distinguishable", 0)
    assert at.significance.test == "exact sign-flip"
    back = compare_paired(new, old, confidence=30 / 32 + 1e-9)
    assert (back.difference.high, back.verdict) == (0, "not distinguishable")
    assert back.difference.low == -above.difference.high


def test_a_p_value_is_above_0() -> None:
    """Of 3,000 rows that all win by nearly the same, Student's t leaves nothing else."""
    found = compare_paired([0.1] * 3_000, [0.9 + n % 2 / 1e6 for n in range(3_000)])

    assert 0 < found.significance.p_value < 1e-300
    assert found.verdict == "better"


def test_the_kind_of_test_goes_by_changed_units_and_rows() -> None:
    """28 changed units are counted, 29 drawn; of 2,001 rows, only if no more than 28 changed."""

    def kind(changed: int, rows: int, clusters: list[int] | None = None) -> str | None:
        changes = [0.1 + n / 1e4 for n in range(changed)] + [0.0] * (rows - changed)
        found = sign_flip_test(changes, clusters=clusters)
        return None if found is None else found.test

    exact, drawn = "exact sign-flip", "Monte Carlo sign-flip"
    assert [kind(28, 28), kind(29, 29), kind(28, 5_000), kind(29, 2_000), kind(29, 2_001)] == [
        exact, drawn, exact, drawn, None,
    ]  # fmt: skip
    assert kind(40, 40, [n // 2 for n in range(40)]) == exact
    # What cancels out within a unit is no change of it.
    opposite = sign_flip_test([0.5, -0.5, 1.0], clusters=["a", "a", "b"])
    assert opposite is not None
    assert opposite.p_value == 1
    large = sign_flip_test([5.0, 7.0, -9.0])
    assert large is not None
    assert large.p_value == 1


def test_counts_of_many_documents_need_no_sign_flips() -> None:
    """Up to 28 documents they do; the documents count, and not their rows."""
    ten = [10] * 5 + [0] * 23
    rows = [count for count in ten for _ in range(2)]
    clusters = [row // 2 for row in range(56)]
    few = count_difference([0] * 56, rows, clusters=clusters)
    many = count_difference([0] * 58, [*rows, 0, 0], clusters=[*clusters, 28, 28])
    alone = count_difference([0] * 56, rows)

    # Five documents of 28 are 2/32.
    assert (few.low, few.estimate) == (0, 50 / 28)
    assert many == count_interval([*rows, 0, 0], clusters=[*clusters, 28, 28])
    assert many.low > 0
    assert alone == count_interval(rows)
    assert alone.width < few.width + few.low
    back = count_difference(rows, [0] * 56, clusters=clusters)
    assert (back.low, back.high) == pytest.approx((-few.high, 0))


@pytest.mark.parametrize(("size", "is_told"), [(0.0003, False), (0.004, True)])
def test_more_than_a_million_rows_are_not_told(size: float, is_told: bool) -> None:
    """A difference of 0.0003 needs (2.8 * 0.25 / 0.0003) ** 2 = 5.4 million rows."""
    new = [0.5 + size + (0.25 if n % 2 else -0.25) for n in range(100)]
    needed = compare_paired([0.5] * 100, new).rows_needed

    expected = ((1.96 + 0.8416) * 0.25 / size) ** 2
    assert needed == (pytest.approx(expected, rel=0.02) if is_told else None)


def test_rows_needed_are_of_the_confidence_and_of_clusters() -> None:
    """Twenty documents of two rows; each further one has two rows as well."""
    changes = [0.5 if n % 2 else -0.4 for n in range(20)]
    old = [0.5] * 40
    new = [0.5 + change for change in changes for _ in range(2)]
    clusters = [n // 2 for n in range(40)]
    for confidence, z in ((0.9, 1.6449), (0.99, 2.5758)):
        found = compare_paired(old, new, clusters=clusters, confidence=confidence)
        units = ((z + 0.8416) / 0.05) ** 2 * 0.45**2 * 20 / 19
        assert found.rows_needed == pytest.approx(2 * units, rel=0.01)


def test_holm_is_by_rank_and_at_most_1() -> None:
    """The smallest times three, and no later one is below an earlier one."""
    assert holm_adjusted([0.4, 0.01, 0.03]) == pytest.approx([0.4, 0.03, 0.06])
    assert holm_adjusted([0.02, 0.025, 0.02]) == pytest.approx([0.06, 0.06, 0.06])
    assert holm_adjusted([0.9, 0.8]) == [1, 1]
    with pytest.raises(InvalidScoresError, match=r"p_values\[0\] is 1.5"):
        holm_adjusted([1.5])
    with pytest.raises(InvalidScoresError, match=r"baseline\[0\] is 1.5"):
        compare_paired([1.5], [0.5])
