"""A session grades rows as they come, shares all that a run shares, and never raises for a row."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from rag_evals import Faithfulness, Outcome, Sample, evaluate, open_session
from rag_evals.errors import ConfigurationError, EventLoopError, UnknownNameError
from rag_evals.testing import HttpError, JudgeRequest, Reply, Script, ScriptedJudge, Stall
from tests.conftest import EIFFEL, statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
ROWS: list[Any] = [
    {"id": f"row-{n}", "answer": f"The tower {n} stands in Paris.", "context": ["In Paris."]}
    for n in range(6)
]
BAD_ROWS: list[Any] = [
    {"answer": "", "context": ["c"]},
    {"answer": 7, "context": ["c"]},
    {"answer": "bad", "context": ["c"]},
    "text",
]


def script(request: JudgeRequest) -> Any:
    """Name a chunk that does not exist where the answer is bad."""
    return {"statements": [statement(ids=(9,))]} if "bad" in str(request.answer) else GOOD


def alike(outcome: Outcome) -> Outcome:
    """Leave out what no two gradings share."""
    return replace(outcome, seconds=0.0)


def test_outcomes_are_those_of_a_run(scripted: Start) -> None:
    """Scored, not scorable and failed rows come back as `evaluate` has them, none raises."""
    scripted(script)
    rows = [*ROWS, *BAD_ROWS]
    expected = [alike(o) for o in evaluate(rows, client="openai/m", max_failures="100%")]

    async def by_session() -> list[Outcome]:
        async with open_session(client="openai/m") as session:
            return [alike(await session.grade(row)) for row in rows]

    with open_session(client="openai/m") as session:
        assert [alike(session.grade(row)) for row in rows] == expected
    assert asyncio.run(by_session()) == expected
    assert [o.status for o in expected[6:]] == ["not_scorable", "failed", "failed", "failed"]


def test_threads_share_connections_limits_and_the_count(scripted: Start) -> None:
    """Eight threads, two places: two calls in flight, two connections, each reply counted once."""
    judge = scripted(Stall(0.01, GOOD))
    with open_session(client="openai/gpt-4o-mini", concurrency=2) as session:
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(session.grade, ROWS * 4))
        used, cost = session.usage, session.cost_usd

    assert (judge.max_in_flight, judge.connections) == (2, 2)
    assert used.calls == 24
    assert used.tokens == sum(o.usage.tokens for o in outcomes)
    assert cost == pytest.approx(sum(o.cost_usd or 0 for o in outcomes))
    assert sorted(o.index for o in outcomes) == list(range(24))


def test_tasks_share_it_too(scripted: Start) -> None:
    """Any number of tasks may grade; those above `concurrency` wait for a place."""
    judge = scripted(Stall(0.01, GOOD))

    async def grade() -> list[Outcome]:
        async with open_session(client="openai/m", concurrency=3) as session:
            return list(await asyncio.gather(*(session.grade(row) for row in ROWS * 2)))

    assert {o.status for o in asyncio.run(grade())} == {"scored"}
    assert judge.max_in_flight == judge.connections == 3


def test_it_asks_nobody_twice_with_a_cache(scripted: Start) -> None:
    """`cache=True` keeps answers between sessions, as in a run."""
    judge = scripted(script)
    for _ in range(2):
        with open_session(client="openai/m", cache=True) as session:
            outcome = session.grade(ROWS[0])

    assert len(judge.requests) == 1
    assert outcome.usage.cache_hits == 1


def test_several_graders_are_named_or_all_asked(scripted: Start) -> None:
    """`grade` takes the name of a grader, `grade_all` asks all side by side."""
    scripted(None)
    with open_session(["faithfulness", "answer_relevance"], "openai/m") as session:
        both = session.grade_all(EIFFEL)
        one = session.grade(EIFFEL, "answer_relevance")
        with pytest.raises(ConfigurationError, match="has 2 graders .faithfulness, answer_rel"):
            session.grade(EIFFEL)
        with pytest.raises(UnknownNameError, match="did you mean 'faithfulness'"):
            session.grade(EIFFEL, "faithfullness")
        with pytest.raises(UnknownNameError, match="no grader '3'; available: answer_relevance"):
            session.grade(EIFFEL, 3)  # type: ignore[arg-type]  # a user without a type checker

    assert [o.grader for o in both] == session.graders == ["faithfulness", "answer_relevance"]
    assert one.score == both[1].score


def test_a_wrong_key_is_the_outcome_of_its_row(scripted: Start) -> None:
    """A run would end; a session lives on, and says what was refused."""
    scripted(HttpError(401, "no such key"))
    with open_session(client="openai/m") as session:
        outcomes = [session.grade(row) for row in ROWS[:2]]

    assert {o.error.type for o in outcomes if o.error is not None} == {"JudgeRejectedError"}


def test_what_a_cancelled_grading_paid_is_counted(scripted: Start) -> None:
    """A guardrail that waits no longer has still paid for the replies that came."""
    replies: Iterator[Any] = iter([{"statements": [statement(ids=(9,))]}, Stall(30, GOOD)])
    judge = scripted(lambda _: next(replies))

    async def impatient() -> int:
        async with open_session(client="openai/m") as session:
            grading = asyncio.create_task(session.grade(ROWS[0]))
            while len(judge.requests) < 2:
                await asyncio.sleep(0.01)
            grading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await grading
            return session.usage.calls

    assert asyncio.run(impatient()) == 1


def test_columns_and_samples_are_read_as_in_a_run() -> None:
    """Other columns are mapped, and a `Sample` is taken as it is."""
    with open_session(Faithfulness, "embedded", columns={"answer": "said"}) as session:
        mapped = session.grade({"said": "It is in Paris.", "context": ["It is in Paris."]})
        taken = session.grade(Sample(answer="It is in Paris.", context=["It is in Paris."]))

    assert (mapped.score, taken.score) == (1.0, 1.0)
    assert (mapped.index, taken.index) == (0, 1)


def test_misuse_is_said_in_one_line() -> None:
    """A closed session, one of another loop, and one entered twice are refused."""
    opener = open_session(client="embedded")
    with opener as session:
        pass
    with pytest.raises(ConfigurationError, match="the session is closed"):
        session.grade(EIFFEL)
    with pytest.raises(ConfigurationError, match="entered only once"), opener:
        pass

    async def in_another_loop() -> None:
        async with open_session(client="embedded") as opened:
            with pytest.raises(EventLoopError, match="opened in another event loop"):
                await asyncio.to_thread(lambda: asyncio.run(opened.grade(EIFFEL)))

    asyncio.run(in_another_loop())

    async def entered_twice() -> None:
        again = open_session(client="embedded")
        async with again:
            pass
        with pytest.raises(ConfigurationError, match="entered only once"):
            async with again:
                pass

    asyncio.run(entered_twice())
    with pytest.raises(ConfigurationError, match="did you mean concurrency="):
        open_session(concurency=3)  # type: ignore[call-arg]  # misspelt on purpose


def test_with_works_inside_a_running_loop(scripted: Start) -> None:
    """In a notebook a loop runs already; the session has its own."""
    scripted(script)

    async def cell() -> float | None:
        with open_session(client="openai/m") as session:
            return session.grade(ROWS[0]).score

    assert asyncio.run(cell()) == 1.0


def test_closed_while_a_row_is_graded_it_says_so(scripted: Start) -> None:
    """The row did not fail: nobody waited for it inside the block."""
    judge = scripted(Stall(30, GOOD))

    async def closed_too_soon() -> Any:
        async with open_session("faithfulness", "openai/m") as session:
            grading = asyncio.create_task(session.grade({"answer": "a", "context": ["c"]}))
            while not judge.requests:
                await asyncio.sleep(0.01)
        return await grading

    with pytest.raises(ConfigurationError, match="closed while a row was being graded; wait"):
        asyncio.run(closed_too_soon())


def test_a_grader_that_is_no_name_is_refused() -> None:
    """As a name that no grader has."""
    names: Any = ["faithfulness"]
    with (
        open_session("faithfulness", "embedded") as session,
        pytest.raises(UnknownNameError, match="available: faithfulness"),
    ):
        session.grade({"answer": "a", "context": ["c"]}, names)


def test_a_session_adds_up_what_its_gradings_cost(scripted: Start) -> None:
    """Each says who answered; a row that cannot be read took no time and cost nothing."""
    scripted(lambda _: Reply(GOOD, model="m-1", prompt_tokens=1000))
    with open_session(client="openai/gpt-4o-mini") as session:
        outcomes = [session.grade(row) for row in ROWS[:3]]
        unread = session.grade({"answer": 7, "context": ["c"]})
        cost, usage = session.cost_usd, session.usage

    costs = [outcome.cost_usd or 0.0 for outcome in outcomes]
    assert min(costs) > 0
    assert cost == pytest.approx(sum(costs))
    assert (usage.calls, usage.prompt_tokens) == (3, 3000)
    assert {outcome.answered_by for outcome in outcomes} == {("m-1",)}
    assert (unread.status, unread.seconds, unread.cost_usd) == ("failed", 0.0, 0.0)
    assert [outcome.index for outcome in (*outcomes, unread)] == [0, 1, 2, 3]
    assert min(outcome.seconds for outcome in outcomes) > 0


@pytest.mark.parametrize("name", ["settings", "model"])
def test_a_cached_reply_is_that_of_the_same_model_and_settings(scripted: Start, name: str) -> None:
    """Another seed or model is asked; what was asked once before is not."""
    judge = scripted(GOOD)
    values: list[Any] = [{"seed": 1}, {"seed": 2}, {"seed": 1}, {}]
    values = values if name == "settings" else ["a", "b", "a", "c"]
    asked = []
    for value in values:
        options: Any = {name: value}
        with open_session(client="openai/m", cache="replies.db", **options) as session:
            outcome = session.grade(ROWS[0])
        asked.append((len(judge.requests), outcome.usage.cache_hits))

    assert asked == [(1, 0), (2, 0), (2, 1), (3, 0)]
