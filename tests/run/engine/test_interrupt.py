"""A run that is killed, stopped or cancelled goes on as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals.testing import JudgeRequest, Script, ScriptedJudge, Stall
from rag_evals.testing.scripted import fill_by_words

Start = Callable[[Script], ScriptedJudge]
ROWS = 120
CONCURRENCY = 8


def write_rows(count: int) -> Path:
    """Write rows to a file."""
    lines = [
        json.dumps({"id": f"row-{n}", "answer": f"Answer {n} is short.", "context": ["Answer."]})
        for n in range(count)
    ]
    path = Path("d.jsonl")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def data() -> Path:
    """Write 120 rows to a file."""
    return write_rows(ROWS)


def command(data: Path, out: str) -> subprocess.Popen[str]:
    """Start `rag-evals grade` as a user would."""
    words = [sys.executable, "-m", "rag_evals", "grade", str(data), "--judge", "openai/m"]
    words += ["--out", out, "--concurrency", str(CONCURRENCY), "--no-cache", "--json", "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(judge: ScriptedJudge, requests: int, process: subprocess.Popen[str]) -> None:
    """Wait until the judge has seen so many requests, or the process has ended."""
    while len(judge.requests) < requests and process.poll() is None:
        time.sleep(0.002)


def scores(folder: str) -> dict[str, tuple[str, float | None]]:
    """Read the last outcome of each row."""
    records = [json.loads(line) for line in Path(folder, "results.jsonl").read_text().splitlines()]
    return {record["sample_id"]: (record["status"], record["score"]) for record in records}


def slowly(request: JudgeRequest) -> Any:
    """Answer after a moment, so that some calls are always in flight."""
    filled = fill_by_words(request)
    assert isinstance(filled, dict)
    return Stall(0.01, filled)


def finish(process: subprocess.Popen[str]) -> int:
    """Wait for a process and close its pipes."""
    process.communicate()
    return process.returncode


def kill_and_resume(judge: ScriptedJudge, data: Path, rows: int, *, kills: int, seed: int) -> str:
    """Kill a run at random moments, resume it each time, and compare it with an unkilled one.

    Returns:
        What was seen, in one line.
    """
    assert finish(command(data, "whole")) == 0
    begun = len(judge.requests)
    assert begun == rows
    draw = random.Random(seed)
    killed = 0
    for _ in range(kills):
        process = command(data, "killed")
        wait_for(judge, len(judge.requests) + draw.randint(1, 2 * rows // kills), process)
        killed += process.poll() is None
        process.kill()
        finish(process)
    assert finish(command(data, "killed")) == 0
    seen = len(judge.requests) - begun

    assert killed >= kills // 2
    assert scores("killed") == scores("whole")
    assert rows <= seen <= rows + killed * CONCURRENCY
    return f"{killed} kills, {seen} calls seen for {rows} rows, final outcomes equal"


@pytest.mark.slow
def test_killed_at_random_moments_a_run_ends_as_an_uninterrupted_one(
    scripted: Start, data: Path
) -> None:
    """SIGKILL loses the calls in flight and nothing else, however often it comes."""
    line = kill_and_resume(scripted(slowly), data, ROWS, kills=5, seed=7)

    assert line.endswith("final outcomes equal")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_at_once(scripted: Start, data: Path, number: int, code: int) -> None:
    """Calls in flight are cancelled, what is done is kept, and the message says how to go on."""
    judge = scripted(lambda request: slowly(request) if len(judge.requests) < 40 else Stall(3600))
    process = command(data, "out")
    wait_for(judge, 45, process)
    os.kill(process.pid, number)
    _, error = process.communicate()

    assert process.returncode == code
    assert "finished rows are stored in out. Run the same command to continue." in error
    assert "Traceback" not in error
    assert len(scores("out")) >= 30


@pytest.mark.slow
def test_two_processes_cannot_share_a_folder(scripted: Start, data: Path) -> None:
    """The second is refused with a clear message and changes nothing."""
    judge = scripted(lambda request: Stall(3600))
    first = command(data, "out")
    wait_for(judge, 1, first)
    second = command(data, "out")
    _, error = second.communicate()
    first.kill()
    finish(first)

    assert second.returncode == 2
    assert "is in use by another run" in error


def test_restart_sets_the_earlier_run_aside(scripted: Start, data: Path) -> None:
    """Begun anew, a run keeps the old files beside the new ones."""
    from rag_evals import evaluate

    judge = scripted(None)
    evaluate(data, client="openai/m", out="out", limit=5)
    evaluate(data, client="openai/other", out="out", limit=5, restart=True)
    evaluate(data, client="openai/other", out="out", limit=5, restart=True)

    assert len(judge.requests) == 15
    assert len(scores("out/before-1")) == len(scores("out/before-2")) == len(scores("out")) == 5
