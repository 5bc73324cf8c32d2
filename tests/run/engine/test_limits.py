"""Limits of a run hold exactly: a row's time over all its calls, the failures allowed, the key."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Sampling, evaluate, load_run, open_session
from rag_evals.errors import ConfigurationError, RagEvalsError, TooManyFailuresError
from rag_evals.run import RunOptions
from rag_evals.run.plan.options import OPTIONS, FailureLimit, RunSettings
from rag_evals.testing import HttpError, JudgeRequest, Reply, Script, ScriptedJudge, Stall
from rag_evals.testing.scripted import fill_by_words
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
# Of no shape that keys are known by.
KEY = "tr0ub4dor+3"


def rows(count: int) -> list[dict[str, Any]]:
    """Make rows; each answer has its number."""
    return [{"answer": f"Answer {n} is here.", "context": ["c"]} for n in range(count)]


def after(seconds: float) -> Callable[[JudgeRequest], Stall]:
    """Answer rightly, and late."""
    return lambda request: Stall(seconds, Reply(json.dumps(fill_by_words(request))))


@pytest.mark.parametrize(("timeout", "ends"), [(1.8, "failed"), (20.0, "scored")])
def test_a_rows_time_is_that_of_all_its_calls(scripted: Start, timeout: float, ends: str) -> None:
    """Two calls of less than the row's time, and together of more, are too slow."""
    judge = scripted(after(1.0))
    run = evaluate(rows(1), "faithfulness_two_step", "openai/m", timeout=timeout, max_failures=1)

    assert len(judge.requests) == 2
    assert run.outcomes[0].status == ends
    assert run.outcomes[0].error is None or "within the" in run.outcomes[0].error.message


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("status", [400, 401, 500])
def test_the_key_itself_is_masked_whatever_it_looks_like(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, status: int, own: bool
) -> None:
    """No error, no file and no log line repeats what the endpoint echoed."""
    judge = scripted(HttpError(status, f"bad key {KEY}, so no", headers={"retry-after-ms": "1"}))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with openai.OpenAI(base_url=judge.base_url, api_key=KEY, max_retries=1) as sdk:
        client: Any = instructor.from_openai(sdk, model="m") if own else "openai/m"
        try:
            run = evaluate(rows(1), client=client, out="out", max_failures=1)
        except RagEvalsError as error:
            told = str(error)
        else:
            told = str(run.outcomes)

    assert "bad key [key], so no" in told
    kept = "".join(path.read_text() for path in Path("out").glob("*.json*"))
    assert KEY not in told + kept


@pytest.mark.parametrize(
    ("limit", "failed", "ended", "passed"),
    [
        (3, 3, 100, False),
        (3, 4, 4, True),
        (0, 1, 1, True),
        ("50%", 10, 20, False),
        ("50%", 11, 20, True),
        ("50%", 19, 19, False),
        ("0%", 1, 20, True),
        ("100%", 20, 20, False),
    ],
)
def test_the_failure_limit_is_the_last_number_allowed(
    limit: int | str, failed: int, ended: int, passed: bool
) -> None:
    """As many as it says may fail, and not one more; a share counts from twenty gradings on."""
    assert FailureLimit.parse(limit).is_passed(failed, ended) is passed


def test_at_the_end_a_share_of_few_rows_counts() -> None:
    """Half of ten may fail, and six of them may not."""
    half = FailureLimit.parse("50%")

    assert not half.is_passed(5, 10, at_the_end=True)
    assert half.is_passed(6, 10, at_the_end=True)


@pytest.mark.parametrize(("failures", "ends"), [(10, False), (11, True)])
def test_a_run_ends_with_the_first_failure_too_many(
    scripted: Start, failures: int, ends: bool
) -> None:
    """Ten of twenty rows that failed are half of them; eleven are more."""

    def script(request: JudgeRequest) -> Any:
        number = int(str(request.answer).split()[1])
        return HttpError(400) if number >= 20 - failures else GOOD

    judge = scripted(script)
    ending: Any = nullcontext()
    if ends:
        ending = pytest.raises(
            TooManyFailuresError,
            match=r"11 of 20 gradings failed, more than 50% \(11 JudgeRequestError; the first: ",
        )
    with ending:
        run = evaluate(rows(20), client="openai/m", concurrency=1, max_failures="50%")
        assert run.summary().failed == failures
    assert len(judge.requests) == 20


