"""Rows that are drawn: a gate that stops early, and a dear judge on a sample of all rows."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Outcome, compare, evaluate
from rag_evals.core import phrases
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run import (
    RunOptions,
    Sampling,
    Summary,
    execute,
    load_run,
    make_plan,
)
from rag_evals.run.plan.plan import rows_for_budget
from rag_evals.run.plan.sampling import (
    SEED,
    Budget,
    DrawnRows,
    EarlyStop,
    RunPolicy,
    SampledMean,
    random_order,
)
from rag_evals.stats import mean_interval
from rag_evals.testing import JudgeRequest, Raw, Reply, Script, ScriptedJudge
from tests.analysis.runs import record
from tests.conftest import Command, statement

Start = Callable[[Script], ScriptedJudge]


def rows_file(rows: int, wrong_from: int, *, path: str = "d.jsonl") -> str:
    """Write rows of which the later ones are not supported; every tenth fools the free judge."""
    lines = []
    for n in range(rows):
        place = "Rome" if (n >= wrong_from) != (n % 10 == 0) else "Paris"
        row = {"id": f"r{n}", "answer": f"Tower {n} is in {place}.", "topic": "ab"[n % 2]}
        lines.append(json.dumps({**row, "context": [f"Tower {n} is in Paris."]}))
    Path(path).write_text("\n".join(lines))
    return path


def truth(wrong_from: int) -> Script:
    """Answer as a dear judge that is always right."""

    def answer(request: JudgeRequest) -> dict[str, object]:
        number = int(str(request.answer).split()[1])
        text = str(request.answer)
        return {"statements": [statement(text, supported=number < wrong_from)]}

    return answer


def test_a_gate_stops_when_it_is_decided() -> None:
    """Of 300 perfect rows some dozens decide; the others are said, and the folder knows."""
    plan = make_plan(
        rows_file(300, 300), "faithfulness", "embedded", options={"sampling": Sampling(gate=0.7)}
    )
    run = execute(plan.into("run", progress=False))
    stored = load_run("run")

    for each in (run, stored):
        assert each.gate(0.7).verdict == "passed"
        assert len(each) < 150
        (note,) = each.notes()
        assert f"{len(each)} of 300 rows graded in random order, {300 - len(each)} not" in note
        interval = each["faithfulness"].interval()
        assert interval is not None
        assert interval.contains(0.9)
    assert "of 300 rows, and above 0.7" in str(run.gate(0.7))


PERFECT = {"answer": "It is in Paris.", "context": ["It is in Paris."]}


def test_a_run_begins_twice_as_many_rows_as_it_grades_at_a_time() -> None:
    """Of rows graded three at a time, six of the draw may begin before the first has ended."""
    options: RunOptions = {"sampling": Sampling(gate=0.7), "concurrency": 3}
    plan = make_plan(rows_file(20, 20), "faithfulness", "embedded", options=options)
    assert plan.policy is not None
    stop, order = plan.policy(Summary()), random_order(20)

    admitted = [stop.admits(place, resumed=False) for place in order[:7]]
    assert admitted == ["begin"] * 6 + ["wait"]


def test_a_row_waits_for_the_first_that_has_not_ended() -> None:
    """No further ahead than it may be; once the gate is decided, only what had begun is graded."""
    stop = EarlyStop(Summary(), Sampling(gate=0.5), 100, ["faithfulness"], ahead=30)
    order = random_order(100)

    assert {stop.admits(place, resumed=False) for place in order[:30]} == {"begin"}
    assert stop.admits(order[30], resumed=False) == "wait"
    for place in order[1:30]:
        stop.ended(perfect(place))
    assert stop.admits(order[30], resumed=False) == "wait"
    stop.ended(perfect(order[0]))
    assert stop.admits(order[30], resumed=False) == "stop"
    assert stop.admits(order[30], resumed=True) == "begin"


def test_a_row_waits_for_the_grader_that_is_behind() -> None:
    """However many rows the other has ended."""
    stop = EarlyStop(Summary(), Sampling(gate=0.5), 100, ["faithfulness", "other"], ahead=3)
    order = random_order(100)

    for place in order[:3]:
        stop.ended(perfect(place))
    assert stop.admits(order[3], resumed=False) == "wait"
    for place in order[:3]:
        stop.ended(replace(perfect(place), grader="other"))
    assert stop.admits(order[3], resumed=False) == "begin"


def test_rows_are_counted_up_to_the_first_of_the_draw_that_has_not_ended() -> None:
    """By the grader that is behind; a draw of all rows did not stop."""
    stop = EarlyStop(Summary(), Sampling(gate=0.5), 9, ["faithfulness", "other"], ahead=9)
    order = random_order(9)
    for place in (0, 1, 2, 4):
        stop.ended(perfect(order[place]))
    assert stop.finish()["stopped"]["rows"] == 0
    for place in (1, 0, 3, 2, 4):
        stop.ended(replace(perfect(order[place]), grader="other"))
    assert stop.finish() == {"stopped": {"rows": 3, "of": 9, "gate": 0.5, "seed": SEED}}
    for place in (3, 5, 6, 7, 8):
        stop.ended(perfect(order[place]))
    for place in (5, 6, 7, 8):
        stop.ended(replace(perfect(order[place]), grader="other"))
    assert stop.finish() == {}


def test_rows_that_count_decide_a_gate_that_stops_early() -> None:
    """Rows without context that count as 1 pass a gate; without a number they decide nothing."""
    for count, then in (({"empty_context": 1.0}, "stop"), (None, "begin")):
        rule = Sampling(gate=0.5, count=count)
        stop = EarlyStop(Summary(), rule, 100, ["faithfulness"], ahead=30)
        order = random_order(100)
        for place in order[:30]:
            stop.ended(Outcome(place, "r", "faithfulness", "not_scorable", reason="empty_context"))
        assert stop.admits(order[30], resumed=False) == then


def test_drawn_rows_without_a_score_count_only_if_their_reason_does() -> None:
    """A row that was not graded never counts."""
    drawn = DrawnRows([record(0, "a", None), None, record(1, "b", 1.0)], 9)

    assert drawn.scores() == [None, None, 1.0]
    assert drawn.scores({"empty_context": 0.25}) == [0.25, None, 1.0]


def test_a_budget_counts_the_rows_in_flight() -> None:
    """Each costs what the others did on average: eight at 10 cents are more than 75 cents."""
    budget = Budget(Summary(), 0.75, graders=2, drawn=9)
    begun = [budget.admits(row, resumed=False) for row in range(4)]
    ended = replace(perfect(0), cost_usd=0.1)
    end(budget, ended)

    assert begun == ["begin"] * 4
    assert budget.admits(4, resumed=False) == "stop"
    assert budget.admits(4, resumed=True) == "begin"
    cheap = Budget(Summary(), 0.85, graders=2, drawn=9)
    for row in range(4):
        cheap.admits(row, resumed=False)
    end(cheap, ended)
    assert cheap.admits(4, resumed=False) == "begin"
    end(cheap, ended)
    assert cheap.admits(5, resumed=False) == "stop"
    # A row is graded when both graders are done with it.
    for budget_of, spent, rows in ((budget, 0.1, 0), (cheap, 0.2, 1)):
        told = budget_of.finish()["budget"]
        assert (told["spent_usd"], told["rows"], told["drawn"]) == (spent, rows, 9)


def end(policy: RunPolicy, outcome: Outcome) -> None:
    """Count an outcome as a run does."""
    policy.summary.add(outcome)
    policy.ended(outcome)


def test_rows_that_cost_nothing_say_nothing_of_the_price() -> None:
    """After 98 rows from the cache and one of 10 cents, five more in flight are 60 cents."""
    budget = Budget(Summary(), 0.55, graders=1, drawn=9)
    for row in range(99):
        budget.admits(row, resumed=False)
        cost = 0.1 if row == 98 else (None, 0.0)[row % 2]
        end(budget, replace(perfect(row), cost_usd=cost))
    begun = [budget.admits(row, resumed=False) for row in range(99, 105)]

    assert begun == ["begin"] * 5 + ["stop"]
    spent = Budget(Summary(cost_usd=1.0), 1, graders=1, drawn=9)
    assert spent.admits(0, resumed=False) == "stop"


@pytest.mark.slow
def test_what_is_in_flight_is_paid_from_the_budget(command: Command, scripted: Start) -> None:
    """With 16 rows at a time, no more than the first 16 are asked beyond what is known."""
    judge = scripted(dear(140, tokens=10_000))
    asked = ("--judge", "openai/gpt-4o-mini", "--quiet", "--no-cache", "--concurrency", "16")
    ended = command("grade", rows_file(200, 140), *asked, "--budget", "0.06", "--out", "run")
    each = 0.06 / len(judge.requests)

    assert ended.code == 0
    assert load_run("run").manifest["budget"]["spent_usd"] < 0.06 + each


def perfect(place: int) -> Outcome:
    """Make the outcome of a supported row."""
    return replace(graded_once(), index=place)


@cache
def graded_once() -> Outcome:
    """Grade the supported row."""
    return evaluate([PERFECT]).outcomes[0]


def test_a_stopped_run_grades_nothing_twice() -> None:
    """The same command finds the same draw, and the same end; another order is another run."""
    plan = make_plan(
        rows_file(200, 200), "faithfulness", "embedded", options={"sampling": Sampling(gate=0.7)}
    )
    first = execute(plan.into("run", progress=False))
    again = execute(plan.into("run", progress=False))

    assert first.graded == len(first) == len(again)
    assert again.graded == 0
    plain = make_plan("d.jsonl", graders="faithfulness", client="embedded")
    with pytest.raises(ConfigurationError, match="order was"):
        execute(plain.into("run", progress=False))


def test_a_draw_to_the_end_leaves_nothing_to_chance() -> None:
    """Ten rows below the gate fail it: they are all there are; nothing was stopped."""
    plan = make_plan(
        rows_file(10, 10), "faithfulness", "embedded", options={"sampling": Sampling(gate=0.95)}
    )
    run = execute(plan.into(progress=False))

    assert len(run) == 10
    assert run.notes() == []


def test_a_dear_judge_grades_a_sample(command: Command, scripted: Start) -> None:
    """40 of 200 rows are paid for; mean and interval are those of all, narrower than of 40."""
    judge = scripted(truth(140))
    data = rows_file(200, 140)
    asked = ("grade", data, "--judge", "openai/m", "--quiet", "--no-cache", "--out", "run")
    ended = command(*asked, "--sample", "40", "--json", "--by", "topic")
    numbers = json.loads(ended.out)["graders"]["faithfulness"]
    run = load_run("run")

    assert ended.code == 0
    assert len(judge.requests) == 40
    assert numbers["interval"][0] < 0.7 < numbers["interval"][1]
    assert "a random sample of 40 of 200 rows graded by openai/m" in ended.err
    assert "each row with probability 0.2" in ended.err
    assert run.summary().graders["faithfulness"].mean() == pytest.approx(numbers["mean"])
    # Rows drawn at random are not clustered.
    clustered = command("report", "run", "--json", "--cluster", "topic")
    assert json.loads(clustered.out)["graders"]["faithfulness"]["sizes"] == numbers["sizes"]
    assert run.identity["sample"] == {"rows": 40, "of": 200, "probability": 0.2, "seed": 0}
    assert run.free is not None
    assert len(run.free) == 200
    assert command(*asked, "--sample", "40", "--gate", "0.3").code == 0
    undecided = command(*asked, "--sample", "40", "--gate", "0.68")
    assert undecided.code == 4
    # The bounds of a sample are valid for one look.
    assert "(95 % sure of each);" in undecided.err
    assert len(judge.requests) == 40


@pytest.mark.slow
def test_groups_of_a_sample_are_estimated_with_all_their_rows(
    command: Command, scripted: Start
) -> None:
    """Half of the rows are graded dearly: a group's interval is narrower than these alone give."""
    scripted(truth(140))
    data = rows_file(200, 140)
    asked = ("--judge", "openai/m", "--quiet", "--no-cache", "--out", "run", "--sample", "100")
    assert command("grade", data, *asked).code == 0
    told = json.loads(command("report", "run", "--json", "--by", "topic").out)
    groups = told["graders"]["faithfulness"]["groups"]
    scored = [(one.sample_id, one.score or 0.0) for one in load_run("run").outcomes]

    assert sorted(group["group"] for group in groups) == ["a", "b"]
    for group in groups:
        own = [score for name, score in scored if "ab"[int(name[1:]) % 2] == group["group"]]
        assert group["mean"]["high"] - group["mean"]["low"] < mean_interval(own).width


