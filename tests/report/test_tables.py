"""Markdown, JSON and CSV of a run: the same numbers for pages and programs."""

import json
from collections import Counter
from pathlib import Path

import pytest

from rag_evals import write_report
from rag_evals.analysis import compare
from rag_evals.errors import ConfigurationError
from rag_evals.report import report_html
from rag_evals.report.label_page import rows_to_label
from rag_evals.report.tables import View, comparison_markdown, grader_numbers, report_markdown
from rag_evals.report.terminal import show_json
from rag_evals.run import Run
from tests.analysis.runs import record, scores_run, statements_run
from tests.report.pages import stored


def test_markdown_has_the_numbers_and_the_rows_that_need_a_look() -> None:
    """Mean, interval, reasons, bands, groups; failed rows first, then the lowest scores."""
    text = report_markdown(stored(), view=View(by="topic"))

    assert "| faithfulness | 0.667 (66.7%; 0.444 with failed rows as 0) | 0." in text
    assert "2 of 4 | 1 JudgeOutputError, 1 empty\\_context" in text
    assert "faithfulness by topic:" in text
    assert "| towers | 0.333 |" in text
    assert text.index("| lost |") < text.index(
        "| eiffel | faithfulness | 0.33 | contradicted: It was completed"
    )


def test_a_group_tells_its_rows_without_a_score_and_its_clusters() -> None:
    """Two of three rows are scored; rows of one document count less than rows of many."""
    scores = {"a": 1.0, "b": 0.0, "c": None} | {f"r{n}": float(n % 2) for n in range(40)}
    columns = {
        name: {"topic": "x" if name in "abc" else "y", "doc": ord(name[0])} for name in scores
    }
    run = scores_run(scores, columns=columns)
    for name, row in columns.items():
        row["doc"] = int(name[1:]) // 2 % 2 if name.startswith("r") else name
    found = {
        cluster: grader_numbers(run, View(by="topic", cluster=cluster))[0].groups
        for cluster in (None, "doc")
    }

    assert [(one.scored, one.rows) for one in found[None]] == [(2, 3), (40, 40)]
    assert "| x | 0.500 | " in report_markdown(run, view=View(by="topic"))
    assert " | 2 of 3 | 1 empty\\_context |" in report_markdown(run, view=View(by="topic"))
    alone, clustered = found[None][1].mean, found["doc"][1].mean
    assert alone is not None
    assert clustered is not None
    assert clustered.width > alone.width


def test_markdown_obeys_no_data() -> None:
    """Pipes, links, mentions, HTML and headings in data are text."""
    name = "a|b <img src=x> @user [x](https://e.x) # `c`\n# d"
    text = report_markdown(Run([record(0, name, 0.5)]))

    assert (
        "a\\|b &lt;img src=x&gt; @\u200buser \\[x\\](https:\u200b//e.x) \\# \\`c\\` \\# d" in text
    )
    assert "<img" not in text


def test_json_has_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """One object; no number is NaN."""
    show_json(stored(), view=View(by="topic"))
    told = json.loads(capsys.readouterr().out)
    grader = told["graders"]["faithfulness"]

    assert grader["failed"] == {"JudgeOutputError": 1}
    assert grader["worst_mean"] == pytest.approx(4 / 9)
    assert grader["groups"][0]["group"] == "towers"
    assert told["usage"]["calls"] >= 0
    assert told["judge"] == "embedded"


def test_a_comparison_in_markdown_says_what_could_have_been_seen() -> None:
    """Not distinguishable is not the same as equal."""
    one, other = scores_run([1.0, 0.5, 0.2, 0.4]), scores_run([0.9, 0.7, 0.1, 0.4])
    text = comparison_markdown(compare(one, other))

    assert "| not distinguishable | 4 |" in text
    assert "Minimum detectable effect: 0." in text
    assert "(80 % power)." in text


def test_the_sample_to_label_is_the_same_for_the_same_seed_and_has_every_part() -> None:
    """Low, middle and high scores are there in their shares; other seeds draw other rows."""
    rows = {f"r{n}": [("a", n % 4 > 0), ("b", n % 4 > 1), ("c", n % 4 > 2)] for n in range(200)}
    run = statements_run(rows)
    first, again = rows_to_label(run, 120, seed=1), rows_to_label(run, 120, seed=1)
    scores = {r["sample_id"]: r["score"] for r in run.records}

    assert first == again
    assert first != rows_to_label(run, 120, seed=2)
    assert len(set(first)) == 40
    assert Counter(scores[name] for name, *_ in first) == {0.0: 10, 1 / 3: 10, 2 / 3: 10, 1.0: 10}
    assert len(rows_to_label(run, 600)) == 200
    assert rows_to_label(scores_run([1.0]), 5) == []
    # Decisions are counted, not rows; one row is always drawn.
    assert [len(rows_to_label(run, most)) for most in (50, 3, 1)] == [16, 1, 1]


def test_every_row_has_the_same_chance_to_be_labelled() -> None:
    """Over many seeds each row is drawn about equally often, rare scores too."""
    rows = {f"r{n}": [("a", n != 3)] for n in range(20)}
    run = statements_run(rows)
    drawn = Counter(name for seed in range(600) for name, *_ in rows_to_label(run, 5, seed=seed))

    # 600 draws of 5 in 20 rows: 150 each, standard deviation about 11.
    assert all(105 < drawn[name] < 195 for name in rows)


def test_a_report_is_private_and_made_where_it_is_wanted(tmp_path: Path) -> None:
    """Only the owner can read it; a run in memory needs a path; an impossible one is an error."""
    written = write_report(stored(), tmp_path / "new" / "r.html", bands=View().bands)

    assert written.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError, match="give the path of the report"):
        write_report(stored())
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_report(stored(), tmp_path)


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    """Byte for byte, so that a report can be compared and cached."""
    one = write_report(stored(), tmp_path / "one.html").read_bytes()

    assert one == write_report(stored(), tmp_path / "two.html").read_bytes()


def test_a_page_says_of_relevance_nothing_about_statements() -> None:
    """The meanings of bands are those of faithfulness, and so is "достоверность"."""
    for grader, is_of in (("faithfulness", True), ("answer_relevance", False)):
        run = Run([record(0, "a", 0.0) | {"grader": grader}])
        page = report_html(run, view=View(language="ru"))

        assert ("значительная часть утверждений не подтверждена</td>" in page) is is_of
        assert ("1 Низкая достоверность" in page or "Низкая достоверность: 1" in page) is is_of
        assert ("Низкая достоверность" in report_markdown(run, view=View(language="ru"))) is is_of
