"""Batches grade as calls do: the same outcomes, paid once, whatever breaks on the way."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from pydantic_core import from_json, to_json

from rag_evals import Outcome, Run, evaluate, load_run
from rag_evals.errors import ConfigurationError, PendingError
from rag_evals.judge.batches import BatchHost
from rag_evals.run import Gate, RunOptions, make_plan
from rag_evals.run.engine.batches import (
    BatchPart,
    BatchSteps,
    BatchTable,
    aexecute_batches,
    batch_words,
)
from rag_evals.run.engine.session import grading_now
from tests.scripted import (
    BatchEnd,
    HttpError,
    JudgeRequest,
    Reset,
    Script,
    ScriptedJudge,
    fill_by_words,
)

Start = Callable[..., ScriptedJudge]
OUT = Path("run")
MODEL = "openai/gpt-4o-mini"
ROWS: list[Any] = [
    {"id": f"row-{n}", "answer": f"The tower {n} stands in Paris.", "context": ["In Paris."]}
    for n in range(6)
]


@pytest.fixture
def batched(scripted: Callable[..., ScriptedJudge]) -> Any:
    """Start scripted judges whose batches end as a test says."""

    def start(script: Script = None, ends: Sequence[BatchEnd] = ()) -> ScriptedJudge:
        return scripted(script, batches=ends)

    return start


def grade(
    steps: BatchSteps,
    rows: Any = ROWS,
    graders: Any = "faithfulness",
    client: Any = MODEL,
    options: RunOptions | None = None,
) -> Run:
    """Do some steps of a run by batches."""
    plan = make_plan(rows, graders, client, options=options)
    return asyncio.run(aexecute_batches(plan.into(OUT, progress=False), steps, tell=print))


def alike(run: Run) -> list[Outcome]:
    """Leave out what two ways to ask differ in: time, and the price."""
    outcomes = sorted(run.outcomes, key=lambda o: (o.index, o.grader))
    return [replace(o, seconds=0.0, cost_usd=None) for o in outcomes]


def test_each_turn_of_a_conversation_is_a_round(batched: Start) -> None:
    """A turn is sent once the verdicts before it are there; the result is that of plain calls."""
    judge = batched()
    facts = [f"The tower {place} stands in Paris." for place in range(3)]
    turns = [{"question": "?", "answer": f"{one} Zebras nap.", "context": [one]} for one in facts]
    rows = [{"id": f"c{n}", "turns": turns[place:3]} for n, place in enumerate((0, 1, 2))]
    plain = evaluate(rows, client=MODEL)

    run = grade(WAIT, rows)
    assert [one.score for one in run.outcomes] == [0.5] * 3
    assert alike(run) == alike(plain)
    batches = [batch["request_counts"]["total"] for batch in judge.desk.batches.values()]
    assert batches == [3, 2, 1]


def test_a_batch_grades_as_calls_do(batched: Start) -> None:
    """Submit, then collect: outcomes and tokens of a plain run, at half its price."""
    judge = batched()
    plain = evaluate(ROWS, client=MODEL)

    first = grade(WAIT_NOT)
    assert (first.summary().pending, len(load_run(OUT).records)) == (6, 0)
    assert [missed.rule for missed in Gate(0.0).missed(first.summary())] == ["pending"]
    assert str(load_run(OUT).gate(0.0)) == "not decided: 6 gradings are pending"
    assert not load_run(OUT).gate(0.0).passed
    grade(BatchSteps(send=False))

    run = load_run(OUT)
    assert alike(run) == alike(plain)
    assert run.summary().pending == 0
    assert run.summary().cost_usd == pytest.approx((plain.summary().cost_usd or 0) / 2)
    assert len(judge.requests) == 12
    bodies = [to_json(request.body) for request in judge.requests]
    assert sorted(bodies[:6]) == sorted(bodies[6:])


WAIT, WAIT_NOT = BatchSteps(wait=True), BatchSteps()


def flaky() -> Callable[[JudgeRequest], Any]:
    """Answer in words, but some rows first with a fault: an error, a wrong reply, or none."""
    asked: Counter[str] = Counter()

    def answer(request: JudgeRequest) -> Any:
        row = str(request.answer or request.statements)
        asked[row] += 1
        number = sum(map(ord, row))
        if asked[row] > 1 + number % 2:
            return fill_by_words(request)
        words, ids = f"no JSON {asked[row]}", wrong(request, asked[row])
        faults = [None, HttpError(500), HttpError(429), words, Reset(), ids]
        return faults[number % 6] or fill_by_words(request)

    return answer


def wrong(request: JudgeRequest, chunk: int) -> Any:
    """Name a chunk that does not exist, in every list of chunks."""
    return from_json(to_json(fill_by_words(request)).replace(b"[0]", b"[%d]" % chunk))


def rows_of(count: int) -> list[Any]:
    """Make rows whose one statement chunk 0 supports."""
    texts = [f"Tower number {n} stands in Paris." for n in range(count)]
    return [{"id": str(n), "answer": text, "context": [text]} for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("grader", "count", "sent", "paid"),
    [
        ("faithfulness", 200, [200, 182, 156, 106, 53, 16], 330),
        ("faithfulness_two_step", 50, [50, 50, 48, 41, 26, 12], 134),
    ],
)
@pytest.mark.slow
def test_faults_are_sent_again_until_every_row_is_scored(
    batched: Start, grader: str, count: int, sent: list[int], paid: int
) -> None:
    """Errors, wrong replies, lost lines, expiry: a few rounds, and each reply counted once."""
    ends = [BatchEnd("expired", lines=count // 2, polls=1), BatchEnd("cancelled", lines=count // 3)]
    judge = batched(flaky(), ends)

    grade(WAIT, rows_of(count), grader)

    found = load_run(OUT).outcomes
    replies = sum(b["request_counts"]["completed"] for b in judge.desk.batches.values())
    assert [(o.sample_id, o.score) for o in found] == [(str(n), 1.0) for n in range(count)]
    assert (OUT / "results.jsonl").read_bytes().count(b"\n") == count
    assert sum(o.usage.calls for o in found) == replies
    assert sum(o.usage.tokens for o in found) == 120 * replies
    assert any(o.usage.reasks for o in found)
    batches = [batch["request_counts"]["total"] for batch in judge.desk.batches.values()]
    assert (batches, replies) == (sent, paid)


@pytest.mark.parametrize("lost", ["upload", "create", "content"])
def test_a_lost_reply_is_looked_for_and_not_paid_twice(batched: Start, lost: Any) -> None:
    """The server did what was asked and the connection broke: one batch, every row scored."""
    judge = batched(None, [BatchEnd(lost=lost)])

    grade(WAIT)

    assert judge.desk.lost == [f"{lost} 0"]
    assert (len(judge.desk.batches), len(judge.requests)) == (1, 6)
    assert [file for file, _ in judge.desk.files.values()].count("file-1.jsonl") == 1
    assert len(load_run(OUT).outcomes) == 6


def test_azure_has_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and batches belong to no deployment; the order of a batch is found again there too."""
    with ScriptedJudge(dialect="azure", batches=[BatchEnd(lost="create")]) as judge:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", judge.base_url)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
        run = grade(WAIT, client="azure/gpt-4o-mini")

    assert (judge.desk.lost, len(judge.desk.batches)) == (["create 0"], 1)
    assert {request.path for request in judge.requests} == {"/chat/completions"}
    assert run.summary().cost_usd == pytest.approx(6 * (100 * 0.15 + 20 * 0.6) / 1e6 / 2)


