"""A run says whether its mean is shown to reach a gate: passed, failed, or not decided."""

import math
from dataclasses import replace
from typing import Any

import pytest

from rag_evals.analysis import compare
from rag_evals.errors import ConfigurationError
from rag_evals.run import Gate, Outcome, Run, Sampling, Summary
from rag_evals.run.plan.gate import GateDecision, GraderDecision, Missed, decide_gate
from rag_evals.run.plan.sampling import DrawnRows, EarlyStop, SampledMean, random_order
from rag_evals.stats import (
    GateTest,
    Interval,
    SequentialGate,
    mean_interval,
    prediction_powered_mean,
)
from rag_evals.stats.betting import GateVerdict
from tests.analysis.runs import record, scores_run


@pytest.mark.parametrize(
    ("scores", "verdict", "said"),
    [
        ([1.0] * 60, "passed", "the mean of faithfulness is 1.0000 over 60 rows, and above 0.9"),
        ([0.0, 1.0] * 40, "failed", "is 0.5000 over 80 rows, and below 0.6"),
        ([0.84] * 5, "not decided", "more rows would decide 0.85"),
        ([0.85] * 400, "not decided", "no number of rows like these would decide 0.85"),
    ],
)
def test_three_verdicts(scores: list[float], verdict: str, said: str) -> None:
    """Each verdict comes with the mean, its bounds, and what would decide."""
    decision = scores_run(scores).gate(0.85)

    assert (decision.verdict, decision.passed) == (verdict, verdict == "passed")
    assert said in str(decision)
    (test,) = (each.test for each in decision.graders)
    assert test is not None
    low, high = f"{test.low:.4f}", f"{test.high:.4f}"
    limits = {"passed": f"above {low}", "failed": f"below {high}"}
    assert limits.get(verdict, f"between {low} and {high}") in str(decision)


def test_rows_without_a_score_fail_the_gate() -> None:
    """Half of the rows without a score miss min-scored; counted as a number they have one."""
    run = scores_run([*[1.0] * 60, *[None] * 60])

    assert run.gate(0.85).verdict == "failed"
    assert "min-scored 0.9: faithfulness has a score in 60 of 120 rows" in str(run.gate(0.85))
    assert run.gate(0.85, min_scored=0.5).verdict == "passed"
    assert run.gate(0.85, count={"empty_context": 0.0}).verdict == "failed"
    assert "the mean of faithfulness is 0.5000 over 120" in str(
        run.gate(0.85, count={"empty_context": 0.0})
    )
    assert scores_run([None, None]).gate(0.5, min_scored=0.0).verdict == "failed"
    assert Run().gate(0.5).verdict == "failed"


def test_a_stopped_run_without_a_score_fails_the_gate() -> None:
    """Its draw decides nothing; nor does a share that is none."""
    manifest = {"stopped": {"rows": 3, "of": 100, "gate": 0.5, "seed": 0}}
    run = Run([record(n, f"r{n}", None) for n in range(3)], manifest=manifest)

    assert run.gate(0.5, min_scored=0.0).verdict == "failed"
    assert "faithfulness has no score" in str(run.gate(0.5, min_scored=0.0))
    with pytest.raises(ConfigurationError, match="min_scored is 90"):
        run.gate(0.5, min_scored=90)


def test_all_graders_must_pass_and_one_may_fail() -> None:
    """The run fails with one grader, and passes only with all of them."""
    good = [record(n, f"r{n}", 1.0, grader="a") for n in range(60)]
    weak = [record(n, f"r{n}", 0.85, grader="b") for n in range(60)]
    bad = [record(n, f"r{n}", 0.0, grader="c") for n in range(60)]

    assert Run(good).gate(0.85).verdict == "passed"
    assert Run([*good, *weak]).gate(0.85).verdict == "not decided"
    assert Run([*good, *weak, *bad]).gate(0.85).verdict == "failed"


def test_graders_share_the_error_of_a_wrong_failed() -> None:
    """Eight rows of 0 fail a gate of 0.5 at 5 %; of two graders each has 2.5 %, which is too few.

    One of them would be enough to fail the run, so that both together are wrong at most in 5 %.
    """
    low = [record(n, f"r{n}", 0.0, grader="low") for n in range(8)]
    high = [record(n, f"r{n}", 1.0, grader="high") for n in range(8)]

    assert Run(low).gate(0.5).verdict == "failed"
    assert Run([*low, *high]).gate(0.5).verdict == "not decided"
    assert [each.verdict for each in Run([*low, *high]).gate(0.5).graders] == [
        "not decided",
        "passed",
    ]