@pytest.mark.slow
def test_only_the_dear_judge_of_a_sample_is_asked_repeatedly(
    command: Command, scripted: Start
) -> None:
    """The free judge says the same each time: it grades every row once."""
    judge = scripted(truth(140))
    data = rows_file(200, 140)
    asked = ("grade", data, "--judge", "openai/m", "--quiet", "--no-cache", "--out", "run")
    ended = command(*asked, "--sample", "40", "--repeat", "3")

    assert ended.code == 0, ended.err
    assert len(judge.requests) == 120
    assert "a random sample of 40 of 200 rows graded by openai/m" in ended.err + ended.out
    assert load_run("run").free is not None


def test_a_free_judge_that_says_nothing_is_left_out(command: Command, scripted: Start) -> None:
    """Where the dear judge has other reasons, the mean is that of the sample, and that is said."""

    def answer(request: JudgeRequest) -> dict[str, object]:
        number = int(str(request.answer).split()[1])
        return {"statements": [statement(str(request.answer), supported=number % 3 > 0)]}

    scripted(answer)
    data = rows_file(120, 60)
    ended = command("grade", data, "--judge", "openai/m", "--quiet", "--no-cache", "--sample", "40")

    assert "embedded does not predict openai/m here" in ended.err + ended.out
    assert "only more grades narrow the interval" in ended.err + ended.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sample", "500"), "a sample of 500 rows is larger than the data, which has 30 rows"),
        (("--sample", "10"), "a sample of 10 rows is too small"),
        (("--sample", "0"), "sample is 0; expected at least 1"),
        (("--budget", "nan"), "budget is 'nan'; expected US dollars"),
        (("--budget", "0.0000001", "--judge", "openai/gpt-4o-mini"), "$0.0000001 pays for 0 rows"),
        (("--sample", "20", "--judge", "openai/m", "--grader", "utility"), "no grader 'utility'"),
        (("--budget", "5usd"), "the budget cannot be enforced, because the price"),
        (("--budget", "much"), "budget is 'much'; expected US dollars"),
        (("--budget", "0"), "budget is '0'; expected US dollars"),
        (("--sample", "20", "--budget", "5"), "sample and budget cannot be combined"),
        (("--stop-early",), "--stop-early does nothing without --gate"),
        (("--stop-early", "--gate", "0.5", "--sample", "20"), "cannot be combined"),
        (("--sample", "20", "--judge", "embedded"), "'embedded' is free, so grade all rows"),
    ],
)
def test_draws_that_cannot_be_are_refused(
    command: Command, scripted: Start, options: tuple[str, ...], said: str
) -> None:
    """One line and exit code 2, and nothing is asked."""
    judge = scripted(truth(10))
    ended = command("grade", rows_file(30, 10), "--judge", "openai/m", "--out", "run", *options)

    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not judge.requests
    assert not Path("run").exists()


