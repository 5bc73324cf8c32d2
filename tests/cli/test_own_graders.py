"""`--grader package.module:object`: graders of the user's own, and every way to name none."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_evals.cli.main import app
from tests.conftest import EIFFEL, Command

LENGTH = """
from rag_evals import Grader, Result


class LengthResult(Result):
    words: int = 0

    @property
    def score(self) -> float:
        return min(self.words / 20, 1.0)


class Length(Grader[LengthResult]):
    name = "length"
    result_model = LengthResult
    judge_rounds = 0

    def fingerprint(self) -> str:
        return "length"

    def flow(self, sample):
        yield []
        return LengthResult(words=len(sample.answer.split()))

    def with_verifier(self, verifier):
        return self


class House:
    short = Length()


short = Length()
number = 7
"""


@pytest.fixture
def graders(tmp_path: Path) -> Iterator[Path]:
    """A package of the working directory; forgotten afterwards, as a new process would."""
    (tmp_path / "answers.jsonl").write_text(json.dumps(EIFFEL) + "\n", encoding="utf-8")
    folder = tmp_path / "house_rules"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "length.py").write_text(LENGTH, encoding="utf-8")
    (folder / "broken.py").write_text("import no_such_library\n", encoding="utf-8")
    (folder / "leaves.py").write_text("raise SystemExit('goodbye')\n", encoding="utf-8")
    before = list(sys.path)
    yield folder
    forget()
    sys.path[:] = before


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("house_rules")]:
        del sys.modules[name]


@pytest.mark.parametrize("spec", ["house_rules.length:short", "house_rules.length:House.short"])
def test_a_grader_of_the_working_directory(graders: Path, spec: str) -> None:
    """It grades like a shipped one, beside a shipped one."""
    options = ["--grader", spec, "--grader", "faithfulness", "--json", "-q"]
    ended = CliRunner().invoke(app, ["grade", "answers.jsonl", *options])

    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)["graders"]
    assert [found["length"]["mean"], found["faithfulness"]["mean"]] == [0.55, 0.5]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("no_such_module:strict", "cannot be imported; expected package.module:object"),
        ("no_such_module:strict", "No module named 'no_such_module'"),
        ("house_rules.broken:strict", "No module named 'no_such_library'"),
        ("house_rules.leaves:strict", "goodbye (SystemExit)"),
        ("house_rules.length:shirt", "module 'house_rules.length' has no attribute 'shirt'"),
        ("house_rules.length:number", "is a int; expected a grader instance"),
        ("house_rules.length:Length", "expected a grader instance"),
        ("house_rules/length.py:short", "expected package.module:object"),
        ("house_rules.length:", "is a module; expected a grader instance"),
        (":short", "expected package.module:object"),
    ],
)
def test_what_is_no_grader(graders: Path, command: Command, spec: str, said: str) -> None:
    """One line that says what is wrong, and exit code 2."""
    ended = command("grade", "answers.jsonl", "--grader", spec)

    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_prompt_file_beside_it_is_refused(graders: Path, command: Command) -> None:
    """Both are graders."""
    Path("mine.jinja").write_text("Grade it.", encoding="utf-8")
    ended = command(
        "grade", "answers.jsonl", "--grader", "house_rules.length:short", "--prompt", "mine.jinja"
    )

    assert ended.code == 2
    assert "a prompt file defines one grader; omit --grader" in ended.err


def test_changed_code_is_another_run(graders: Path, command: Command) -> None:
    """Resuming after an edit is refused, and goes on once the edit is taken back."""
    arguments = ("grade", "answers.jsonl", "--grader", "house_rules.length:short", "--out", "run")
    first = command(*arguments)
    source = (graders / "length.py").read_text(encoding="utf-8")
    (graders / "length.py").write_text(source.replace("20, 1.0", "200, 1.0"), encoding="utf-8")
    forget()
    edited = command(*arguments)
    (graders / "length.py").write_text(source, encoding="utf-8")
    forget()
    again = command(*arguments)

    assert [first.code, edited.code, again.code] == [0, 2, 0]
    assert "the Python code of length changed" in edited.err
    assert "nothing to do: every row" in again.err


def test_modules_of_python_are_not_hidden(graders: Path, command: Command) -> None:
    """After the import the working directory comes last."""
    command("grade", "answers.jsonl", "--grader", "house_rules.length:short")

    assert sys.path[-1] == str(Path.cwd())