def test_a_sampled_row_counts_once() -> None:
    """The free judge's mean of the other rows is of those that the dear judge did not grade."""
    free = [record(n, f"r{n}", n % 4 / 4) for n in range(100)]
    dear = [record(n, f"r{n}", float(n % 4 > 1)) for n in range(40)]
    found = SampledMean(dear, free, "dear", "free").corrected()

    assert found is not None
    assert (found.labels, found.unlabelled) == (40, 60)
    # Rows that are in both would stand twice: the mean of all 100 is that of 0, 1/4, 1/2, 3/4.
    assert found.judged == pytest.approx(0.375)
    moved = [{**each, "score": 1.0} if each["index"] >= 40 else each for each in free]
    again = SampledMean(dear, moved, "dear", "free").corrected()
    assert again is not None
    assert again.judged == pytest.approx((40 * 0.375 + 60) / 100)


def test_a_sampled_row_without_a_score_is_in_neither_part() -> None:
    """The dear judge had it and gave no score: it is not one of the rows that were not drawn."""
    free = [record(n, f"r{n}", n % 4 / 4) for n in range(100)]
    dear = [record(n, f"r{n}", None if n < 10 else float(n % 4 > 1)) for n in range(40)]
    found = SampledMean(dear, free, "dear", "free").corrected()

    assert found is not None
    assert (found.labels, found.unlabelled) == (30, 60)


def test_a_row_that_the_free_judge_cannot_score_is_in_neither_part() -> None:
    """Drawn or not, it has no number that could stand beside the dear judge's."""
    free = [record(n, f"r{n}", None if n % 10 == 9 else n % 4 / 4) for n in range(100)]
    dear = [record(n, f"r{n}", float(n % 4 > 1)) for n in range(40)]
    design = SampledMean(dear, free, "dear", "free")
    found, counted = design.corrected(), design.corrected(count_as={"empty_context": 0.0})

    assert found is not None
    assert (found.labels, found.unlabelled) == (36, 54)
    assert counted is not None
    assert (counted.labels, counted.unlabelled) == (40, 60)


def test_a_sample_alone_counts_rows_without_a_score_too() -> None:
    """Where the free judge does not help: thirty rows of 1, and ten that count as 0 or not."""
    dear = [record(n, f"r{n}", 1.0 if n < 30 else None) for n in range(40)]
    design = SampledMean(dear, dear, "dear", "free")

    assert design.interval() == mean_interval([1.0] * 30)
    counted = design.interval(0.9, {"empty_context": 0.0})
    assert counted == mean_interval([1.0] * 30 + [0.0] * 10, confidence=0.9)


def test_a_group_of_a_sample_has_its_own_rows_of_both_judges() -> None:
    """Rows 20 to 79 of 100, of which the first 40 were drawn: 20 and 40, and no other."""
    free = [record(n, f"r{n}", n % 4 / 4) for n in range(100)]
    dear = [record(n, f"r{n}", float(n % 4 > 1)) for n in range(40)]
    group = SampledMean(dear, free, "dear", "free").of_rows({f"r{n}" for n in range(20, 80)})
    found = group.corrected()

    assert found is not None
    assert (found.labels, found.unlabelled) == (20, 40)
    assert group == SampledMean(dear[20:], free[20:80], "dear", "free")


def test_a_sample_always_passes_a_gate_of_0() -> None:
    """No mean is below 0, so that rows of 0 reach it as well."""
    dear = [record(n, f"r{n}", 0.0) for n in range(40)]
    summary = Run(dear).summary()
    summary.graders["faithfulness"].design = SampledMean(dear, dear, "dear", "free")

    assert decide_gate(summary, 0.0).verdict == "passed"
    assert decide_gate(summary, 0.5).verdict == "failed"