def test_a_budget_buys_rows(scripted: Start) -> None:
    """Twice the money buys twice the rows, at most all; all rows are no sample."""
    scripted(truth(10))
    plan = make_plan(rows_file(200, 10), graders="faithfulness", client="openai/gpt-4o-mini")
    some = rows_for_budget(plan, 0.005)

    assert 20 < some < 200
    assert rows_for_budget(plan, 0.01) == pytest.approx(2 * some, abs=1)
    assert rows_for_budget(plan, 100) == 200
    one: RunOptions = {"sampling": Sampling(budget=1)}
    bought = make_plan([{**PERFECT, "id": "a"}], "faithfulness", "openai/gpt-4o-mini", options=one)
    assert bought.identity["sample"] == {"rows": 1, "of": 1, "probability": 1.0, "seed": SEED}
    everything: RunOptions = {"sampling": Sampling(200)}
    assert make_plan("d.jsonl", "faithfulness", "openai/m", options=everything).drawn is None


@pytest.mark.parametrize("first", [(), ("--sample", "60")])
@pytest.mark.slow
def test_sampled_runs_are_compared_by_the_rows_of_both_samples(
    command: Command, scripted: Start, first: tuple[str, ...]
) -> None:
    """A sample with a sample or with a whole run: 60 rows that the expensive judge graded twice."""
    for folder, wrong_from, sample in (("before", 100, first), ("after", 200, ("--sample", "60"))):
        scripted(truth(wrong_from))
        data = rows_file(240, wrong_from, path=f"{folder}.jsonl")
        asked = ("--judge", "openai/m", "--quiet", "--no-cache", "--out", folder)
        assert command("grade", data, *asked, *sample).code == 0
    (found,) = compare("before", "after").graders

    assert found.paired.samples == found.coverage.scored == 60
    assert found.paired.difference.contains(100 / 240)


