"""The exam has 200 pairs, names the skill that a judge lacks, and compares two judges."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import Faithfulness, Sampling, evaluate, load_run
from rag_evals.analysis import ExamReport, exam, exam_pairs
from rag_evals.analysis.trials import ExamAnswer, ExamTrial, exam_numbers
from rag_evals.errors import ConfigurationError
from rag_evals.run import Run
from rag_evals.stats import mean_interval
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import Answer
from tests.analysis.runs import faithfulness, graded, record, scores_run
from tests.conftest import Command
from tests.slow import some_slow

Start = Callable[[Script], ScriptedJudge]
PAIRS = exam_pairs()
LABELS = {
    (pair.question, getattr(pair, side)): (pair.skill, side == "supported")
    for pair in PAIRS
    for side in ("supported", "unsupported")
}


def verdict(request: JudgeRequest, supported: bool) -> dict[str, Any]:
    """Return one verdict for every sentence of the answer."""
    decided: dict[str, Any] = {"not_supported_because": "not_in_context"}
    if supported:
        decided = {"supported_by": [0]}
    keys = [name for name in request.schema["properties"] if re.fullmatch(r"s\d+", name)]
    return {key: {"reasoning": "as scripted", "verdict": decided} for key in keys}


def knows_all_but(skill: str | None) -> Callable[[JudgeRequest], Answer]:
    """Answer every pair right, but accept all answers of one skill."""

    def script(request: JudgeRequest) -> Answer:
        answer = str(request.answer).replace("\n", " ")
        tested, label = LABELS[str(request.question), answer]
        return verdict(request, label or tested == skill)

    return script


def test_the_pairs_differ_and_cover_every_skill_in_two_languages() -> None:
    """150 English and 50 Russian pairs; 14 skills of 10 pairs or more; two to five passages."""
    skills = Counter(pair.skill for pair in PAIRS)

    assert Counter(pair.language for pair in PAIRS) == {"en": 150, "ru": 50}
    assert len(skills) == 14
    assert min(skills.values()) >= 10
    assert len(LABELS) == 400
    assert len({pair.id for pair in PAIRS}) == 200
    assert all(2 <= len(pair.context) <= 5 for pair in PAIRS)
    assert all(pair.supported != pair.unsupported for pair in PAIRS)


@pytest.mark.parametrize("skill", some_slow(["negation", "instruction", None], 3))
def test_a_skill_that_a_judge_lacks_is_named(
    command: Command, scripted: Start, skill: str | None
) -> None:
    """The skill has no pair right, every other one has all; each failed pair has its reason."""
    judge = scripted(knows_all_but(skill))
    ended = command("judge", "exam", "--judge", "openai/gpt-4o-mini", "--quiet", "--json")

    found = json.loads(ended.out)
    lacking = [pair.id for pair in PAIRS if pair.skill == skill]
    assert ended.code == 0, ended.err
    assert len(judge.requests) == found["calls"] == 400
    assert {name: one["estimate"] for name, one in found["skills"].items()} == {
        pair.skill: float(pair.skill != skill) for pair in PAIRS
    }
    assert all(one["low"] >= 0.6 for name, one in found["skills"].items() if name != skill)
    assert [one["id"] for one in found["failed"]] == lacking
    assert {one["unsupported"]["why"] for one in found["failed"]} <= {"as scripted"}
    assert found["cost_usd"] > 0


def test_the_command_prints_a_table_and_fails_a_build(command: Command, scripted: Start) -> None:
    """The failed answers, a line a skill, what it cost; --fail-under exits with 1."""
    scripted(knows_all_but("hedge"))
    asked = ("judge", "exam", "--judge", "openai/gpt-4o-mini", "--quiet", "-o", "runs/exam")

    ended = command(*asked, "--fail-under", "0.94")
    # The same run, read again.
    assert command(*asked, "--fail-under", "0.93").code == 0
    lines = ended.out.splitlines()
    assert ended.code == 1
    assert "  unsupported, 1.00: as scripted" in lines
    assert [line.split()[:3] for line in lines if line.startswith(("hedge ", "all "))] == [
        ["hedge", "14", "0%"],
        ["all", "200", "93%"],
    ]
    assert "400 calls, $" in lines[-1]


def _report(scores: dict[int, tuple[float | None, float | None]], **more: float) -> ExamReport:
    """Report on an exam in which the pairs at these places were graded so."""
    named = {
        f"{PAIRS[place].id}-{side}": score
        for place, both in scores.items()
        for side, score in zip(("supported", "unsupported"), both, strict=True)
    }
    return ExamReport.of(scores_run(named), **more)


def test_a_pair_is_right_if_its_first_answer_alone_passes() -> None:
    """A score at the threshold passes; an answer without a score is neither right nor accepted."""
    scores = {
        0: (1.0, 0.0), 1: (1.0, 1.0), 2: (0.0, 0.0), 3: (0.6, 0.5), 4: (0.5, 0.4),
        5: (1.0, None), 6: (None, 0.0),
    }  # fmt: skip
    strict, mild = _report(scores), _report(scores, threshold=0.5)

    def right(report: ExamReport) -> list[int]:
        return [place for place, trial in enumerate(report.trials) if trial.right]

    assert (right(strict), right(mild)) == ([0], [0, 4])
    assert [PAIRS.index(trial.pair) for trial in mild.failed] == [1, 2, 3, 5, 6]
    assert strict.rates().estimate == pytest.approx(1 / 7)
    assert strict.trials[6].accepts == (False, False)


def test_only_the_answers_that_went_wrong_are_listed() -> None:
    """What should have passed, what should not have, and what has no score."""
    pair = PAIRS[0]

    def listed(good: float | None, bad: float | None) -> list[str]:
        trial = ExamTrial(pair, ExamAnswer(good, "so"), ExamAnswer(bad, "why"), 1.0)
        return [line for line in trial.lines() if line.startswith("  ")]

    passed, fooled = f"\n    {pair.supported}", f"\n    {pair.unsupported}"
    assert listed(1.0, 0.0) == []
    assert listed(0.5, 0.0) == [f"  supported, 0.50: so{passed}"]
    assert listed(1.0, 1.0) == [f"  unsupported, 1.00: why{fooled}"]
    assert listed(None, None) == [
        f"  supported, -: so{passed}", f"  unsupported, -: why{fooled}",
    ]  # fmt: skip


def test_an_answer_without_a_score_says_why() -> None:
    """An error with its type, or the reason; an answer with a score says what counts against it."""
    first, second = PAIRS[:2]
    result = faithfulness([("It is.", True), ("It was.", False)])
    result.statements[0].reasoning, result.statements[1].reasoning = "seen", "not seen"
    error = {"type": "JudgeOutputError", "message": "too long"}
    records = [
        record(0, f"{first.id}-supported", None, error=error),
        record(1, f"{first.id}-unsupported", None),
        graded(2, f"{second.id}-supported", result),
        record(3, f"{second.id}-unsupported", 0.0),
    ]
    trials = ExamReport.of(Run(records)).trials

    assert [(one.supported.why, one.unsupported.why) for one in trials] == [
        ("JudgeOutputError: too long", "empty_context"),
        ("not seen", "no finding"),
    ]


def test_pairs_of_both_exams_are_compared() -> None:
    """Won and lost are named; a pair that one exam lacks, or has half of, does not count."""
    right, wrong = (1.0, 0.0), (1.0, 1.0)
    earlier = _report({0: right, 1: right, 2: wrong, 3: wrong, 4: right})
    later = _report({1: wrong, 2: right, 3: wrong, 4: right, 5: wrong})
    found = later.against(earlier)

    assert (found.lost, found.won) == ((PAIRS[1].id,), (PAIRS[2].id,))
    assert found.paired.samples == 4
    assert found.paired.difference.estimate == 0
    assert earlier.against(_report({2: right, 3: wrong})).paired.difference.estimate == -0.5
    half = ExamReport.of(
        scores_run({f"{PAIRS[0].id}-{one}": 1.0 for one in ("supported", "unsupported")}
                   | {f"{PAIRS[1].id}-supported": 1.0, f"{PAIRS[2].id}-unsupported": 0.0})
    )  # fmt: skip
    assert [trial.pair for trial in half.trials] == [PAIRS[0]]
    with pytest.raises(ConfigurationError, match="no pair in common"):
        earlier.against(_report({7: right}))


@pytest.mark.slow
def test_two_judges_are_compared_pair_by_pair(command: Command, scripted: Start) -> None:
    """The folder of an earlier exam is the baseline; pairs that only one has right are counted."""
    scripted(knows_all_but("hedge"))
    command("judge", "exam", "--judge", "openai/old", "-o", "runs/old", "-q")
    scripted(knows_all_but("table"))
    ended = command(
        "judge", "exam", "--judge", "openai/new", "--against", "runs/old", "-q", "--json"
    )
    found = json.loads(ended.out)["against"]

    assert len(found["won"]) == 14
    assert len(found["lost"]) == 13
    assert found["paired"]["significance"]["p_value"] > 0.8
    assert found["paired"]["difference"]["low"] < 0 < found["paired"]["difference"]["high"]
    # Both exams are marked with the same threshold: at 0, neither refuses an answer.
    judged = ("judge", "exam", "--judge", "openai/new", "--against", "runs/old", "-q", "--json")
    found = json.loads(command(*judged, "--threshold", "0").out)["against"]
    assert found["won"] == found["lost"] == []
    scripted(knows_all_but(None))
    report = exam(Faithfulness, "openai/better")
    better = report.against(ExamReport.of(load_run("runs/old")))
    assert (better.lost, len(better.won)) == ((), 14)
    assert better.paired.difference.low > 0
    assert re.search(r"\+7\.0% \[.*; won 14, lost 0$", str(better))


@pytest.mark.slow
def test_a_judge_that_says_yes_or_no_to_everything_has_no_pair_right(scripted: Start) -> None:
    """Nor has one that fails; the error is the reason."""
    scripted(lambda request: verdict(request, True))
    assert exam(Faithfulness, "openai/yes").rates().estimate == 0
    scripted(lambda request: verdict(request, False))
    assert exam(Faithfulness, "openai/no").rates().estimate == 0

    first = PAIRS[0]

    def fails_once(request: JudgeRequest) -> Answer:
        if request.question == first.question and request.answer == first.unsupported:
            return HttpError(400, "too long")
        return knows_all_but(None)(request)

    scripted(fails_once)
    (failed,) = exam(Faithfulness, "openai/other").failed
    assert failed.pair == first
    assert "too long" in "\n".join(failed.lines())


def test_what_is_no_exam_is_refused() -> None:
    """A grader that needs a reference, and a run of other rows."""
    from rag_evals import ContextRecall

    with pytest.raises(ConfigurationError, match="needs a reference"):
        exam(ContextRecall, "openai/m")
    with pytest.raises(ConfigurationError, match="sampling does nothing in an exam"):
        exam(Faithfulness, "openai/m", sampling=Sampling(sample=9))
    with pytest.raises(ConfigurationError, match="the run is not an exam"):
        ExamReport.of(evaluate([{"answer": "It is.", "context": ["It is."]}], client="embedded"))


@pytest.mark.slow
def test_the_kept_run_is_labelled(command: Command) -> None:
    """Its rows have skill and label, so that agreement and the report work on it."""
    assert command("judge", "exam", "-o", "runs/exam", "-q").code == 0
    ended = command("judge", "agreement", "runs/exam", "--by", "skill")

    assert ended.code == 0, ended.err
    assert "labelled rows, right if the score is at least 1" in ended.out
    assert "comparison" in ended.out


def test_a_difference_between_exams_says_its_numbers() -> None:
    """In percent, with its interval, whether it may be chance, and how many were won and lost."""
    right, wrong = (1.0, 0.0), (1.0, 1.0)
    earlier = _report({n: right if n < 2 else wrong for n in range(20)})
    later = _report({n: wrong if n < 1 else right for n in range(20)})
    back, same = earlier.against(later), later.against(later)
    difference = back.paired.difference

    assert str(later.against(earlier)) == (
        f"against the earlier exam: +85.0% [{-difference.high:+.1%}, {-difference.low:+.1%}], "
        f"a difference (p = {back.paired.significance.p_value:.3g}); won 18, lost 1"
    )
    assert str(back).startswith(f"against the earlier exam: -85.0% [{difference.low:+.1%}, -")
    assert str(back).endswith("; won 1, lost 18")
    assert ", could be chance (p = 1); won 0, lost 0" in str(same)


def test_rates_are_of_one_skill_or_of_all() -> None:
    """Each in its order of appearance, with the interval of its pairs; numbers hold the same."""
    skills = list(dict.fromkeys(pair.skill for pair in PAIRS))[:2]
    places = [n for n, pair in enumerate(PAIRS) if pair.skill in skills][:14]
    scores: dict[int, tuple[float | None, float | None]] = {
        n: (1.0, 0.0 if n % 3 else 1.0) for n in places
    }
    report = _report(scores)
    rights = {name: [float(n % 3 > 0) for n in places if PAIRS[n].skill == name] for name in skills}
    numbers = exam_numbers(report)

    expected = {name: mean_interval(each) for name, each in rights.items() if each}
    assert report.skills() == expected
    assert report.rates() == mean_interval([one for each in rights.values() for one in each])
    assert numbers["right"] == report.rates()
    assert (numbers["pairs"], numbers["skills"], numbers["grader"]) == (
        14,
        expected,
        "faithfulness",
    )
    assert (numbers["calls"], numbers["cost_usd"]) == (report.calls, report.cost_usd)
    assert "against" not in numbers
    compared = report.against(report)
    assert exam_numbers(report, compared)["against"] is compared
    first = next(n for n in places if n % 3 == 0)
    pair = PAIRS[first]
    assert numbers["failed"][0] == {
        "id": pair.id,
        "skill": pair.skill,
        "supported": {"answer": pair.supported, "score": 1.0, "why": "no finding"},
        "unsupported": {"answer": pair.unsupported, "score": 1.0, "why": "no finding"},
    }
    assert str(ExamAnswer(0.625, "so")) == "0.62: so"


def test_a_pair_makes_a_labelled_row_of_each_answer() -> None:
    """With the skill, the language and the label, the supported answer first."""
    pair = PAIRS[0]
    common = {"question": pair.question, "context": list(pair.context), "language": pair.language}

    assert list(pair.rows()) == [
        common | {"id": f"{pair.id}-{side}", "answer": getattr(pair, side), "skill": pair.skill}
        | {"label": int(side == "supported")}
        for side in ("supported", "unsupported")
    ]  # fmt: skip


def test_an_exam_of_two_graders_is_none() -> None:
    """It cannot be said which one it is of."""
    rows = [record(0, f"{PAIRS[0].id}-{side}", 1.0) for side in ("supported", "unsupported")]
    with pytest.raises(ConfigurationError, match="not an exam of one grader"):
        ExamReport.of(Run([*rows, *({**row, "grader": "other"} for row in rows)]))