COMMAND = (
    "rag_evals grade rows.jsonl --judge openai/gpt-4o-mini --grader faithfulness_two_step "
    "--batch --wait --quiet --out run"
)


def killed_when(words: list[str], happens: Callable[[], object]) -> None:
    """Begin a command, and kill it at a moment."""
    with subprocess.Popen(words) as process:
        while not happens() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    assert process.returncode < 0


@pytest.mark.slow
def test_a_killed_command_goes_on(batched: Start) -> None:
    """SIGKILL while a batch is ordered, and while results are fetched: nothing is paid twice."""
    # Whoever lost a reply tries again half a second later, and is dead by then.
    judge = batched(None, [BatchEnd(lost="create"), BatchEnd(lost="content")])
    Path("rows.jsonl").write_text("".join(f"{to_json(row).decode()}\n" for row in ROWS))
    words = [sys.executable, "-m", *COMMAND.split()]
    killed_when(words, lambda: "create 0" in judge.desk.lost)
    killed_when(words, lambda: "content 1" in judge.desk.lost)

    again = subprocess.run(words, check=False, capture_output=True)

    assert again.returncode == 0, again.stderr
    assert (len(judge.desk.batches), len(judge.requests)) == (2, 12)
    assert load_run(OUT).summary().usage.calls == 12
    assert [outcome.status for outcome in load_run(OUT).outcomes] == ["scored"] * 6


def test_what_is_under_way_is_not_sent_again(batched: Start) -> None:
    """Submit twice, and collect before the end: one batch."""
    judge = batched(None, [BatchEnd(polls=3)])
    grade(WAIT_NOT)
    grade(WAIT_NOT)

    assert grade(WAIT_NOT).summary().pending == 6
    assert len(judge.desk.batches) == 1
    assert grade(WAIT).summary().pending == 0
    assert (len(judge.desk.batches), len(judge.requests)) == (1, 6)


def test_a_batch_that_is_refused_says_why_and_is_sent_again(batched: Start) -> None:
    """Nothing was worked off: one line with the reason, and the next submit sends it."""
    judge = batched(None, [BatchEnd("failed", message="the token limit is reached")])
    with pytest.raises(ConfigurationError, match="the token limit is reached; fix that, and run"):
        grade(WAIT)
    assert not judge.requests

    assert grade(WAIT).summary().pending == 0
    assert len(judge.requests) == 6