def dear(wrong_from: int, tokens: int = 100) -> Script:
    """Answer as `truth`, with replies that say how long they were."""
    answer = truth(wrong_from)
    assert callable(answer)
    return lambda request: Reply(answer(request), prompt_tokens=tokens)  # type: ignore[arg-type]  # a mapping


def test_a_budget_ends_the_run_when_it_is_spent(command: Command, scripted: Start) -> None:
    """Calls cost ten times what was expected: most drawn rows are not asked, and that is said."""
    judge = scripted(dear(140, tokens=10_000))
    data = rows_file(200, 140)
    asked = ("--judge", "openai/gpt-4o-mini", "--quiet", "--no-cache", "--concurrency", "4")
    words = ("grade", data, *asked, "--budget", "0.06", "--out", "run")
    ended = command(*words)
    run = load_run("run")
    budget = run.manifest["budget"]

    assert ended.code == 0
    assert "--budget $0.06 pays for 200 rows at list prices" in ended.err
    assert 20 <= len(run) == len(judge.requests) == budget["rows"] < 45
    assert 0.05 < budget["spent_usd"] <= 0.07
    assert f"{len(run)} of 200 drawn rows" in ended.out
    assert f"{len(run)} of 200 drawn rows" in run.notes()[0]
    interval = run["faithfulness"].interval()
    assert interval is not None
    assert interval.contains(0.7)
    assert command(*words).code == 0
    assert len(judge.requests) == len(run)


