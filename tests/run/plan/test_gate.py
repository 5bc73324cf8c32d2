"""A gate looks at what was scored and what was not, and says by how much a rule is missed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError, NotScorableReason
from rag_evals.run import Gate, Outcome, Summary
from rag_evals.run.plan.options import parse_share
from rag_evals.run.record.outcome import ErrorRecord


def summary(
    scores: Sequence[float], *, failed: int = 0, unscorable: int = 0, grader: str = "g"
) -> Summary:
    """Summarise a run with these scores, failed rows, and rows with an empty context."""
    made = Summary()
    reason: NotScorableReason = "empty_context"
    ends = [Outcome(0, "a", grader, "scored", score=score) for score in scores]
    ends += [
        Outcome(0, "a", grader, "failed", error=ErrorRecord("JudgeRequestError", "x"))
    ] * failed
    ends += [Outcome(0, "a", grader, "not_scorable", reason=reason)] * unscorable
    for outcome in ends:
        made.add(outcome)
    return made


def words(gate: Gate, of: Summary) -> list[str]:
    """List what a gate says of a run."""
    return [str(missed) for missed in gate.missed(of)]


def test_failed_rows_are_not_left_out_of_a_gate() -> None:
    """The 20 unsupported of 60 answers failed: the mean of the rest, 1.00, passes no gate."""
    of = summary([1.0] * 40, failed=20)

    assert words(Gate(0.9), of) == [
        "min-scored 0.9: g has a score in 40 of 60 rows (66.7%), 23.3 points too few "
        "(20 JudgeRequestError)"
    ]
    assert "g: 1.00 (0.67 with failed rows as 0) over 40 scored of 60" in str(of)


def test_rows_without_context_are_not_left_out_either() -> None:
    """Of 100 rows 95 have no context: the gate says so, and counted as 0 the mean is 0.05."""
    of = summary([1.0] * 5, unscorable=95)

    assert words(Gate(0.95), of) == [
        "min-scored 0.9: g has a score in 5 of 100 rows (5.0%), 85.0 points too few "
        "(95 empty_context)"
    ]
    assert words(Gate(0.95, count={"empty_context": 0.0}), of) == [
        "fail-under 0.95: the mean of g is 0.0500, 0.9000 too low"
    ]
    assert words(Gate(0.95, min_scored=0.05), of) == []


def test_the_share_itself_is_enough() -> None:
    """54 of 60 rows are the 90 % that are asked for, 53 are not."""
    assert words(Gate(0.9), summary([1.0] * 54, failed=6)) == []
    assert len(words(Gate(0.9), summary([1.0] * 53, failed=7))) == 1


@pytest.mark.parametrize("least", [7, 14, 28, 29, 55, 56, 57])
def test_a_share_of_a_hundred_rows_is_that_many(least: int) -> None:
    """29 of 100 rows are a share of 0.29, though 0.07 * 100 is 7.000000000000001."""
    gate = Gate(0.5, min_scored=least / 100)

    assert words(gate, summary([1.0] * least, failed=100 - least)) == []
    assert len(words(gate, summary([1.0] * (least - 1), failed=101 - least))) == 1


@pytest.mark.parametrize("mean", [0.0, 0.25, 0.5, 1.0])
def test_a_gate_is_passed_by_what_it_asks_for(mean: float) -> None:
    """Neither the mean nor the lower end needs to be above it."""
    of = summary([mean] * 12)
    interval = of.graders["g"].interval()
    assert interval is not None

    assert words(Gate(mean), of) == []
    assert words(Gate(interval.low, at="lower"), of) == []
    for gate in (Gate(min(1, mean + 1e-9)), Gate(interval.low + 1e-9, at="lower")):
        assert len(words(gate, of)) == (0 if gate.at == "mean" and mean == 1 else 1)


def test_a_gate_on_the_lower_end_needs_more_rows() -> None:
    """A mean of 0.95 over 20 rows passes 0.9 as a mean, but its interval reaches below."""
    of = summary([1.0] * 19 + [0.0])

    assert words(Gate(0.9), of) == []
    (missed,) = Gate(0.9, at="lower").missed(of)
    assert (missed.grader, missed.rule) == ("g", "fail-under")
    assert "the lower end of the 95 % interval of g is 0.7" in str(missed)
    assert words(Gate(0.7, at="lower"), of) == []


def test_the_lower_end_counts_what_is_counted() -> None:
    """Rows that count as 0 pull the lower end down, and rows that count as 1 up."""
    of = summary([1.0] * 30, unscorable=30)

    assert words(Gate(0.8, at="lower", count={"empty_context": 1.0}), of) == []
    assert len(words(Gate(0.5, at="lower", count={"empty_context": 0.0}), of)) == 1


def test_every_rule_that_is_missed_is_said() -> None:
    """Share and mean are both told, for each grader."""
    of = summary([0.5] * 5, failed=5)
    of.graders["h"] = summary([1.0] * 10, grader="h").graders["h"]

    assert [(missed.grader, missed.rule) for missed in Gate(0.9).missed(of)] == [
        ("g", "min-scored"),
        ("g", "fail-under"),
    ]


def test_a_run_without_a_score_passes_no_gate() -> None:
    """Nothing scored misses it at any share, and nothing graded too."""
    nothing = summary([], failed=3)

    assert words(Gate(0.0, min_scored=0.0), nothing) == ["fail-under 0: g has no score"]
    assert words(Gate(0.0, at="lower", min_scored=0.0), nothing) == ["fail-under 0: g has no score"]
    assert words(Gate(0.9), Summary()) == ["min-scored 0.9: nothing was graded"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 20), st.floats(0, 1))
def test_more_failures_never_pass_a_gate(scores: list[float], failed: int, limit: float) -> None:
    """What misses a gate misses it with one failed row more."""
    gate = Gate(limit)
    before, after = summary(scores, failed=failed), summary(scores, failed=failed + 1)

    assert not gate.missed(before) or gate.missed(after)
    worst, mean = after.graders["g"].worst_mean(), after.graders["g"].mean()
    assert worst is not None
    assert mean is not None
    assert worst <= mean


@pytest.mark.parametrize(
    ("text", "share"), [("0.9", 0.9), ("90%", 0.9), (" 90 % ", 0.9), ("1", 1.0), ("0", 0.0)]
)
def test_a_share_is_a_fraction_or_a_percentage(text: str, share: float) -> None:
    """Both ways that people write it."""
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["90", "101%", "-0.1", "nan", "nan%", "most", "", "%", "inf"])
def test_what_is_no_share_is_refused(text: str) -> None:
    """A percentage without its sign is the usual mistake; the message shows both ways."""
    with pytest.raises(ConfigurationError, match=r"such as 0\.9 or 90%"):
        parse_share(text)


def test_wrong_rules_are_refused() -> None:
    """Percent for shares, an unknown reason and an unknown number are told before anything runs."""
    with pytest.raises(ConfigurationError, match="fail_under is 90; expected a number from 0 to 1"):
        Gate(90)
    with pytest.raises(ConfigurationError, match="min_scored is nan"):
        Gate(0.9, min_scored=float("nan"))
    with pytest.raises(ConfigurationError, match="available: answer_not_covered, empty_answer"):
        Gate(0.9, count={"empty_contxt": 0})
    with pytest.raises(ConfigurationError, match=r"count\['empty_context'\] is 2"):
        Gate(0.9, count={"empty_context": 2})
    with pytest.raises(ConfigurationError, match="at='median'"):
        Gate(0.9, at="median")  # type: ignore[arg-type]  # what a user may write


def test_rows_that_count_are_no_reason_for_a_missed_share() -> None:
    """Only rows that still have no score are named, and no other than they."""
    of = summary([1.0] * 4, failed=3, unscorable=3)
    (said,) = words(Gate(0.5, count={"empty_context": 1.0}), of)

    assert "has a score in 7 of 10 rows" in said
    assert said.endswith("(3 JudgeRequestError)")


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (Gate(0.0, min_scored=0.0), "fail-under 0, min-scored 0"),
        (Gate(), "min-scored 0.9"),
        (Gate(0.85, min_scored=1.0), "fail-under 0.85, min-scored 1"),
    ],
)
def test_a_gate_says_what_it_asks_for(gate: Gate, said: str) -> None:
    """A rule of 0 is a rule; a mean that is not asked for is none."""
    assert gate.asked() == said
