"""A stored result comes back as its own class, and a run folder cannot run code."""

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Result, load_run
from rag_evals.run.record.outcome import StoredResult
from tests.conftest import Command

OWN = '''
"""A user's own grader."""
import sys
from pydantic import BaseModel, Field
from rag_evals import Grader, Result

class Mark(BaseModel):
    text: str
    good: bool

class OwnResult(Result):
    marks: list[Mark] = Field(description="Marks.")

    class Inner(Result):
        good: bool

        @property
        def score(self) -> float:
            return float(self.good)

    @property
    def score(self) -> float:
        return sum(mark.good for mark in self.marks) / len(self.marks)

class OwnGrader(Grader[OwnResult]):
    name = "own"
    result_model = OwnResult

    def fingerprint(self):
        return "1"

    def with_verifier(self, verifier):
        return self

    def flow(self, sample):
        if False:
            yield []
        return OwnResult(marks=[Mark(text="short", good=True), Mark(text="kind", good=False)])

grader = OwnGrader()
'''


def python(code: str, folder: Path) -> str:
    """Run a program of a user's in a folder, and return what it prints."""
    root = Path(__file__).parents[3]
    program = f"import sys; sys.path[:0] = [{str(root)!r}, {str(folder)!r}]\n{code}"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=folder
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade one row with a grader of a user's own module, once for all tests."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.py").write_text(OWN)
    rows = [{"id": "a", "answer": "Hello."}]
    python(f"import own, rag_evals as r; r.evaluate({rows}, [own.grader], out='kept')", folder)
    return folder


@pytest.fixture
def kept(graded: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Copy the module and its run into the folder of the test, and look for modules there."""
    shutil.copytree(graded, Path.cwd(), dirs_exist_ok=True)
    monkeypatch.syspath_prepend(Path.cwd())
    # Compiled files are told apart by the second of their source, in which tests change it.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shutil.rmtree("__pycache__", ignore_errors=True)
    yield
    for name in ("own", "kept", "kept.trap", "package", "package.trap", "trap"):
        sys.modules.pop(name, None)


def read() -> tuple[str, float, list[tuple[str, bool | None, str | None]]]:
    """Load the run; return the class of its result, its score, and what its findings say."""
    (outcome,) = load_run("kept").outcomes
    result = outcome.result
    assert isinstance(result, Result | StoredResult)
    name = f"{type(result).__module__}:{type(result).__qualname__}"
    return name, result.score, [(one.text, one.verdict, one.label) for one in result.findings]


def write_lines(*changes: dict[str, Any]) -> None:
    """Write the line of the run once for each change, each as a row of its own."""
    path = Path("kept/results.jsonl")
    line = json.loads(path.read_text())
    lines = [
        json.dumps({**line, "index": number, "sample_id": f"row-{number}", **change}) + "\n"
        for number, change in enumerate(changes)
    ]
    path.write_text("".join(lines))


FINDINGS = [("short", True, "good"), ("kind", False, "not good")]
STORED = "rag_evals.run.record.outcome:StoredResult"


@pytest.mark.usefixtures("kept")
def test_a_class_of_a_users_own_module_comes_back_as_itself() -> None:
    """Once this process has imported the module; until then nothing is imported."""
    assert read() == (STORED, 0.5, FINDINGS)
    assert "own" not in sys.modules
    import_module("own")
    assert read() == ("own:OwnResult", 0.5, FINDINGS)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("change", ["renamed", "other fields"])
def test_a_class_that_is_gone_leaves_score_and_findings(change: str) -> None:
    """A module that changed is no error."""
    own = Path("own.py")
    match change:
        case "renamed":
            own.write_text(OWN.replace("OwnResult", "NewResult"))
        case "other fields":
            own.write_text(OWN.replace("marks: list[Mark]", "points: int"))

    import_module("own")
    assert read() == (STORED, 0.5, FINDINGS)


NAMES = [
    "trap:OwnResult", "kept.trap:OwnResult", "package.trap:OwnResult",
    "own:OwnResult.Missing", "own:Mark.text", "own:sys", "own:grader", "own:", ":OwnResult",
    "os:system", "pydantic:BaseModel.model_validate", "builtins:object", "..own:OwnResult",
    "own:OwnResult:own", "__main__:python", "", "a b:c", None,
]  # fmt: skip


@pytest.mark.usefixtures("kept")
def test_a_name_in_a_run_folder_runs_nothing() -> None:
    """Only classes derived from `BaseModel` are taken, and no module is imported."""
    trap = "from pathlib import Path\nPath('sprung').touch()\n"
    Path("trap.py").write_text(trap + OWN)
    Path("kept/trap.py").write_text(trap + OWN)
    Path("kept/__init__.py").write_text(trap)
    Path("package").mkdir()
    Path("package/__init__.py").write_text(trap)
    Path("package/trap.py").write_text("")
    write_lines(*({"result_type": name} for name in NAMES))
    import_module("own")
    results = [one.result for one in load_run("kept").outcomes]

    assert [type(one) for one in results] == [StoredResult] * len(NAMES)
    assert {one.score for one in results if isinstance(one, StoredResult)} == {0.5}
    assert not Path("sprung").exists()


@pytest.mark.usefixtures("kept")
def test_a_class_inside_another_is_found_too() -> None:
    """The whole qualified name counts."""
    write_lines({"result_type": "own:OwnResult.Inner", "result": {"good": True}})

    import_module("own")
    assert read()[:2] == ("own:OwnResult.Inner", 1.0)


@pytest.mark.usefixtures("kept")
def test_fields_of_any_name_are_kept() -> None:
    """Names that Python or pydantic use, and those of the contract, are only data."""
    fields = {"score": 9, "findings": 1, "_fields_set": 2, "cls": 3, "__class__": 4, "_score": 5}
    write_lines({"result_type": None, "result": fields})
    (outcome,) = load_run("kept").outcomes
    assert isinstance(outcome.result, StoredResult)

    assert outcome.result.model_dump() == fields
    assert (outcome.result.score, len(outcome.result.findings)) == (0.5, 2)
    assert pickle.loads(pickle.dumps(outcome.result)) == outcome.result


@pytest.mark.usefixtures("kept")
def test_commands_import_no_class(command: Command) -> None:
    """Reports, tables, comparisons and agreement read findings; the module is not needed."""
    Path("own.py").write_text("raise SystemExit('imported')")
    Path("labels.jsonl").write_text(
        json.dumps({"sample_id": "a", "grader": "own", "statement": 0, "label": 1})
    )
    commands = ("report kept", "report kept --format md", "judge agreement kept labels.jsonl")
    ended = [command(*words.split(), "--quiet") for words in commands]

    assert [(one.code, one.err) for one in ended] == [(0, "")] * 3
    assert "not good: kind" in ended[1].out
