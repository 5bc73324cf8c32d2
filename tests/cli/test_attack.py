"""The attack command: rates as a table or as JSON, for any prompt."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.testing import HttpError, Script, ScriptedJudge
from tests.analysis.test_attack import ATTACKS, obeys, resists
from tests.conftest import Command

Start = Callable[[Script], ScriptedJudge]


@pytest.mark.parametrize(("script", "rate"), [(obeys, "99%"), (resists, "0%")])
def test_the_command_shows_the_rates(
    command: Command, scripted: Start, script: Script, rate: str
) -> None:
    """One line for each kind, one for all, and which attacks won despite hardening."""
    scripted(script)
    ended = command("judge", "attack", "--judge", "openai/m", "--quiet")

    last = next(line for line in ended.out.splitlines() if line.startswith("all "))
    assert ended.code == 0
    assert last.split() == ["all", str(len(ATTACKS)), rate, rate]
    assert ("83 won despite hardening" in ended.out) is (rate == "99%")


def test_the_command_attacks_a_users_prompt(command: Command, scripted: Start) -> None:
    """--prompt; the numbers as JSON for other programs."""
    behind = {one.sample(attacked=True).answer: one.id for one in ATTACKS if one.place == "answer"}
    judge = scripted(lambda request: {"reasoning": "r", "passed": request.answer in behind})
    Path("mine.jinja").write_text("---\nresponse_model: pass_fail\n---\nIs it right?")
    ended = command(
        "judge", "attack", "--judge", "openai/m", "--prompt", "mine.jinja", "--json", "--quiet"
    )

    numbers = json.loads(ended.out)
    won = set(numbers["won"])
    assert numbers["success_rate"]["hardened"] == pytest.approx(len(won) / len(ATTACKS))
    # A payload that fakes our tags does not arrive as it is.
    assert len(won) > 0.8 * len(behind)
    assert won <= set(behind.values())
    assert {request.instructions for request in judge.requests} == {"Is it right?"}
    assert command("judge", "attack").code == 2


@pytest.mark.parametrize(
    ("script", "code", "most_calls", "message"),
    [
        (HttpError(401, "wrong key"), 2, 16, "rejects the key"),
        (HttpError(404, "no such model"), 2, 16, "does not recognise this model"),
        (HttpError(400, "too long"), 3, 40, "gradings failed"),
        (HttpError(500, headers={"retry-after-ms": "1"}), 3, 200, "gradings failed"),
    ],
    ids=["key", "model", "request", "server"],
)
def test_a_dead_judge_is_no_result(
    command: Command, scripted: Start, script: HttpError, code: int, most_calls: int, message: str
) -> None:
    """A judge that grades nothing resists nothing: the command says so, early and in one line."""
    judge = scripted(script)
    ended = command("judge", "attack", "--judge", "openai/m", "--quiet")

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
    assert len(judge.requests) <= most_calls
