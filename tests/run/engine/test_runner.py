"""A run grades every row, ends each in one outcome, and keeps the order of the data."""

import asyncio
import json
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest

from rag_evals import ColumnMap, Faithfulness, Sample, aevaluate, base, evaluate, load_run
from rag_evals.core import Flow
from rag_evals.errors import (
    ConfigurationError,
    DataError,
    JudgeRejectedError,
    JudgeUnreachableError,
    UnknownNameError,
)
from rag_evals.grading.grader import Grader
from rag_evals.response_models.rubrics import PassFailResult
from rag_evals.response_models.statements import FaithfulnessResult
from rag_evals.run import Progress, execute, make_plan
from rag_evals.testing import HttpError, JudgeRequest, Reply, Script, ScriptedJudge
from rag_evals.testing.scripted import fill_by_words
from tests.conftest import EIFFEL, statement

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]
GOOD = {"statements": [statement()]}


def rows(count: int) -> list[dict[str, Any]]:
    """Make rows that differ in id and answer."""
    return [
        {"id": f"row-{n}", "answer": f"The tower {n} stands in Paris.", "context": ["In Paris."]}
        for n in range(count)
    ]


def test_every_row_has_one_outcome_for_each_grader(scripted: Start) -> None:
    """Outcomes stand in the order of the data, then of the graders."""
    scripted(None)
    data = [row | {"question": "Where?"} for row in rows(5)]
    run = evaluate(data, ["faithfulness", "chunk_precision"], "openai/m", concurrency=3)

    assert [(o.index, o.grader) for o in run.outcomes] == [
        (n, grader) for n in range(5) for grader in ("faithfulness", "chunk_precision")
    ]
    assert all(o.status == "scored" and o.attempts == 1 for o in run.outcomes)
    assert run.outcomes[0].sample_id == "row-0"
    assert pickle.loads(pickle.dumps(run.outcomes)) == run.outcomes


def test_each_row_ends_in_its_named_outcome(scripted: Start) -> None:
    """Scored, not scorable and failed stand side by side; no failure becomes a number."""

    def script(request: JudgeRequest) -> Any:
        if "bad" in str(request.answer):
            return {"statements": [statement(ids=(9,))]}
        return {"statements": []} if "empty" in str(request.answer) else GOOD

    scripted(script)
    data: list[Any] = [
        {"answer": "good", "context": ["c"]},
        {"answer": "bad", "context": ["c"]},
        {"answer": "empty", "context": ["c"]},
        {"answer": "", "context": ["c"]},
        {"answer": "a", "context": []},
        {"answer": 7, "context": ["c"]},
    ]
    run = evaluate(data, [Faithfulness], "openai/m")

    assert [(o.status, o.score, o.reason) for o in run.outcomes] == [
        ("scored", 1.0, None),
        ("failed", None, None),
        ("not_scorable", None, "no_statements"),
        ("not_scorable", None, "empty_answer"),
        ("not_scorable", None, "empty_context"),
        ("failed", None, None),
    ]
    assert run.outcomes[5].seconds == 0.0
    failed = run.outcomes[1]
    assert failed.error is not None
    assert (failed.error.type, failed.attempts) == ("JudgeOutputError", 2)
    assert run.summary().graders["faithfulness"].line() == (
        "faithfulness: 1.00 (0.33 with failed rows as 0) over 1 scored of 6 (3 not scorable: "
        "1 empty_answer, 1 empty_context, 1 no_statements; 2 failed: 1 DataError, "
        "1 JudgeOutputError)"
    )


def test_sync_and_async_clients_give_the_same_run(scripted: Start, client_of: ClientOf) -> None:
    """A sync client runs in threads, an async one in the loop, a string makes its own."""
    judge = scripted(None)
    by_string = evaluate(rows(4), client="openai/m")
    by_sync = evaluate(rows(4), client=client_of(judge), model="m")

    async def by_async() -> list[float | None]:
        async with openai.AsyncOpenAI() as sdk:
            run = await aevaluate(rows(4), client=instructor.from_openai(sdk), model="m")
            return [o.score for o in run.outcomes]

    scores = [o.score for o in by_string.outcomes]
    assert scores == [o.score for o in by_sync.outcomes] == asyncio.run(by_async())


def test_no_more_calls_than_allowed_are_in_flight(scripted: Start) -> None:
    """`concurrency` bounds the requests that are open at one time."""
    from rag_evals.testing import Stall

    judge = scripted(Stall(0.02, GOOD))
    evaluate(rows(12), client="openai/m", concurrency=3)

    assert judge.max_in_flight == 3


