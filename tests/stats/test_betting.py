"""Gates by betting: the chance of a wrong answer is the stated one, however often one looks."""

import math
import random
from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import SequentialGate, gate_test
from rag_evals.stats.betting import drawn_interval


def decided(scores: Sequence[float | None], gate: float, error: float = 0.05) -> str:
    """Draw all rows, and return what was decided at any time."""
    watch = SequentialGate(gate, len(scores), error=error)
    for place, score in enumerate(scores):
        if watch.verdict != "not decided" or place == len(scores) - 1:
            break
        watch.add(score)
    return watch.verdict


def test_five_rows_decide_nothing() -> None:
    """0.84 from five rows fails no gate of 0.85, and 1.00 passes none."""
    low, high = gate_test([0.84] * 5, 0.85), gate_test([1.0] * 5, 0.85)

    assert (low.verdict, high.verdict) == ("not decided", "not decided")
    assert low.more_rows is not None
    assert low.more_rows > 500
    assert high.more_rows is not None
    assert 15 < high.more_rows < 50
    assert gate_test([1.0] * (5 + high.more_rows), 0.85).verdict == "passed"


def test_a_gate_that_no_row_moves_needs_no_number_of_rows() -> None:
    """A gate of 1 is failed by a row below it, and passed by none; at the gate nothing is won."""
    assert gate_test([1.0] * 5, 1.0).more_rows is None
    assert gate_test([0.0, 1.0] * 50, 0.5).more_rows is None


def test_rows_already_graded_count_toward_those_needed() -> None:
    """Nine of ten rows are right: about 500 rows pass 0.85, and those graded are not told again."""
    ten = [1.0] * 9 + [0.0]
    tests = [gate_test(ten * times, 0.85) for times in (10, 20, 30)]

    needed = {test.scored + (test.more_rows or 0) for test in tests}
    assert needed == {505}
    assert gate_test(ten * 51, 0.85).verdict == "passed"
    assert gate_test(ten * 41, 0.85).verdict == "not decided"


@pytest.mark.parametrize(
    ("scores", "gate", "verdict"),
    [
        ([0.0] * 20, 0.85, "failed"),
        ([1.0] * 40, 0.85, "passed"),
        ([1.0] * 400, 1.0, "not decided"),
        ([1.0] * 400 + [0.5], 1.0, "failed"),
        ([0.0] * 400, 0.0, "passed"),
        ([0.9] * 200 + [0.8] * 200, 0.85, "not decided"),
    ],
)
def test_what_rows_show(scores: list[float], gate: float, verdict: str) -> None:
    """A gate of 1 is never shown, one of 0 always; a mean at the gate is not decided."""
    assert gate_test(scores, gate).verdict == verdict


@pytest.mark.parametrize("gate", [5e-324, 1e-300, 9e-10])
@pytest.mark.parametrize("scores", [[0.0], [5e-324], [1.0, 5e-324]])
def test_a_gate_next_to_0_is_reached_by_all(scores: list[float], gate: float) -> None:
    """Odds at such a gate overflow: it is taken for 0, also for rows that are drawn."""
    test, watch = gate_test(scores, gate), SequentialGate(gate, 9)
    for score in scores:
        watch.add(score)

    assert (test.verdict, watch.verdict) == ("passed", "passed")
    assert (test.gate, test.more_rows) == (gate, None)


def test_a_wrong_failed_has_an_error_of_its_own() -> None:
    """Eight rows of 0 are below 0.5 at 5 %, and at 2.5 % they decide nothing; both ways to ask."""
    zeros = [0.0] * 8
    drawn = [SequentialGate(0.5, 10_000, fail_error=each) for each in (None, 0.025, 0.025)]
    for watch, score in zip(drawn, (0.0, 0.0, 1.0), strict=True):
        for _ in zeros:
            watch.add(score)

    assert [watch.verdict for watch in drawn] == ["failed", "not decided", "passed"]
    assert gate_test(zeros, 0.5, error=0.05).verdict == "failed"
    assert gate_test(zeros, 0.5, error=0.05, fail_error=0.025).verdict == "not decided"
    assert gate_test([1.0] * 8, 0.5, error=0.05, fail_error=0.025).verdict == "passed"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_the_bounds_and_the_verdict_say_the_same(scores: list[float], gate: float) -> None:
    """Passed is said exactly where the lower bound is above the gate; order changes nothing."""
    test = gate_test(scores, gate)

    assert test.estimate is not None
    assert 0 <= test.low <= test.estimate <= test.high <= 1
    if test.verdict == "passed" and gate > 0:
        assert test.low >= gate - 1e-5
    if test.verdict == "failed":
        assert test.high <= gate + 1e-5
    assert gate_test(scores[::-1], gate) == test
    mirrored = gate_test([1 - score for score in scores], gate)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - test.high, 1 - test.low), abs=1e-5)


