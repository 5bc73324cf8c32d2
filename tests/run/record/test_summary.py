"""A summary counts every outcome and never hides what its means leave out."""

import io
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals import Faithfulness, TwoStepFaithfulness, evaluate, load_run
from rag_evals.core import Finding, Phrases, Usage, phrases
from rag_evals.errors import NotScorableReason
from rag_evals.grading.guarding import DRIFT_NAMES
from rag_evals.run import Outcome, Progress, Run, Summary
from rag_evals.run.plan.progress import reporting
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import ErrorRecord, reason_of
from rag_evals.run.record.summary import lowest_html, measure_shifts, stage_numbers
from rag_evals.stats import Clusters, Interval, mean_interval
from rag_evals.stats.tuned import LEFT_OPEN, SupportShift, support_shift
from tests.analysis.runs import record
from tests.conftest import EIFFEL


def scored(score: float) -> Outcome:
    """Make a scored outcome."""
    return Outcome(0, "a", "g", "scored", score=score)


def test_reasons_can_be_counted_as_numbers() -> None:
    """A switch maps a reason to a score; the line says so."""
    summary = Summary()
    for outcome in (scored(0.5), Outcome(1, "b", "g", "not_scorable", reason="no_statements")):
        summary.add(outcome)
    of_grader = summary.graders["g"]

    assert of_grader.mean() == 0.5
    assert of_grader.mean({"no_statements": 1.0}) == 0.75
    assert of_grader.line({"no_statements": 1.0}) == (
        "g: 0.75 over 1 scored of 2, no_statements as 1 (1 not scorable: no_statements)"
    )


def test_a_notebook_has_three_digits_of_every_number() -> None:
    """A third of three rows, a quarter with the failed row; spread is the root of a third."""
    summary = Summary()
    failed = Outcome(3, "b", "g", "failed", error=ErrorRecord("JudgeOutputError", "x"))
    for outcome in (scored(1.0), scored(0.0), scored(0.0), failed):
        summary.add(outcome)
    interval, shown = summary.graders["g"].interval(), summary._repr_html_()

    assert interval is not None
    assert "<td>0.333 (0.250 with failed rows as 0)</td>" in shown
    assert f"<td>{interval.low:.3f} to {interval.high:.3f}</td>" in shown
    assert "<td>0.000</td><td>0.577</td><td>0.000</td><td>1.000</td><td>3 of 4</td>" in shown


def test_rows_that_count_are_in_the_mean_with_failed_rows_as_zero() -> None:
    """Half a point, a row that counts as 1, and a failed row: 1.5 of 3."""
    summary = Summary()
    for outcome in (
        scored(0.5),
        Outcome(1, "b", "g", "not_scorable", reason="no_statements"),
        Outcome(2, "c", "g", "failed", error=ErrorRecord("JudgeOutputError", "x")),
    ):
        summary.add(outcome)

    assert summary.graders["g"].worst_mean({"no_statements": 1.0}) == 0.5
    assert summary.graders["g"].worst_mean() == 0.25


def test_a_model_that_answered_a_part_of_one_row_is_said() -> None:
    """One row that two models answered does not make two models the rule."""
    summary = Summary()
    for row in range(4):
        models = ("m-old", "m-new") if row == 3 else ("m-old",)
        summary.add(Outcome(row, str(row), "g", "scored", score=1.0, answered_by=models))

    assert "several models answered for one judge (rows: 'm-new' 1, 'm-old' 4)" in str(summary)


def test_nothing_scored_is_no_score() -> None:
    """Without a score there is no mean: not 0, not NaN."""
    summary = Summary()
    summary.add(Outcome(0, "a", "g", "failed", error=ErrorRecord("JudgeOutputError", "x")))

    assert summary.graders["g"].mean() is None
    assert str(summary) == "g: no score over 0 scored of 1 (1 failed: JudgeOutputError)"
    assert summary.failed == 1


def test_the_most_frequent_warning_is_named() -> None:
    """Quotes and numbers of a row make no kinds of their own."""
    summary, said = Summary(), ["the answer's '1889' is odd: see chunk 3", "no space for chunk 7"]
    for row in range(3):
        warned = (said[0].replace("1889", str(row)), said[1])[: 2 - row % 2]
        summary.add(Outcome(row, str(row), "g", "scored", score=1.0, warnings=warned))
    alone = Summary()
    alone.add(Outcome(0, "a", "g", "scored", score=1.0, warnings=("context is long",)))
    line = summary.graders["g"].line(say=phrases("ru"))

    assert summary.graders["g"].warnings == 5
    assert "(5 warnings, mostly: the answer's … is odd)" in str(summary)
    assert "5 предупреждений, чаще всего: the answer's … is odd" in line
    assert "(1 warning: context is long)" in str(alone)


