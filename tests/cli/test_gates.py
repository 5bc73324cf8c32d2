"""Gates on the command line: exit code 1, the rule that is missed, and no option without effect."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import ContextEvaluation, FaithfulnessResult, evaluate
from rag_evals.cli.main import app
from rag_evals.testing import HttpError, JudgeRequest, Script
from tests.conftest import Command, statement
from tests.scripted import ScriptedJudge

Start = Callable[[Script], ScriptedJudge]


def write_rows(path: str, *, rows: int, without_context: int = 0) -> str:
    """Write rows that the embedded judge supports, the last of them without context."""
    lines = [
        json.dumps(
            {
                "id": f"r{n}",
                "question": "q",
                "answer": f"Tower {n} is in Paris.",
                "context": [] if n >= rows - without_context else [f"Tower {n} is in Paris."],
            }
        )
        for n in range(rows)
    ]
    Path(path).write_text("\n".join(lines))
    return path


def test_failed_rows_miss_the_gate(command: Command, scripted: Start) -> None:
    """The endpoint refuses each unsupported answer: 1.00 over the other 40 of 60 passes no gate."""

    def answer(request: JudgeRequest) -> HttpError | dict[str, Any]:
        number = int(str(request.answer).split()[1])
        return HttpError(400, "filtered") if number >= 40 else {"statements": [statement()]}

    scripted(answer)
    data = write_rows("d.jsonl", rows=60)
    ended = command(
        "grade", data, "--judge", "openai/m", "--fail-under", "0.9", "--quiet", "--no-cache"
    )

    assert ended.code == 1
    assert "faithfulness: 1.00 (0.67 with failed rows as 0) over 40 scored of 60" in ended.out
    assert "gate missed: min-scored 0.9: faithfulness has a score in 40 of 60 rows" in ended.err


def test_dead_retrieval_misses_the_gate(command: Command) -> None:
    """With 95 of 100 contexts empty, the five others decide nothing; counted as 0 they do."""
    data = write_rows("d.jsonl", rows=100, without_context=95)
    gate = ("grade", data, "--quiet", "--fail-under", "0.95")

    ended = command(*gate)
    assert ended.code == 1
    assert "(5.0%), 85.0 points too few (95 empty_context)" in ended.err

    ended = command(*gate, "--count", "empty_context=0")
    assert ended.code == 1
    assert "faithfulness: 0.05 over 5 scored of 100, empty_context as 0" in ended.out
    assert "gate missed: fail-under 0.95: the mean of faithfulness is 0.0500" in ended.err

    assert command(*gate, "--min-scored", "5%").code == 0
    assert command(*gate, "--count", "empty_context=1", "--min-scored", "1").code == 0


def test_what_is_counted_is_in_the_json(command: Command) -> None:
    """Mean and interval of --json are those that the gate looks at."""
    data = write_rows("d.jsonl", rows=8, without_context=4)
    ended = command("grade", data, "--quiet", "--json", "--count", "empty_context=0.5")
    numbers = json.loads(ended.out)["graders"]["faithfulness"]

    assert (numbers["mean"], numbers["worst_mean"]) == (0.75, None)
    assert numbers["interval"][0] < 0.75 < numbers["interval"][1]


def test_a_gate_on_the_lower_end(command: Command) -> None:
    """Eight perfect rows cannot rule out a mean of 0.7; --at mean is what goes without saying."""
    data = write_rows("d.jsonl", rows=8)
    gate = ("grade", data, "--quiet", "--fail-under", "0.9")

    ended = command(*gate, "--at", "lower")
    assert ended.code == 1
    assert "the lower end of the 95 % interval of faithfulness is 0.6" in ended.err
    assert command(*gate, "--at", "mean").code == 0
    assert command(*gate).code == 0
    assert "gate passed: fail-under 0.9" in command(*gate[:-1], "90%").err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at", "lower"), "--at lower does nothing without --fail-under"),
        (("--min-scored", "0.9", "--at", "mean"), "--at mean does nothing without --fail-under"),
        (
            ("--fail-under", "0.5", "--min-scored", "90"),
            "Invalid value for '--min-scored': '90' is neither a number from 0 to 1",
        ),
        (("--gate", "85"), "'--gate': '85' is neither a number from 0 to 1 nor a percentage"),
        (("--gate", "nan"), "'--gate': 'nan' is neither a number from 0 to 1"),
        (("--fail-under", "80"), "'--fail-under': '80' is neither a number from 0 to 1"),
        (("--fail-under", "0,8"), "'--fail-under': '0,8' is neither a number from 0 to 1"),
        (("--error", "0.1"), "--error 0.1 does nothing without --gate"),
        (
            ("--gate", "0.8", "--error", "0.6"),
            "error is 0.6; expected a number above 0 and at most 0.5",
        ),
        (("--count", "empty_context"), "'empty_context' is not REASON=VALUE"),
        (("--count", "empty_context=most"), "'empty_context=most' is not REASON=VALUE"),
        (
            ("--count", "empty_context=2"),
            "count['empty_context'] is 2.0; expected a number from 0 to 1",
        ),
        (
            ("--count", "empty_context=nan"),
            "count['empty_context'] is nan; expected a number from 0 to 1",
        ),
        (("--count", "empty=0"), "available: answer_not_covered, empty_answer, empty_context"),
    ],
)
def test_gates_that_cannot_be_are_refused(
    command: Command, options: tuple[str, ...], said: str
) -> None:
    """One line and exit code 2, before a row is graded or a folder made."""
    ended = command("grade", write_rows("d.jsonl", rows=2), "--out", "run", *options)

    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not Path("run").exists()


def test_a_share_of_rows_is_a_gate_by_itself(command: Command) -> None:
    """--min-scored needs no --fail-under."""
    data = write_rows("d.jsonl", rows=10, without_context=2)

    assert command("grade", data, "--quiet", "--min-scored", "90%").code == 1
    assert command("grade", data, "--quiet", "--min-scored", "80%").code == 0


@pytest.fixture
def dead_run() -> None:
    """Keep two runs of the same 100 rows, of which 95 have no context."""
    lines = write_rows("d.jsonl", rows=100, without_context=95)
    rows = [json.loads(line) for line in Path(lines).read_text().splitlines()]
    evaluate(rows, out="before")
    evaluate([{**row, "question": "r"} for row in rows], out="after")


def test_dead_retrieval_misses_the_gate_of_a_comparison(command: Command, dead_run: None) -> None:
    """Five rows in common are no proof that nothing got worse; the gate says what is missing."""
    ended = command("compare", "before", "after", "--fail-if-worse", "0")

    assert ended.code == 1
    assert "  scored in both  5 of 100 rows (95 empty_context in both)" in ended.out
    assert "gate missed: min-scored 0.9: faithfulness has a score from both runs" in ended.err
    assert command("compare", "before", "after").code == 0
    assert command("compare", "before", "after", "--min-scored", "90%").code == 1
    assert (
        command("compare", "before", "after", "--fail-if-worse=0", "--min-scored", "5%").code == 0
    )
    counted = command(
        "compare", "before", "after", "--fail-if-worse=0", "--count", "empty_context=0"
    )
    assert counted.code == 0
    assert "  scored in both  100 rows" in counted.out


def test_a_run_and_itself_have_no_interval(command: Command, dead_run: None) -> None:
    """The rows are the same ones, so nothing is estimated."""
    ended = command("compare", "before", "before")

    assert "faithfulness: not distinguishable" in ended.out
    assert "  difference      +0.000: both are the same outcomes" in ended.out


@pytest.fixture(scope="module")
def two_prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade 8 rows with a strict prompt and with a mild one: in one run, and in two."""

    def answer(request: JudgeRequest) -> dict[str, Any]:
        mild = request.messages[0]["content"].startswith("Be mild.")
        return {"statements": [statement(supported=mild, ids=(0,) * mild)]}

    folder = tmp_path_factory.mktemp("prompts")
    data = write_rows(str(folder / "d.jsonl"), rows=8)
    graders = []
    for name in ("strict", "mild"):
        prompt = folder / f"{name}.jinja"
        prompt.write_text(f"---\nname: {name}\nresponse_model: faithfulness\n---\nBe {name}.\n")
        graders.append(ContextEvaluation(prompt=prompt, response_model=FaithfulnessResult))
    with ScriptedJudge(answer) as judge, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", judge.base_url)
        patch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
        for name in ("strict", "mild"):
            own = ("--prompt", str(folder / f"{name}.jinja"), "--out", str(folder / name))
            ended = CliRunner().invoke(app, ("grade", data, "--judge", "openai/m", "--quiet", *own))
            assert ended.exit_code == 0, ended.output
        evaluate(data, graders, "openai/m", out=folder / "both", progress=False)
    return folder