def test_it_works_inside_a_running_loop(scripted: Start) -> None:
    """Jupyter has a loop running; `evaluate` gets a thread with one of its own."""
    scripted(None)

    async def cell() -> float | None:
        return evaluate(rows(1), client="openai/m").outcomes[0].score

    assert asyncio.run(cell()) is not None
    assert evaluate(rows(1)).outcomes[0].status == "scored"


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (HttpError(401, "wrong key"), JudgeRejectedError),
        (HttpError(404, "no such model"), JudgeRejectedError),
        (HttpError(400, "bad", param="response_format"), JudgeRejectedError),
    ],
)
def test_what_no_row_can_survive_ends_the_run(scripted: Start, script: Any, kind: Any) -> None:
    """A wrong key or an unknown model is found once, not once for each row."""
    judge = scripted(script)

    with pytest.raises(kind):
        evaluate(rows(50), client="openai/m", concurrency=2)
    assert len(judge.requests) <= 2


def test_an_unreachable_endpoint_ends_a_run_that_has_nothing(
    monkeypatch: pytest.MonkeyPatch, client_of: ClientOf
) -> None:
    """Before the first score, no connection is fatal."""
    with ScriptedJudge() as judge:
        client = client_of(judge, retries=0)

    with pytest.raises(JudgeUnreachableError):
        evaluate(rows(5), client=client, model="m")


def test_a_file_is_checked_before_the_first_call(scripted: Start) -> None:
    """A bad last line costs nothing: no request was made."""
    judge = scripted(None)
    Path("d.jsonl").write_text("\n".join(json.dumps(row) for row in rows(3)) + '\n{"answer": 1}\n')

    with pytest.raises(DataError, match="line 4"):
        evaluate("d.jsonl", client="openai/m")
    assert judge.requests == []


def test_a_run_that_holds_no_outcomes_reads_them_from_its_folder() -> None:
    """The numbers are there at once; so the command grades very large data."""
    run = execute(make_plan(rows(3), "faithfulness").into("out"))

    assert run.summary().graders["faithfulness"].total == 3
    assert len(Path("out/results.jsonl").read_text().splitlines()) == 3
    assert run.outcomes == evaluate(rows(3), out="out").outcomes


def test_a_run_says_how_long_it_took() -> None:
    """From its start to its end, and no row took longer."""
    before = time.monotonic()
    run = evaluate(rows(2), client="embedded")

    assert max(o.seconds for o in run) <= run.summary().seconds <= time.monotonic() - before


def test_with_no_folder_nothing_is_written() -> None:
    """`out=None` leaves the disk alone."""
    evaluate(rows(3))

    assert list(Path.cwd().iterdir()) == []


def test_an_iterable_is_read_as_it_is_graded(scripted: Start) -> None:
    """A generator is not drained first: rows are taken as workers are free."""
    taken: list[int] = []

    def source() -> Iterator[dict[str, Any]]:
        for number, row in enumerate(rows(20)):
            taken.append(number)
            yield row

    seen: list[int] = []
    run = evaluate(source(), concurrency=2, progress=lambda p: seen.append(len(taken) - p.done))

    assert len(run.outcomes) == 20
    assert max(seen) <= 3


def test_progress_is_told_to_a_function() -> None:
    """Each end is reported; the last report has everything done."""
    Path("d.jsonl").write_text("\n".join(json.dumps(row) for row in rows(4)))
    reports: list[Progress] = []
    evaluate("d.jsonl", progress=reports.append)

    assert [report.done for report in reports] == [1, 2, 3, 4]
    assert reports[-1].total == 4
    assert str(reports[-1]).startswith("graded 4/4, 0 failed, ")


class Broken(Grader[FaithfulnessResult]):
    """A user's own grader with a bug."""

    name = "broken"
    result_model = FaithfulnessResult
    requires = ("answer",)

    def fingerprint(self) -> str:
        return "broken"

    def flow(self, sample: Sample) -> Flow[FaithfulnessResult]:
        if "2" in str(sample.answer):
            raise ZeroDivisionError("a bug")
        yield []
        return FaithfulnessResult(statements=[])

    def with_verifier(self, verifier: Any) -> "Broken":
        return self


def test_a_bug_in_a_grader_is_one_failed_row() -> None:
    """Whatever a row raises, the others go on."""
    run = evaluate(rows(4), [Broken()])

    assert [o.status for o in run.outcomes] == ["not_scorable"] * 2 + ["failed", "not_scorable"]
    assert run.outcomes[2].error is not None
    assert run.outcomes[2].error.type == "ZeroDivisionError"