def test_a_summary_says_how_sure_the_mean_is() -> None:
    """Below the mean: the interval, the bands, and how the scores lie; few rows give a wide one."""
    summary = Summary()
    for score in (1.0, 1.0, 0.9, 0.6, 0.0):
        summary.add(scored(score))

    assert str(summary).splitlines() == [
        "g: 0.70 over 5 scored of 5",
        "  95 % interval 0.22 to 0.95; bands: 3 high, 0 good, 1 medium, 1 low",
        "  median 0.90, standard deviation 0.42, lowest 0.00, highest 1.00",
    ]


@given(st.lists(st.floats(0, 1), min_size=1))
def test_the_mean_is_the_mean(scores: list[float]) -> None:
    """Adding one by one gives what the whole list gives."""
    summary = Summary()
    for score in scores:
        summary.add(scored(score))

    assert summary.graders["g"].mean() == pytest.approx(sum(scores) / len(scores))


def test_plain_progress_is_a_line_at_the_end() -> None:
    """Where there is no terminal, the last report is one line; False shows nothing."""
    stream = io.StringIO()
    for wanted in (True, None, False):
        with reporting(wanted, stream) as report:
            report(Progress(1, 2, 0, 1.0, graded=1))
            report(Progress(2, 2, 0, 1.0, graded=2, tokens=1234, cost_usd=0.5))

    assert stream.getvalue() == "graded 2/2, 0 failed, 2.0/s, 1.2k tokens, $0.5000\n"


def test_the_account_has_each_number_that_there_is() -> None:
    """Calls, tokens, dollars and seconds; nothing without a call, though time went by."""
    usage = Usage(5, 1, 2, prompt_tokens=400, completion_tokens=60, cached_tokens=30, cache_hits=3)
    spent = Summary(usage=usage, cost_usd=0.01234, seconds=12.34)
    tokens = "400 tokens sent (30 cached), 60 received"
    calls = f"5 calls, 1 asked again, 2 sent again, 3 from the cache, {tokens}"

    assert spent.account() == f"spent: {calls}, $0.0123; 12.3 s"
    assert spent.account(timed=False) == f"spent: {calls}, $0.0123"
    free = Summary(usage=Usage(cache_hits=2), cost_usd=0.0)
    assert free.account() == (
        "spent: 0 calls, 2 from the cache, 0 tokens sent (0 cached), 0 received, $0.0000"
    )
    unknown = "tokens of 2 replies unknown: the endpoint does not report them"
    assert Summary(usage=Usage(2, uncounted=2)).account() == f"spent: 2 calls, {unknown}"
    some = Summary(usage=replace(usage, uncounted=2)).account()
    assert some == f"spent: {calls}, {unknown}"
    assert Summary(seconds=3.0).account() == ""


def test_progress_says_how_long_the_rest_takes() -> None:
    """At the rate of this start: 2 of the 5 rows came in its 4 seconds, so that 5 need 10."""
    assert (Progress(5, 10, 0, 4.0, graded=2).rate, Progress(5, 10, 0, 0.0, graded=2).rate) == (
        0.5,
        0.0,
    )
    left = [
        Progress(5, total, 0, 4.0, graded=graded).seconds_left
        for total, graded in ((10, 2), (5, 2), (None, 2), (10, 0))
    ]
    assert left == [10.0, 0.0, None, None]


