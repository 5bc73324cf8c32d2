"""Faults of every kind, alone and mixed: each row has its outcome, each call its account."""

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate, load_run
from rag_evals.errors import TooManyFailuresError
from rag_evals.testing import (
    HttpError,
    JudgeRequest,
    Raw,
    Reply,
    Reset,
    Script,
    ScriptedJudge,
    Stall,
)
from tests.conftest import statement
from tests.slow import some_slow

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
SOON = {"retry-after-ms": "1"}
FAULTS: dict[str, Any] = {
    "500": HttpError(500, headers=SOON),
    "503": HttpError(503, headers=SOON),
    "429 with Retry-After": HttpError(429, headers={"retry-after": "0.01"}),
    "429": HttpError(429, headers={"x-should-retry": "true", **SOON}),
    "reset": Reset(),
    "stall": Stall(30),
    "malformed": '{"statements": [',
    "truncated": Reply('{"statements": [', finish_reason="length"),
    "refusal": Reply(refusal="I cannot help with that."),
    "wrong ids": {"statements": [statement(ids=(7,))]},
    "empty statement": {"statements": [statement(" ")]},
    "empty body": Raw(),
    "key in the error": HttpError(400, "the key sk-test-SECRET is fine, the prompt is too long"),
}
# What ends a row whatever is tried, and under which name.
FATAL = {
    "truncated": "JudgeOutputError",
    "refusal": "JudgeRefusedError",
    "stall": "JudgeUnavailableError",
    "key in the error": "JudgeRequestError",
}


def rows(count: int) -> list[dict[str, Any]]:
    """Make rows that the script can tell apart."""
    return [
        {"id": f"row-{n}", "answer": f"Answer {n} stands in Paris.", "context": ["In Paris."]}
        for n in range(count)
    ]


def row_of(request: JudgeRequest) -> int:
    """Return the number of the row that a request is about."""
    found = re.search(r"Answer (\d+) ", str(request.answer))
    assert found is not None
    return int(found.group(1))


def fault_of(row: int, seed: int, names: list[str]) -> str | None:
    """Draw the fault of a row's first request: one row in three has one."""
    draw = random.Random(zlib.crc32(f"{seed} {row}".encode()))
    return draw.choice(names) if draw.random() < 1 / 3 else None


def once(seed: int, names: list[str]) -> Callable[[JudgeRequest], Any]:
    """Make a script that lets each row meet its fault once."""
    met: set[int] = set()

    def script(request: JudgeRequest) -> Any:
        row = row_of(request)
        fault = fault_of(row, seed, names)
        if fault is None or row in met:
            return GOOD
        met.add(row)
        return FAULTS[fault]

    return script


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_alone(scripted: Start, name: str) -> None:
    """A fault that passes is survived; one that does not is named; no row is lost."""
    judge = scripted(once(1, [name]))
    seconds = 1.0 if name == "stall" else 20.0
    run = evaluate(rows(24), client="openai/m", timeout=seconds, max_failures=24)

    wanted = Counter(
        FATAL.get(name, "scored") if fault_of(n, 1, [name]) else "scored" for n in range(24)
    )
    got = Counter(o.error.type if o.error else o.status for o in run.outcomes)
    assert got == wanted
    faulty = sum(fault_of(n, 1, [name]) is not None for n in range(24))
    assert faulty > 3
    assert len(judge.requests) == 24 + (0 if name in FATAL else faulty)


@pytest.mark.parametrize("seed", some_slow([1, 2, 3], 3))
def test_all_faults_mixed(scripted: Start, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Every row ends once, every request is counted, and the key is nowhere."""
    names = list(FAULTS)
    judge = scripted(once(seed, names))
    count = 120
    run = evaluate(rows(count), client="openai/m", timeout=2.0, max_failures=count, out="out")

    assert [o.index for o in run.outcomes] == list(range(count))
    faults = [fault_of(n, seed, names) for n in range(count)]
    for outcome, fault in zip(run.outcomes, faults, strict=True):
        expected = FATAL.get(fault or "", "scored")
        assert (outcome.error.type if outcome.error else outcome.status) == expected
    repeated = sum(fault is not None and fault not in FATAL for fault in faults)
    assert len(judge.requests) == count + repeated
    kept = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert sorted(record["index"] for record in kept) == list(range(count))
    everything = caplog.text + Path("out/results.jsonl").read_text() + str(run.outcomes)
    assert "SECRET" not in everything + Path("out/manifest.json").read_text()


def test_a_hopeless_run_ends_early(scripted: Start) -> None:
    """After twenty gradings more than half have failed: the rest is not paid for."""
    judge = scripted(HttpError(400, "too long"))
    with pytest.raises(
        TooManyFailuresError, match="20 of 20 gradings failed, more than 50%"
    ) as caught:
        evaluate(rows(200), client="openai/m", concurrency=4, out="out")

    assert len(judge.requests) < 30
    # The others in flight may end before they are cancelled.
    assert 20 <= len(caught.value.run.outcomes) < 24
    assert "20 JudgeRequestError" in str(caught.value)


@pytest.mark.parametrize(("limit", "ends"), [(2, True), ("3", False), ("100%", False)])
def test_the_limit_is_a_number_or_a_share(scripted: Start, limit: int | str, ends: bool) -> None:
    """A number counts at once, a share from twenty gradings on."""
    scripted(lambda request: HttpError(400) if row_of(request) < 3 else GOOD)
    try:
        run = evaluate(rows(10), client="openai/m", concurrency=1, max_failures=limit)
    except TooManyFailuresError:
        assert ends
    else:
        assert not ends
        assert run.summary().failed == 3


def test_few_rows_that_all_fail_are_too_many(scripted: Start) -> None:
    """Three rows are graded to the end; that all failed is an error, and nothing is lost."""
    scripted(HttpError(400, "no such thing"))
    with pytest.raises(TooManyFailuresError, match="3 of 3 gradings failed.*no such thing") as seen:
        evaluate(rows(3), client="openai/m", out="out")

    assert [outcome.status for outcome in seen.value.run.outcomes] == ["failed"] * 3
    assert load_run("out").summary().failed == 3
    assert evaluate(rows(3), client="openai/m", max_failures="100%").summary().failed == 3


def test_columns_that_no_row_has_are_an_error() -> None:
    """A run in which nothing was scored and every row failed does not return as if it were one."""
    with pytest.raises(TooManyFailuresError, match="the first: row 0: no column 'reply'"):
        evaluate(rows(3), columns={"answer": "reply"}, client="embedded")


def test_fewer_failures_than_allowed_are_a_run() -> None:
    """One bad row of three is counted, and the run comes back."""
    run = evaluate([*rows(2), {"answer": 3}], client="embedded")

    assert (run.summary().failed, len(run.outcomes)) == (1, 3)