def test_two_prompts_are_compared(command: Command, two_prompts: Path) -> None:
    """By --pair, within one run and across two; the error says how."""
    copytree(two_prompts, ".", dirs_exist_ok=True)
    ended = command("compare", "both", "--pair", "strict=mild")

    assert ended.code == 0
    assert "strict -> mild: the candidate is better" in ended.out
    assert "8 better, 0 the same, 0 worse" in ended.out

    refused = command("compare", "strict", "mild")
    assert refused.code == 2
    assert "specify a pair, as in --pair strict=mild" in refused.err
    paired = command("compare", "strict", "mild", "--pair", "strict=mild", "-o", "page.html")
    assert "strict -> mild: the candidate is better" in paired.out
    assert "strict -&gt; mild" in Path("page.html").read_text()
    worse = command("compare", "mild", "strict", "--pair", "mild=strict", "--fail-if-worse", "0.1")
    assert worse.code == 1
    assert "gate missed: fail-if-worse 0.1: mild -> strict changed by -1.0000" in worse.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("both",), "to compare within one run, pair two of its graders, as in --pair strict=mild"),
        (("both", "--pair", "strict=mil"), "did you mean 'mild'?"),
        (("strict", "mild", "--pair", "strict"), "'strict' is not BASELINE=CANDIDATE"),
        (("strict", "mild", "--pair", "strict=x"), "no candidate grader 'x'"),
        (
            ("both", "both", "--pair", "strict=mild", "--pair", "strict=x"),
            "is paired with both 'mild'",
        ),
        (("both", "both", "--pair", "relevance=mild"), "no baseline grader 'relevance'"),
        (("both", "both", "--count", "x=0"), "available: answer_not_covered, empty_answer"),
    ],
)
def test_pairs_that_cannot_be_are_refused(
    command: Command, two_prompts: Path, arguments: tuple[str, ...], said: str
) -> None:
    """One line and exit code 2."""
    copytree(two_prompts, ".", dirs_exist_ok=True)
    ended = command("compare", *arguments)

    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_gate_has_three_ends(command: Command) -> None:
    """Sixty perfect rows pass, three decide nothing (4), and the number of rows is said."""
    ended = command("grade", write_rows("d.jsonl", rows=60), "--quiet", "--gate", "0.85")
    assert ended.code == 0
    assert "gate passed: the mean of faithfulness is 1.0000 over 60 rows, and above" in ended.err

    ended = command("grade", write_rows("few.jsonl", rows=3), "--quiet", "--gate", "0.85")
    assert ended.code == 4
    assert "gate not decided: the mean of faithfulness is 1.0000 over 3 rows" in ended.err
    assert "sure of each, however often you look, so wider than the 95 % interval)" in ended.err
    again = command("grade", "few.jsonl", "--quiet", "--gate", "0.85", "--json")
    tested = json.loads(again.out)["graders"]["faithfulness"]["gate"]
    assert (tested["verdict"], tested["gate"], tested["scored"]) == ("not decided", 0.85, 3)
    assert "more rows would decide 0.85" in ended.err

    data = write_rows("dead.jsonl", rows=60, without_context=30)
    ended = command("grade", data, "--quiet", "--gate", "0.85")
    assert ended.code == 1
    assert "gate failed: min-scored 0.9: faithfulness has a score in 30 of 60" in ended.err
    assert command("grade", data, "--quiet", "--gate", "0.85", "--min-scored", "0.5").code == 4


def test_a_gate_of_a_comparison(command: Command) -> None:
    """A run loses nothing against itself; a margin outside 0..1 is refused."""
    command("grade", write_rows("d.jsonl", rows=3), "--quiet", "--out", "run")
    ended = command("compare", "run", "run", "--gate", "0.02")

    assert ended.code == 0
    assert "gate passed: the change of faithfulness is 0.0000 over 3 rows" in ended.err
    assert command("compare", "run", "run", "--gate", "2").code == 2


def test_fail_under_says_that_it_looks_at_the_mean(command: Command) -> None:
    """One line says so, where nobody chose what it looks at."""
    asked = ("grade", write_rows("d.jsonl", rows=3), "--quiet", "--fail-under", "0.5")

    assert "--gate decides with a stated error" in command(*asked).err
    assert "--gate" not in command(*asked, "--at", "mean").err
