"""A stream yields each outcome as it ends, keeps to its pace, and leaves nothing behind."""

import asyncio
import gc
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from itertools import count
from typing import Any

import pytest

from rag_evals import Outcome, Run, aevaluate, astream, evaluate, load_run, stream
from rag_evals.errors import ConfigurationError, JudgeRejectedError, TooManyFailuresError
from rag_evals.run import make_plan
from rag_evals.run.engine.evaluate import runner_of
from rag_evals.testing import HttpError, Script, ScriptedJudge, Stall
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}


def row(number: int) -> dict[str, Any]:
    """Make a row that differs in id and answer."""
    return {"id": f"row-{number}", "answer": f"The tower {number}.", "context": ["In Paris."]}


def endless(read: list[int]) -> Iterator[dict[str, Any]]:
    """Yield rows without end, and note which were read."""
    for number in count():
        read.append(number)
        yield row(number)


def test_it_yields_what_a_run_has(scripted: Start) -> None:
    """Each row once; sync, async, and in the folder that `evaluate` would have written."""
    scripted(GOOD)
    rows = [row(n) for n in range(7)]
    by_stream = list(stream(rows, client="openai/m", concurrency=3, out="by-stream"))

    async def by_astream() -> list[Outcome]:
        return [outcome async for outcome in astream(rows, client="openai/m", concurrency=3)]

    wanted = [(o.index, o.score) for o in evaluate(rows, client="openai/m")]
    assert sorted((o.index, o.score) for o in by_stream) == wanted
    assert sorted((o.index, o.score) for o in asyncio.run(by_astream())) == wanted
    assert [(o.index, o.score) for o in load_run("by-stream")] == wanted
    assert load_run("by-stream").notes() == []


