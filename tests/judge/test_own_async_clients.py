"""A user's own async client that never repeats a request is asked again by us, in each way."""

import asyncio
import re

import instructor
import openai
import pytest

from rag_evals import Faithfulness, Run, aevaluate, errors
from rag_evals.testing import HttpError, JudgeRequest, ScriptedJudge
from rag_evals.testing.scripted import Answer
from tests.conftest import EIFFEL, statement

GOOD = {"statements": [statement(EIFFEL["answer"])]}
WAYS = ["agrade", "aevaluate"]


def graded(way: str, url: str) -> float | None:
    """Ask through a client whose SDK sends each request once; it is made where it is used."""

    async def ask() -> float | None:
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as sdk:
            if way == "agrade":
                client = instructor.from_openai(sdk, mode=instructor.Mode.JSON_SCHEMA)
                result = await Faithfulness.agrade(**EIFFEL, client=client, model="m", timeout=30)
                return result.score
            run = await aevaluate([EIFFEL], client=sdk, model="m", max_failures=1, timeout=30)
            return of_run(run)

    return asyncio.run(ask())


def of_run(run: Run) -> float | None:
    """Return the score of a run's row, or raise its error."""
    error = run.outcomes[0].error
    if error is not None:
        raise getattr(errors, error.type)(error.message)
    return run.outcomes[0].score


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failed_request_is_sent_again(way: str, status: int) -> None:
    """Once is enough where the second try is answered, and the endpoint's wait is kept."""

    def answer(request: JudgeRequest) -> Answer:
        return GOOD if request.number else HttpError(status, "oops", {"retry-after": "0"})

    with ScriptedJudge(answer) as judge:
        assert graded(way, judge.base_url) == 1.0
    assert len(judge.requests) == 2


@pytest.mark.parametrize("way", WAYS)
def test_tries_end(way: str) -> None:
    """Five requests in all, and the error says what the last one was told."""
    with (
        ScriptedJudge(lambda _: HttpError(500, "oops", {"retry-after": "0"})) as judge,
        pytest.raises(errors.JudgeUnavailableError, match=re.escape("HTTP 500")),
    ):
        graded(way, judge.base_url)
    assert len(judge.requests) == 5


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_no_try_can_heal_is_sent_once(way: str, status: int) -> None:
    """A refused key, model or request is not asked again."""
    with (
        ScriptedJudge(lambda _: HttpError(status, "no")) as judge,
        pytest.raises(errors.GradingError, match=f"HTTP {status}"),
    ):
        graded(way, judge.base_url)
    assert len(judge.requests) == 1
