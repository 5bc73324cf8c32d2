"""The commands that show a run: report, label, and what `grade` adds at its end."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals.cli.main import app
from rag_evals.errors import ConfigurationError, RagEvalsError
from tests.labelled import labelled_rows


def call(*arguments: str) -> Any:
    """Run a command as a user would."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def graded() -> str:
    """Grade ten labelled rows."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, labelled_rows(10))))
    assert call("grade", "rows.jsonl", "--judge", "embedded", "--out", "run", "-q").exit_code == 0
    return "run"


def test_report_writes_a_private_page_into_the_run(graded: str) -> None:
    """Without -o it stands in the run folder; its path is printed."""
    ended = call("report", graded)

    assert ended.stdout == "report: run/report.html\n"
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert re.search(r"took \d+\.\d s", page)
    assert "seconds (sum over all gradings)" in page
    assert Path("run/report.html").stat().st_mode & 0o777 == 0o600
    assert call("report", graded, "-o", "else.html").stdout == "report: else.html\n"
    assert Path("else.html").read_bytes() == Path("run/report.html").read_bytes()


def test_other_formats_are_printed_or_written(graded: str) -> None:
    """Markdown and JSON go to standard output, or to a file."""
    assert "| faithfulness | 0." in call("report", graded, "--format", "md").output
    assert json.loads(call("report", graded, "--json").output)["graders"]
    call("report", graded, "--format", "md", "-o", "run.md", "--by", "topic")
    assert "| faithfulness | 0." in Path("run.md").read_text()


@pytest.mark.parametrize(
    "words",
    ["report run --json -o x.html", "report run --json --format md",
     "export run --to x.xlsx --decimal ,", "export run --to x.jsonl --delimiter ;"],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(graded: str, words: str) -> None:
    """One line says which, and nothing is written."""
    del graded
    ended = call(*words.split())

    assert isinstance(ended.exception, ConfigurationError)
    assert "; drop " in str(ended.exception)
    assert not list(Path().glob("x.*"))


def test_a_report_can_be_russian(graded: str) -> None:
    """Labels of bands in Markdown."""
    russian = call("report", graded, "--format", "md", "--language", "ru").output

    assert "Средняя достоверность" in russian


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "theme"), "no column 'theme'"),
    ],
)
def test_a_wrong_view_is_one_clear_error(
    graded: str, arguments: tuple[str, ...], message: str
) -> None:
    """The message says what would be right."""
    ended = call("report", graded, *arguments)

    assert isinstance(ended.exception, RagEvalsError)
    assert message in str(ended.exception)


def test_grade_shows_groups_and_writes_the_report() -> None:
    """--by prints a table, --report writes the page; --json stays alone on standard output."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, labelled_rows(10))))
    common = ("grade", "rows.jsonl", "--out", "run", "--quiet", "--by", "topic", "--report")
    text = call(*common).output
    numbers = call(*common, "--json")

    assert "faithfulness by topic" in text
    assert "wrong year" in text
    assert "report: run/report.html" in text
    assert json.loads(numbers.stdout)["folder"] == "run"


def test_a_column_to_group_by_is_checked_before_anything_is_paid_for() -> None:
    """The error names the other columns of the data; no run folder is made."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, labelled_rows(3))))
    for column in ("theme", "answer"):
        ended = call("grade", "rows.jsonl", "--out", "run", "--by", column)

        assert f"no column {column!r} to group by; the data's" in str(ended.exception)
        assert "other columns are label, " in str(ended.exception)
    assert not Path("run").exists()


def test_a_build_gets_a_summary(graded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """grade, report and compare add Markdown to the file that GitHub names."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    call("grade", "rows.jsonl", "--judge", "embedded", "--out", "run", "-q", "--by", "topic")
    call("report", graded)
    call("report", graded, "--json", "--out", "x.html")  # refused, so it adds nothing
    call("compare", graded, graded)
    text = Path("summary.md").read_text(encoding="utf-8")

    assert text.count("### rag-evals: Scores") == 2
    assert text.count("### rag-evals: Comparison") == 1
    assert "faithfulness by topic:" in text
    assert "| not distinguishable | 10 |" in text

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    assert "cannot be written" in str(call("report", graded).exception)


def test_label_makes_a_page_of_a_sample(graded: str) -> None:
    """No more decisions than asked for; a run without verdicts has nothing to label."""
    told = call("judge", "label", graded, "--decisions", "4").stdout
    assert told == "4 statements to decide on: run/label.html\n"
    Path("run/results.jsonl").write_text("")
    ended = call("judge", "label", graded)

    assert "has no verdicts to label" in str(ended.exception)


def test_compare_writes_both_runs_side_by_side(graded: str) -> None:
    """The page is private, and --json stays alone on standard output."""
    ended = call("compare", graded, graded, "-o", "both.html", "--json")

    assert json.loads(ended.stdout)["graders"][0]["verdict"] == "not distinguishable"
    assert Path("both.html").stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_there_gets_our_mode_and_a_link_is_refused(graded: str) -> None:
    """A page holds a user's data, and replaces no file but the one that is named."""
    Path("old.html").write_text("old")
    Path("old.html").chmod(0o644)
    assert call("report", graded, "-o", "old.html").exit_code == 0
    assert Path("old.html").stat().st_mode & 0o777 == 0o600

    Path("kept.txt").write_text("kept")
    Path("link.html").symlink_to("kept.txt")
    with pytest.raises(RagEvalsError, match="is a symbolic link"):
        app(["report", graded, "-o", "link.html"], standalone_mode=False)
    assert Path("kept.txt").read_text() == "kept"


@pytest.mark.parametrize("name", ["graded.csv", "graded.html", "graded.xlsx"])
def test_out_with_the_ending_of_a_table_is_that_file(name: str) -> None:
    """The run stays in its own folder; a table never replaces the data, and no bucket is made."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, labelled_rows(10))))

    assert call("grade", "rows.jsonl", "-q", "-o", name).exit_code == 0

    assert Path(name).is_file()
    assert len(list(Path("runs").iterdir())) == 1
    before = Path("rows.jsonl").read_bytes()
    for out, message in (
        ("rows.jsonl", "would overwrite the data"),
        ("s3://bucket/run", "expected a local folder"),
    ):
        with pytest.raises(RagEvalsError, match=message):
            app(["grade", "rows.jsonl", "-o", out], standalone_mode=False)
    assert Path("rows.jsonl").read_bytes() == before
    assert not Path("s3:").exists()
