"""Verifiers from the command line: two steps, cascades, classifiers, and wrong combinations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals.cli.main import app
from rag_evals.cli.shared.graders import Chosen
from rag_evals.errors import ConfigurationError
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, Command

Start = Callable[[Script], ScriptedJudge]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(EIFFEL) + "\n", encoding="utf-8")
    return str(path)


def graded(*arguments: str) -> Any:
    ended = CliRunner().invoke(app, ["grade", *arguments, "--json", "--quiet"])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)["graders"]


def test_two_steps_then_again_without_verifying(data: str, scripted: Start) -> None:
    """The second run, in another folder, makes 0 verification calls."""
    judge = scripted(None)
    options = ("--grader", "faithfulness_two_step", "--judge", "openai/m")
    first = graded(data, *options, "--out", "one")["faithfulness_two_step"]
    second = graded(data, *options, "--out", "two")["faithfulness_two_step"]

    assert first["mean"] == second["mean"]
    assert first["tallies"] == {"from the cache": [0, 2], "calls saved": [0, 1]}
    assert second["tallies"] == {"from the cache": [2, 2], "calls saved": [1, 1]}
    assert sum(bool(request.statements) for request in judge.requests) == 1


def test_another_verifier(data: str, scripted: Start) -> None:
    """`--verifier` decides what the judge extracted."""
    judge = scripted(None)
    options = ("--grader", "faithfulness_two_step", "--judge", "openai/m")
    summary = graded(data, *options, "--verifier", "embedded")["faithfulness_two_step"]

    assert summary["tallies"] == {}
    assert [bool(request.sentences) for request in judge.requests] == [True]


def test_a_cascade_says_who_decided(data: str, scripted: Start) -> None:
    """The table's last lines count decisions and calls."""
    scripted(None)
    ended = CliRunner().invoke(app, ["grade", data, "--judge", "embedded>openai/m", "-q"])

    assert ended.exit_code == 0, ended.output
    assert "decided by embedded " in ended.output


def test_the_options_of_a_classifier_are_in_its_string() -> None:
    """`hf:MODEL?device=...&batch_size=...` after `--verifier` reaches the classifier."""
    chosen = Chosen("hf:a/b", ["faithfulness_two_step"], verifier="hf:c/d?device=auto&batch_size=3")
    (grader,), judge = chosen.graders_and_judge()
    verifier: Any = grader.verifier  # type: ignore[attr-defined]  # this kind has one

    assert judge == "hf:a/b"
    assert (verifier.name, verifier.device, verifier.batch_size) == ("hf:c/d", "auto", 3)


def test_options_keep_the_language(data: str, scripted: Start) -> None:
    """`--verifier` beside `--language`: both steps ask in that language."""
    judge = scripted(None)
    options = ("--grader", "faithfulness_two_step", "--judge", "openai/m", "--language", "ru")
    graded(data, *options, "--verifier", "openai/v")

    assert len(judge.requests) == 2
    assert all("утвержден" in r.body["messages"][0]["content"] for r in judge.requests)


def test_one_prompt_does_not_make_a_grader_of_two_steps(
    command: Command, data: str, tmp_path: Path
) -> None:
    """It would silently be another grader."""
    (tmp_path / "my.jinja").write_text("---\nresponse_model: faithfulness\n---\nIs it so?\n")
    options = ("--grader", "faithfulness_two_step", "--judge", "openai/m", "--prompt")
    ended = command("grade", data, *options, str(tmp_path / "my.jinja"))

    assert ended.code == 2
    assert "has more than one prompt" in " ".join(ended.err.split())


def test_names_are_never_cut(command: Command) -> None:
    """They are there to be typed, also in a narrow pipe."""
    assert "citation_faithfulness " in command("graders").out
    assert "score_faithfulness_audited " in command("prompts", "show").out


def test_a_wrong_verifier_is_found_before_anything_is_sent(
    command: Command, data: str, scripted: Start
) -> None:
    """Also by a dry run; exit code 2."""
    judge = scripted(None)
    options = ("grade", data, "--grader", "faithfulness_two_step", "--judge", "openai/m")
    ended = command(*options, "--verifier", "openaii/v", "--dry-run")

    assert ended.code == 2
    assert "no provider 'openaii'" in ended.err
    assert judge.requests == []


def test_a_verifier_that_nobody_takes_is_refused() -> None:
    """Nothing is silently ignored."""
    with pytest.raises(ConfigurationError, match="is for --grader faithfulness_two_step"):
        Chosen("embedded", ["faithfulness"], verifier="embedded").graders_and_judge()