def test_a_notebook_gets_a_bar_unless_a_stream_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown once, changed, and empty at the end; without a total it has no value."""
    shown: list[str] = []

    def draw(bar: str, **_: Any) -> SimpleNamespace:
        shown.append(bar)
        return SimpleNamespace(update=shown.append)

    display = SimpleNamespace(HTML=str, display=draw)
    shell = SimpleNamespace(kernel=None)
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("rag_evals.run.plan.progress._SECONDS_IN_A_NOTEBOOK", 0.0)
    with reporting(None) as report:
        report(Progress(1, 4, 0, 2.0, graded=1))
        report(Progress(2, None, 0, 2.0, graded=2))
    stream = io.StringIO()
    with reporting(True, stream) as report:
        report(Progress(2, 2, 0, 2.0, graded=2))

    assert shown == [
        '<div><progress value="1" max="4"></progress> graded 1/4, 0 failed, 0.5/s, 6 s left</div>',
        "<div><progress></progress> graded 2, 0 failed, 1.0/s</div>",
        "",
    ]
    assert stream.getvalue() == "graded 2/2, 0 failed, 1.0/s\n"


def test_a_log_has_a_line_when_a_wait_begins() -> None:
    """One for each wait of a second or more, not one for each row that ends meanwhile."""
    stream = io.StringIO()
    with reporting(True, stream) as report:
        for done, waiting in enumerate((0.0, 2.0, 1.0, 0.5, 3.0), 1):
            report(Progress(done, 9, 0, 2.0, waiting_seconds=waiting))

    assert re.findall(r"graded (\d)/9", stream.getvalue()) == ["2", "5"]


def test_why_a_row_has_no_score_is_its_reason_or_its_error() -> None:
    """A score needs no reason, though an older line may have one."""
    nothing: dict[str, Any] = {"score": None, "reason": None, "error": None}
    error = {"type": "JudgeOutputError", "message": "x"}

    assert reason_of({**nothing, "score": 0.0, "reason": "empty_context"}) is None
    assert reason_of({**nothing, "error": error}) == "JudgeOutputError"
    assert reason_of({**nothing, "reason": "empty_context"}) == "empty_context"
    assert reason_of(nothing) == reason_of({}) == "no score"


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.5, "50 %"), (0.125, "12.5 %"), (0.50049, "50 %"), (0.5006, "50.1 %"), (1 / 3, "33.3 %"),
     (0.99999, "100 %"), (0.0, "0 %"), (0.0004, "0 %")],
)  # fmt: skip
def test_a_percentage_has_a_decimal_place_if_it_is_not_whole(share: float, said: str) -> None:
    """What one place would round to a whole number has none; the sign is that of the language."""
    assert phrases().percent(share) == said
    assert phrases("ru").percent(share) == said.replace(".", ",")


def test_each_count_has_its_form() -> None:
    """English has two, Russian three, which the last digits choose."""
    english = [phrases()("summary.warnings", count=count) for count in (1, 2, 11, 21)]
    russian = [
        phrases("ru")("summary.warnings", count=count).split()[1]
        for count in (1, 2, 4, 5, 11, 12, 14, 21, 24, 111, 112, 122)
    ]
    one, few, many = "предупреждение", "предупреждения", "предупреждений"

    assert english == ["1 warning", "2 warnings", "11 warnings", "21 warnings"]
    assert russian == [one, few, few, many, many, many, many, one, few, many, many, few]


class Terminal(io.StringIO):
    """Text that a program takes for a terminal."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar shows what is done and what failed."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with reporting(None, stream) as report:
        report(Progress(1, 2, 1, 1.0))

    assert "1 failed" in stream.getvalue()


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_a_narrow_terminal_keeps_rows_and_time(
    monkeypatch: pytest.MonkeyPatch, columns: int, language: str
) -> None:
    """Failures, rate and cost are cut off before the count and the time that is left are."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with reporting(None, stream, language=language) as report:
        report(Progress(5123, 10000, 3, 100.0, 5123, 1_234_567, 1.2345, 12.0))

    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", stream.getvalue()).splitlines()
    (line,) = {line for line in shown if "5123" in line}
    assert "5123/10000 -:--:--" in line
    assert len(line) <= columns


@pytest.mark.parametrize(
    ("client", "variable", "judge"),
    [
        (None, None, "embedded"),
        (None, "embedded@strict", "embedded@strict"),
        ("embedded@0.8", None, "embedded@0.8"),
    ],
)
def test_the_first_line_says_who_graded(
    monkeypatch: pytest.MonkeyPatch, client: str | None, variable: str | None, judge: str
) -> None:
    """Named in the call, in the environment or nowhere: the judge stands first, and is kept."""
    if variable is not None:
        monkeypatch.setenv("RAG_EVALS_JUDGE", variable)
    run = evaluate([EIFFEL], client=client, out="out")

    assert str(run.summary()).splitlines()[0] == f"judge: {judge}"
    assert str(load_run("out").summary()).splitlines()[0] == f"judge: {judge}"
    assert f"<caption>judge: {judge}</caption>" in run._repr_html_()


def test_the_outcomes_of_one_grader_can_be_taken() -> None:
    """`run.of(grader)` is what that grader found, in the order of the data."""
    run = evaluate([EIFFEL], [Faithfulness, TwoStepFaithfulness], "embedded")

    assert [outcome.grader for outcome in run.of(TwoStepFaithfulness)] == ["faithfulness_two_step"]
    assert run.of(Faithfulness) == [run.outcomes[0]]


PROMISE = {"expected_error": 0.0512, "max_error": 0.1, "confidence": 0.95}
TUNED = {"labels": 40, "level": "statement", "labels_from": [], "map": "platt", "threshold": 0.625}


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({"tuned": None}, None),
        ({"tuned": None, "unsure": (0.2, 0.75)}, "its support is above 0.75 or below 0.2, with"),
        ({"tuned": None, "unsure": (0.0, 0.75)}, "its support is above 0.75, with an unknown"),
        ({"tuned": None, "unsure": (0.2, 1.0)}, "its support is below 0.2, with an unknown"),
        ({"tuned": None, "unsure": (0.0, 1.0)}, "v is not calibrated: it never decides alone"),
        ({"tuned": {**TUNED, "promise": None}},
         "v: support calibrated with 40 labels (platt), supported from 0.62"),
        ({"tuned": {**TUNED, "promise": None, "level": "row", "labels": 1, "labels_from": ["a"]}},
         "v: support calibrated with 1 row label of a (platt), supported from 0.62"),
        *(
            ({"tuned": {**TUNED, "promise": {**PROMISE, "supported_from": supported_from,
                                             "unsupported_up_to": up_to}}},
             f"(platt); decides alone: {sides} before calibration; wrong for 5.1% of the labels "
             "there, with a bound of 10.0% (95% confidence")
            for supported_from, up_to, sides in (
                (0.8, None, "supported from 0.80"),
                (None, 0.0, "not supported up to 0.00"),
                (0.8, 0.3, "supported from 0.80, not supported up to 0.30"),
            )
        ),
    ],
)  # fmt: skip
def test_a_run_says_what_a_verifier_decides_alone(stage: dict[str, Any], said: str | None) -> None:
    """Its labels and its promise, or that there is none; a limit at an end is no limit."""
    notes = Summary(stages={"g": [{"name": "v", "has_support": True, **stage}]}).notes()

    assert len(notes) == (said is not None)
    assert (said or "") in "".join(notes)


def test_a_row_without_a_statement_has_no_weakest_one() -> None:
    """Labels of rows are compared with one support per row that has any, never with a made-up 0."""
    spread = [place / 20 for place in range(20)]
    stage = {"name": "v", "tuned": {"level": "row", "spread": spread, "worth": 20.0}}
    said = [Finding("s", True, "supported", support=one / 10, decided_by="v") for one in range(9)]
    rows = [(f"r{place}", [one]) for place, one in enumerate(said)]
    silent: list[tuple[str, list[Finding]]] = [(f"s{place}", []) for place in range(30)]
    found = measure_shifts("g", [stage], [*rows, *silent])

    assert found == measure_shifts("g", [stage], rows)
    shift = found["g", "v"]
    assert shift is not None
    assert shift.count == 9


def test_a_tuned_verifier_beside_an_untuned_one_is_compared_with_its_labels() -> None:
    """In a run that is read: of each grader, the verifiers that have labels, and no other."""
    spread = [place / 20 for place in range(20)]
    fitted = {**TUNED, "spread": spread, "worth": 20.0, "promise": None}
    tuned = {"name": "v", "has_support": True, "tuned": fitted}
    plain = {"name": "w", "has_support": True, "tuned": None}
    unknown = {"name": "u", "has_support": True, "tuned": {**TUNED, "promise": None}}
    said = [{"text": "s", "verdict": True, "label": "l", "support": n / 10, "decided_by": "v"}
            for n in range(9)]  # fmt: skip
    records = [
        record(n, f"r{n}", 1.0, grader=grader, findings=[one])
        for grader in ("a", "b", "c")
        for n, one in enumerate(said)
    ]
    stages = {"a": [tuned, plain], "b": [plain], "c": [unknown]}
    shifts = Run(records, manifest={"stages": stages}).summary().shifts

    assert shifts is not None
    assert set(shifts) == {("a", "v"), ("c", "u")}
    assert shifts["c", "u"] is None
    assert shifts["a", "v"] is not None
    assert shifts["a", "v"].count == 9


@pytest.mark.parametrize("level", ["statement", "row"])
def test_supports_of_each_verifier_are_compared_with_its_own_labels(level: str) -> None:
    """What came after it is open, what came before it is not its own; a row has its weakest."""
    spread = [place / 30 for place in range(30)]
    rows: list[tuple[str, list[Finding]]] = []
    values: dict[str, list[tuple[str, float]]] = {"v": [], "w": []}
    for n in range(12):
        of_v, of_w, of_none = n / 12, (n + 1) / 14, (n + 3) / 16
        said = (("v", of_v), ("w", of_w), (None, of_none), ("v", None), ("w", None))
        found = [Finding("s", True, "l", support=one, decided_by=by) for by, one in said]
        rows += [(f"r{n}", found), (f"e{n}", found[3:])]
        values["v"] += [(f"r{n}", one) for one in (of_v, LEFT_OPEN, of_none)]
        values["w"] += [(f"r{n}", one) for one in (of_w, of_none)]
    if level == "row":
        lowest = {"v": [LEFT_OPEN] * 12, "w": [min((n + 1) / 14, (n + 3) / 16) for n in range(12)]}
        values = {by: [(f"r{n}", one) for n, one in enumerate(lowest[by])] for by in lowest}
    tuned = {"level": level, "spread": spread, "worth": 25.0}
    stages = [{"name": name, "tuned": tuned} for name in "vw"]
    none = {"name": "x", "tuned": {"level": level}}

    assert measure_shifts("g", [*stages, none], rows) == {
        **{
            ("g", by): support_shift([one for _, one in of], [row for row, _ in of], spread, 25.0)
            for by, of in values.items()
        },
        ("g", "x"): None,
    }
    assert measure_shifts("g", [*stages, {"name": "y", "tuned": None}], rows[1:2]) == {}


def test_the_numbers_of_verifiers_hide_what_only_a_run_needs() -> None:
    """Their name, range and tuning; how far the data are away, with whether that is far."""
    shift = SupportShift(distance=0.3, p_value=0.001, count=9)
    tuned = {"labels": 3, "spread": [0.5], "worth": 2.0, "confidence": {"auroc": 1}}
    stages: list[dict[str, Any]] = [
        {"name": "v", "as_used": "v@0.5", "unsure": (0.2, 1), "tuned": tuned},
        {"name": "w", "prompt": "p", "tuned": None},
        {"name": "x", "tuned": tuned},
    ]
    found = {"distance": 0.3, "p_value": 0.001, "count": 9, "is_foreign": shift.is_foreign}

    assert stage_numbers({"g": stages}, {("g", "v"): shift, ("h", "x"): shift}) == {
        "g": [
            {"name": "v", "unsure": (0.2, 1), "tuned": {"labels": 3, "shift": found}},
            {"name": "w", "tuned": None},
            {"name": "x", "tuned": {"labels": 3, "shift": None}},
        ]
    }


def test_a_notebook_lists_rows_below_the_full_score() -> None:
    """Failed rows and rows below 1, with what counts against them, and how many more there are."""
    said = ((False, "not supported"), (True, "supported"), (None, "no claim"))
    findings = tuple(Finding(f"claim {n}", *one) for n, one in enumerate(said))
    rows = [
        Outcome(0, "lost", "g", "failed", error=ErrorRecord("E", "m")),
        Outcome(1, "half", "g", "scored", score=0.5, findings=findings),
        Outcome(2, "zero", "g", "scored", score=0.0),
        Outcome(3, "full", "g", "scored", score=1.0, findings=findings),
        Outcome(4, "none", "g", "not_scorable", reason="empty_context", findings=findings),
    ]
    shown = lowest_html([(one, ()) for one in rows], 9)

    cells = re.findall(r"<td>([^<]*)</td>", shown)
    assert cells == [
        *("lost", "g", "failed: E: m", ""),
        *("half", "g", "scored 0.50", "claim 0"),
        *("zero", "g", "scored 0.00", ""),
    ]
    assert "and 6 more below the full score" in shown
    assert "more" not in lowest_html([(one, ()) for one in rows], 3)
    assert lowest_html([(one, ()) for one in rows[3:]], 0) == ""


class KnownDesign:
    """A design that says what it is asked for."""

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return both arguments as numbers."""
        return Interval(sum((count_as or {}).values()), 0.0, confidence)

    def words(self, say: Phrases) -> str:
        """Return one word."""
        return f"drawn ({say.language})"