def test_what_a_budget_left_undone_is_said_with_both_sums() -> None:
    """Of 9 drawn rows 7 were paid; a sample that the budget sufficed for needs no word."""
    every: list[Any] = [{"score": None}] * 20

    def words(rows: int) -> str:
        spending = {"budget_usd": 0.5, "spent_usd": 0.49876, "rows": rows, "drawn": 9}
        return SampledMean([], every, "dear", "free", spending).words(phrases())

    stopped = "the run stopped at its budget of $0.5: $0.4988 spent on 7 of 9 drawn rows"
    assert stopped in words(7)
    assert "budget" not in words(9)


def test_rows_that_count_are_in_the_interval_of_a_small_sample() -> None:
    """Too few to be corrected: two of four rows are 1, the others 0 by what they count as."""
    dear = [record(n, f"r{n}", 1.0 if n % 2 else None) for n in range(4)]
    sample = SampledMean(dear, dear, "dear", "free")
    counted, scored = sample.interval(count_as={"empty_context": 0.0}), sample.interval()

    assert counted == mean_interval([0.0, 1.0, 0.0, 1.0])
    assert scored == mean_interval([1.0, 1.0])
    assert SampledMean(dear[:1], dear, "dear", "free").interval() is None


@pytest.mark.parametrize(("dear", "every", "known"), [(19, 80, 0), (20, 21, 0), (20, 22, 2)])
def test_a_sample_is_corrected_by_two_rows_that_only_the_free_judge_graded(
    dear: int, every: int, known: int
) -> None:
    """And by twenty that both graded; rows without a score of the free judge are neither."""
    rows = [record(n, f"r{n}", float(n % 2)) for n in range(every)]
    unread = [record(n, f"r{n}", None) for n in range(every, every + 3)]
    found = SampledMean([*rows[:dear], *unread[:1]], [*rows, *unread], "dear", "free").corrected()

    assert (0 if found is None else found.unlabelled) == known
    assert found is None or (found.labels, found.labels_only.estimate) == (20, 0.5)


def test_what_one_grade_is_worth_is_what_all_are_worth_by_their_number() -> None:
    """Of twenty grades that the free judge predicts; the grades beyond these are saved."""
    every = [record(n, f"r{n}", float(n % 2)) for n in range(80)]
    found = SampledMean(every[:20], every, "dear", "free").words(phrases())
    worth = re.search(
        r"each grade is worth (.+): as precise as (.+) grades alone, (.+) saved", found
    )

    assert worth is not None
    each, alone, saved = map(float, worth.groups())
    assert alone == saved + 20
    assert each == pytest.approx(alone / 20, abs=0.051)