def test_a_fair_bet_wins_nothing() -> None:
    """Over all outcomes of six fair rows, a gambler who doubts the true mean keeps 1 on average."""
    watch_means = []
    for rows in product((0.0, 1.0), repeat=6):
        test = _wealth([*rows], 0.5)
        watch_means.append(test)

    assert math.fsum(watch_means) / len(watch_means) == pytest.approx(1.0)


def _wealth(scores: list[float], mean: float) -> float:
    """Work out by hand what eight equal shares become."""
    fractions = [0.01 * 90 ** (step / 7) for step in range(8)]
    grown = [math.prod(1 + f * (score / mean - 1) for score in scores) for f in fractions]
    wealth = math.fsum(grown) / 8
    if wealth > 1:
        # The test passes a gate exactly where the wealth reaches 1 / error.
        assert gate_test(scores, mean, error=min(0.99, 1.001 / wealth)).verdict == "passed"
        assert gate_test(scores, mean, error=0.999 / wealth).verdict != "passed"
    return wealth


def test_unequal_clusters_bet_by_the_largest() -> None:
    """Three rows in one cluster, nine alone: the wealth by hand, at a gate of 0.6."""
    scores, clusters = [1.0] * 12, ["a", "a", "a", *[None] * 9]
    grown = []
    for step in range(8):
        share = 0.01 * 90 ** (step / 7) / (3 * 0.6)
        grown.append((1 + share * (3 - 3 * 0.6)) * (1 + share * (1 - 0.6)) ** 9)
    wealth = math.fsum(grown) / 8

    assert wealth > 2
    for error, verdict in ((1.001 / wealth, "passed"), (0.999 / wealth, "not decided")):
        assert gate_test(scores, 0.6, error=error, clusters=clusters).verdict == verdict
        zeros = gate_test([0.0] * 12, 0.4, error=error, clusters=clusters).verdict
        assert zeros == ("failed" if verdict == "passed" else verdict)


@pytest.mark.parametrize("ones", [4, 5, 6, 7])
def test_drawing_is_wrong_no_more_often_than_stated(ones: int) -> None:
    """Over every order of a data set of nine rows, an error of 0.2 is kept exactly."""
    orders = [
        [float(place in chosen) for place in range(9)] for chosen in combinations(range(9), ones)
    ]
    wrong = {"above": 0, "below": 0}
    for order in orders:
        wrong["above"] += decided(order, ones / 9 + 0.001, error=0.2) == "passed"
        wrong["below"] += decided(order, ones / 9, error=0.2) == "failed"

    assert max(wrong.values()) <= 0.2 * len(orders)


@pytest.mark.parametrize("distance", [-0.1, -0.05, 0.05, 0.1])
def test_stopping_early_is_rarely_wrong_and_saves_rows(distance: float) -> None:
    """Of 1,000 rows a few hundred decide a gate that is 0.05 or 0.10 away."""
    rng = random.Random(7)
    ends, wrong = [], 0
    for _ in range(20):
        rows = [float(place < 10 * round(100 * (0.85 + distance))) for place in range(1000)]
        rng.shuffle(rows)
        watch = SequentialGate(0.85, 1000)
        used = 0
        while watch.verdict == "not decided":
            watch.add(rows[used])
            used += 1
        ends.append(used)
        wrong += watch.verdict != ("passed" if distance > 0 else "failed")

    assert wrong <= 2
    assert median(ends) < (600 if abs(distance) < 0.1 else 200)