@pytest.mark.parametrize("out", [None, "out"])
def test_whoever_is_stopped_by_failures_knows_where_the_rest_is(
    scripted: Start, out: str | None
) -> None:
    """The folder is named where there is one, and has what was graded."""
    scripted([GOOD, HttpError(400)])
    with pytest.raises(TooManyFailuresError) as caught:
        evaluate(rows(2), client="openai/m", concurrency=1, max_failures=0, out=out)

    assert str(caught.value).endswith("; finished gradings are in out") == (out is not None)
    assert caught.value.run is not None
    assert [outcome.status for outcome in caught.value.run] == ["scored", "failed"]
    assert out is None or [one["status"] for one in load_run(out).records] == ["scored", "failed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": None}, "concurrency is None; expected a whole number"),
        ({"timeout": None}, "timeout is None; expected a number above 0"),
        ({"repeat": None}, "repeat is None; expected a whole number"),
        ({"model": ""}, "model is ''; expected a model"),
        ({"max_failures": "101%"}, "max_failures is '101%'"),
        ({"sampling": 20}, "sampling is 20; expected, for example, Sampling"),
        ({"cache": 3}, "cache is 3; expected True, False, None or a path"),
    ],
)
def test_an_option_out_of_range_is_refused(options: Any, said: str) -> None:
    """None stands for a default only where the default is None."""
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        RunSettings.of(options)


def test_options_have_their_documented_limits_and_defaults() -> None:
    """A limit itself is allowed; more rows at a time than 4096 are 4096."""
    given: RunOptions = {"concurrency": 5000, "model": None, "rpm": None, "limit": None}
    settings = RunSettings.of(given)

    assert (settings.session.concurrency, settings.limit) == (4096, None)
    assert RunSettings.of({"concurrency": 4095}).session.concurrency == 4095
    assert RunSettings.of({}).session.concurrency == 16
    assert str(RunSettings.of({}).max_failures) == "50%"
    assert str(RunSettings.of({"max_failures": "100%"}).max_failures) == "100%"
    assert str(RunSettings.of({"max_failures": 101}).max_failures) == "101"
    assert (RunSettings.of({}).restart, RunSettings.of({}).cache) == (False, None)
    assert RunSettings.of({"cache": "a.db", "limit": 3, "restart": True}) == replace(
        RunSettings.of({}), cache=Path("a.db"), limit=3, restart=True
    )
    assert (Sampling(gate=0.5, error=0.5).error_chance, Sampling(gate=0.5).error_chance) == (
        *(0.5, 0.05),
    )
    with pytest.raises(ConfigurationError, match="error is 0.51"):
        Sampling(gate=0.5, error=0.51)


@pytest.mark.parametrize(
    ("name", "value"),
    [("timeout", 5), ("rpm", 5), ("tpm", 5), ("max_wait", 5), ("reasks", 5)],
)
def test_what_only_an_endpoint_needs_is_refused_without_one(name: str, value: Any) -> None:
    """As it would change nothing; its default may be given."""
    options: Any = {name: value}
    with pytest.raises(ConfigurationError, match=f"{name} does nothing with 'embedded'"):
        evaluate(rows(1), client="embedded", **options)
    default: Any = {name: OPTIONS[name].default}
    assert evaluate(rows(1), client="embedded", **default).graded == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("progress", True), ("limit", 5), ("sampling", Sampling(20)), ("max_failures", 3)),
        *(("keep_replies", True), ("restart", True)),
    ],
)
def test_what_only_a_data_set_needs_is_refused_in_a_session(name: str, value: Any) -> None:
    """A session has no rows to be limited, drawn or begun again."""
    options: Any = {name: value}
    with pytest.raises(ConfigurationError, match=f"{name} does nothing in a session"):
        open_session(client="embedded", **options)


@pytest.mark.parametrize("judge", ["vllm/m", "decisions:m"])
def test_a_server_without_a_key_has_none_that_could_be_masked(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, judge: str
) -> None:
    """What is sent in place of a key is an English word, which a message may hold."""
    server = scripted(HttpError(400, "expected a model, but none is loaded"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = evaluate(rows(1), client=f"{judge}@{server.base_url}", max_failures=10)

    assert "expected a model, but none is loaded" in str(run.outcomes[0].error)
