"""Each way a command can end has its own exit code, and no traceback unless one is asked for."""

import subprocess
import sys

import pytest

from rag_evals.cli.shared.exits import exit_code_of, without_debug
from rag_evals.errors import ConfigurationError, JudgeRejectedError, TooManyFailuresError
from tests.conftest import Command


def _crash() -> None:
    raise KeyError("first line\nsecond line")


def test_a_crash_of_ours_is_no_missed_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 70 and one line that calls it a bug; 1 is for gates alone."""
    assert exit_code_of(_crash) == 70

    said = capsys.readouterr().err
    assert said.startswith("Error: this is a bug in rag_evals: KeyError: ")
    assert said.endswith("; run again with --debug for the traceback\n")
    assert len(said.splitlines()) == 1


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback comes before the line, without the values of variables."""
    assert exit_code_of(_crash, debug=True) == 70

    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last)")
    assert "in _crash" in said


def test_a_users_mistake_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    """Our own errors exit with 2, named by kind if an endpoint's; too many failed rows with 3."""

    def mistaken() -> None:
        raise ConfigurationError("no column 'x'")

    def rejected() -> None:
        raise JudgeRejectedError("wrong key")

    def hopeless() -> None:
        raise TooManyFailuresError("3 of 3 rows failed")

    assert [exit_code_of(one) for one in (mistaken, rejected, hopeless)] == [2, 2, 3]
    assert capsys.readouterr().err.splitlines() == [
        "Error: no column 'x'",
        "Error: JudgeRejectedError: wrong key",
        "Error: 3 of 3 rows failed",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["grade", "x"], (["grade", "x"], False)),
        (["--debug", "grade", "x"], (["grade", "x"], True)),
        (["grade", "x", "--debug"], (["grade", "x"], True)),
        (["grade", "--", "--debug"], (["grade", "--", "--debug"], False)),
        (["grade", "--debug", "--", "--debug"], (["grade", "--", "--debug"], True)),
        ([], ([], False)),
    ],
)
def test_debug_may_stand_anywhere(words: list[str], expected: tuple[list[str], bool]) -> None:
    """It may be added at the end of the command that crashed; what follows `--` is no option."""
    assert without_debug(words) == expected


def test_debug_goes_with_every_command(command: Command) -> None:
    """A command with `--debug` at its end still works, and a mistake shows where it was found."""
    ended = command("grade", "nowhere.jsonl", "--debug")

    assert ended.code == 2
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("loaded", ["rag_evals.cli.main", "rag_evals.cli.commands.grade"])
def test_ctrl_c_while_python_loads_the_command_ends_it_in_one_line(loaded: str) -> None:
    """Loading takes most of a second, and a user who mistyped does not wait for it."""
    program = (
        "import os, signal, sys\n"
        "sys.argv = ['rag-evals', 'grade', 'nowhere.jsonl']\n"
        "class Impatient:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == '{loaded}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from rag_evals.__main__ import run\n"
        "run()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stderr) == (130, "Error: interrupted by SIGINT\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("grade d.jsonl --model openai/m", "--judge"),
        ("grade d.jsonl --metric faithfulness", "--grader"),
        ("grade d.jsonl --metrics=faithfulness", "--grader"),
        ("grade d.jsonl --threshold 0.8", "--fail-under"),
        ("grade d.jsonl --output run", "--out"),
        ("grade d.jsonl --temperature 0", "--set temperature=0"),
        ("judge agreement run --metric faithfulness", "--grader"),
        ("evaluate d.jsonl", "grade"),
        ("eval d.jsonl", "grade"),
        ("run d.jsonl", "grade"),
    ],
)
def test_words_of_similar_tools_lead_to_ours(command: Command, words: str, meant: str) -> None:
    """The error names our option or command; nothing is graded."""
    ended = command(*words.split())

    assert ended.code == 2
    assert ended.err.endswith(f"Did you mean {meant!r}?\n")


def test_resume_names_the_command_that_resumes(command: Command) -> None:
    """There is no option for it."""
    ended = command("grade", "d.jsonl", "--resume")

    assert ended.code == 2
    assert ended.err.endswith("--resume. To resume a run, run the same command again\n")


@pytest.mark.parametrize("words", ["judge run", "report run --model openai/m", "grade --limt 3"])
def test_a_command_that_cannot_do_it_suggests_nothing_of_the_kind(
    command: Command, words: str
) -> None:
    """A group without `grade`, and a command without --judge, do not suggest them."""
    ended = command(*words.split())

    assert ended.code == 2
    assert "No such" in ended.err
    assert "Did you mean" not in ended.err