def test_numbers_of_drawn_rows_are_those_of_their_design() -> None:
    """With the coverage and the reasons that were asked for; nothing of it is clustered."""
    summary, count = Summary(), {"no_statements": 0.25}
    for n in range(12):
        outcome = replace(scored(n % 2), sample_id=f"{n}", facts=RowFacts(question=n // 3 + 1))
        summary.add(outcome)
    numbers = summary.graders["g"]
    plain = list(numbers.scores)
    keys = [n // 3 + 1 for n in range(12)]

    assert numbers.interval(0.8) == Clusters("question", keys).of_mean(plain, 0.8)
    numbers.design = KnownDesign()
    assert numbers.interval(0.8, count) == Interval(0.25, 0.0, 0.8)
    assert numbers.interval() == Interval(0.0, 0.0, 0.95)
    assert (numbers.mean(), numbers.mean(count), numbers.clusters()) == (0.0, 0.25, None)
    assert summary.notes() == ["g: drawn (en)"]


def test_an_interval_has_the_coverage_that_is_asked_for() -> None:
    """Of independent rows too, with the scores of rows that count."""
    summary = Summary()
    for n in range(8):
        summary.add(scored(n % 4 / 4))
    summary.add(Outcome(9, "b", "g", "not_scorable", reason="no_statements"))
    numbers, scores = summary.graders["g"], [n % 4 / 4 for n in range(8)]

    assert numbers.interval(0.8) == mean_interval(scores, confidence=0.8)
    assert numbers.interval(0.9, {"no_statements": 1.0}) == mean_interval(
        [*scores, 1.0], confidence=0.9
    )
    assert numbers.spread({"no_statements": 1.0})["max"] == 1.0
    assert (numbers.spread()["max"], list(numbers.values())) == (0.75, scores)


def test_a_line_counts_each_reason_and_each_drift() -> None:
    """Most frequent first, then by name; one reason needs no number of its own."""
    summary = Summary()
    reasons: list[NotScorableReason] = ["no_statements", "empty_context", "empty_context"]
    reasons.append("empty_answer")
    for n, reason in enumerate(reasons):
        summary.add(Outcome(n, f"n{n}", "g", "not_scorable", reason=reason))
    for n in range(2):
        failed = Outcome(n, f"f{n}", "g", "failed", error=ErrorRecord("E", f"m{n}"))
        summary.add(failed)
        summary.add(replace(failed, grader="h"))
    drift = next(iter(DRIFT_NAMES))
    warnings = (f"{drift}: sentence 1", f"{drift}: sentence 2")
    summary.add(replace(scored(1.0), warnings=warnings, tallies={"wrong": (1, 3)}))
    summary.add(replace(scored(1.0), tallies={"wrong": (2, 4)}, further_scores={"x": 0.25}))
    g = summary.graders["g"]

    assert (
        "(4 not scorable: 2 empty_context, 1 empty_answer, 1 no_statements; 2 failed: E; "
        f"2 warnings: {drift}; "
    ) in g.line()
    told = phrases()
    named = told.named("drifts", drift)
    assert f"; {told('summary.drift', count=2)}: {named}; " in g.line()
    assert (g.drift, g.tallies) == ({drift: 2}, {"wrong": (3, 7)})
    assert (summary.failures(), summary.failed, summary.first_failure) == ("4 E", 4, "m0")
    assert [line.split()[0] for line in g.lines()][-1] == "x:"
    assert "1 row" in g.lines()[-1]
    assert len(g.values({"empty_context": 0.0})) == 4


@pytest.mark.parametrize(
    ("rows", "stages", "said"),
    [
        ([("m",)] * 3, 0, None),
        ([("m f1",), ("m f2",)], 0, None),
        ([("m",), ("n",)], 0, "'m' 1, 'n' 1"),
        ([("m",), ("n",)], 1, "'m' 1, 'n' 1"),
        ([("m",), ("n",)], 2, None),
        ([("m", "n")] * 3 + [("m",)] * 2, 0, None),
        ([("m", "n")] * 2 + [("m",)] * 3, 0, "'m' 5, 'n' 2"),
        ([("m",)] * 2 + [("n",), ("k",)] + [("m", "n")] * 3, 0, "'k' 1, 'm' 5, 'n' 4"),
    ],
)
def test_more_models_than_a_row_asks_are_said_with_their_rows(
    rows: list[tuple[str, ...]], stages: int, said: str | None
) -> None:
    """As most rows ask, or as many as there are judges in its cascade."""
    judges = [{"name": f"j{n}", "has_support": False, "tuned": None} for n in range(stages)]
    local = {"name": "v", "has_support": True, "tuned": None}
    summary = Summary(stages={"g": [local, *judges]})
    for n, models in enumerate(rows):
        summary.add(replace(scored(1.0), sample_id=f"{n}", answered_by=models))
    notes = [note for note in summary.notes() if "several models" in note]

    assert len(notes) == (said is not None)
    assert said is None or f"(rows: {said})" in notes[0]


def test_notes_say_what_holds_and_nothing_else() -> None:
    """An unfinished run that waits for replies only waits; one version is none to speak of."""
    assert Summary().notes() == Summary(versions=("1",)).notes() == []
    waiting = Summary(pending=2, unfinished=True).notes()
    assert waiting == Summary(pending=2).notes()
    assert len(waiting) == len(Summary(unfinished=True).notes()) == 1
    assert waiting != Summary(unfinished=True).notes()
    for summary, said in (
        (Summary(changed=3), "3"),
        (Summary(left_out=4), "4"),
        (Summary(overlaps=5), "5"),
        (Summary(versions=("1", "2")), "1, 2"),
        (Summary(untuned=["v", "w"]), "v, w"),
    ):
        (note,) = summary.notes()
        assert said in note


@pytest.mark.parametrize(("p_value", "said"), [(0.00001, "0.0001"), (0.0004, "0.0004")])
def test_foreign_data_are_said_with_a_p_value_that_is_not_zero(p_value: float, said: str) -> None:
    """Each once; what cannot be compared is said too, unless only foreign data are asked for."""
    foreign, near = SupportShift(0.34, p_value, 90), SupportShift(0.01, 0.9, 90)
    shifts = {("g", "v"): foreign, ("h", "v"): foreign, ("g", "w"): None, ("g", "x"): near}
    summary = Summary(shifts=shifts)
    lines = summary.shift_lines(phrases())

    assert foreign.is_foreign
    assert len(lines) == 2
    assert "34%" in lines[0]
    assert said in lines[0]
    assert summary.shift_lines(phrases(), only_foreign=True) == lines[:1]


def test_lines_have_the_numbers_of_rows_that_count() -> None:
    """Mean, interval, clusters and spread with them; a reason that no row has is not named."""
    summary, scores = Summary(), [0.5, 0.25, 1.0, 0.5, 0.75, 0.5]
    for n, score in enumerate(scores):
        facts = RowFacts(question=n // 2 + 1)
        summary.add(replace(scored(score), sample_id=f"{n}", facts=facts))
    for n in range(2):
        facts = RowFacts(question=9)
        summary.add(Outcome(n, f"n{n}", "g", "not_scorable", reason="no_statements", facts=facts))
    count = {"no_statements": 0.0, "empty_context": 1.0}
    keys = [1, 1, 2, 2, 3, 3, 9, 9]
    interval = Clusters("question", keys).of_mean([*scores, 0.0, 0.0], 0.95)
    first, second, third, *_ = summary.lines(count).splitlines()

    assert first == (
        "g: 0.44 over 6 scored of 8, no_statements as 0 (2 not scorable: no_statements)"
    )
    limits = f"95 % interval {interval.low:.2f} to {interval.high:.2f}"
    assert second.strip().startswith(f"{limits}, clustered by question (4 clusters in 8 rows)")
    assert third.strip().startswith("median 0.50, ")
    assert third.endswith("lowest 0.00, highest 1.00")
    assert "lowest 0.25" in summary.lines()
    assert "(3 clusters in 6 rows)" in summary.lines()


def test_the_most_frequent_warning_is_not_the_first() -> None:
    """However the rows are ordered."""
    summary = Summary()
    for said in ("rare", "usual", "usual"):
        summary.add(replace(scored(1.0), warnings=(said,)))

    assert "(3 warnings, mostly: usual)" in str(summary)
