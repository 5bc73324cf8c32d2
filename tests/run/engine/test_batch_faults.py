"""Whatever a provider of batches does, no reply is lost, and nothing is paid twice unsaid."""

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import load_run
from rag_evals.errors import RagEvalsError
from rag_evals.run import make_plan
from rag_evals.run.engine.batches import BatchSteps, aexecute_batches, parts_under_way
from tests.scripted import BatchEnd, HttpError, Raw, ScriptedJudge, fill_by_words

OUT = Path("run")
PAGE = b"<html><body>Log in</body></html>"
FINISHED: dict[str, Any] = {
    "id": "batch_0",
    "object": "batch",
    "created_at": 0,
    "input_file_id": "file-0",
    "endpoint": "/v1/chat/completions",
    "completion_window": "24h",
    "status": "completed",
    "request_counts": {"total": 6, "completed": 6, "failed": 0},
}
BROKEN = Raw(b'{"id": 1', headers={"content-length": "5000"})
ROWS: list[Any] = [
    {
        "id": f"{n}",
        "answer": f"Башня {n} стоит в Париже.",
        "context": [f"Башня {n} стоит в Париже."],
    }
    for n in range(6)
]
Start = Callable[..., ScriptedJudge]


def grade(**steps: Any) -> list[str]:
    """Grade the rows by batches, and return what is told."""
    told: list[str] = []
    plan = make_plan(ROWS, "faithfulness", "openai/gpt-4o-mini", options={"cache": False})
    chosen = BatchSteps(**{"wait": True, **steps})
    asyncio.run(aexecute_batches(plan.into(OUT, progress=False), chosen, tell=told.append))
    return told


def foreign(lines: bytes) -> bytes:
    """Say everything twice, and speak of what nobody asked."""
    other = {"custom_id": "other", "response": {"status_code": 200, "body": {}}}
    return lines + lines + json.dumps(other).encode() + b"\n"


def denied(lines: bytes) -> bytes:
    """Say of each reply afterwards that there is none, as a file of errors would."""
    keys = [json.loads(line)["custom_id"] for line in lines.splitlines()]
    errors = [{"custom_id": key, "response": None, "error": {"message": "x"}} for key in keys]
    return lines + b"".join(json.dumps(error).encode() + b"\n" for error in errors)


MENDED: dict[str, tuple[BatchEnd, int, str]] = {
    "twice, and foreign": (BatchEnd(spoil=foreign), 6, "6 of 6 requests have a reply"),
    "an error after each reply": (BatchEnd(spoil=denied), 6, "6 of 6 requests have a reply"),
    "odd lines": (
        BatchEnd(spoil=lambda lines: lines + b'{"custom_id": null}\n[1]\nnull\n5\n'),
        6,
        "6 of 6 requests have a reply, and 4 lines could not be read",
    ),
    "a byte order mark": (BatchEnd(spoil=lambda lines: BOM_UTF8 + lines), 6, "6 of 6 requests"),
    "an outage of results": (BatchEnd(instead={"content": [BROKEN] * 9}), 6, "trying again"),
    "an outage of uploads": (
        BatchEnd(instead={"upload": [HttpError(503)] * 20}),
        6,
        "trying again",
    ),
    "an outage of orders": (BatchEnd(instead={"create": [HttpError(503)] * 20}), 6, "trying again"),
    "a torn last line": (
        BatchEnd(spoil=lambda lines: lines[:-40]),
        7,
        "5 of 6 requests have a reply, and 1 lines could not be read; 1 requests are resent "
        "and paid for again",
    ),
    "a download that breaks off": (BatchEnd(instead={"content": [BROKEN]}), 6, "6 of 6"),
    "a page at first": (BatchEnd(instead={"content": [Raw(PAGE)]}), 6, "6 of 6"),
    "a page for a new file": (BatchEnd(instead={"upload": [Raw(PAGE)]}), 6, "6 of 6"),
    "a page for an order": (BatchEnd(instead={"create": [Raw(PAGE)]}), 6, "6 of 6"),
    "an order that fails": (BatchEnd(instead={"create": [HttpError(500)] * 2}), 6, "6 of 6"),
    "a page for a state": (BatchEnd(instead={"poll": [Raw(PAGE)] * 5}), 6, "an HTML page"),
    "no state": (BatchEnd(instead={"poll": [Raw({})] * 5}), 6, "neither a file nor a batch"),
}


@pytest.mark.parametrize(("end", "requests", "says"), MENDED.values(), ids=MENDED)
def test_every_row_is_scored(scripted: Start, end: BatchEnd, requests: int, says: str) -> None:
    """One command, and what is sent again is said."""
    judge = scripted(batches=[end])

    told = grade()

    assert [outcome.score for outcome in load_run(OUT).outcomes] == [1.0] * 6
    assert (len(judge.requests), says in "\n".join(told)) == (requests, True), told
    assert ("paid for again" in "\n".join(told)) == (requests > 6)
    assert sum(outcome.usage.calls for outcome in load_run(OUT).outcomes) == 6


