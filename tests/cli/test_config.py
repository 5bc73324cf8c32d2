"""`rag-evals.toml` and `[tool.rag-evals]`: options of a project, and `rag-evals init`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.testing import ScriptedJudge
from tests.conftest import EIFFEL, Command

Start = Callable[..., ScriptedJudge]
ROWS = [{"id": f"r{n}", **EIFFEL} for n in range(3)]


@pytest.fixture(autouse=True)
def data() -> None:
    """Write rows into the working directory."""
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def test_a_config_file_sets_options(command: Command) -> None:
    """Data and limit come from the file, which the first line on standard error names."""
    Path("rag-evals.toml").write_text(
        'data = "rows.jsonl"\nlimit = 2\ncolumns = {answer = "answer"}'
    )
    ended = command("grade", "--out", "run")

    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[0] == "config: rag-evals.toml"
    assert "over 2 scored of 2" in ended.out


def test_the_command_line_wins(command: Command) -> None:
    """An option that both give has the value of the command line; --quiet names no file."""
    Path("rag-evals.toml").write_text("limit = 2")
    ended = command("grade", "rows.jsonl", "--limit", "1", "--quiet")

    assert "over 1 scored of 1" in ended.out
    assert "config" not in ended.err


def test_the_nearest_file_upward_counts(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths begin at its own folder; a table of pyproject.toml serves as well."""
    Path("pyproject.toml").write_text('[tool.rag-evals]\ndata = "rows.jsonl"\nlimit = 2')
    inner = Path("a/b")
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    ended = command("grade")
    Path("../rag-evals.toml").write_text("limit = 1")
    nearer = command("grade", "../../rows.jsonl")

    assert ended.err.splitlines()[0] == "config: ../../pyproject.toml [tool.rag-evals]"
    assert "over 2 scored of 2" in ended.out
    assert "over 1 scored of 1" in nearer.out


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("limmit = 2", "rag-evals.toml: no key 'limmit'; did you mean 'limit'?"),
        ('limit = "two"', "rag-evals.toml: limit: "),
        ("report = 7", "rag-evals.toml: report: "),
        ('gate = "high"', "rag-evals.toml: gate: 'high' is neither a number from 0 to 1"),
        ("fail_under = 80", "rag-evals.toml: fail_under: '80' is neither a number from 0 to 1"),
        ("graders = [1]", "no grader '1'"),
        ("dry_run = true", "rag-evals.toml: no key 'dry_run'"),
        ("limit = 0", "limit is 0; expected at least 1"),
        ("limit", "rag-evals.toml cannot be read"),
    ],
)
def test_what_a_file_cannot_say_is_one_line(command: Command, written: str, said: str) -> None:
    """File, key and what is right; nothing is graded."""
    Path("rag-evals.toml").write_text(written)
    ended = command("grade", "rows.jsonl", "--out", "run")

    assert ended.code == 2
    (error,) = (line for line in ended.err.splitlines() if line.startswith("Error: "))
    assert said in error
    assert not Path("run").exists()


def test_a_rate_in_the_file_is_for_judges_that_are_asked(command: Command) -> None:
    """The embedded judge leaves it out; on the command line it is refused, as it does nothing."""
    Path("rag-evals.toml").write_text(
        "rpm = 60\nreasks = 5\ntimeout = 9\nsettings = {temperature = 0}"
    )

    assert command("grade", "rows.jsonl").code == 0
    for name, value in (("rpm", "60"), ("timeout", "9"), ("reasks", "5")):
        ended = command("grade", "rows.jsonl", f"--{name}", value)
        assert ended.code == 2
        assert f"{name} does nothing with 'embedded', which calls no endpoint" in ended.err


def test_help_shows_the_usual_options_only(command: Command) -> None:
    """At most 25 in `grade --help`; `--help-all` has the others too."""
    shown, every = (
        {
            line.split()[0]
            for line in ended.out.replace("│", " ").splitlines()
            if line.strip().startswith("--")
        }
        for ended in (command("grade", "--help"), command("grade", "--help-all"))
    )

    assert 10 < len(shown) <= 25
    assert shown < every
    assert {"--max-wait", "--sheet"} <= every - shown


def test_init_writes_what_runs(
    command: Command, monkeypatch: pytest.MonkeyPatch, scripted: Start
) -> None:
    """In an empty folder; the embedded judge grades the sample, and a model with the prompt."""
    Path("new").mkdir()
    monkeypatch.chdir("new")
    begun = command("init")
    graded = command("grade", "--junit", "out.xml")
    judge = scripted()
    config = Path("rag-evals.toml")
    config.write_text(
        config.read_text()
        .replace('judge = "embedded"\n', "")
        .replace("# judge", "judge")
        .replace("# prompts", "prompts")
    )
    Path("prompts/score_faithfulness.jinja").write_text(
        Path("prompts/score_faithfulness.jinja").read_text() + "\nBe strict with towers.\n"
    )
    asked = command("grade", "--fail-under", "0")

    assert begun.code == 0, begun.err
    assert graded.code == 0, graded.err
    assert "scored of 6" in graded.out
    assert asked.code == 0, asked.err
    assert "Be strict with towers." in str(judge.requests[0].body["messages"])
    workflow = Path(".github/workflows/rag-evals.yml").read_text()
    assert "rag-evals grade" in workflow
    # The package is not published, so the workflow installs it from the repository.
    assert 'pip install "git+https://github.com/OWNER/rag-evals"' in workflow


def test_init_overwrites_nothing(command: Command) -> None:
    """One file that is there stops it before anything is written."""
    Path("rag-evals.toml").write_text("limit = 1")
    ended = command("init")

    assert ended.code == 2
    assert "'rag-evals.toml' exists, so nothing was written" in ended.err
    assert Path("rag-evals.toml").read_text() == "limit = 1"
    assert not Path("answers.jsonl").exists()
