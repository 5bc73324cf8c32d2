"""The exact cache: the same call is answered once, and nothing else is taken for it."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationInfo, field_validator

from rag_evals import base, evaluate
from rag_evals.cache.calls import CallCache
from rag_evals.cache.database import Database
from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage, fingerprint
from rag_evals.core.result import is_last_attempt
from rag_evals.judge.session import JudgePipeline
from rag_evals.response_models.statements import FaithfulnessResult
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
ROWS = [{"answer": f"It stands in Paris {n}.", "context": ["c"]} for n in range(5)]


def test_the_second_run_makes_no_call(scripted: Start) -> None:
    """Same rows, same prompt, same judge: all answers come from the file, at no cost."""
    judge = scripted(GOOD)
    first = evaluate(ROWS, client="openai/gpt-4o-mini", cache=True)
    second = evaluate(ROWS, client="openai/gpt-4o-mini", cache=True)

    assert len(judge.requests) == 5
    assert [o.result for o in second.outcomes] == [o.result for o in first.outcomes]
    usage = second.summary().usage
    assert (usage.calls, usage.cache_hits, usage.tokens) == (0, 5, 0)
    assert second.summary().cost_usd == 0.0
    assert first.summary().cost_usd != 0.0
    assert "5 from the cache" in second.summary().account()


def test_without_being_asked_for_nothing_is_cached(scripted: Start) -> None:
    """In Python the cache is a choice; no file is made."""
    judge = scripted(GOOD)
    for _ in range(2):
        evaluate(ROWS, client="openai/m")

    assert len(judge.requests) == 10
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"client": "openai/other"},
        {"model": "other"},
        {"graders": [base.ContextEvaluation("Other words.", FaithfulnessResult)]},
        {"data": [{**ROWS[0], "context": ["d"]}]},
    ],
)
def test_whatever_can_change_an_answer_is_asked(scripted: Start, change: dict[str, Any]) -> None:
    """Model, prompt and data are in the key."""
    judge = scripted(GOOD)
    options: dict[str, Any] = {"data": ROWS[:1], "client": "openai/m", "cache": True}
    evaluate(**options)
    evaluate(**options | change)

    assert len(judge.requests) == 2


def test_another_endpoint_is_another_key(scripted: Start) -> None:
    """Two servers may answer the same model differently."""
    first = scripted(GOOD)
    evaluate(ROWS[:1], client="openai/m", cache=True)
    second = scripted(GOOD)
    evaluate(ROWS[:1], client="openai/m", cache=True)

    assert (len(first.requests), len(second.requests)) == (1, 1)


def test_failures_are_not_kept(scripted: Start) -> None:
    """An invalid reply is asked again in the next run."""
    judge = scripted("{")
    for _ in range(2):
        evaluate(ROWS[:1], client="openai/m", cache=True, max_failures="100%")

    assert len(judge.requests) == 4


class Counting:
    """A judge that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        self.asked += 1
        return JudgeReply(FaithfulnessResult(statements=[]), Usage(calls=1))


def ask_all(calls: list[JudgeCall[Any]], default_model: str | None = "m") -> int:
    """Ask through a cache in memory; return how often the judge was asked."""
    inner = Counting()
    database = Database(None)
    store = CallCache(database, endpoint="e", default_model=default_model)
    judge = JudgePipeline(inner, store)  # type: ignore[arg-type]  # it is only asked

    async def ask() -> None:
        for call in calls:
            await judge.ask(call, Meter())

    asyncio.run(ask())
    database.close()
    return inner.asked


def call(**changes: Any) -> JudgeCall[Any]:
    """Make a call."""
    options: dict[str, Any] = {"facts": {"chunk_count": 0}} | changes
    return JudgeCall(({"role": "user", "content": "Judge."},), FaithfulnessResult, **options)


def test_repeated_samples_are_kept_apart() -> None:
    """One call asked several times on purpose has as many answers."""
    assert ask_all([call(), call(), call(sample_index=1), call(sample_index=1)]) == 2
    assert ask_all([call(), call(settings={"temperature": 1.0})]) == 2


def test_a_call_of_an_unknown_model_is_not_kept() -> None:
    """Nobody knows whose answer it would be."""
    assert ask_all([call(), call()], default_model=None) == 2
    assert ask_all([call(model="a"), call(model="a")], default_model=None) == 1


def test_an_answer_that_no_longer_fits_is_asked_anew(scripted: Start) -> None:
    """What is read is checked against its own call: a wrong chunk id is a miss."""
    judge = scripted(GOOD)
    evaluate(ROWS[:1], client="openai/m", cache="own.sqlite3")
    with sqlite3.connect("own.sqlite3") as connection:
        connection.execute("UPDATE answers SET reply = replace(reply, '[0]', '[9]')")
    connection.close()
    run = evaluate(ROWS[:1], client="openai/m", cache="own.sqlite3")

    assert len(judge.requests) == 2
    assert run.outcomes[0].score == 1.0


def test_no_key_is_in_the_file(scripted: Start) -> None:
    """Neither the API key nor anything that looks like one."""
    scripted(GOOD)
    evaluate(ROWS, client="openai/m", cache="own.sqlite3")

    assert b"SECRET" not in Path("own.sqlite3").read_bytes()


