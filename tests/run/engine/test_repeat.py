"""`repeat=k`: k verdicts a row, each asked anew; their mean, majority and spread within rows."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import (
    ContextEvaluation,
    Faithfulness,
    FaithfulnessResult,
    Outcome,
    TwoStepFaithfulness,
    astream,
    evaluate,
    load_run,
    open_session,
    stream,
    tune,
)
from rag_evals.core import JudgeCall, LocalCall
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.repeat import Repeated, RepeatedResult, _apart
from rag_evals.response_models import RatingResult
from rag_evals.run.record.summary import RepeatNumbers
from rag_evals.score_citations import Citation, CitationFaithfulnessResult
from rag_evals.stats import majority
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import LLMVerifier
from tests.conftest import EIFFEL, Command
from tests.labelled import labelled_rows

Start = Callable[[Script], ScriptedJudge]
ROWS = [{"id": "tower", **EIFFEL}]


def reply(*verdicts: bool) -> dict[str, Any]:
    supported, not_supported = {"supported_by": [0]}, {"not_supported_because": "contradicted"}
    return {
        f"s{place}": {"reasoning": "R.", "verdict": supported if yes else not_supported}
        for place, yes in enumerate(verdicts)
    }


MIXED = [reply(True, True), reply(True, False), reply(True, True), reply(False, False)]


def test_mean_majority_and_variance(scripted: Start) -> None:
    """Scores 1, 0.5, 1, 0: mean 0.625, majority 1, variance 0.2292; four calls are counted."""
    judge = scripted(MIXED)
    run = evaluate(ROWS, client="openai/m", repeat=4, concurrency=1)
    summary = run.summary().graders["faithfulness"]
    (outcome,) = run
    result = outcome.result

    assert isinstance(result, RepeatedResult)
    assert sorted(score or 0.0 for score in outcome.repeats) == [0.0, 0.5, 1.0, 1.0]
    assert (outcome.score, result.majority) == (0.625, 1.0)
    assert [finding.verdict for finding in outcome.findings] == [True, True]
    assert all(isinstance(each, FaithfulnessResult) for each in result.results)
    assert summary.repeats.within_row_variance == pytest.approx(0.2291667)
    assert summary.repeats.majority_mean == 1.0
    assert (outcome.usage.calls, len(judge.requests)) == (4, 4)
    assert "each row graded 4 times: variance within a row 0.2292 (spread 0.48)" in str(run)


def test_the_findings_are_those_of_the_majority(scripted: Start) -> None:
    """What stands beside the score explains the score that came most often, not the first one."""
    scripted([reply(False, False), reply(True, True), reply(True, True)])
    (outcome,) = evaluate(ROWS, client="openai/m", repeat=3, concurrency=1)

    assert outcome.repeats[0] == 0.0
    assert [finding.verdict for finding in outcome.findings] == [True, True]


def test_a_repeat_without_a_score_is_not_the_same(scripted: Start) -> None:
    """One reply that finds no claim: the row was not graded alike, and the result says why."""
    nothing = {f"s{place}": {"claims_nothing": "opinion"} for place in range(2)}
    # The second reply is asked for again, because the sentences do contain claims.
    scripted([reply(True, True), nothing, reply(True, True), nothing])
    run = evaluate(ROWS, client="openai/m", repeat=3, concurrency=1)
    repeats = run.summary().graders["faithfulness"].repeats

    assert run.outcomes[0].repeats == (1.0, None, 1.0)
    assert (repeats.rows, repeats.same, repeats.within_row_variance) == (1, 0, 0.0)
    assert "1 of 3 repeats had no score" in run.outcomes[0].warnings


def test_no_cache_answers_two_repeats(scripted: Start, tmp_path: Path) -> None:
    """Each repeat has an answer of its own in the cache; the second run asks nobody."""
    judge = scripted(MIXED)
    first = evaluate(ROWS, client="openai/m", repeat=4, cache=tmp_path / "calls")
    again = evaluate(ROWS, client="openai/m", repeat=4, cache=tmp_path / "calls")

    assert len(judge.requests) == 4
    assert set(first.outcomes[0].repeats) == set(again.outcomes[0].repeats)
    assert again.outcomes[0].usage.cache_hits == 4


def test_a_stored_run_says_the_same_and_goes_on(scripted: Start, tmp_path: Path) -> None:
    """Read from its folder it has the repeats; other repeats are another run."""
    judge = scripted(MIXED)
    run = evaluate(ROWS, client="openai/m", repeat=4, out=tmp_path / "run")
    evaluate(ROWS, client="openai/m", repeat=4, out=tmp_path / "run")
    stored = load_run(tmp_path / "run")

    assert len(judge.requests) == 4
    assert str(stored.summary().lines()) == str(run.summary().lines())
    assert isinstance(stored.outcomes[0].result, RepeatedResult)
    with pytest.raises(ConfigurationError, match="has a different run"):
        evaluate(ROWS, client="openai/m", repeat=3, out=tmp_path / "run")


def test_from_the_command_line(scripted: Start, command: Command) -> None:
    """`--repeat` in JSON and in the report, in Russian too."""
    scripted(MIXED)
    Path("rows.jsonl").write_text(json.dumps(ROWS[0]), encoding="utf-8")
    options = ("--judge", "openai/m", "--repeat", "4", "--no-cache", "--out", "run", "-q")
    dry = command("grade", "rows.jsonl", *options[:4], "--dry-run", "--json", "-q")
    told = command("grade", "rows.jsonl", *options, "--json")
    russian = command("report", "run", "--language", "ru")
    numbers = json.loads(told.out)["graders"]["faithfulness"]["repeats"]

    assert json.loads(dry.out)["calls"] == 4
    assert (numbers["times"], numbers["same_each_time"]) == (4, 0)
    assert russian.code == 0
    assert "дисперсия внутри строки 0,2292" in Path("run/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("judge", ["embedded", "embedded@strict"])
def test_what_this_machine_decides_is_not_repeated(judge: str) -> None:
    """One line that says why."""
    with pytest.raises(ConfigurationError, match="all 3 results would be the same"):
        evaluate(ROWS, client=judge, repeat=3)


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_a_number_of_times(times: Any) -> None:
    """A whole number, at least 1."""
    with pytest.raises(ConfigurationError, match="repeat is"):
        evaluate(ROWS, client="openai/m", repeat=times)


def test_one_grading(scripted: Start) -> None:
    """Twice has both results, and what they come to; once is the grader itself."""
    scripted(MIXED[:2])
    with open_session(client="openai/m", concurrency=1, repeat=2) as session:
        result: Any = session.grade(EIFFEL).result

    assert (result.repeated_scores, result.score, result.majority) == ([1.0, 0.5], 0.75, 0.5)
    assert evaluate([], client="openai/m", repeat=1).outcomes == []


def test_repeats_of_several_rows_are_averaged_over_those_that_have_them() -> None:
    """Variances 0.2292 and 0 of two rows; majorities 1, 0 and 0.5 of three; none of the last."""
    numbers = RepeatNumbers()
    assert (numbers.numbers(), numbers.within_row_variance, numbers.majority_mean) == (None,) * 3
    for repeats in ((1.0, 0.5, 1.0, 0.0), (0.0, 0.0), (0.5, None), (None, None)):
        numbers.add(repeats)

    assert numbers.numbers() == {
        "times": 4,
        "within_row_variance": pytest.approx(0.2291667 / 2),
        "majority_mean": 0.5,
        "rows": 3,
        "same_each_time": 1,
    }


def test_repeats_without_a_score_say_why_the_first_has_none() -> None:
    """The reason, the findings and the warnings stand for the same repeat."""
    silent = FaithfulnessResult(statements=[])
    lacking = FaithfulnessResult(statements=[], left_out=[0], drift=["left out: sentence 0"])

    for first, other in ((silent, lacking), (lacking, silent)):
        result = RepeatedResult.of([first, other])
        assert result.reason == result.not_scorable == first.not_scorable
        assert (result.warnings, result.repeated_scores) == (first.warnings, [None, None])
        assert (result.score, result.majority) == (0.0, None)
    assert silent.not_scorable != lacking.not_scorable
    assert silent.warnings != lacking.warnings


@pytest.mark.parametrize(
    ("scores", "most"),
    [([1.0, 0.5, 1.0, 0.0], 1.0), ([0.0, 1.0], 0.0), ([0.0, 0.5, 1.0], 0.5), ([0.4], 0.4)],
)
def test_majority(scores: list[float], most: float) -> None:
    """The most frequent; of several the one nearest to the middle, and the lower of two."""
    assert majority(scores) == most


@pytest.mark.parametrize("way", ["session", "stream", "astream"])
def test_rows_that_come_one_by_one_are_repeated_too(scripted: Start, way: str) -> None:
    """A session and both streams take `repeat` as `evaluate` does."""
    judge = scripted(MIXED)

    async def taken() -> Outcome:
        taken_from = astream(ROWS, client="openai/m", concurrency=1, repeat=4)
        outcomes = [one async for one in taken_from]
        return outcomes[0]

    if way == "session":
        with open_session(client="openai/m", concurrency=1, repeat=4) as session:
            outcome = session.grade(ROWS[0])
    elif way == "stream":
        (outcome,) = stream(ROWS, client="openai/m", concurrency=1, repeat=4)
    else:
        outcome = asyncio.run(taken())

    assert sorted(score or 0.0 for score in outcome.repeats) == [0.0, 0.5, 1.0, 1.0]
    assert (outcome.score, len(judge.requests)) == (0.625, 4)


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_an_odd_number_of_repeats_is_refused_at_once(times: Any) -> None:
    """Before anything is asked for."""
    for refuses in (stream, astream):
        with pytest.raises(ConfigurationError, match="repeat"):
            refuses(ROWS, client="embedded", repeat=times)
    with pytest.raises(ConfigurationError, match="repeat"):
        open_session(client="embedded", repeat=times)


def test_a_tuned_cascade_is_repeated(scripted: Start) -> None:
    """What its last stage is asked is asked again; the tuned file is followed each time."""
    labelled = list(labelled_rows())
    tuning = tune(evaluate(labelled, client="embedded"))
    scripted(None)
    run = evaluate(labelled[:3], client="embedded>openai/m", tuned=tuning, repeat=2)
    results: list[Any] = [outcome.result for outcome in run]

    assert [len(result.results) for result in results] == [2, 2, 2]


def graded(*verdicts: bool) -> FaithfulnessResult:
    """Return a result with a statement for each verdict."""
    return FaithfulnessResult.model_validate(
        {"statements": [{"statement": "s", "is_supported": one} for one in verdicts]}
    )


@pytest.mark.parametrize(
    ("results", "scores", "score", "most", "shown", "told"),
    [
        ([graded(False), graded(True), graded(True)], [0.0, 1.0, 1.0], 2 / 3, 1.0, 1, []),
        (
            [graded(True, False), graded()],
            [0.5, None],
            0.5,
            0.5,
            0,
            ["1 of 2 repeats had no score"],
        ),
        (
            [graded(), graded(), graded(True), graded(False), graded(False)],
            [None, None, 1.0, 0.0, 0.0],
            1 / 3,
            0.0,
            3,
            ["2 of 5 repeats had no score"],
        ),
    ],
)
def test_repeats_are_averaged_over_those_with_a_score(
    results: list[FaithfulnessResult],
    scores: list[float | None],
    score: float,
    most: float,
    shown: int,
    told: list[str],
) -> None:
    """One that has no score counts for nothing, and does not give the row a reason for none."""
    found = RepeatedResult.of(results)

    assert found.repeated_scores == scores
    assert found.score == pytest.approx(score)
    assert (found.majority, found.reason, found.not_scorable) == (most, None, None)
    assert found.findings == results[shown].findings
    assert found.warnings == [*results[shown].warnings, *told]
    assert found.results == results


def test_calls_of_a_repeat_are_a_thousand_apart() -> None:
    """So that several like calls of one grading never become those of the next."""
    call = JudgeCall(({"role": "user", "content": "a"},), FaithfulnessResult, sample_index=3)
    other = LocalCall(lambda _: 1, 1)

    assert [_apart(place, [call, other])[1] for place in (0, 2)] == [other, other]
    indexes = [_apart(place, [call])[0] for place in (0, 1, 2)]
    assert [getattr(one, "sample_index", None) for one in indexes] == [3, 1003, 2003]


@pytest.mark.parametrize("times", [1, 0, 2.0])
def test_a_grader_is_repeated_at_least_twice(times: Any) -> None:
    """Once is the grader itself."""
    with pytest.raises(ConfigurationError, match="repeat is .*; expected .*at least 2"):
        Repeated(Faithfulness, times)
    assert Repeated(Faithfulness, 2).fingerprint() != Repeated(Faithfulness, 3).fingerprint()


def test_a_repeated_grader_is_known_as_the_grader_itself() -> None:
    """Whatever is changed is changed in what is repeated, as many times."""
    inner = TwoStepFaithfulness.with_parts(verifier=LLMVerifier(endpoint="openai/v"), name="own")
    inner = inner.with_settings(seed=7).with_source("hash")
    changes: list[tuple[Repeated, Any]] = [
        (Repeated(inner, 3), inner),
        (Repeated(inner, 3).with_language("ru"), inner.with_language("ru")),
        (Repeated(inner, 3).with_settings(seed=8), inner.with_settings(seed=8)),
        (Repeated(Faithfulness, 3).with_verifier(LLMVerifier()), None),
    ]
    for one, same in changes:
        known = one.grader if same is None else same
        assert one.grader.fingerprint() == known.fingerprint()
        for name in ("name", "description", "requires", "model", "settings", "source", "endpoints"):
            assert getattr(one, name) == getattr(known, name)
        assert (one.times, one.judge_rounds) == (3, known.judge_rounds)
    assert (changes[0][0].source, list(changes[0][0].endpoints)) == ("hash", ["openai/v"])
    assert changes[3][0].grader.fingerprint() != Faithfulness.fingerprint()
    rated = ContextEvaluation("Rate.", RatingResult, model="m", settings={"seed": 1})
    assert (Repeated(rated, 2).model, Repeated(rated, 2).settings) == ("m", {"seed": 1})
    assert Repeated(rated, 2).requires == ("answer",)
    assert Repeated(rated, 2).fingerprint() != Repeated(inner, 2).fingerprint()


def test_a_repeated_grader_takes_tuned_files_for_its_verifier() -> None:
    """One for another stage is refused, as without repeats."""
    labelled = list(labelled_rows())
    tuned = tune(evaluate(labelled, client="embedded"))
    stages = Repeated(
        TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=EmbeddedVerifier()),
        2,
    )
    used: Any = stages.with_tunings([tuned])

    assert used.times == 2
    assert used.grader.stages[0]["tuned"] is not None
    assert stages.grader.stages[0]["tuned"] is None


def test_what_a_repeat_counts_is_that_of_the_one_that_is_shown() -> None:
    """Of the majority, like its findings."""
    cites = [
        CitationFaithfulnessResult(
            citations=[
                Citation(sentence_id=0, sentence="s", number=1, chunk_id=0, is_supported=yes)
            ],
            sentence_count=count,
        )
        for yes, count in ((True, 1), (False, 2), (False, 3))
    ]

    assert RepeatedResult.of(cites).tallies == {"sentences with citations": (2, 2)}
    assert RepeatedResult.of(cites[:1]).tallies == {"sentences with citations": (1, 1)}