def test_results_that_are_cut_between_two_lines_are_read_again(scripted: Start) -> None:
    """The provider says how many there are; none of the six is paid for twice."""
    cuts = iter([0, 4])
    end = BatchEnd(spoil=lambda lines: b"".join(lines.splitlines(keepends=True)[: next(cuts, 6)]))
    judge = scripted(batches=[end])

    assert "6 of 6 requests have a reply" in "\n".join(grade())
    assert len(judge.requests) == 6
    assert [outcome.score for outcome in load_run(OUT).outcomes] == [1.0] * 6


ENDED: dict[str, tuple[BatchEnd, int, str]] = {
    "a page for results": (
        BatchEnd(spoil=lambda _: PAGE),
        6,
        ": '<html><body>Log in</body></html>'; nothing was stored",
    ),
    "empty results": (BatchEnd(spoil=lambda _: b""), 6, "; nothing was stored"),
    "no results of a finished batch": (
        BatchEnd(instead={"poll": [Raw(FINISHED)]}),
        6,
        "batch batch_0 has no results; nothing was stored",
    ),
    "results of another batch": (
        BatchEnd(spoil=lambda lines: lines.replace(b'"custom_id": "', b'"custom_id": "0')),
        6,
        ': \'{"id": .*; nothing was stored',
    ),
    "results that are gone": (
        BatchEnd(instead={"content": [HttpError(404)]}),
        6,
        "`rag-evals batch collect run --again` resends its 6 requests, which are paid for again",
    ),
    "a batch that is gone": (
        BatchEnd(instead={"poll": [HttpError(404)]}),
        6,
        "collect run --again",
    ),
    **{
        f"no right to {step}": (BatchEnd(instead={step: [HttpError(401)]}), sent, "rejects the key")  # type: ignore[dict-item]  # words of a Literal
        for step, sent in (("upload", 0), ("create", 0), ("poll", 6), ("content", 6))
    },
}


@pytest.mark.parametrize(("end", "requests", "says"), ENDED.values(), ids=ENDED)
def test_what_cannot_go_on_is_said_and_nothing_is_lost(
    scripted: Start, end: BatchEnd, requests: int, says: str
) -> None:
    """One line; the next command goes on with the same batch, once the fault is mended."""
    judge = scripted(batches=[end])

    with pytest.raises(RagEvalsError, match=says):
        grade()

    assert (len(judge.requests), load_run(OUT).summary().pending) == (requests, 6)
    object.__setattr__(end, "spoil", None)
    object.__setattr__(end, "instead", {})
    grade()
    assert [outcome.score for outcome in load_run(OUT).outcomes] == [1.0] * 6
    assert (len(judge.requests), len(judge.desk.batches)) == (6, 1)


def test_a_part_counts_as_sent_before_the_provider_has_it(scripted: Start) -> None:
    """Whoever is stopped while it is sent asks first whether it arrived, and pays once."""
    scripted(batches=[BatchEnd(instead={"upload": [HttpError(401)]})])
    with pytest.raises(RagEvalsError, match="rejects the key"):
        grade()

    (part,) = parts_under_way(OUT)
    assert (part.status, part.file, part.batch) == ("sending", None, None)


def test_a_state_is_told_when_it_changes(scripted: Start) -> None:
    """However often it is asked for."""
    scripted(batches=[BatchEnd(polls=3)])
    sent, *states, collected = grade()

    assert sent.startswith("sent: batch batch_0 with 6 requests to gpt-4o-mini; `rag-evals")
    assert states == ["batches: 0 of 1 finished, 6 of 6 requests processed"]
    assert collected == "collected: batch batch_0, completed, 6 of 6 requests have a reply"


def test_a_batch_that_is_gone_for_good_is_sent_again_when_asked(scripted: Start) -> None:
    """`--again` pays again, and says so; without it nothing is sent."""
    judge = scripted(batches=[BatchEnd(instead={"poll": [HttpError(404)] * 2})])
    grade(wait=False)
    with pytest.raises(RagEvalsError, match="--again"):
        grade(send=False, wait=False)

    told = grade(again=True, wait=False)

    assert "its 6 requests are resent and paid for again" in "\n".join(told)
    assert len(judge.requests) == 12
    grade()
    assert [outcome.score for outcome in load_run(OUT).outcomes] == [1.0] * 6


def test_tokens_that_nobody_counts_are_said(scripted: Start) -> None:
    """A reply without usage is a reply; its tokens are unknown, not 0."""
    scripted(fill_by_words, batches=[BatchEnd(spoil=lambda b: b.replace(b'"usage"', b'"used"'))])

    grade()

    usage = load_run(OUT).summary().usage
    assert (usage.calls, usage.uncounted, usage.tokens) == (6, 6, 0)