@pytest.mark.parametrize("away", [-0.02, 0.0, 0.02])
def test_a_sample_is_told_how_many_rows_would_decide(away: float) -> None:
    """An interval of half the width needs four times the rows; on the gate none would decide."""
    dear = [record(n, f"r{n}", float(n % 8 > 0)) for n in range(40)]
    design = SampledMean(dear, dear, "dear", "free")
    limit = design.interval(0.9)
    assert limit is not None
    summary = Run(dear).summary()
    summary.graders["faithfulness"].design = design
    (grader,) = decide_gate(summary, limit.estimate + away).graders

    assert grader.test is not None
    assert grader.test.verdict == "not decided"
    reach = limit.high - limit.estimate if away > 0 else limit.estimate - limit.low
    more = None if away == 0 else math.ceil(40 * (reach / abs(away)) ** 2 - 40)
    assert grader.test.more_rows == more


def sampled_summary() -> tuple[Summary, Interval]:
    """Return the summary of a run whose mean is that of a sample, and its 90 % interval."""
    dear = [record(n, f"r{n}", float(n % 8 > 0)) for n in range(40)]
    design = SampledMean(dear, dear, "dear", "free")
    limit = design.interval(0.9)
    summary = Run(dear).summary()
    summary.graders["faithfulness"].design = design

    assert limit is not None
    return summary, limit


def test_a_gate_of_a_sample_asks_for_one_side_of_its_interval() -> None:
    """An error of 5 % is the lower end of the 90 % interval, not of the 95 % one."""
    summary, limit = sampled_summary()

    assert decide_gate(summary, limit.low - 1e-6).verdict == "passed"
    assert decide_gate(summary, limit.low + 1e-6).verdict == "not decided"


def test_graders_of_a_sample_share_the_error_of_a_wrong_failed() -> None:
    """Of two graders each has 2.5 %: a gate must be above the 95 % interval, not the 90 % one."""
    dear = [record(n, f"r{n}", float(n % 8 > 0), grader=name) for name in "ab" for n in range(40)]
    summary = Run(dear).summary()
    designs = {name: SampledMean(dear[:40], dear[:40], "dear", "free") for name in "ab"}
    for name, design in designs.items():
        summary.graders[name].design = design
    whole, shared = (designs["a"].interval(share) for share in (0.9, 0.95))

    assert whole is not None
    assert shared is not None
    assert decide_gate(summary, (whole.high + shared.high) / 2).verdict == "not decided"
    assert decide_gate(summary, shared.high + 1e-6).verdict == "failed"


def test_a_free_judge_is_read_by_its_finer_scores() -> None:
    """Where it ranks rows more finely than it scores them, the finer number is corrected."""
    free = [record(n, f"r{n}", 0.0, ranking_score=n % 4 / 4) for n in range(100)]
    dear = [record(n, f"r{n}", float(n % 4 > 1)) for n in range(40)]
    found = SampledMean(dear, free, "dear", "free").corrected()

    assert found is not None
    assert found.judged == pytest.approx(0.375)