def limit_batches(monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
    """Set the limits that the provider documents."""
    monkeypatch.setattr(BatchHost, "of", lambda _: BatchHost(**limits))


def test_a_run_is_split_as_the_provider_asks(
    batched: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many requests in a batch at most; all are sent in one round."""
    judge = batched()
    limit_batches(monkeypatch, max_requests=4)

    grade(WAIT)

    assert [b["request_counts"]["total"] for b in judge.desk.batches.values()] == [4, 2]
    assert len(load_run(OUT).outcomes) == 6


def test_a_file_is_not_larger_than_the_provider_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are counted as bytes, of any letters; a longer one stands alone."""
    limit_batches(monkeypatch, max_bytes=800)
    grading_now.set(("a", "faithfulness"))
    with BatchTable(OUT) as table:
        with table.round():
            for number, text in enumerate(["é" * 100, "b" * 200, "c" * 900, "d"]):
                missing = PendingError("m")
                missing.endpoint, missing.key = MODEL, f"{number:064x}"
                missing.body = {"model": "m", "messages": text}
                table.note(missing)
        sizes = [table.path_of(part.number).stat().st_size for part in table.parts()]
        requests = [part.requests for part in table.parts()]

    assert requests == [2, 1, 1]
    assert [size <= 800 for size in sizes] == [True, False, True]


def test_equal_rows_are_sent_once_and_repeats_are_not(batched: Start) -> None:
    """One call for two equal rows, counted once; each repeat of a row is a call of its own."""
    judge = batched()
    twice = [{**ROWS[0], "id": "a"}, {**ROWS[0], "id": "b"}]

    grade(WAIT, twice)

    usage = [outcome.usage for outcome in load_run(OUT).outcomes]
    assert len(judge.requests) == 1
    assert sorted((u.calls, u.cache_hits, u.tokens) for u in usage) == [(0, 1, 0), (1, 0, 120)]
    grade(WAIT, twice[:1], options={"repeat": 3, "restart": True})
    assert len(judge.requests) == 4


def test_what_cannot_pass_fails_the_row_as_in_a_run(batched: Start) -> None:
    """A refused request, one that never stops to fail, and one wrong to the end: named outcomes."""
    faults: dict[str, Any] = {"0": HttpError(400, "too long"), "1": HttpError(503), "2": "no JSON"}

    def script(request: JudgeRequest) -> Any:
        return faults.get(str(request.answer).split()[2]) or fill_by_words(request)

    judge = batched(script)
    plain = evaluate(ROWS, client=MODEL, max_failures=6)
    asked = len(judge.requests)

    grade(WAIT, options={"max_failures": 6})

    found = load_run(OUT).outcomes
    types = [outcome.error and outcome.error.type for outcome in found]
    assert types[:4] == ["JudgeRequestError", "JudgeUnavailableError", "JudgeOutputError", None]
    assert types == [outcome.error and outcome.error.type for outcome in plain.outcomes]
    assert found[2].attempts == plain.outcomes[2].attempts == 2
    assert len(judge.requests) - asked == asked
    reasks = [r.messages for r in judge.requests if r.is_reask]
    assert reasks[: len(reasks) // 2] == reasks[len(reasks) // 2 :]


def test_a_refused_temperature_is_left_out_from_then_on(batched: Start) -> None:
    """The lesson that calls learn is learnt from a batch too."""

    def script(request: JudgeRequest) -> Any:
        refused = HttpError(400, "temperature is not supported", param="temperature")
        return refused if "temperature" in request.body else fill_by_words(request)

    judge = batched(script)

    assert grade(WAIT, options={"max_failures": 6}).summary().pending == 0
    assert len(judge.requests) == 12
    assert {outcome.status for outcome in load_run(OUT).outcomes} == {"scored"}


def test_a_program_of_the_user_works_off_the_file(
    batched: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes to vLLM's `run-batch`; what that writes beside it is taken."""
    judge = batched()
    monkeypatch.setenv("VLLM_BASE_URL", judge.base_url)
    grade(WAIT_NOT, client="vllm/m")
    assert grade(WAIT_NOT, client="vllm/m").summary().pending == 6
    assert not judge.requests
    sent = Path("run/batch/part-1.jsonl").read_text().splitlines()
    desk = judge.desk
    with openai.OpenAI(base_url=judge.base_url, api_key="k") as sdk:
        file = sdk.files.create(file=Path("run/batch/part-1.jsonl"), purpose="batch")
        sdk.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
    Path("run/batch/part-1.out.jsonl").write_bytes(desk.files["file-1"][1] + b"torn {")

    grade(WAIT_NOT, client="vllm/m")

    assert len(sent) == len(load_run(OUT).outcomes) == 6
    assert load_run(OUT).summary().cost_usd is None


def test_batches_are_counted_from_when_they_are_sent() -> None:
    """A part that is only written counts nowhere; a part counts as its provider says."""
    states = [("written", 10, 0), ("sending", 5, 0), ("completed", 7, 7), ("in_progress", 4, 2)]
    parts = [
        BatchPart(n, "p", "openai/m", "m", requests, done, status, None, None)
        for n, (status, requests, done) in enumerate(states)
    ]

    assert batch_words(parts) == "batches: 1 of 3 finished, 9 of 16 requests processed"
    assert batch_words(parts[:1]) == "batches: 0 of 0 finished, 0 of 0 requests processed"
