"""`grade --batch` and `rag-evals batch`: a run in steps that may be days apart."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_evals.cli.main import app
from rag_evals.cli.shared.exits import exit_code_of
from tests.conftest import EIFFEL
from tests.scripted import BatchEnd, HttpError, ScriptedJudge, fill_by_words

Start = Callable[..., ScriptedJudge]
GRADE = "grade rows.jsonl --judge openai/gpt-4o-mini --batch --no-cache --quiet --out run".split()


@pytest.fixture
def data() -> None:
    """Write the rows."""
    rows = [{"id": "a", **EIFFEL}, {"id": "b", **EIFFEL, "answer": "The tower stands in Paris."}]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(*words: str) -> tuple[int, str]:
    """Give a command, and return its exit code and all that it said."""
    runner = CliRunner()
    with runner.isolation() as streams:
        try:
            code = exit_code_of(lambda: app(list(words), standalone_mode=False))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        said = streams[2].getvalue().decode()
    return code, said


@pytest.mark.usefixtures("data")
def test_a_run_goes_on_from_command_to_command(scripted: Start) -> None:
    """Pending rows are counted and hold the gate open; then all is as in a run that waits."""
    judge = scripted()
    code, said = run(*GRADE, "--grader", "faithfulness_two_step", "--fail-under", "0.1")
    assert code == 4, said
    assert "gate not decided: 2 gradings are pending" in said
    assert "2 gradings pending; run rag-evals batch collect" in said
    assert "`rag-evals batch collect run` fetches the replies" in said
    assert not Path("run/results.jsonl").read_text()
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")

    assert (
        "batch_0: completed, 2 of 2 requests processed"
        in run("batch", "collect", "../run", "--status")[1]
    )
    code, said = run("batch", "collect", "../run")
    assert (code, len(judge.requests)) == (4, 2), said
    code, said = run("batch", "collect", "../run", "--send")
    assert (code, len(judge.requests)) == (4, 4), said
    code, said = run("batch", "collect", "../run")
    assert code == 0, said
    assert "over 2 scored of 2" in said
    assert "pending" not in said
    assert Path("../run/results.jsonl").read_text().count("\n") == 2
    code, said = run("batch", "collect", "../run", "--status")
    assert (code, "0 gradings pending, 0 failed" in said) == (0, True)
    numbers = json.loads(run("batch", "collect", "../run", "--status", "--json")[1])
    assert numbers == {"batches": [], "pending": 0, "failed": 0}


@pytest.mark.usefixtures("data")
def test_one_command_waits_for_all(scripted: Start) -> None:
    """`--wait` sends, waits and takes until no row is pending; then the gate is asked."""
    scripted()

    code, said = run(*GRADE, "--wait", "--grader", "faithfulness_two_step", "--fail-under", "0.1")

    assert code == 0, said
    assert said.count("sent: batch") == 2
    assert said.count("completed, 2 of 2 requests have a reply") == 2


@pytest.mark.usefixtures("data")
def test_a_command_that_names_the_folder_by_mistake_changes_nothing(scripted: Start) -> None:
    """Another prompt, fewer rows: refused before results are taken; then the batch goes on."""
    Path("mine.jinja").write_text("---\nresponse_model: faithfulness\n---\nJudge it.")
    scripted()
    assert run(*GRADE)[0] == 0

    for words in (("--prompt", "mine.jinja"), ("--limit", "1")):
        code, said = run(*GRADE, *words)
        assert (code, "has a different run" in said, "collected: batch" in said) == (
            2,
            True,
            False,
        ), said
    code, said = run("batch", "collect", "run")
    assert (code, "over 2 scored of 2" in said) == (0, True), said


def test_a_row_of_an_earlier_round_keeps_what_counts_against_it(scripted: Start) -> None:
    """The table of a second `batch collect` names the statement as the first one did."""
    Path("rows.jsonl").write_text(json.dumps({**EIFFEL, "answer": "Bananas grow quickly."}))
    scripted()
    run(*GRADE)

    said = [run("batch", "collect", "run")[1] for _ in range(2)]

    assert ["not supported: Bananas grow quickly." in each for each in said] == [True, True], said


def test_a_build_waits_for_the_pending_rows(scripted: Start) -> None:
    """No JUnit file and no gate of a part."""
    rows = [{"id": str(n), "answer": f"Tower {n} stands.", "context": ["no"]} for n in range(12)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scripted(
        lambda one: HttpError(400) if "Tower 3 " in str(one.answer) else fill_by_words(one),
        batches=[BatchEnd("cancelled", lines=8)],
    )
    run("grade", "rows.jsonl", "--judge", "openai/gpt-4o-mini", "--quiet", "--out", "whole")

    assert run(*GRADE, "--junit", "out.xml")[0] == 0
    code, said = run("batch", "collect", "run")

    assert (code, "4 gradings pending" in said) == (4, True), said
    assert "the JUnit file will be written once no gradings are pending" in said
    assert not Path("out.xml").exists()
    assert run("batch", "collect", "run", "--status")[0] == 4
    for gate in ("--fail-if-worse=0", "--min-scored=0.1", "--gate=0.5"):
        code, said = run("compare", "whole", "run", gate)
        assert (code, "gate not decided: 4 gradings are pending" in said) == (4, True), said
    assert run("batch", "collect", "run", "--send")[0] == 4
    for _ in range(2):
        code, said = run("batch", "collect", "run")
        assert code == 0, said
    assert Path("out.xml").exists()
    assert run("batch", "collect", "run", "--status")[0] == 3
    assert run("compare", "whole", "run", "--fail-if-worse", "0")[0] == 0


BAD: list[tuple[str, str]] = [
    ("grade rows.jsonl --wait", "--wait does nothing without --batch"),
    ("grade rows.jsonl --batch", "this run has no judge"),
    ("grade rows.jsonl --batch --judge cohere/m", "judge 'cohere/m' does not support batches"),
    ("grade rows.jsonl --batch --judge decisions:openai/m", "does not support batches"),
    ("grade rows.jsonl --batch --judge cohere/m --dry-run", "does not support batches"),
    ("grade rows.jsonl --batch --dry-run", "this run has no judge"),
    ("grade - --batch --judge openai/m", "standard input can be read only once"),
    ("grade rows.jsonl --batch --judge openai/m --sample 2", "--batch sends all rows at once"),
    ("batch collect nowhere", "'nowhere' has no batches; `rag-evals grade DATA"),
    ("batch collect rows.jsonl --status", "'rows.jsonl' has no batch"),
    ("batch collect run --status --wait", "--status sends nothing"),
    ("grade rows.jsonl --judge openai/gpt-4o-mini --out run", "would be paid for twice"),
    ("grade rows.jsonl --judge openai/other --out run --batch", "has a different run"),
]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("command", "message"), BAD)
def test_what_cannot_work_is_said_in_one_line(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    """Exit code 2, one line, and nothing is sent."""
    judge = scripted()
    monkeypatch.setenv("CO_API_KEY", "k")
    assert run(*GRADE)[0] == 0
    sent = len(judge.desk.files)

    code, said = run(*command.split())

    assert code == 2, said
    assert message in said.splitlines()[-1]
    assert len(judge.desk.files) == sent


@pytest.mark.usefixtures("data")
def test_a_batch_that_the_endpoint_does_not_know_is_named(scripted: Start) -> None:
    """Another key or address: one line, and nothing is lost."""
    scripted()
    assert run(*GRADE)[0] == 0
    first = os.environ["OPENAI_BASE_URL"]
    other = scripted()
    # The same address, so that it is the same run, and another account behind it.
    Path("run/manifest.json").write_text(
        Path("run/manifest.json").read_text().replace(first, other.base_url)
    )

    code, said = run("batch", "collect", "run")

    assert code == 2, said
    assert "has no batch 'batch_0': it was created with another key" in said.splitlines()[-1]