def test_a_stream_shows_no_progress_unless_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop may write to the terminal itself; a run shows a bar there."""

    def shown(ways: Callable[..., Any], **options: Any) -> bool:
        with monkeypatch.context() as patched:
            terminal = io.StringIO()
            terminal.isatty = lambda: True  # type: ignore[method-assign]  # taken for a terminal
            patched.setattr(sys, "stderr", terminal)
            list(ways([row(0), row(1)], client="embedded", **options))
            return "2/2" in terminal.getvalue()

    assert (shown(stream), shown(stream, progress=True)) == (False, True)
    assert (shown(evaluate), shown(evaluate, progress=False)) == (True, False)


def test_a_stream_keeps_no_row_in_memory() -> None:
    """It may be endless; a run keeps outcomes and samples."""

    async def kept(holds: bool) -> Run:
        plan = make_plan([row(0), row(1)], "faithfulness", "embedded").into(None, progress=False)
        async with runner_of(plan, yields_earlier=True, holds=holds) as runner:
            assert len([outcome async for outcome in runner.outcomes()]) == 2
            return runner.finished()

    assert set(asyncio.run(kept(True)).samples) == {"row-0", "row-1"}
    assert not asyncio.run(kept(False)).samples


def test_a_slow_loop_slows_the_grading(scripted: Start) -> None:
    """No more rows are read and asked than were taken, and `concurrency` beside."""
    judge = scripted(GOOD)
    read: list[int] = []
    outcomes = stream(endless(read), client="openai/m", concurrency=3)
    assert not read
    for taken in range(1, 6):
        next(outcomes)
        assert len(judge.requests) <= len(read) <= taken + 3
    outcomes.close()


def test_leaving_the_loop_ends_all(scripted: Start) -> None:
    """Calls in flight are cancelled at once, and no row is read any more."""
    scripted(lambda request: GOOD if "tower 0." in str(request.answer) else Stall(30, GOOD))
    read: list[int] = []
    for _ in stream(endless(read), client="openai/m", concurrency=4):
        break
    seen = len(read)

    async def leave() -> None:
        async with aclosing(astream(endless(read), client="openai/m", concurrency=4)) as outcomes:
            async for _ in outcomes:
                break

    asyncio.run(asyncio.wait_for(leave(), 20))
    assert seen <= 5
    assert len(read) <= 10


def test_nothing_is_said_of_a_loop_that_was_left(
    scripted: Start,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    """No warning, no log line and no traceback, where `aclosing` is left out too."""
    scripted(GOOD)

    async def leave() -> None:
        async for _ in astream(endless([]), client="openai/m", concurrency=4):
            break

    asyncio.run(leave())
    for _ in stream(endless([]), client="openai/m", concurrency=4):
        break
    gc.collect()
    assert (list(recwarn), caplog.records, capfd.readouterr()) == ([], [], ("", ""))


def test_what_an_earlier_run_kept_is_yielded_and_not_paid_again(scripted: Start) -> None:
    """A stream that was left goes on in its folder; results are there as well."""
    judge = scripted(GOOD)
    rows = [row(n) for n in range(6)]
    for _ in stream(rows, client="openai/m", concurrency=1, out="kept"):
        break
    asked = len(judge.requests)
    outcomes = list(stream(rows, client="openai/m", concurrency=1, out="kept"))

    assert sorted(o.index for o in outcomes) == list(range(6))
    assert all(o.result is not None for o in outcomes)
    # One may have been paid for whose reply nobody waited for.
    assert asked <= 2
    assert 6 <= len(judge.requests) <= 7


def test_it_ends_as_a_run_does(scripted: Start) -> None:
    """A wrong key, too many failures and a bad setting raise what `evaluate` raises."""
    scripted(HttpError(401, "no such key"))
    with pytest.raises(JudgeRejectedError, match="no such key"):
        list(stream([row(0)], client="openai/m"))
    scripted({"statements": [statement(ids=(9,))]})
    with pytest.raises(TooManyFailuresError, match="2 of 2"):
        list(stream([row(0), row(1)], client="openai/m", max_failures=1, concurrency=1))
    with pytest.raises(ConfigurationError, match="concurrency is 0"):
        stream([row(0)], client="openai/m", concurrency=0)


def test_on_outcome_sees_each_outcome_once_it_is_kept(scripted: Start) -> None:
    """Also those of an earlier run; an async function is awaited."""
    scripted(GOOD)
    rows = [row(n) for n in range(4)]
    seen: list[int] = []
    evaluate(rows[:2], client="openai/m", out="kept", on_outcome=lambda o: seen.append(o.index))

    async def note(outcome: Outcome) -> None:
        await asyncio.sleep(0)
        seen.append(outcome.index)

    asyncio.run(aevaluate(rows, client="openai/m", out="kept", on_outcome=note))
    assert sorted(seen) == [0, 0, 1, 1, 2, 3]


def test_on_outcome_sees_all_of_a_run_with_too_many_failures(scripted: Start) -> None:
    """What ended beside the last failure is counted, so it is handed on as well."""
    scripted(GOOD)
    seen: list[Outcome] = []
    unreadable = [{"id": f"row-{n}", "answer": 7} for n in range(8)]
    with pytest.raises(TooManyFailuresError) as raised:
        evaluate(unreadable, client="openai/m", max_failures=1, on_outcome=seen.append)

    assert len(seen) == raised.value.run.summary().failed > 2


def test_an_exception_in_on_outcome_ends_the_run(scripted: Start) -> None:
    """It comes out as it is; what was graded stays in the folder, and the next start goes on."""
    judge = scripted(GOOD)
    rows = [row(n) for n in range(8)]

    def stop(outcome: Outcome) -> None:
        if outcome.index == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        evaluate(rows, client="openai/m", concurrency=1, out="kept", on_outcome=stop)
    kept = load_run("kept")
    assert len(kept) >= 3
    assert kept.notes() == ["not finished: rows may be missing; run the same command to continue"]
    evaluate(rows, client="openai/m", concurrency=1, out="kept")
    assert 8 <= len(judge.requests) <= 9