def test_rows_of_one_document_count_less() -> None:
    """Sixty rows of six documents pass nothing that sixty documents would."""
    columns = {f"r{n}": {"doc": n // 10} for n in range(60)}
    run = scores_run([1.0] * 60, columns=columns)

    assert run.gate(0.85).verdict == "passed"
    assert run.gate(0.85, cluster="doc").verdict == "not decided"


def test_rows_that_count_are_clustered_too() -> None:
    """Thirty rows without a score are of the same six documents as the thirty with one."""
    columns = {f"r{n}": {"doc": n % 6} for n in range(60)}
    run = scores_run([*[1.0] * 30, *[None] * 30], columns=columns)
    count = {"empty_context": 1.0}
    (found,) = run.gate(0.85, count=count, cluster="doc").graders

    assert run.gate(0.85, count=count).verdict == "passed"
    assert found.verdict == "not decided"
    assert found.clusters is not None
    assert (found.clusters.units, len(found.clusters.keys)) == (6, 60)


@pytest.mark.parametrize(
    ("gate", "error"), [(85, 0.05), (-0.1, 0.05), (0.85, 0.0), (0.85, 5), (float("nan"), 0.05)]
)
def test_numbers_out_of_range_are_refused(gate: float, error: float) -> None:
    """Percent and nonsense are refused, with the number."""
    with pytest.raises(ConfigurationError, match="expected a number from 0 to 1|error is"):
        scores_run([1.0]).gate(gate, error=error)


@pytest.mark.parametrize(("gate", "error"), [("0.85", 0.05), (None, 0.05), (0.85, "0.05")])
def test_what_is_no_number_is_refused(gate: Any, error: Any) -> None:
    """The text of a number, or nothing, is a line with the value and no TypeError."""
    with pytest.raises(
        ConfigurationError, match="(gate|error) is .*; expected a number from 0 to 1"
    ):
        scores_run([1.0]).gate(gate, error=error)


@pytest.mark.parametrize(
    ("new", "verdict"),
    [([0.8] * 300, "passed"), ([0.4, 0.9] * 150, "failed"), ([0.8, 0.78] * 10, "not decided")],
)
def test_a_gate_of_two_runs(new: list[float], verdict: str) -> None:
    """The candidate is shown to lose at most the margin, to lose more, or neither."""
    compared = compare(scores_run([0.8] * len(new)), scores_run(new), gate=0.05)
    decision = compared.decision()

    assert decision is not None
    assert decision.verdict == verdict
    assert "the change of faithfulness is" in str(decision)
    assert compare(scores_run([0.8, 0.7]), scores_run([0.8, 0.8])).decision() is None


def test_a_run_and_itself_pass() -> None:
    """A run loses nothing against itself, however few its rows."""
    run = scores_run([0.8, 0.7, 1.0])
    decision = compare(run, run, gate=0.0).decision()

    assert decision is not None
    assert decision.passed


def test_a_gate_on_a_limit_of_a_sample_is_not_decided() -> None:
    """Only a limit beyond the gate decides; an interval may end on it."""
    summary, limit = sampled_summary()

    assert decide_gate(summary, limit.low).verdict == "not decided"
    assert decide_gate(summary, limit.high).verdict == "not decided"


def test_the_test_of_a_sample_has_its_one_sided_interval_and_all_its_rows() -> None:
    """Rows without a score are rows that were graded, and so would be some of those to come."""
    dear = [
        record(n, f"r{n}", float(n % 8 > 0) if n < 40 else None, grader=name)
        for name in "ab"
        for n in range(50)
    ]
    summary = Run(dear).summary()
    for name, of_grader in (("a", dear[:50]), ("b", dear[50:])):
        summary.graders[name].design = SampledMean(of_grader, of_grader, "dear", "free")
    limit = mean_interval([float(n % 8 > 0) for n in range(40)], confidence=0.8)
    gate = limit.estimate - 0.02
    more = math.ceil(50 * (((limit.estimate - limit.low) / 0.02) ** 2 - 1))
    for each in decide_gate(summary, gate, error=0.1, min_scored=0.8).graders:
        assert each.is_sampled
        assert each.test is not None
        assert (each.test.estimate, each.test.low, each.test.high) == (
            *(limit.estimate, limit.low, limit.high),
        )
        assert (each.test.gate, each.test.error, each.test.scored) == (gate, 0.1, 50)
        assert (each.test.population, each.test.more_rows) == (None, more)
    missed = decide_gate(summary, gate, error=0.1, min_scored=0.81).graders[0].missed
    assert [(one.rule, one.why) for one in missed] == [("min-scored", {"empty_context": 10})]


def test_graders_of_a_stopped_run_share_the_error_of_a_wrong_failed() -> None:
    """So many rows of 0 that one grader fails are too few for each of two."""
    alone = SequentialGate(0.5, 100, error=0.05, fail_error=0.05)
    while alone.verdict != "failed":
        alone.add(0.0)
    rows = alone.test().scored
    low = [record(n, f"r{n}", 0.0, grader="low") for n in range(rows)]
    high = [record(n, f"r{n}", 1.0, grader="high") for n in range(rows)]
    one, both = Run(low).summary(), Run([*low, *high]).summary()
    for summary in (one, both):
        for name, numbers in summary.graders.items():
            numbers.design = DrawnRows(low if name == "low" else high, 100)

    assert decide_gate(one, 0.5).graders[0].test == alone.test()
    assert [each.verdict for each in decide_gate(both, 0.5).graders] == ["not decided", "passed"]


SURE = "(95 % sure of each)"
LOOKED = "(95 % sure of each, however often you look, so wider than the 95 % interval)"
BETWEEN = "and between 0.6000 and 0.8000"


@pytest.mark.parametrize(
    ("verdict", "limits", "more", "said"),
    [
        # A limit is never told as if it were on the other side of the gate.
        ("passed", (0.69, 0.9), {}, "over 30 rows, and above 0.7000 (95 % sure)"),
        ("passed", (0.75, 0.9), {}, "over 30 rows, and above 0.7500 (95 % sure)"),
        ("failed", (0.5, 0.71), {}, "over 30 rows, and below 0.7000 (95 % sure)"),
        ("failed", (0.5, 0.6), {"population": 99}, "over 30 of 99 rows, and below 0.6000 ("),
        ("not decided", (0.6, 0.8), {},
         f"over 30 rows, {BETWEEN} {LOOKED}; no number of rows like these would decide 0.7"),
        ("not decided", (0.6, 0.8), {"more_rows": 40},
         f"over 30 rows, {BETWEEN} {LOOKED}; about 40 more rows would decide 0.7"),
        ("not decided", (0.6, 0.8), {"more_rows": 69, "population": 99},
         f"over 30 of 99 rows, {BETWEEN} {SURE}; the other 69 rows would decide 0.7"),
    ],
)  # fmt: skip
def test_a_verdict_is_said_with_its_limits(
    verdict: GateVerdict, limits: tuple[float, float], more: dict[str, int], said: str
) -> None:
    """One test for each; bounds of a sample are no wider than its interval."""
    test = GateTest(verdict, 0.7, 0.655, *limits, 0.05, 30, **more)
    decision = GraderDecision("g", test)
    sampled = str(GateDecision((replace(decision, is_sampled=True),)))

    assert f"{verdict}: the mean of g is 0.6550 {said}" in str(GateDecision((decision,)))
    assert sampled == str(GateDecision((decision,))).replace(LOOKED, SURE)
    waiting = GateDecision((decision,), pending=3)
    assert (waiting.verdict, waiting.passed) == ("not decided", False)
    assert str(waiting) == "not decided: 3 gradings are pending"


def test_a_run_that_waits_for_replies_misses_its_gate() -> None:
    """Whatever the rows that it has say."""
    summary = replace(scores_run([1.0] * 60).summary(), pending=2)

    assert [str(one) for one in Gate(0.5).missed(summary)] == [str(Missed.pending(2))]
    assert decide_gate(summary, 0.5).verdict == "not decided"
    assert decide_gate(replace(summary, pending=0), 0.5).passed


def test_a_corrected_mean_has_the_coverage_that_is_asked_for() -> None:
    """And is used where the free judge says anything of the other's scores."""
    free = [record(n, f"r{n}", float(n % 4 > 1)) for n in range(100)]
    dear = [record(n, f"r{n}", float(n % 4 > 1) if n % 9 else 1.0) for n in range(40)]
    design = SampledMean(dear, free, "dear", "free")
    scores, guesses = ([float(one["score"]) for one in each] for each in (dear, free))
    for confidence in (0.8, 0.95):
        by_hand = prediction_powered_mean(scores, guesses[:40], guesses[40:], confidence=confidence)
        assert design.corrected(confidence) == by_hand
        assert design.interval(confidence) == by_hand.corrected
    assert design.interval() == design.interval(0.95)
    # A judge that guesses at random narrows nothing, and the sample stands alone.
    odd = [record(n, f"r{n}", float(n % 3 > 0)) for n in range(100)]
    assert SampledMean(dear, odd, "dear", "free").interval(0.8) == mean_interval(
        scores, confidence=0.8
    )


def test_a_run_stops_when_all_graders_pass_or_one_fails() -> None:
    """One that has passed waits for the other, unless that one fails."""
    for others, then in ((0, "begin"), (60, "stop")):
        for score, of_failed in ((1.0, then), (0.0, "stop" if others else "begin")):
            stop = EarlyStop(Summary(), Sampling(gate=0.5), 100, ["a", "b"], ahead=100)
            order = random_order(100)
            for place in order[:60]:
                stop.ended(Outcome(place, "r", "a", "scored", score=1.0))
            for place in order[:others]:
                stop.ended(Outcome(place, "r", "b", "scored", score=score))
            assert stop.admits(order[60], resumed=False) == of_failed
