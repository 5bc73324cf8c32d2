"""The steps of the GitHub Action and the recipes of the page do what they say."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import EIFFEL

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tools" / "ci"
PAGE = ROOT / "docs" / "guides" / "ci-gate.md"
RIGHT = {**EIFFEL, "answer": "The Eiffel Tower stands in Paris."}


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    """Read `action.yml`."""
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return read


def write(name: str, row: dict[str, Any], rows: int = 12) -> None:
    """Write a file to grade."""
    lines = [json.dumps({**row, "id": str(number)}) for number in range(rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(*command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a build does."""
    path = os.pathsep.join([str(Path.cwd() / "bin"), str(Path(sys.executable).parent)])
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", **settings}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_action_runs_scripts_and_gives_them_what_they_read(action: dict[str, Any]) -> None:
    """Each step is a script of ours; each input reaches one; no script reads another variable."""
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == set(action["inputs"])
    for step in action["runs"]["steps"][:-1]:
        (name,) = re.findall(r'^"\$GITHUB_ACTION_PATH/tools/ci/([\w-]+\.sh)"$', step["run"])
        assert os.access(SCRIPTS / name, os.X_OK), name
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", (SCRIPTS / name).read_text("utf-8")))
        given = {*step["env"], "GH_TOKEN", "GITHUB_REPOSITORY", "GITHUB_WORKFLOW"}
        assert read <= given, name
        assert set(step["env"]) - read <= {"GH_TOKEN"}, name


@pytest.mark.slow
def test_the_gate_grades_and_compares_with_the_build_before() -> None:
    """The first build has nothing to compare with; a worse one ends with 1, and says why."""
    write("good.jsonl", RIGHT)
    write("bad.jsonl", EIFFEL)

    first = run(SCRIPTS / "gate.sh", DATA="good.jsonl", FAIL_UNDER="0.7")
    Path("rag-evals").rename("rag-evals-baseline")
    second = run(SCRIPTS / "gate.sh", DATA="bad.jsonl", GRADERS="faithfulness", MARGIN="0.02")

    assert first.returncode == 0, first.stderr
    assert "nothing to compare with" in first.stdout
    assert second.returncode == 1, second.stderr
    assert "gate missed: fail-if-worse 0.02: faithfulness changed by -0.5" in second.stderr
    kept = {path.name for path in Path("rag-evals").iterdir()}
    assert kept == {"run", "junit.xml"}


@pytest.mark.slow
def test_a_build_that_cannot_grade_ends_with_its_code() -> None:
    """There is nothing to compare then."""
    ended = run(SCRIPTS / "gate.sh", DATA="no.jsonl")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "no.jsonl" in ended.stderr
    assert "set DATA to the file" in run(SCRIPTS / "gate.sh").stderr


GH = """#!/bin/sh
echo "$@" >>asked
case "$2" in
list) echo "$BUILD" ;;
download) [ "$KEEPS" = yes ] && mkdir -p "$BASELINE/run" ;;
esac
"""


@pytest.mark.parametrize(
    ("build", "keeps", "said"),
    [("", "no", "no baseline: no build of main"), ("17", "no", "::warning::no baseline: build 17"),
     ("17", "yes", "")],
)  # fmt: skip
def test_the_baseline_is_that_of_the_main_branch(build: str, keeps: str, said: str) -> None:
    """Of its last good build; without one the build goes on."""
    Path("bin").mkdir()
    Path("bin/gh").write_text(GH, encoding="utf-8")
    Path("bin/gh").chmod(0o755)
    names = {"GITHUB_REPOSITORY": "me/mine", "GITHUB_WORKFLOW": "answers", "BRANCH": "main"}

    ended = run(
        SCRIPTS / "baseline.sh", **names, ARTIFACT="kept", BASELINE="b", BUILD=build, KEEPS=keeps
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(said)
    assert "--workflow answers --branch main --status success" in Path("asked").read_text("utf-8")
    assert Path("b/run").exists() is (keeps == "yes")


def test_what_is_installed_stays() -> None:
    """Where the command is there and no version is asked for, pip is not called."""
    ended = run(SCRIPTS / "install.sh", PACKAGE="")

    assert ended.returncode == 0
    assert ended.stdout.startswith("rag-evals is already installed: ")


def block(language: str, mark: str) -> str:
    """Return the block of the page that has some words in it."""
    blocks = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    (found,) = [one for one in blocks if mark in one]
    return str(found)


@pytest.mark.slow
def test_the_recipe_for_make_runs() -> None:
    """`make baseline`, then `make gate`: what is missed ends it."""
    Path("Makefile").write_text(block("make", "gate:"), encoding="utf-8")
    write("answers.jsonl", EIFFEL)

    assert run("make", "-s", "baseline").returncode == 0
    gate = run("make", "-s", "gate")
    assert gate.returncode == 2
    assert "gate missed: fail-under 0.7" in gate.stderr


@pytest.mark.slow
def test_the_recipe_for_gitlab_runs() -> None:
    """Its commands, where there is no earlier build; only pip is left out."""
    script = yaml.safe_load(block("yaml", "artifacts:\n    when"))["answers"]["script"]
    text = "\n".join(["set -e", *(line for line in script if not line.startswith("pip "))])
    write("answers.jsonl", RIGHT)

    ended = run("bash", "-c", text)

    assert ended.returncode == 0, ended.stderr
    assert "no baseline" in ended.stdout
    assert Path("rag-evals/junit.xml").is_file()


def test_the_recipe_for_github_gives_what_the_action_takes(action: dict[str, Any]) -> None:
    """Its inputs are inputs of the action."""
    steps = yaml.safe_load(block("yaml", "OWNER/rag-evals@"))["jobs"]["gate"]["steps"]

    assert set(steps[-1]["with"]) <= set(action["inputs"])
    assert "data" in steps[-1]["with"]
    assert steps[-1]["uses"] == f"OWNER/rag-evals@v{version('rag-evals')}"
