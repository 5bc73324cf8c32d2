"""The ends of a stored line say the same as all of it, and take little memory to hold."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.core import Usage
from rag_evals.errors import DataError
from rag_evals.run import Outcome, execute, make_plan
from rag_evals.run.line_keys import key_in_line, key_of_record
from rag_evals.run.outcome import ErrorRecord

SCORED = Outcome(3, "row-3", "faithfulness", "scored", 1.0, grader_fingerprint="ab")
ROWS, MOST_BYTES_A_ROW = (200, 800), 500


def outcomes() -> dict[str, tuple[Outcome, bool]]:
    """Name outcomes, and say whether their ends suffice."""
    tail = '"sample_fingerprint":"no","grader_fingerprint":"no"}\n'
    failed = ErrorRecord("JudgeRejectedError", "no key")
    return {
        "scored": (SCORED, True),
        "not scorable": (Outcome(0, "a", "g", "not_scorable", reason="empty_answer"), True),
        "asked": (Outcome(0, "a", "g", "scored", 0.5, usage=Usage(calls=12)), True),
        "Russian": (Outcome(0, "строка 7", "g", "scored", 0.5), True),
        "texts like the tail": (Outcome(0, "a", "g", "scored", 0.5, warnings=(tail,)), True),
        "failed": (Outcome(0, "a", "g", "failed", error=failed), False),
        "a quote in the id": (Outcome(0, 'a"b', "g", "scored", 0.5), False),
        "a backslash in the id": (Outcome(0, "a\\", "g", "scored", 0.5), False),
        "a line end in the id": (Outcome(0, "a\nb", "g", "scored", 0.5), False),
    }


@pytest.mark.parametrize("name", outcomes())
def test_ends_say_what_the_line_says(name: str) -> None:
    """Other lines are read whole: failed ones, and ids with escapes."""
    outcome, by_its_ends = outcomes()[name]
    line = outcome.to_line()
    found = key_in_line(line)

    assert (found is not None) == by_its_ends
    whole = key_of_record(json.loads(line))
    assert whole.grading == outcome.key
    assert found in (None, whole)


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_a_line_that_is_not_whole_is_not_read_by_its_ends(cut: int) -> None:
    """Cut at either end."""
    line = SCORED.to_line()

    assert key_in_line(line[:-cut]) is None
    assert key_in_line(line[cut:]) is None


def rows(count: int) -> list[dict[str, Any]]:
    """Make rows that all differ."""
    return [{"id": f"r{n}", "answer": f"House {n}.", "context": ["House."]} for n in range(count)]


def test_a_damaged_line_is_named_when_its_row_comes_up() -> None:
    """By file and number; rows before it are kept."""
    evaluate(rows(3), client="embedded", out="out", progress=False)
    results = Path("out/results.jsonl")
    lines = results.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"score":', b'"scare":')
    results.write_bytes(b"".join(lines))

    with pytest.raises(DataError, match=r"results\.jsonl', line 2: score: Field required"):
        evaluate(rows(3), client="embedded", out="out", progress=False)


def test_going_on_holds_places_and_no_outcomes() -> None:
    """Outcomes took over a kilobyte each."""
    most = []
    for count in ROWS:
        evaluate(rows(count), client="embedded", out=f"out-{count}", progress=False)
        tracemalloc.start()
        plan = make_plan(rows(count + 1), "faithfulness", "embedded")
        run = execute(plan, out=Path(f"out-{count}"), keep=False, progress=False)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert run.graded == 1

    # Of these, 700 are the rows themselves, in a list.
    assert (most[1] - most[0]) / (ROWS[1] - ROWS[0]) < MOST_BYTES_A_ROW + 700