def test_rows_without_a_score_move_nothing() -> None:
    """The mean is over scored rows: a draw with gaps has wider bounds, around the same mean."""
    rng = random.Random(3)
    rows = [float(rng.random() < 0.8) for _ in range(200)]
    gaps: list[float | None] = [row if place % 3 else None for place, row in enumerate(rows)]
    full, some = drawn_interval(rows, 1000), drawn_interval(gaps, 1000)

    assert full is not None
    assert some is not None
    assert some.width > full.width
    assert some.contains(0.8)
    assert drawn_interval([None, None], 5) is None
    watch = SequentialGate(0.5, 10_000)
    for score in [None] * 20 + [1.0] * 8:
        watch.add(score)
    assert watch.verdict == "passed"


def test_a_drawn_interval_is_that_of_two_gates() -> None:
    """Each bound is wrong in half of the cases; of mirrored scores they are mirrored."""
    scores = [1.0, 0.5, None, 1.0, 0.75, 1.0, 0.0, 1.0] * 5
    watch = SequentialGate(0.5, 100, error=0.025)
    for score in scores:
        watch.add(score)
    found = drawn_interval(scores, 100)
    mirrored = drawn_interval([None if score is None else 1 - score for score in scores], 100)

    assert found is not None
    assert mirrored is not None
    assert found.estimate == 0.75
    assert 0.4 < found.low < 0.75 < found.high < 1
    assert (found.low, found.high) == (watch.test().low, watch.test().high)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-5)
    with pytest.raises(ConfigurationError, match="confidence=95"):
        drawn_interval(scores, 100, confidence=95)


def test_a_sum_beyond_the_gate_decides_at_once() -> None:
    """Two rows of 0.6 in ten: whatever follows, the mean is above 0.1; two of 0.4: below 0.9."""
    above, below = SequentialGate(0.1, 10, error=1e-9), SequentialGate(0.9, 10, error=1e-9)
    for score in (0.6, 0.6):
        above.add(score)
        below.add(1 - score)

    assert (above.verdict, below.verdict) == ("passed", "failed")


def test_many_different_scores_win_nothing_by_rounding() -> None:
    """More than 2,000 are rounded down: a mean of 1.5e-6 does not reach a gate of 1e-4."""
    assert gate_test([n * 1e-9 for n in range(3000)], 1e-4).verdict == "not decided"


@pytest.mark.parametrize("first", [0.0, 0.3, 0.6])
def test_rounding_many_different_scores_moves_bounds_by_little(first: float) -> None:
    """Rounded down to 1/4000: no bound is tighter, and none more than that wider."""
    rng = random.Random(2)
    scores = [first + 0.4 * rng.random() for _ in range(2500)]
    many, fewer = gate_test(scores, 0.5), gate_test([round(one, 3) for one in scores], 0.5)

    assert (many.low, many.high) == pytest.approx((fewer.low, fewer.high), abs=5e-4)


def test_the_interval_of_a_stopped_draw_holds_the_mean_of_the_data() -> None:
    """In 30 draws that stopped when they had decided, at most 4 intervals of 95 % miss."""
    rng = random.Random(11)
    missed = 0
    for _ in range(30):
        rows = [rng.choice((0.0, 0.5, 1.0, 1.0, 1.0)) for _ in range(200)]
        watch, seen = SequentialGate(0.6, 200), list[float | None]()
        for row in rows:
            watch.add(row)
            seen.append(row)
            if watch.verdict != "not decided" or len(seen) == 80:
                break
        interval = drawn_interval(seen, 200)
        assert interval is not None
        missed += not interval.contains(sum(rows) / 200)

    assert missed <= 4


def test_all_rows_leave_nothing_to_chance() -> None:
    """After the last row the mean is known, and decides."""
    for rows, verdict in (([0.84] * 5, "failed"), ([0.85] * 5, "passed")):
        watch = SequentialGate(0.85, 5)
        for row in rows:
            watch.add(row)
        assert watch.verdict == verdict
        assert watch.test().low == pytest.approx(watch.test().high)
        assert watch.test().more_rows is None


def test_rows_are_missing_only_until_a_verdict() -> None:
    """Before, the rest of the data may be needed; after, nothing more is, whatever is left."""
    watch = SequentialGate(0.5, 100)
    none = watch.test()
    assert (none.estimate, none.low, none.high, none.more_rows) == (None, 0, 1, 100)
    left = []
    for _ in range(20):
        watch.add(1.0)
        left.append(watch.test().more_rows)
    decided = left.index(None)

    assert left[:3] == [99, 98, 97]
    assert set(left[decided:]) == {None}
    assert (watch.test().verdict, watch.test().scored, watch.test().population) == (
        "passed",
        20,
        100,
    )