def test_a_budget_that_pays_for_all_rows_leaves_nothing_to_say(
    command: Command, scripted: Start
) -> None:
    """All rows are no sample."""
    scripted(dear(30))
    asked = ("--judge", "openai/gpt-4o-mini", "--quiet", "--no-cache")
    ended = command("grade", rows_file(40, 30), *asked, "--budget", "5usd", "--out", "run")

    assert "random sample" not in ended.out
    assert load_run("run").notes() == []
    assert len(load_run("run")) == 40


def test_a_budget_that_nobody_can_watch_is_said(command: Command, scripted: Start) -> None:
    """Replies without a count of tokens cost an unknown sum."""

    def answer(request: JudgeRequest) -> Raw:
        number = int(str(request.answer).split()[1])
        told = {"statements": [statement(str(request.answer), supported=number < 30)]}
        message = {"role": "assistant", "content": json.dumps(told)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return Raw({"id": "a", "object": "chat.completion", "created": 0, "choices": [choice]})

    scripted(answer)
    asked = ("--judge", "openai/gpt-4o-mini", "--quiet", "--no-cache")
    ended = command("grade", rows_file(150, 30), *asked, "--budget", "0.005")

    assert "no reply reported its tokens, so the budget of $0.005 could not be tracked" in ended.out


@pytest.mark.parametrize("in_a_folder", [True, False])
def test_rows_are_drawn_in_python(scripted: Start, in_a_folder: bool) -> None:
    """A sample of a list, in memory or in a folder; mean and groups are of all rows."""
    judge = scripted(truth(140))
    rows = [json.loads(line) for line in Path(rows_file(200, 140)).read_text().splitlines()]
    run = evaluate(
        rows, client="openai/m", sampling=Sampling(40), out="run" if in_a_folder else None
    )
    interval = run["faithfulness"].interval()

    assert len(judge.requests) == len(run) == 40
    assert run.free is not None
    assert len(run.free) == 200
    assert interval is not None
    assert interval.contains(0.7)
    assert "a random sample of 40 of 200 rows" in run.notes()[0]
    assert run.gate(0.3).passed


@pytest.mark.parametrize("in_a_folder", [True, False])
def test_a_column_of_a_sample_has_every_row(scripted: Start, in_a_folder: bool) -> None:
    """Also the rows that only the free judge graded, so that groups are whole."""
    scripted(truth(140))
    rows = [json.loads(line) for line in Path(rows_file(100, 70)).read_text().splitlines()]
    run = evaluate(
        rows, client="openai/m", sampling=Sampling(20), out="run" if in_a_folder else None
    )

    assert len(run) == 20
    assert run.column("topic") == {row["id"]: row["topic"] for row in rows}


def test_a_gate_stops_early_in_python() -> None:
    """`Sampling(gate=)` stops a list as the command stops a file."""
    rows = [json.loads(line) for line in Path(rows_file(300, 300)).read_text().splitlines()]
    run = evaluate(rows, sampling=Sampling(gate=0.7))

    assert len(run) < 150
    assert run.gate(0.7).passed
    # Each end of an interval at 90 % is wrong with a probability of 5 %, as a gate's bounds are.
    (test,) = (each.test for each in run.gate(0.7, error=0.05).graders)
    interval = run["faithfulness"].interval(0.9)
    assert test is not None
    assert interval is not None
    assert (interval.low, interval.high) == (test.low, test.high)


def test_of_two_graders_each_has_half_the_error_to_stop_a_run() -> None:
    """A run that was stopped has failed its gate: the verdict after it allows no more error."""
    rows = [{"answer": f"Tower {n} is in Rome.", "context": ["Snow."]} for n in range(300)]
    graders = ["faithfulness", "faithfulness_two_step"]
    run = evaluate(rows, graders, sampling=Sampling(gate=0.1), concurrency=1)

    assert len(run) < 300
    assert [each.verdict for each in run.gate(0.1).graders] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Sampling needs sample, budget or gate"),
        ({"sample": 20, "error": 0.1}, "error does nothing without gate"),
        ({"budget": 5, "count": {"empty_context": 0}}, "count does nothing without gate"),
        ({"gate": 7}, "gate is 7; expected a number from 0 to 1"),
        ({"gate": 0.5, "error": 0}, "error is 0; expected a number above 0"),
        ({"gate": 0.5, "count": {"tired": 1}}, "reason of rows"),
        ({"gate": 0.5, "sample": 20}, "cannot be combined"),
        ({"sample": 20.0}, "sample is 20.0; expected a whole number"),
        ({"sample": True}, "sample is True; expected a whole number"),
        ({"sample": 31}, "a sample of 31 rows is larger than the data, which has 30 rows"),
        ({"budget": -1}, "budget is -1; expected US dollars"),
        ({"budget": float("nan")}, "budget is nan; expected US dollars"),
        ({"budget": "viel"}, "budget is 'viel'; expected US dollars"),
        ({"budget": 5}, "the budget cannot be enforced, because the price"),
        (
            {"sample": 20, "graders": "answer_relevance"},
            "grades every row; grader 'answer_relevance' calls a judge model and cannot use",
        ),
        ({"sample": 20, "client": "embedded"}, "is free, so grade all rows"),
        ({"budget": 5, "client": "embedded"}, "is free, so grade all rows"),
        ({"sample": 20, "data": iter([])}, "sampling needs the number of rows"),
        ({"budget": 5, "data": iter([])}, "sampling needs the number of rows"),
    ],
)
def test_what_python_cannot_draw_is_refused(options: dict[str, Any], said: str) -> None:
    """Each is an error of the call, before anything is asked."""
    rows = [{"answer": f"{n}", "context": [f"{n}"]} for n in range(30)]

    call: dict[str, Any] = {"data": rows, "client": "openai/m"}
    call |= {name: options.pop(name) for name in ("data", "client", "graders") if name in options}

    with pytest.raises(ConfigurationError, match=re.escape(said)):
        evaluate(**call, sampling=Sampling(**options))


