"""A stored result comes back as its own class, and a run folder cannot run code."""

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from rag_evals import Outcome, Result, Sample, load_run
from rag_evals.core import Finding, Usage
from rag_evals.errors import NotScorableError, NotScorableReason
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import ErrorRecord, StoredResult, outcome_of, record_of_row
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


class Marked(Result):
    """A result whose every number is given."""

    value: float
    rank: float | None = None
    more: dict[str, float] = Field(default_factory=dict)
    why: NotScorableReason | None = None
    statements: int = 0

    @property
    def score(self) -> float:
        """The given value."""
        return self.value

    @property
    def ranking_score(self) -> float | None:
        """The given rank."""
        return self.rank

    @property
    def further_scores(self) -> dict[str, float]:
        """The given scores."""
        return self.more

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """The given reason."""
        return self.why

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One supported statement, and others that are not."""
        return tuple(
            Finding(f"s{n}", n == 0, "l", about="statement") for n in range(self.statements)
        )

    @property
    def warnings(self) -> list[str]:
        """One warning."""
        return ["odd"]

    @property
    def tallies(self) -> dict[str, tuple[int, int]]:
        """One count."""
        return {"wrong": (1, 3)}


GRADING = {"index": 3, "sample_id": "a", "grader": "g", "facts": RowFacts(words=5)}


def test_an_outcome_has_the_numbers_of_its_result() -> None:
    """Attempts are calls, of which none came from a cache; statements are counted."""
    result = Marked(value=0.5, rank=0.25, more={"x": 0.75}, statements=3)
    usage = Usage(3, reasks=1, cache_hits=2)
    outcome = outcome_of(GRADING, result, 1.5, usage, 0.1, ("m",))

    assert (outcome.index, outcome.sample_id, outcome.grader, outcome.status) == (
        *(3, "a", "g", "scored"),
    )
    assert (outcome.score, outcome.ranking_score, outcome.further_scores) == (
        *(0.5, 0.25, {"x": 0.75}),
    )
    assert (outcome.attempts, outcome.seconds, outcome.usage) == (3, 1.5, usage)
    assert (outcome.cost_usd, outcome.answered_by, outcome.error) == (0.1, ("m",), None)
    assert outcome.facts == RowFacts(words=5, statements=3, supported=1)
    assert (outcome.warnings, outcome.tallies) == (("odd",), {"wrong": (1, 3)})
    assert [one.text for one in outcome.findings] == ["s0", "s1", "s2"]


def test_an_outcome_without_a_score_has_no_number_at_all() -> None:
    """Whatever its result would say; without statements their number is known."""
    result = Marked(value=7.0, rank=7.0, more={"x": 7.0}, why="answer_not_covered", statements=2)
    outcome = outcome_of(GRADING, result, 1.5, Usage(1))
    silent = outcome_of(GRADING, NotScorableError("no_statements"), 1.5, Usage(1))

    for one, reason in ((outcome, "answer_not_covered"), (silent, "no_statements")):
        assert (one.status, one.reason, one.attempts) == ("not_scorable", reason, 1)
        assert (one.score, one.ranking_score, one.further_scores) == (None, None, {})
    assert (outcome.result, silent.result) == (result, None)
    assert outcome.facts == RowFacts(words=5)
    assert silent.facts == RowFacts(words=5, statements=0, supported=0)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (Marked(value=1.5), "score is 1.5"),
        (Marked(value=-0.01), "score is -0.01"),
        (Marked(value=float("nan")), "score is nan"),
        (Marked(value=1.0, rank=1.01), "ranking_score is 1.01"),
        (Marked(value=0.0, more={"x": 1.0, "y": -1.0}), "y is -1"),
        (Marked(value=0.0, rank=1.0, more={"x": 0.0, "y": 1.0}), None),
        (Marked(value=1.0, rank=0.0), None),
    ],
)
def test_a_number_outside_0_to_1_fails_its_row(result: Marked, said: str | None) -> None:
    """Score, ranking score and further scores alike; the limits themselves are allowed."""
    outcome = outcome_of(GRADING, result, 0.0, Usage(2))

    assert outcome.status == ("scored" if said is None else "failed")
    assert outcome.error == (
        None
        if said is None
        else ErrorRecord("InvalidScoresError", f"{said}; it must be a number from 0 to 1")
    )
    assert outcome.attempts == 2


def test_a_stored_result_says_what_its_outcome_says() -> None:
    """Though its class is gone; without a score it has the score 0, as other results have."""
    result = Marked(value=0.5, rank=0.25, statements=2)
    line = json.loads(outcome_of(GRADING, result, 0.0, Usage(1)).to_line())
    outcome = Outcome.from_record(line | {"result_type": "gone:Marked"}, {})
    stored = outcome.result

    assert isinstance(stored, StoredResult)
    assert (stored.score, stored.ranking_score, stored.not_scorable) == (0.5, 0.25, None)
    assert (stored.warnings, stored.tallies) == (["odd"], {"wrong": (1, 3)})
    assert stored.findings == outcome.findings == result.findings
    unscored = line | {"result_type": None, "score": None, "reason": "empty_context"}
    other = Outcome.from_record(unscored | {"status": "not_scorable"}, {}).result
    assert isinstance(other, StoredResult)
    assert (other.score, other.not_scorable) == (0.0, "empty_context")
    known = Outcome.from_record(line, {line["result_type"]: Marked})
    assert known.result == result
    assert Outcome.from_record(line).result is None
    assert Outcome.from_record(line).findings == ()


def test_a_flat_row_holds_zeros_and_its_sample() -> None:
    """What is 0 or empty is no missing value; the sample has the fingerprint of its outcome."""
    outcome = replace(
        outcome_of(GRADING, Marked(value=0.0), 0.0, Usage(0)), sample_fingerprint="f" * 16
    )
    sample = Sample(answer="It is.", context=["c"])
    flat = outcome.to_row(sample)
    back = record_of_row(flat, "here")

    assert json.loads(flat["sample"])["fingerprint"] == "f" * 16
    assert (json.loads(flat["sample"])["sample_id"], outcome.to_row()["sample"]) == ("a", None)
    assert (back["score"], back["seconds"], back["usage"]["calls"]) == (0.0, 0.0, 0)
    assert (back["error"], back["facts"]) == (None, {"words": 5})
    assert Outcome.from_record(back) == replace(outcome, result=None, findings=())
    assert outcome.key == ("a", "g", "f" * 16, "")
    assert replace(outcome, grader_fingerprint="1").key == ("a", "g", "f" * 16, "1")