class Percent(PassFailResult):
    """A score that is none, with one sign for each kind of it."""

    @property
    def score(self) -> float:
        """Return what the reasoning says."""
        return float(self.reasoning or "")

    @property
    def further_scores(self) -> dict[str, float]:
        """Return another number."""
        return {"kindness": 2.0 * self.score}

    @property
    def ranking_score(self) -> float:
        """Return a third number."""
        return 1.2 - self.score


@pytest.mark.parametrize("said", ["85", "nan", "-0.1", "inf", "0.6", "0.1"])
def test_a_number_that_is_no_score_fails_its_row(said: str, scripted: Start) -> None:
    """Before it is stored, with the name of the number; the other rows are graded."""
    scripted(
        lambda asked: {"reasoning": said if "2" in str(asked.answer) else "0.5", "passed": True}
    )
    run = evaluate(rows(4), base.ContextEvaluation("Judge.", Percent), "openai/m", progress=False)

    assert run.scores == [0.5, 0.5, None, 0.5]
    assert (error := run.outcomes[2].error) is not None
    named = {"0.6": "kindness is 1.2", "0.1": "ranking_score is 1.1"}.get(said, "is ")
    assert named in error.message
    assert error.message.endswith("; it must be a number from 0 to 1")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"graders": []}, ConfigurationError, "no graders"),
        ({"graders": ["faithfulnes"]}, UnknownNameError, "did you mean 'faithfulness'"),
        ({"graders": [Faithfulness] * 2}, ConfigurationError, "two graders are named"),
        ({"concurrency": 0}, ConfigurationError, "concurrency is 0; expected at least 1"),
        ({"limit": 0}, ConfigurationError, "limit is 0"),
        ({"timeout": -1.0}, ConfigurationError, "timeout is -1.0"),
        (
            {"timeout": float("nan")},
            ConfigurationError,
            "timeout is nan; expected a number ab",
        ),
        ({"rpm": "many"}, ConfigurationError, "rpm is 'many'; expected a number above 0"),
        ({"timeout": None}, ConfigurationError, "timeout is None; expected a number above 0"),
        ({"max_wait": None}, ConfigurationError, "max_wait is None; expected a number above 0"),
        ({"model": 5}, ConfigurationError, "model is 5; expected a model"),
        ({"model": ""}, ConfigurationError, "model is ''; expected a model"),
        ({"tuned": b"x"}, ConfigurationError, "tuned has b'x'; expected a file"),
        ({"tpm": True}, ConfigurationError, "tpm is True; expected a number above 0"),
        ({"concurrency": 2.5}, ConfigurationError, "concurrency is 2.5; expected a whole number"),
        ({"tuned": 5}, ConfigurationError, "tuned has 5; expected a file"),
        ({"rpm": float("inf")}, ConfigurationError, "rpm is inf"),
        ({"max_failures": "a lot"}, ConfigurationError, "expected a number or a percentage"),
        ({"model": "m"}, ConfigurationError, "the judge 'embedded' does not call a model"),
        ({"reasks": 1}, ConfigurationError, "reasks does nothing with 'embedded', which calls no"),
        ({"max_wait": 5}, ConfigurationError, "max_wait does nothing with 'embedded', which calls"),
        ({"graders": ["chunk_precision"]}, ConfigurationError, "cannot use 'embedded'"),
        ({"cache": 3}, ConfigurationError, "cache is 3; expected True, False, None or a path"),
        ({"client": 3}, ConfigurationError, "client is int; expected"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(
    options: dict[str, Any], kind: Any, message: str
) -> None:
    """Everything that can be checked is checked before the first row."""
    with pytest.raises(kind, match=message):
        evaluate(rows(1), **options)


def test_a_response_model_without_a_score_cannot_be_run() -> None:
    """`grade` returns any model; a run needs a number, and says so before it asks."""
    from pydantic import BaseModel

    class Note(BaseModel):
        text: str

    with pytest.raises(ConfigurationError, match="Note has no score"):
        evaluate(rows(1), [base.ContextEvaluation(prompt="Note.", response_model=Note)], "openai/m")


def test_columns_are_mapped_in_a_run() -> None:
    """A path and a function reach the data of other tools."""
    data = [{"out": {"messages": ["It is in Paris."]}, "docs": {"list": ["It is in Paris."]}}]
    columns = ColumnMap(answer=lambda row: row["out"]["messages"][0], context="docs.list")

    assert evaluate(data, columns=columns).outcomes[0].score == 1.0


def test_usage_of_all_outcomes_adds_up_to_what_the_server_saw(scripted: Start) -> None:
    """Re-asks and failures are in the sum."""

    def script(request: JudgeRequest) -> Reply:
        good = "3" in str(request.answer) or request.is_reask
        return Reply(GOOD if good else "{", prompt_tokens=11, completion_tokens=5)

    judge = scripted(script)
    usage = evaluate(rows(8), client="openai/m").summary().usage

    assert usage.calls == len(judge.requests) == 15
    assert usage.reasks == 7
    assert usage.prompt_tokens == 11 * 15


def test_each_grader_is_asked_with_its_own_model(scripted: Start) -> None:
    """A grader's `model=` holds in a run too, and is part of what makes the run."""
    judge = scripted(None)
    graders = [
        base.ContextEvaluation(
            prompt="Judge.", response_model=FaithfulnessResult, model=model, name=str(model)
        )
        for model in ("a", "b", None)
    ]
    evaluate(rows(1), graders, "openai/c", concurrency=1, out="out")
    assert [request.body["model"] for request in judge.requests] == ["a", "b", "c"]

    other = base.ContextEvaluation(
        prompt="Judge.", response_model=FaithfulnessResult, model="z", name="a"
    )
    with pytest.raises(ConfigurationError, match="models was"):
        evaluate(rows(1), [other, *graders[1:]], "openai/c", out="out")


def test_eiffel_is_graded_from_a_sample() -> None:
    """Samples are rows like any other."""
    assert evaluate([Sample(**EIFFEL)]).outcomes[0].score == 0.5


@pytest.mark.parametrize("most", [2, 20])
def test_outcomes_held_by_a_run_are_those_of_its_folder(
    scripted: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A run that holds its outcomes, or reads them from the log, returns what the folder has."""
    scripted(None)
    monkeypatch.setattr("rag_evals.run.engine.evaluate._MOST_HELD", most)
    graders = ["chunk_precision", "faithfulness"]
    data = [row | {"question": "Where?"} for row in rows(4)]
    first = evaluate(data[:3], graders, "openai/m", out=tmp_path / "run").outcomes
    again = evaluate(data, graders, "openai/m", out=tmp_path / "run")

    assert first == again.outcomes[:6]
    assert again.graded == 2
    assert again.outcomes == load_run(tmp_path / "run").outcomes
    assert [(o.index, o.grader) for o in again.outcomes] == [
        (n, grader) for n in range(4) for grader in graders
    ]
    assert json.loads((tmp_path / "run" / "samples.jsonl").read_bytes().splitlines()[3]) == {
        "sample_id": "row-3",
        "fingerprint": again.outcomes[6].sample_fingerprint,
        "question": "Where?",
        "answer": "The tower 3 stands in Paris.",
        "context": ["In Paris."],
    }


def test_progress_of_a_run_that_goes_on_counts_what_it_had(scripted: Start) -> None:
    """Done, failed, tokens and cost of both starts, and only what this one graded as graded."""
    scripted(lambda request: HttpError(400) if " 2 " in str(request.answer) else Reply(GOOD))
    evaluate(rows(2), client="openai/gpt-4o-mini", out="out")
    reports: list[Progress] = []
    run = evaluate(rows(4), client="openai/gpt-4o-mini", out="out", progress=reports.append)
    usage, last = run.summary().usage, reports[-1]

    assert (last.done, last.total, last.failed, last.graded) == (4, 4, 1, 2)
    assert last.tokens == usage.prompt_tokens + usage.completion_tokens > usage.prompt_tokens
    assert last.cost_usd == run.summary().cost_usd
    assert run.graded == 2
    assert usage.calls == sum(one.usage.calls for one in run.outcomes)


def test_graders_of_a_summary_have_the_order_of_the_run(scripted: Start) -> None:
    """Whichever ends first; what was not tuned is named once."""

    def answered(request: JudgeRequest) -> Any:
        if "faithful" not in str(request.messages):
            time.sleep(0.05)
        return fill_by_words(request)

    scripted(answered)
    data = [row | {"question": "Where?"} for row in rows(2)]
    names = ["chunk_precision", "answer_relevance", "faithfulness"]
    run = evaluate(data, names, "openai/m", concurrency=6)

    assert list(run.summary().graders) == run.graders == names
    assert [(one.index, one.grader) for one in run] == [
        (n, name) for n in range(2) for name in names
    ]
