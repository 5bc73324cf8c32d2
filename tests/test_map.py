"""Is the table "I want to … I touch …" true? Additions follow its rows in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.additions import ADDITIONS, PROGRAM
from tests.sources import ROOT

AT_THE_ROOT = {"prompts", "tests", "docs", "tools", "mkdocs.yml", "pyproject.toml"}
USED = "tests/test_added.py"
# Tests of what was added, and the one that says which place was forgotten.
CHOSEN = (
    f"{USED} tests/test_complete.py tests/test_score_dummy.py tests/verify/test_dummy.py "
    "tests/dataset/test_readers.py tests/judge/test_clients.py tests/cli/test_report.py "
    "tests/test_docs.py"
).split()


def backticked(row: str) -> list[str]:
    """Return what stands in backticks behind `I want to`, for an addition named dummy."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (touched,) = re.findall(rf"(?m)^\| {re.escape(row)} \|(.*)\|$", page)
    return [re.sub(r"\bx(?=\.)|(?<=_)x\b", "dummy", one) for one in re.findall("`(.+?)`", touched)]


def test_the_page_stays_short_and_names_what_is_there() -> None:
    """It is read at one sitting: the table on two screens, and no path of a file that is gone."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| I want to |")[2].splitlines()
    named = re.findall(r"`([\w/.-]+(?:/|\.(?:py|jinja|js|css|json|jsonl|tsv|md|yml)))`", page)
    of_a_run = ("results.jsonl", "samples.jsonl", "manifest.json")
    of_an_example = re.compile(r"(?:^|[_/])x\.")
    gone = [
        place
        for place in named
        if place not in of_a_run
        and not of_an_example.search(place)
        and not any((folder / place).exists() for folder in (ROOT, ROOT / "rag_evals"))
    ]

    assert gone == []
    assert len([line for line in table if line.startswith("| ")]) <= 45
    assert len(page.split("\n---\n")[-1].split()) <= 1800


def is_command(text: str) -> bool:
    """Say whether something in backticks is to be run."""
    return "python " in text


@pytest.mark.parametrize("row", ADDITIONS)
def test_a_row_names_every_place_and_no_other(row: str) -> None:
    """What is written for an addition stands at the places of its row, and nowhere else."""
    places = [one for one in backticked(row) if not is_command(one)]

    assert sorted(places) == sorted(ADDITIONS[row])


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, and follow the rows in it: write at each place, run each command."""
    folder = tmp_path_factory.mktemp("copy")
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    commands = dict.fromkeys(one for row in ADDITIONS for one in backticked(row) if is_command(one))
    for row, contents in ADDITIONS.items():
        for place in (one for one in backticked(row) if not is_command(one)):
            top = place.partition("/")[0]
            path = folder / place if top in AT_THE_ROOT else folder / "rag_evals" / place
            content = contents[place]
            assert isinstance(content, str) or path.is_file(), path
            text = content if isinstance(content, str) else content(path.read_text("utf-8"))
            path.write_text(text, encoding="utf-8")
    for command in commands:
        *settings, rest = command.partition("python ")
        names = dict(one.split("=") for one in settings[0].split())
        ended = run([sys.executable, *rest.split()], folder, **names)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    (folder / USED).write_text(PROGRAM, encoding="utf-8")
    return folder


def run(command: list[str], folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the package of that folder."""
    environment = {**os.environ, **settings, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_what_was_added_works_and_nothing_is_missing(copy: Path) -> None:
    """All of it is used from Python and the command line; its tests and its page pass."""
    options = ["-q", "-p", "no:cacheprovider", "-k", "dummy or added or missing"]
    ended = run([sys.executable, "-m", "pytest", *options, *CHOSEN], copy)

    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_menu_and_models_list_what_was_added(copy: Path) -> None:
    """The menu has the page's title, and the page on your own graders has the grader's name."""
    assert "- Greetings: graders/dummy.md" in (copy / "mkdocs.yml").read_text("utf-8")
    assert "`dummy`" in (copy / "docs" / "custom-graders.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [("lint-imports", "--no-logo"), ("ruff", "check", "."), ("ruff", "format", "--check", ".")],
    ids=" ".join,
)
def test_the_checks_of_the_house_hold(check: tuple[str, ...], copy: Path) -> None:
    """Import contracts and lint say nothing of what was added."""
    program, *arguments = check
    ended = run([str(Path(sys.executable).with_name(program)), *arguments], copy)

    assert ended.returncode == 0, ended.stdout + ended.stderr
