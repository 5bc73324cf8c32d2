"""Batches of every provider that takes them: the requests and outcomes of direct calls."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from rag_evals import Run, evaluate, load_run
from rag_evals.run import make_plan
from rag_evals.run.engine.batches import BatchSteps, aexecute_batches
from tests.providers.cases import ASKED, KEY, SDKS_HERE, Asked
from tests.scripted import BatchEnd, HttpError, JudgeRequest, ScriptedJudge, fill_by_words

if not SDKS_HERE:
    pytest.skip("the SDKs of providers are not installed here", allow_module_level=True)

PROVIDERS = [*(one for one in ASKED if one.name in ("OpenAI Chat", "Azure", "Anthropic", "Groq"))]
ROWS: list[Any] = [
    {
        "id": f"row-{n}",
        "answer": f"Башня {n} стоит в Париже.\u2028The tower {n} stands in Paris.",
        "context": [f"Башня {n} стоит в Париже. The tower {n} stands in Paris."],
    }
    for n in range(5)
]
OUT = Path("run")
Start = Callable[..., ScriptedJudge]


@pytest.fixture(params=PROVIDERS, ids=[one.name for one in PROVIDERS])
def asked(request: pytest.FixtureRequest) -> Asked:
    """Take one provider."""
    found: Asked = request.param
    return found


@pytest.fixture
def served(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a judge that speaks as the provider, and set the environment as a user would."""
    running: list[ScriptedJudge] = []

    def start(script: Any = None, *ends: BatchEnd) -> ScriptedJudge:
        judge = ScriptedJudge(script, dialect=asked.dialect, batches=ends).__enter__()
        running.append(judge)
        monkeypatch.setenv(asked.address, judge.base_url)
        for variable in asked.keys:
            monkeypatch.setenv(variable, KEY)
        return judge

    yield start
    for judge in running:
        judge.__exit__(None, None, None)


def batched(judge: str, *, wait: bool = True) -> Run:
    """Grade the rows by batches."""
    plan = make_plan(ROWS, "faithfulness", judge, options={"cache": False, "max_failures": 5})
    steps = BatchSteps(wait=wait)
    asyncio.run(aexecute_batches(plan.into(OUT, progress=False), steps, tell=print))
    return load_run(OUT)


def faulty(request: JudgeRequest) -> Any:
    """Answer in words, but some rows with a fault: an error, a wrong reply, a refused request."""
    row = next(n for n in range(5) if f"tower {n} " in str(request.chunks))
    if row == 0 and not request.is_reask:
        return from_json(to_json(fill_by_words(request)).replace(b"[0]", b"[9]"))
    return {1: HttpError(400, "too odd"), 2: HttpError(503)}.get(row) or fill_by_words(request)


def test_a_batch_asks_and_ends_as_direct_calls_do(asked: Asked, served: Start) -> None:
    """The same bodies, byte for byte, re-asks and errors among them; the same outcomes."""
    judge = served(faulty)
    plain = evaluate(ROWS, client=asked.judge, cache=False, max_failures=5)
    direct = len(judge.requests)

    run = batched(asked.judge)

    # What a reply is called is another one each time, and is sent back to be corrected.
    names = re.compile(rb"(toolu|call)_\d+")
    bodies = [names.sub(b"", to_json(request.body)) for request in judge.requests]
    assert sorted(bodies[direct:]) == sorted(bodies[:direct])
    found = [(o.sample_id, o.status, o.score, o.error and o.error.type) for o in run.outcomes]
    assert found == [
        (o.sample_id, o.status, o.score, o.error and o.error.type) for o in plain.outcomes
    ]
    usage = [(o.usage.tokens, o.usage.calls, o.usage.reasks) for o in run.outcomes]
    assert usage == [(o.usage.tokens, o.usage.calls, o.usage.reasks) for o in plain.outcomes]


def test_nothing_is_lost_and_nothing_paid_twice(asked: Asked, served: Start) -> None:
    """Whatever happens to batches, every row is scored, and every request answered once."""
    busy: dict[Any, Any] = dict.fromkeys(("upload", "create", "poll"), (HttpError(503),))
    judge = served(
        None,
        BatchEnd("expired", lines=2, lost="create", polls=1),
        BatchEnd("cancelled", lines=2, lost="content", polls=1),
        BatchEnd(lost="upload", instead=busy),
    )

    run = batched(asked.judge)

    assert [outcome.score for outcome in run.outcomes] == [1.0] * 5
    assert (len(judge.requests), len(judge.desk.batches)) == (5, 3)
    assert "create 0" in judge.desk.lost