@pytest.mark.parametrize("budget", [0, "-1usd", "viel", float("nan"), float("inf")])
def test_a_budget_is_read_when_it_is_given(budget: Any) -> None:
    """What is no sum of dollars is refused before there is a run."""
    with pytest.raises(ConfigurationError, match="expected US dollars above 0"):
        Sampling(budget=budget)
    assert [Sampling(budget=one).dollars for one in ("5usd", "$5", " 5 ", 5)] == [5.0] * 4


def test_the_free_judge_reads_the_rows_that_the_dear_one_reads(scripted: Start) -> None:
    """By the same columns and up to the same limit; what only an endpoint needs is left out."""
    judge = scripted(truth(100))
    rows = [json.loads(line) for line in Path(rows_file(60, 60)).read_text().splitlines()]
    renamed = [{"id": row["id"], "said": row["answer"], "by": row["context"]} for row in rows]
    run = evaluate(
        renamed,
        client="openai/m",
        columns={"answer": "said", "context": "by"},
        limit=40,
        reasks=0,
        sampling=Sampling(20),
    )

    assert run.free is not None
    assert (len(judge.requests), len(run), len(run.free)) == (20, 20, 40)
    assert {one.status for one in run.free.outcomes} == {"scored"}


def test_a_draw_is_told_in_russian(command: Command, scripted: Start) -> None:
    """A stopped run and a sample say so in the reader's language."""
    scripted(truth(140))
    data = rows_file(200, 140)
    asked = ("--judge", "openai/m", "--quiet", "--no-cache", "--language", "ru")
    sampled = command("grade", data, *asked, "--sample", "40").out
    stopped = command("grade", data, "--language", "ru", "--gate", "0.1", "--stop-early").out

    assert "случайная выборка: 40 строк из 200 оценил openai/m" in sampled
    assert "остановлено раньше: оценено" in stopped


@pytest.mark.parametrize(
    ("key", "value"),
    [("sample", {"rows": "many", "of": 3}), ("sample", 7), ("order", 3)],
)
def test_a_damaged_draw_is_named(key: str, value: object) -> None:
    """What the manifest says of a draw is checked when it is read."""
    evaluate(rows_file(3, 3), client="embedded", out="run")
    path = Path("run/manifest.json")
    manifest = json.loads(path.read_text())
    manifest["identity"][key] = value
    path.write_text(json.dumps(manifest))

    with pytest.raises(DataError, match=f"is not the manifest of a run: identity.{key}"):
        load_run("run")
