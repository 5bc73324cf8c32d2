"""Several processes grade one run: as one does, and whatever happens to one of them."""

import asyncio
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest

from rag_evals import ContextEvaluation, FaithfulnessResult, evaluate, stream
from rag_evals.cache import StatementCache
from rag_evals.errors import ConfigurationError
from rag_evals.judge.limits import Budget, LimitShare, RequestLimiter
from rag_evals.run import Status, workers_begun
from rag_evals.run.settings import processor_cores
from rag_evals.run.worker_beats import Beats, Silence
from rag_evals.testing import (
    HttpError,
    JudgeRequest,
    Script,
    ScriptedJudge,
    Stall,
    fill_by_words,
)
from tests.conftest import Command
from tests.run.test_interrupt import finish, scores, slowly, write_rows
from tests.run.test_session import BAD_ROWS, ROWS, alike, script

Start = Callable[[Script], ScriptedJudge]
COUNT = 60
CONCURRENCY = 8


def children_of(process: int) -> list[int]:
    """Find the workers of a process, whichever of its threads started them."""
    listed = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    children = [int(child) for one in listed for child in one.split()]
    commands = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [child for child in children if b"rag_evals.run.worker" in commands[child]]


def has_ended(process: int) -> bool:
    """Say whether a process is gone; one that nobody has waited for is."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def lines_of(folder: str) -> list[str]:
    """Return the lines of a run's outcomes but for the time they took, in one order."""
    lines = Path(folder, "results.jsonl").read_text().splitlines()
    return sorted(re.sub(r'"seconds":[^,]+,', "", line) for line in lines)


needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="finds workers in /proc")


def test_outcomes_are_those_of_one_process(scripted: Start) -> None:
    """The same outcomes in the same order, numbers, usage and cost; one folder, one limit."""
    judge = scripted(lambda request: Stall(0.01, script(request)))
    rows = [*ROWS * 4, *BAD_ROWS]
    for number, row in enumerate(rows[:24]):
        rows[number] = {**row, "id": f"row-{number}", "metadata": {"place": number}}
    graders = ["faithfulness", "chunk_precision"]
    options: dict[str, Any] = {"client": "openai/gpt-4o-mini", "max_failures": "100%"}
    one = evaluate(rows, graders, concurrency=4, out="one", **options)
    two = evaluate(rows, graders, concurrency=4, workers=2, out="two", **options)

    assert [alike(outcome) for outcome in two] == [alike(outcome) for outcome in one]
    assert two.summary().usage == one.summary().usage
    assert two.summary().cost_usd == pytest.approx(one.summary().cost_usd)
    assert judge.max_in_flight <= 4
    assert lines_of("two") == lines_of("one")
    again = evaluate(rows, graders, out="two", **options)
    assert again.graded == len([outcome for outcome in one if outcome.status == "failed"])


def test_a_run_that_is_not_kept_in_memory_writes_the_same() -> None:
    """Its workers send no results, and the lines in the folder have them all the same."""
    rows = [{"answer": f"The {n} towers stand in Paris.", "context": ["9 towers."]} for n in "1234"]
    options: dict[str, Any] = {"client": "embedded", "keep": False}
    one = evaluate(rows, out="one", **options)
    two = evaluate(rows, out="two", workers=2, **options)

    assert lines_of("two") == lines_of("one")
    assert str(two.summary()) == str(one.summary())
    assert [o.result is None for o in evaluate(rows, client="embedded", workers=2)] == [False] * 4


@needs_proc
def test_workers_that_began_and_are_not_taken_end() -> None:
    """They begin while a run is planned; where nothing comes of it, none is left."""
    with workers_begun(2, "embedded"):
        begun = children_of(os.getpid())
    with workers_begun(2, object()), workers_begun(0, None):
        none = children_of(os.getpid())

    assert (len(begun), none) == (2, [])
    assert all(has_ended(process) for process in begun)


