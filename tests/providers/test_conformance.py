"""Every provider behaves alike, asked through its own SDK, in every way of asking."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, Run, errors, evaluate
from rag_evals.testing import Answer, JudgeRequest, ScriptedJudge
from tests.conftest import Command
from tests.providers.cases import ASKED, CASES, FOUND, KEY, SDKS_HERE, Asked, Case

if not SDKS_HERE:
    pytest.skip("the SDKs of providers are not installed here", allow_module_level=True)

pytestmark = [
    # Of the SDKs themselves, which nobody here can mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # LiteLLM leaves its own log of a call unfinished when a loop ends.
    pytest.mark.filterwarnings("ignore:coroutine 'Logging"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROW: dict[str, Any] = {"answer": "The tower stands in Paris.", "context": ["In Paris."]}
Ended = tuple[float | str, str, dict[str, int]]
"""The score or the error's name, what the error says, and the usage."""


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between tries; how many there are stays."""
    monkeypatch.setattr("rag_evals.judge.request_retries._FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr("rag_evals.judge.limits._PAUSE_WITHOUT_A_WORD", 0.001)


@pytest.fixture
def served(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[Asked, tuple[Answer, ...]], ScriptedJudge]]:
    """Start a judge that speaks as a provider, and set the environment as a user would."""
    running: list[ScriptedJudge] = []

    def start(asked: Asked, script: tuple[Answer, ...]) -> ScriptedJudge:
        def answer(request: JudgeRequest) -> Answer:
            return script[min(request.number, len(script) - 1)]

        judge = ScriptedJudge(answer, dialect=asked.dialect).__enter__()
        running.append(judge)
        monkeypatch.setenv(asked.address, judge.base_url)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for variable in asked.keys:
            monkeypatch.setenv(variable, KEY)
        return judge

    yield start
    for judge in running:
        judge.__exit__(None, None, None)


def by_grade(judge: str, seconds: float) -> Ended:
    """Ask through the sync client."""
    return _caught(lambda: Faithfulness.grade(**ROW, client=judge, timeout=seconds).score)


def by_agrade(judge: str, seconds: float) -> Ended:
    """Ask through the async client, in a loop of its own."""

    async def ask() -> float:
        return (await Faithfulness.agrade(**ROW, client=judge, timeout=seconds)).score

    return _caught(lambda: asyncio.run(ask()))


def by_evaluate(judge: str, seconds: float) -> Ended:
    """Ask in a run."""
    run: Run | None = None

    def ask() -> float | None:
        nonlocal run
        run = evaluate([ROW], client=judge, timeout=seconds, max_failures=9, progress=False)
        return run.outcomes[0].score

    ended = _caught(ask)
    if run is None:
        return ended
    outcome = run.outcomes[0]
    usage = {name: getattr(outcome.usage, name) for name in outcome.usage.__slots__}
    if outcome.error is not None:
        return outcome.error.type, outcome.error.message, usage
    return ended[0], "", usage


def _caught(ask: Callable[[], float | None]) -> Ended:
    try:
        score = ask()
    except errors.RagEvalsError as error:
        return type(error).__name__, str(error), {}
    return -1.0 if score is None else score, "", {}


def by_command(command: Command, judge: str, seconds: float) -> Ended:
    """Ask by the command line."""
    Path("d.jsonl").write_text(json.dumps(ROW))
    ended = command(
        "grade", "d.jsonl", "--judge", judge, "--out", "out", "--quiet", "--no-cache",
        "--max-failures", "9", "--timeout", str(seconds),
    )  # fmt: skip
    assert "Traceback" not in ended.err
    assert KEY not in ended.err + ended.out
    results = Path("out/results.jsonl")
    kept = results.read_text().splitlines() if results.exists() else []
    if not kept:
        return f"exit {ended.code}", ended.err, {}
    outcome = json.loads(kept[0])
    error = outcome["error"] or {}
    return error.get("type", outcome["score"]), error.get("message", ""), outcome["usage"]


def check(case: Case, ended: Ended, judge: ScriptedJudge) -> None:
    """Compare how a grading ended with what a case promises."""
    what, says, usage = ended
    assert what == case.ends, says
    assert re.search(case.says, says), says
    assert KEY not in says
    assert case.requests in (None, len(judge.requests))
    if usage:
        assert {name: usage[name] for name in case.usage} == dict(case.usage)


@pytest.mark.parametrize(
    ("case", "way"),
    [
        pytest.param(case, way, id=f"{case.name}-{way}")
        for case in CASES
        for way in ("grade", "agrade", "evaluate", "command")
        # The sync and the async client meet everything; two ways more only what tells them apart.
        if way in ("grade", "evaluate") or case.in_every_way
    ],
)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_a_provider_behaves_as_the_others(
    asked: Asked,
    case: Case,
    way: str,
    served: Callable[[Asked, tuple[Answer, ...]], ScriptedJudge],
    command: Command,
) -> None:
    """Scores, errors, requests and tokens are the same, whoever is asked."""
    # Whatever fails below, in any way of asking, is found not to work.
    before = FOUND.get((asked.name, case.name), True)
    FOUND[asked.name, case.name] = False
    judge = served(asked, case.script)
    if way == "command":
        ended = by_command(command, asked.judge, case.seconds)
    else:
        ways = {"grade": by_grade, "agrade": by_agrade, "evaluate": by_evaluate}
        ended = ways[way](asked.judge, case.seconds)
    check(case, ended, judge)
    FOUND[asked.name, case.name] = before
