"""What `grade` leaves for a build: a JUnit file, warnings, and a summary that fits."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import Answer
from tests.conftest import EIFFEL, Command, statement

ODD = "two\nlines, 50 % <b>&\x1b[31m::error::😀"
RIGHT = {**EIFFEL, "id": "right", "answer": "The Eiffel Tower stands in Paris."}
WRONG = {**EIFFEL, "id": ODD}
EMPTY = {**EIFFEL, "id": "empty", "answer": ""}
BROKEN = {**EIFFEL, "id": "broken", "answer": "This breaks."}
ASKED = ("--judge", "openai/gpt-4o-mini", "--no-cache")
FAULT = [
    "  not supported: It was completed in 1923.",
    "    why: Chunk 0 says so.",
    "    nearest chunk 1: It was completed in 1889.",
    "    differs: '1923' is not in any chunk; chunk 1 says '1889'",
]
StartJudge = Callable[[Script], ScriptedJudge]


def judged(request: JudgeRequest) -> Answer:
    """Refuse one answer; of the others, the year 1923 has no support."""
    if "breaks" in (request.answer or ""):
        return HttpError(400, "this one breaks")
    return {
        "statements": [
            statement(one, supported="1923" not in one, ids=() if "1923" in one else (0,))
            for one in request.sentences
        ]
    }


def write(rows: Sequence[dict[str, Any]]) -> None:
    """Write the rows to grade."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


def cases() -> dict[str, list[str]]:
    """Return what each test case of the JUnit file has in it."""
    tree = ElementTree.parse("out.xml")
    return {str(case.get("name")): [part.tag for part in case] for case in tree.iter("testcase")}


