"""Every provider behaves alike, asked through its own SDK, in every way of asking."""

import asyncio
import gc
import json
import logging
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, Run, errors, evaluate
from tests.conftest import Command
from tests.providers.cases import ASKED, CASES, FOUND, KEY, SDKS_HERE, VALID, Asked, Case
from tests.scripted import Answer, JudgeRequest, ScriptedJudge

if not SDKS_HERE:
    pytest.skip("the SDKs of providers are not installed here", allow_module_level=True)

# LiteLLM leaves its own log of a call unfinished when a loop ends.
_LITELLM = "coroutine 'Logging|Items? .* on TypedDict class"
pytestmark = [
    # Of the SDKs themselves, which nobody here can mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings(f"ignore:{_LITELLM}"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROW: dict[str, Any] = {"answer": "The tower stands in Paris.", "context": ["In Paris."]}
Served = Callable[[Asked, Case], ScriptedJudge]
Ended = tuple[float | str, str, dict[str, int]]
"""The score or the error's name, what the error says, and the usage."""


@pytest.fixture(autouse=True, scope="module")
def one_for_all(one_authority: Path) -> Iterator[None]:
    """Trust one authority instead of all, also in libraries that ask no environment variable."""
    import requests  # noqa: F401  # Google's library loads it in the thread of a call, late

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("certifi.where", lambda: str(one_authority))
        yield


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Served]:
    """Start a judge that speaks as a provider, and set the environment as a user would."""
    running: list[ScriptedJudge] = []

    def start(asked: Asked, case: Case) -> ScriptedJudge:
        def answer(request: JudgeRequest) -> Answer:
            return case.script[min(request.number, len(case.script) - 1)]

        judge = ScriptedJudge(answer, dialect=asked.dialect).__enter__()
        monkeypatch.setenv(asked.address, judge.base_url)
        if case.is_running:
            running.append(judge)
        else:
            judge.__exit__(None, None, None)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # Keys may also stand in files there.
        monkeypatch.setenv("HOME", str(tmp_path))
        for variable in asked.keys:
            if case.has_key:
                monkeypatch.setenv(variable, KEY)
            else:
                monkeypatch.delenv(variable, raising=False)
        return judge

    yield start
    for judge in running:
        judge.__exit__(None, None, None)


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fail where work leaves a warning, an exception that nobody saw, or something open."""
    said: list[str] = []
    noted = partial(_note, said)
    logged = logging.Handler(logging.WARNING)
    # Calls of earlier tests that hung may still end, in threads of their own.
    older = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
    logged.addFilter(lambda record: record.thread not in older)
    # LiteLLM's own log, carried from the loop of one test to that of the next.
    logged.addFilter(lambda record: not record.getMessage().startswith("LoggingWorker: event loop"))
    logged.emit = lambda record: noted(record.getMessage())  # type: ignore[method-assign]  # a list will do
    hooks = sys.unraisablehook, threading.excepthook
    # What is older is not this work's, and looking at it takes a second: it stays out of sight.
    gc.collect()
    gc.freeze()
    logging.getLogger().addHandler(logged)
    sys.unraisablehook = lambda lost: noted(f"{lost.err_msg} {lost.object!r}: {lost.exc_value!r}")
    threading.excepthook = lambda lost: noted(repr(lost.exc_value))
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            # How an SDK is written: nothing is left, and nobody is told.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.filterwarnings("ignore", _LITELLM)
            yield
            gc.collect()
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.getLogger().removeHandler(logged)
    for warning in warned:
        noted(f"{warning.category.__name__}: {warning.message}")
    assert not said, "\n".join(said)


def _note(said: list[str], words: str) -> None:
    said.append(words)


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
    """Ask by the command line, in this process."""
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
        assert (ended.code, len(ended.err.splitlines())) == (2, 1)
        return "ConfigurationError", ended.err, {}
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


# `agrade` and the command ask through the async client, as `evaluate` does: each case once with
# them, and of each provider what depends on who makes the client, closes it and names its key.
IN_EVERY_WAY = ("no key", "close", "401")


@pytest.mark.parametrize(
    ("asked", "case", "way"),
    [
        pytest.param(asked, case, way, id=f"{asked.name}-{case.name}-{way}")
        for asked in ASKED
        for case in CASES
        for way in ("grade", "evaluate", "agrade", "command")
        if way in ("grade", "evaluate") or asked is ASKED[0] or case.name in IN_EVERY_WAY
    ],
)
def test_a_provider_behaves_as_the_others(
    asked: Asked, case: Case, way: str, served: Served, command: Command
) -> None:
    """Scores, errors, requests and tokens are the same, whoever is asked, in every way."""
    # Whatever fails below, in any way of asking, is found not to work.
    before = FOUND.get((asked.name, case.name), True)
    FOUND[asked.name, case.name] = False
    if case.name in asked.lacks:
        pytest.xfail("known, and said in the table")
    ways: dict[str, Callable[[str, float], Ended]] = {
        "grade": by_grade,
        "agrade": by_agrade,
        "evaluate": by_evaluate,
        "command": partial(by_command, command),
    }
    judge = served(asked, case)
    with nothing_left() if case.is_quiet else nullcontext():
        ended = ways[way](asked.judge, case.seconds)
    # Local servers need no key: they have answered.
    promised = case if case.has_key or asked.keys else VALID
    check(promised, ended, judge)
    assert case.is_running or f"check its address ({asked.address})" in ended[1]
    FOUND[asked.name, case.name] = before