def test_alike_rows_of_a_cluster_count_once() -> None:
    """Forty rows of eight documents show less than forty rows, and errors stay rare."""
    rows = [1.0] * 60
    alone = gate_test(rows, 0.85)
    together = gate_test(rows, 0.85, clusters=[place // 10 for place in range(60)])

    assert (alone.verdict, together.verdict) == ("passed", "not decided")
    rng, wrong = random.Random(5), 0
    for _ in range(150):
        documents = [float(rng.random() < 0.8) for _ in range(40)]
        scores = [document for document in documents for _ in range(6)]
        clusters = [place // 6 for place in range(240)]
        wrong += gate_test(scores, 0.8, clusters=clusters).verdict != "not decided"
    assert wrong <= 15


@pytest.mark.parametrize("error", [0.0, 1.0, 5.0])
def test_an_error_that_promises_nothing_is_refused(error: float) -> None:
    """An error of 0, 1 or 5 is refused, and so is a gate without rows."""
    for test in (partial(gate_test, [1.0], 0.5), partial(SequentialGate, 0.5, 9)):
        with pytest.raises(ConfigurationError, match="^error="):
            test(error=error)
        with pytest.raises(ConfigurationError, match="^fail_error="):
            test(fail_error=error)
    with pytest.raises(InvalidScoresError, match="scores is empty"):
        gate_test([], 0.5)


def test_differences_are_written_as_they_were_given() -> None:
    """A margin of 0.3 is -0.3, not -0.30000000000000004, and no bound lies beyond -1 or 1."""
    for margin in (0.1, 0.2, 0.3, 0.7):
        found = gate_test([0.5, 0.25], (1 - margin) / 2).of_differences()
        assert found.gate == -margin
        assert -1 <= found.low <= found.high <= 1
    found = gate_test([1.0] * 40, 0.65).of_differences()
    assert (found.verdict, found.gate, found.estimate, found.high) == ("passed", 0.3, 1, 1)
    assert 0.3 < found.low < 1


@pytest.mark.parametrize(("gate", "is_failing"), [(0.6, False), (0.8, True)])
def test_the_rows_told_are_those_of_the_best_bet(gate: float, is_failing: bool) -> None:
    """By hand: clusters of two, one row more that scores 0 or 1, and an eighth of the wealth."""
    scores = [1.0, 1.0, 1.0, 0.0, 1.0, 0.5, 0.5, 1.0, 0.25, 0.75]
    clusters = [*"aabbccdd", None, None]
    found = gate_test(scores, gate, clusters=clusters, error=0.02, fail_error=0.01)

    doubted, sign = (1 - gate, -1) if is_failing else (gate, 1)
    own = scores if sign > 0 else [1 - score for score in scores]
    pairs = [(own[n] + own[n + 1], 2) for n in range(0, 8, 2)] + [(own[8], 1), (own[9], 1)]
    mean = math.fsum(own) / 10
    grown = max(
        sum(math.log1p(f / (2 * doubted) * (total - rows * doubted)) for total, rows in pairs)
        + mean * math.log1p(f * (1 / doubted - 1))
        + (1 - mean) * math.log1p(-f)
        for f in (0.01 * 90 ** (step / 7) for step in range(8))
    )
    assert (found.verdict, found.scored, found.error) == ("not decided", 10, 0.02)
    assert found.more_rows == math.ceil(11 * (math.log(8) - math.log(0.02)) / grown) - 10
    assert (found.estimate, found.population) == (0.7, None)


def test_the_rows_told_end_at_a_million() -> None:
    """Half of the rows are right: a gate of 0.4985 needs fewer than a million, 0.499 more."""
    half = [0.0, 1.0] * 500
    near, nearer = gate_test(half, 0.497).more_rows, gate_test(half, 0.4999).more_rows

    assert near is not None
    assert 100_000 < near <= 1_000_000
    assert nearer is None


def test_bounds_are_of_the_error_of_a_passed_gate() -> None:
    """Neither bound knows of the smaller error of a wrong failure; each is that of its gate."""
    scores = [1.0] * 20 + [0.0] * 5
    one, other = gate_test(scores, 0.5), gate_test(scores, 0.5, fail_error=0.001)

    assert (one.low, one.high, one.error) == (other.low, other.high, other.error)
    assert gate_test(scores, one.low - 1e-5).verdict == "passed"
    assert gate_test(scores, one.low + 1e-5).verdict != "passed"
    assert gate_test(scores, one.high + 1e-5).verdict == "failed"
    assert gate_test(scores, one.high - 1e-5).verdict != "failed"
    # No row says anything against a mean of 0 or 1.
    assert gate_test([0.0] * 9, 0.5).low == 0
    assert gate_test([1.0] * 9, 0.5).high == 1


def test_one_wide_cluster_is_one_bet() -> None:
    """A hundred rows of one document win once, whatever they say; sizes may differ."""
    found = gate_test([1.0] * 100, 0.5, clusters=["a"] * 100)

    # The best fraction of eight is 0.9: one bet at even odds is worth 1.9 of its eighth.
    wealth = math.fsum(1 + 0.01 * 90 ** (step / 7) for step in range(8)) / 8
    assert found.verdict == "not decided"
    assert gate_test([1.0] * 100, 0.5, clusters=["a"] * 100, error=0.999 / wealth).low < 0.5
    assert gate_test([1.0] * 100, 0.5, clusters=["a"] * 100, error=1.001 / wealth).low > 0.49


def test_a_difference_keeps_what_it_cannot_know() -> None:
    """Without rows there is no estimate; an estimate of 0 is a difference of -1."""
    test = SequentialGate(0.4, 10).test().of_differences()
    lost = gate_test([0.0] * 3, 0.4).of_differences()

    assert (test.estimate, test.low, test.high) == (None, -1, 1)
    assert test.gate == -0.2
    assert (lost.estimate, lost.low) == (-1, -1)
    assert -1 < lost.high < 1
    fine = gate_test([0.123456] * 3, 0.4).of_differences()
    assert fine.estimate == pytest.approx(-0.753088, abs=1e-11)


def test_drawn_rows_bet_on_what_is_left() -> None:
    """By hand: four of six rows, one without a score, and the mean that the others must have."""
    scores, gate = [0.5, None, 0.75, 0.7], 0.4
    watch = SequentialGate(gate, 6, error=0.02, fail_error=0.01)
    for score in scores:
        watch.add(score)
    test = watch.test()

    # The sum owed is 2.4 of 6 rows, 1.9 of 5 (a row without a score counts 0.4), 1.5 of 4, and
    # 0.75 of 3.
    expected = [2.4 / 6, 1.9 / 5, 1.5 / 4, 0.75 / 3]
    grown = [
        math.prod(
            1 + f * (score / mean - 1)
            for score, mean in zip((0.5, 0.4, 0.75, 0.7), expected, strict=True)
        )
        for f in (0.01 * 90 ** (step / 7) for step in range(8))
    ]
    wealth = math.fsum(grown) / 8
    for error, verdict in ((1.001 / wealth, "passed"), (0.999 / wealth, "not decided")):
        other = SequentialGate(gate, 6, error=min(error, 0.999), fail_error=1e-9)
        for score in scores:
            other.add(score)
        assert other.verdict == verdict
    assert (test.scored, test.population, test.more_rows) == (3, 6, 2)
    assert (test.estimate, test.error, test.gate) == (0.65, 0.02, 0.4)
    assert 0 <= test.low < 0.65 < test.high <= 1
    found = drawn_interval(scores, 6, confidence=0.96)
    assert found is not None
    assert (found.low, found.high) == (test.low, test.high)
    assert (found.confidence, found.method) == (0.96, "betting, without replacement")


def test_the_last_row_decides_by_the_mean_of_scored_rows() -> None:
    """Also if it has no score; with none at all nothing is decided, and nothing is left to draw."""
    for rows, verdict in (
        ((0.5, None), "passed"), ((None, 0.4), "failed"), ((None, None), "not decided"),
        ((0.0, 1.0), "passed"),
    ):  # fmt: skip
        watch = SequentialGate(0.5, 2)
        for row in rows:
            watch.add(row)
        assert watch.verdict == verdict
        assert watch.test().more_rows is None
    tenths = SequentialGate(0.1, 3)
    for row in (0.1, 0.1, 0.1):
        tenths.add(row)
    known = drawn_interval([0.5, None, 1.0], 3)
    assert known is not None
    assert (tenths.verdict, known.low, known.high) == ("passed", 0.75, 0.75)