def test_a_failure_names_the_row_of_the_report(
    command: Command, scripted: StartJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One click from the failed case, and from the summary of a build, to its passages."""
    write([RIGHT, {**WRONG, "id": "50 % <b>"}])
    scripted(judged)
    command("grade", "rows.jsonl", "-q", "-o", "run", "--report", "--junit", "out.xml", *ASKED)
    (failure,) = ElementTree.parse("out.xml").iter("failure")
    assert str(failure.text).splitlines()[-1] == "  see run/report.html#row=50%20%25%20%3Cb%3E"

    monkeypatch.setenv("RAG_EVALS_REPORT_URL", "https://ci.example/(7)/report.html")
    text = command("report", "run", "--format", "md").out
    place = "https://ci.example/%287%29/report.html#row=50%20%25%20%3Cb%3E"
    assert f"| [50 % &lt;b&gt;]({place}) |" in text


def test_each_row_is_a_test_case(command: Command, scripted: StartJudge) -> None:
    """Low scores are failures, failed gradings errors, and rows without a score are skipped."""
    write([RIGHT, WRONG, EMPTY, BROKEN])

    scripted(judged)

    ended = command("grade", "rows.jsonl", "-q", "--junit", "out.xml", *ASKED)

    assert "JUnit file: out.xml" in ended.out
    odd = ODD.replace("\x1b", "\ufffd")
    assert cases() == {"right": [], odd: ["failure"], "empty": ["skipped"], "broken": ["error"]}
    (suite,) = ElementTree.parse("out.xml").iter("testsuite")
    counts = [suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")]
    assert counts == ["faithfulness", "4", "1", "1", "1"]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "faithfulness: scored 0.50, below 1"
    assert str(failure.text).splitlines()[1:] == FAULT
    assert [one.get("message") for one in suite.iter("skipped")] == ["empty_answer"]


@pytest.mark.parametrize(
    ("options", "failed"),
    [
        (["--row-under", "0.5"], []),
        (["--row-under", "51%"], [ODD]),
        (["--count", "empty_answer=0", "--row-under", "0.5"], ["empty"]),
        (["--count", "empty_answer=1", "--row-under", "0.5"], []),
    ],
)
def test_the_threshold_of_a_row_is_an_option(
    command: Command, options: list[str], failed: list[str]
) -> None:
    """A row fails under it; what `--count` makes a number is compared as well."""
    write([RIGHT, {**WRONG, "id": ODD.replace("\x1b", "")}, EMPTY])
    command("grade", "rows.jsonl", "-q", "--junit", "out.xml", *options)

    found = [name for name, parts in cases().items() if parts == ["failure"]]
    assert found == [name.replace("\x1b", "") for name in failed]


def test_a_gate_that_is_missed_leaves_the_files(command: Command) -> None:
    """The exit code is the gate's; with --json, standard output is JSON alone."""
    write([WRONG])

    ended = command(
        "grade", "rows.jsonl", "-q", "--json", "--junit", "out.xml", "--fail-under", "0.9"
    )

    assert ended.code == 1
    assert json.loads(ended.out)["graders"]["faithfulness"]["mean"] == 0.5
    assert "JUnit file: out.xml" in ended.err
    assert list(cases().values()) == [["failure"]]


WRONG_OPTIONS = [
    (["--row-under", "0.5"], "--row-under 0.5 does nothing without --junit"),
    (
        ["--junit", "out.xml", "--row-under", "9"],
        "'--row-under': '9' is neither a number from 0 to 1",
    ),
    (["--junit", "no/out.xml"], "--junit 'no/out.xml' cannot be written"),
    (["--junit", "."], "--junit '.' cannot be written"),
    (["--junit", "rows.jsonl"], "--junit 'rows.jsonl' would overwrite the data"),
    (["--junit", "./rows.jsonl", "--json"], "would overwrite the data; choose another file"),
    (["--junit", "out.xml", "--dry-run"], "cannot be combined with --junit"),
]


@pytest.mark.parametrize(("options", "said"), WRONG_OPTIONS)
def test_wrong_options_are_told_before_anything_is_graded(
    command: Command, options: list[str], said: str
) -> None:
    """Nothing is paid for that cannot be kept."""
    write([RIGHT])

    ended = command("grade", "rows.jsonl", *options)

    assert ended.code == 2
    assert said in ended.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("option", ["--junit", "--out"])
def test_a_link_to_the_data_is_the_data(command: Command, option: str) -> None:
    """The file behind a symbolic or a hard link would be overwritten all the same."""
    write([RIGHT])
    before = Path("rows.jsonl").read_bytes()
    Path("link.jsonl").symlink_to("rows.jsonl")
    Path("hard.jsonl").hardlink_to("rows.jsonl")

    for data, file in (
        ("rows.jsonl", "link.jsonl"), ("link.jsonl", "rows.jsonl"), ("rows.jsonl", "hard.jsonl"),
    ):  # fmt: skip
        ended = command("grade", data, option, file)
        assert ended.code == 2
        assert f"{option} '{file}' would overwrite the data" in ended.err
    assert Path("rows.jsonl").read_bytes() == before


def test_github_shows_the_worst_rows(
    command: Command, scripted: StartJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most ten, each one line that no data can end or turn into another command."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    scripted(judged)
    write([RIGHT, BROKEN, WRONG, *({**EIFFEL, "id": f"row {n}"} for n in range(20))])

    ended = command("grade", "rows.jsonl", "-q", "--json", *ASKED)
    lines = [line for line in ended.err.splitlines() if line.startswith("::")]

    assert len(lines) == 10
    assert lines[0].startswith("::warning title=rag-evals%3A faithfulness%2C row broken::")
    odd = "two%0Alines%2C 50 %25 <b>&\ufffd[31m%3A%3Aerror%3A%3A😀"
    said = "%0A".join(["faithfulness: scored 0.50", *FAULT])
    assert lines[1] == f"::warning title=rag-evals%3A faithfulness%2C row {odd}::{said}"
    assert json.loads(ended.out)
    again = command("grade", "rows.jsonl", "-q", "--row-under", "0.5", *ASKED).err
    assert again.count("::warning") == 1


def test_a_summary_fits_into_what_github_takes(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table that is too long the beginning is kept, and what stood there before."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("é" * 499_000 + "\n", encoding="utf-8")
    write([{**RIGHT, "id": f"{n}", "topic": f"Тема {n}"} for n in range(60)])

    for _ in range(2):
        command("grade", "rows.jsonl", "-q", "--by", "topic")

    text = Path("summary.md").read_bytes()
    assert len(text) <= 1_000_000
    said = text.decode().removeprefix("é" * 499_000)
    assert said.count("### rag-evals: Scores") == 1
    assert said.endswith("|\n\n*The rest does not fit here; it is in the run folder.*\n")


def test_an_earlier_junit_file_does_not_outlive_an_error(command: Command) -> None:
    """A build that ends with 2 leaves none, whichever option is wrong; other files stay."""
    write([RIGHT])

    for wrong in (["--judge", "nobody/model"], ["--at", "lower"], ["--dry-run"]):
        command("grade", "rows.jsonl", "-q", "--junit", "out.xml")
        assert Path("out.xml").exists()
        assert command("grade", "rows.jsonl", "-q", "--junit", "out.xml", *wrong).code == 2
        assert not Path("out.xml").exists()
    assert command("grade", "rows.jsonl", "--junit", "rows.jsonl").code == 2
    assert Path("rows.jsonl").exists()


def test_the_summary_of_a_build_says_how_it_ended(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict, the line of each gate and the judge come before the numbers."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write([WRONG])

    for gates, code, head, line in (
        (["--fail-under", "0.4"], 0, "Scores: passed", "gate passed: fail-under 0.4, min-scored"),
        (["--fail-under", "0.9"], 1, "Scores: failed", "gate missed: fail-under 0.9: the mean"),
        (["--gate", "0.4"], 4, "Scores: not decided", "gate not decided: the mean"),
    ):
        Path("summary.md").unlink(missing_ok=True)
        ended = command("grade", "rows.jsonl", "-q", *gates)
        text = Path("summary.md").read_text(encoding="utf-8")
        assert ended.code == code
        assert text.startswith(f"### rag-evals: {head}\n")
        assert f"- {line}" in text
        assert line in ended.err
        assert "\njudge: embedded" in text
        assert text.index("judge: ") < text.index("| faithfulness")

    Path("summary.md").unlink()
    assert command("compare", *2 * [str(next(Path("runs").iterdir()))], "--gate", "0.1").code == 0
    assert "Comparison: passed" in Path("summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rows", [1, 30])
def test_a_grader_without_a_score_is_no_success(
    command: Command, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """However few the rows are, the command ends with 3 and says why; `--count` makes scores."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write([{**EMPTY, "id": f"{n}"} for n in range(rows)])

    ended = command("grade", "rows.jsonl", "-q")

    assert ended.code == 3
    assert f"faithfulness scored none of its {rows} rows ({rows} empty_answer)" in ended.err
    assert "Scores: failed" in Path("summary.md").read_text(encoding="utf-8")
    assert command("grade", "rows.jsonl", "-q", "--count", "empty_answer=0").code == 0