@needs_proc
def test_a_killed_worker_is_replaced(scripted: Start, caplog: pytest.LogCaptureFixture) -> None:
    """SIGKILL of a worker pays twice for what was in flight in it, loses nothing, and is said."""
    judge = scripted(slowly)
    data = write_rows(COUNT)
    killed: list[int] = []

    def kill_one(progress: Any) -> None:
        if progress.done >= 10 and not killed:
            killed.append(children_of(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    with caplog.at_level(logging.WARNING):
        run = evaluate(
            data, client="openai/m", workers=2, concurrency=CONCURRENCY, progress=kill_one, out="o"
        )

    assert {outcome.status for outcome in run} == {"scored"}
    assert len(run) == COUNT == len(Path("o/results.jsonl").read_text().splitlines())
    assert COUNT <= len(judge.requests) <= COUNT + CONCURRENCY // 2
    (said,) = caplog.messages
    assert "was ended by SIGKILL; another takes its place, " in said


@needs_proc
def test_a_worker_that_hangs_is_replaced(
    scripted: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was stopped says nothing; it is ended, and pays twice for what was in flight."""
    monkeypatch.setenv("RAG_EVALS_WORKER_SILENCE", "1")
    judge = scripted(slowly)
    stopped: list[int] = []

    def stop_one(progress: Any) -> None:
        if progress.done >= 10 and not stopped:
            stopped.append(children_of(os.getpid())[0])
            os.kill(stopped[0], signal.SIGSTOP)

    with caplog.at_level(logging.WARNING):
        run = evaluate(
            write_rows(COUNT), client="openai/m", workers=2, concurrency=4, progress=stop_one
        )

    assert {outcome.status for outcome in run} == {"scored"}
    assert COUNT <= len(judge.requests) <= COUNT + 2
    assert has_ended(stopped[0])
    (said,) = caplog.messages
    assert f"(process {stopped[0]}) said nothing for 1 s and was ended; another takes" in said


def test_silence_counts_while_somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word ends it; a worker that has said nothing yet has 300 s; ten times a loop may stand."""
    monkeypatch.setenv("RAG_EVALS_WORKER_SILENCE", "10")
    silence = Silence()
    found = [silence.look() for _ in range(150)]
    assert found == [None] * 149 + [300.0]
    silence.heard()
    assert [silence.look() for _ in range(5)] == [None] * 4 + [10.0]

    now, said = [0.0], []
    beats = Beats(lambda: said.append(now[0]), clock=lambda: now[0])
    for second in (50.0, 99.0, 100.0, 200.0):
        now[0] = second
        beats.beat()
    beats.moved()
    beats.beat()
    assert said == [50.0, 99.0, 200.0]
    monkeypatch.setenv("RAG_EVALS_WORKER_SILENCE", "soon")
    with pytest.raises(ConfigurationError, match="is 'soon'; expected seconds above 0, such as 60"):
        evaluate(ROWS, client="embedded", workers=2)


@needs_proc
def test_a_row_that_ends_its_worker_fails_alone(
    scripted: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbours are graded; the error names what happened."""
    scripted(None)
    (tmp_path / "rough_grader.py").write_text(ROUGH)
    monkeypatch.syspath_prepend(str(tmp_path))
    from rough_grader import rough  # type: ignore[import-not-found]  # written above

    rows = [{"id": f"row-{n}", "answer": f"Answer {n}.", "context": ["c"]} for n in range(12)]
    run = evaluate(rows, rough, "openai/m", workers=2, concurrency=6)

    failed = [outcome for outcome in run if outcome.status == "failed"]
    assert [outcome.sample_id for outcome in failed] == ["row-3"]
    assert failed[0].error is not None
    assert "ended by itself, with exit code 7 while it graded this row" in failed[0].error.message
    assert len(run) == len(rows)


ROUGH = """
import os
from typing import ClassVar
from rag_evals import ContextEvaluation
from rag_evals.core import Result


class RoughResult(Result):
    requires: ClassVar = ("answer",)
    accepts: ClassVar = ()

    @property
    def score(self):
        return 1.0


class Rough(ContextEvaluation):
    def flow(self, sample):
        if sample.answer == "Answer 3.":
            os._exit(7)
        return RoughResult()
        yield


rough = Rough(prompt="Any.", response_model=RoughResult, name="rough")
"""


def grade_command(data: Path, *more: str) -> subprocess.Popen[str]:
    """Start `rag-evals grade --workers 2`."""
    words = [sys.executable, "-m", "rag_evals", "grade", str(data), "--judge", "openai/m"]
    words += ["--out", "out", "--concurrency", str(CONCURRENCY), "--workers", "2", *more]
    words += ["--no-cache", "--json", "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_workers_end_with_their_run(scripted: Start, number: int, code: int) -> None:
    """However a run ends, its workers end at once, and any number of them continues it."""
    judge = scripted(slowly)
    data = write_rows(COUNT)
    process = grade_command(data)
    until(lambda: len(judge.requests) > COUNT // 3)
    workers = children_of(process.pid)
    os.kill(process.pid, number)

    assert finish(process) == code
    assert len(workers) == 2
    until(lambda: all(has_ended(worker) for worker in workers))
    evaluate(data, client="openai/m", out="out")
    assert len(scores("out")) == COUNT
    assert COUNT <= len(judge.requests) <= COUNT + CONCURRENCY


def test_a_stream_has_workers_too_and_ends_them(scripted: Start) -> None:
    """A loop that is left ends the workers; inside a running event loop it works as well."""
    scripted(slowly)

    async def cell() -> list[Status]:
        outcomes = stream(write_rows(COUNT), client="openai/m", workers=2)
        first = [next(outcomes).status, next(outcomes).status]
        outcomes.close()
        return first

    assert asyncio.run(cell()) == ["scored", "scored"]


class _Held(ContextEvaluation[FaithfulnessResult]):
    """Holds what no other process can have."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.__dict__["lock"] = threading.Lock()


def _in_the_script() -> Any:
    """Make a grader of a class that the started script has, as far as pickle can tell."""
    made = type("Mine", (FaithfulnessResult,), {"__module__": "__main__"})
    return ContextEvaluation(prompt="Any.", response_model=made, name="own")


def _held() -> Any:
    return _Held(prompt="Any.", response_model=FaithfulnessResult, name="own")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers is 0; expected at least 1"),
        ({"workers": -2}, "workers is -2; expected at least 1"),
        ({"workers": 1.5}, "workers is 1.5; expected a whole number, at least 1"),
        ({"workers": processor_cores() + 1}, f"expected 1 to {processor_cores()}, which is how"),
        ({"concurrency": 1}, "workers is 2 and concurrency 1; give each worker at least one"),
        ({"client": instructor.from_openai(openai.OpenAI(api_key="k"))}, "a string such as"),
        ({"graders": _held}, "grader 'own': it cannot be given to a worker (cannot pickle"),
        ({"graders": _in_the_script}, "Mine is defined in the script or notebook"),
    ],
)
def test_what_workers_cannot_do_is_said_in_one_line(options: dict[str, Any], message: str) -> None:
    """Before a row is graded, and before a folder is made."""
    made = {name: value() if callable(value) else value for name, value in options.items()}
    with pytest.raises(ConfigurationError) as error:
        evaluate(ROWS, **{"client": "openai/m", "model": "m", "workers": 2, "out": "o", **made})

    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not Path("o").exists()


def test_a_cache_of_verdicts_is_opened_again_by_each_process() -> None:
    """In a file it is shared; in memory it cannot be, and the message says what to do."""
    cache = StatementCache("verdicts.sqlite3")
    assert pickle.loads(pickle.dumps(cache)).path == cache.path
    with pytest.raises(ConfigurationError, match="in memory cannot be shared by processes; name a"):
        pickle.dumps(StatementCache())


def test_processes_share_the_limits_of_an_endpoint() -> None:
    """Each has its part, also of what headers say; they begin one after another."""
    now = [0.0]
    shares = [Budget(6, lambda: now[0], LimitShare(place, processes=3)) for place in range(3)]
    sent = []
    for second in range(61):
        now[0] = second
        for place, share in enumerate(shares):
            if share.seconds_until(1) == 0:
                share.spend(1)
                sent.append((second, place))

    assert sent == [(10 * number, number % 3) for number in range(7)]
    learnt = RequestLimiter(8, share=LimitShare(1, 2), clock=lambda: now[0])
    learnt.after_response(200, {"x-ratelimit-limit-requests": "600"})
    assert learnt._requests.per_minute == 300


def test_workers_keep_one_rate_over_http(scripted: Start) -> None:
    """No more requests than the limit has for the time, beside one second's worth at once."""
    times: list[float] = []

    def timed(request: JudgeRequest) -> Any:
        times.append(time.monotonic())
        return fill_by_words(request)

    scripted(timed)
    run = evaluate(write_rows(40), client="openai/m", workers=2, rpm=1200)

    a_second = 20
    assert {outcome.status for outcome in run} == {"scored"}
    # The one more that each worker may begin with, and a late arrival.
    most = [a_second * (1 + times[to] - times[0]) + 4 for to in range(40)]
    assert [place for place, allowed in enumerate(most) if place + 1 > allowed] == []


def test_a_refusal_over_http_holds_all_workers(scripted: Start) -> None:
    """A 429 to one of them: until its time has passed, none of them asks."""
    refused: list[float] = []
    times: list[float] = []

    def once(request: JudgeRequest) -> Any:
        times.append(time.monotonic())
        if len(times) == 10:
            refused.append(time.monotonic())
            return HttpError(429, headers={"retry-after": "1"})
        return slowly(request)

    judge = scripted(once)
    run = evaluate(write_rows(COUNT), client="openai/m", workers=2, concurrency=4)

    assert {outcome.status for outcome in run} == {"scored"}
    assert len(judge.requests) == COUNT + 1
    # Those that were on their way arrive, and news need a moment to the other process.
    assert [at for at in times if refused[0] + 0.6 < at < refused[0] + 0.95] == []


def test_a_pause_reaches_the_other_processes() -> None:
    """A refusal in one halves the calls in flight of all, and is passed on once."""
    told: list[tuple[float | None, bool]] = []
    one, other = (RequestLimiter(8, clock=lambda: 0.0) for _ in range(2))
    one.on_pause = lambda seconds, *, is_refusal: told.append((seconds, is_refusal))
    one.after_response(429, {"retry-after": "7"})
    other.on_pause = one.on_pause
    other.take_pause(*told[0][:1], is_refusal=told[0][1])

    assert told == [(7.0, True)]
    assert (one.waiting_seconds, one.allowed) == (other.waiting_seconds, other.allowed) == (7.0, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "0"), "Error: workers is 0; expected at least 1\n"),
        (("--workers", "2", "--concurrency", "1"), "Error: workers is 2 and concurrency 1; give"),
    ],
)
def test_the_command_refuses_them_in_one_line(
    command: Command, words: tuple[str, ...], message: str
) -> None:
    """With exit code 2, before a row is read."""
    ended = command("grade", str(write_rows(2)), *words)

    assert ended.code == 2
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1