class Drawn(BaseModel):
    """A reply that is refused while a better one may come."""

    number: int = 0

    @field_validator("number")
    @classmethod
    def _even(cls, number: int, info: ValidationInfo) -> int:
        if number % 2 and not is_last_attempt(info):
            raise ValueError("odd")
        return number


def drawn_again() -> type[BaseModel]:
    """Make another class of the same name."""

    class Drawn(BaseModel):
        word: str = ""

    return Drawn


def drawing() -> JudgeCall[Any]:
    """Make a call for a number."""
    return JudgeCall(({"role": "user", "content": "Judge."},), Drawn, {"chunk_count": 0})


ONE: dict[str, Any] = {"endpoint": "e", "default_model": "m"}


@pytest.mark.parametrize(
    ("one", "first", "other", "second", "is_found"),
    [
        (ONE, {}, ONE, {}, True),
        (ONE, {}, {**ONE, "endpoint": "f"}, {}, False),
        (ONE, {}, {**ONE, "default_model": "n"}, {}, False),
        (ONE, {}, {**ONE, "default_model": None}, {"model": "m"}, True),
        (ONE, {}, {**ONE, "default_model": "n", "model": "m"}, {"model": "x"}, True),
        (ONE, {"model": "x"}, ONE, {}, False),
        (ONE, {"model": "x"}, {**ONE, "default_model": "x"}, {}, True),
        (ONE, {}, {**ONE, "default_model": None}, {}, False),
        (ONE, {}, {**ONE, "own": {"temperature": 0.7}}, {}, False),
        (ONE, {}, {**ONE, "settings": {"temperature": 0}}, {}, True),
        (ONE, {}, {**ONE, "settings": {"temperature": 1}}, {}, False),
        (ONE, {}, ONE, {"settings": {"temperature": 1}}, False),
        (ONE, {}, {**ONE, "settings": {"temperature": 0}}, {"settings": {"temperature": 1}}, True),
        (ONE, {}, ONE, {"settings": {"seed": 1}}, False),
        (ONE, {}, ONE, {"sample_index": 1}, False),
        (ONE, {}, ONE, {"facts": {"chunk_count": 3}}, True),
        (ONE, {}, ONE, {"reply_model": drawn_again()}, False),
        (ONE, {}, ONE, {"messages": ({"role": "system", "content": "Judge."},)}, False),
        (ONE, {}, ONE, {"messages": ({"role": "user", "content": "Judge!"},)}, False),
    ],
)
def test_a_reply_is_found_by_all_that_can_change_it(
    one: dict[str, Any],
    first: dict[str, Any],
    other: dict[str, Any],
    second: dict[str, Any],
    is_found: bool,
) -> None:
    """The endpoint, the model, the texts, the schema and the settings that are really sent."""
    asked = drawing()
    database = Database(None)
    reply = JudgeReply(Drawn(number=2), Usage(calls=1, prompt_tokens=7))
    CallCache(database, **one).keep(replace(asked, **first), reply)
    found = CallCache(database, **other).find(replace(asked, **second))
    database.close()

    assert found == (JudgeReply(Drawn(number=2), Usage(cache_hits=1)) if is_found else None)


def test_the_last_reply_is_kept_and_may_hold_what_a_last_attempt_may() -> None:
    """It was taken once, so it is taken again; ids of chunks are checked against the call."""
    store = CallCache(Database(None), **ONE)
    asked = drawing()
    for number in (2, 7):
        reply = JudgeReply(Drawn.model_construct(number=number), Usage(calls=1))
        store.keep(asked, reply)

    found = store.find(asked)
    assert found is not None
    assert found.parsed.model_dump() == {"number": 7}
    assert store.database.read("SELECT count(*) FROM answers") == [(1,)]
    store.database.close()


class Citing(BaseModel):
    """A reply that names chunks."""

    supporting_chunk_ids: list[int]


def test_a_reply_that_names_a_chunk_that_is_not_there_is_a_miss() -> None:
    """A call that looks the same may have fewer of them."""
    store = CallCache(Database(None), **ONE)
    asked = replace(drawing(), reply_model=Citing, facts={"chunk_count": 2})
    store.keep(asked, JudgeReply(Citing(supporting_chunk_ids=[1]), Usage(calls=1)))

    assert store.find(asked) is not None
    assert store.find(replace(asked, facts={"chunk_count": 1})) is None
    store.database.close()


def test_replies_that_were_kept_before_are_found() -> None:
    """The key is the same in every version of the package that reads replies alike."""
    store, asked = CallCache(Database(None), **ONE), drawing()
    schema = fingerprint(Drawn.model_json_schema())
    key = fingerprint(1, "e", "m", asked.messages, schema, {"temperature": 0}, 0)
    row = (key, '{"number": 4}', 1.0)
    store.database.write("INSERT INTO answers (key, reply, created) VALUES (?, ?, ?)", [row])
    found = store.find(asked)
    store.database.close()

    assert found is not None
    assert found.parsed.model_dump() == {"number": 4}
