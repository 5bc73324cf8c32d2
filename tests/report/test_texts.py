"""Every word and number of a run's texts: tables, rows, Markdown, JUnit, warnings of a build."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from rag_evals.core import phrases
from rag_evals.core.finding import Quote
from rag_evals.errors import ConfigurationError
from rag_evals.report.failures import (
    build_warnings,
    junit_xml,
    outcome_lines,
    record_lines,
    row_link,
    worst_records,
)
from rag_evals.report.screen import cell
from rag_evals.report.server import _label_key, _trend, find_runs
from rag_evals.report.tables import (
    View,
    grader_numbers,
    group_cells,
    markdown_text,
    numbers_words,
    report_markdown,
)
from rag_evals.report.terminal import _answer, _score, row_json, show_json, show_row, show_run
from rag_evals.run import Outcome, Run, StoredSample, findings_in
from rag_evals.stats import Band
from tests.analysis.runs import record, scores_run, statements_run
from tests.report.pages import stored

TEXTS = Path(__file__).with_name("texts")
Capsys = pytest.CaptureFixture[str]


def shown(capsys: Capsys, show: Callable[[], None]) -> str:
    """Return what is printed, without the blanks at the ends of lines."""
    show()
    return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"


TEXT_OF: dict[str, Callable[[Capsys], str]] = {
    "report.md": lambda _: report_markdown(stored(), view=View(by="topic")),
    "junit.xml": lambda _: "".join(f"{line}\n" for line in junit_xml(stored())),
    "warnings.txt": lambda _: "".join(f"{line}\n" for line in build_warnings(stored())),
    "run.txt": lambda capsys: shown(capsys, lambda: show_run(stored())),
    "run-ru.txt": lambda capsys: shown(capsys, lambda: show_run(stored(), language="ru")),
    "row.txt": lambda capsys: shown(capsys, lambda: show_row(stored(), "eiffel")),
    "run.json": lambda capsys: (
        json.dumps(
            json.loads(shown(capsys, lambda: show_json(stored(), view=View(by="topic")))),
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    ),
    "row.json": lambda _: (
        json.dumps(to_jsonable_python(row_json(stored(), "eiffel")), indent=1, ensure_ascii=False)
        + "\n"
    ),
}


@pytest.mark.parametrize("name", TEXT_OF)
def test_a_text_of_a_run_is_as_it_was_checked(name: str, capsys: Capsys) -> None:
    """Each number was worked out once from the rows of the run, and each word read."""
    assert TEXT_OF[name](capsys) == (TEXTS / name).read_text(encoding="utf-8")


def finding(text: str, verdict: bool | None = False, **more: Any) -> dict[str, Any]:
    """Return a finding as a record has it."""
    return {"text": text, "verdict": verdict, "label": "not supported", "about": "answer", **more}


def outcome(*findings: dict[str, Any], score: float = 0.5) -> dict[str, Any]:
    """Return an outcome with these findings."""
    return record(0, "a", score, findings=list(findings))


def test_ten_findings_are_shown_and_the_rest_is_counted() -> None:
    """Only those that count against the answer; long texts are cut."""
    right = finding("right", verdict=True)
    for count, rest in ((9, []), (10, []), (11, ["  and 1 more"]), (25, ["  and 15 more"])):
        lines = record_lines(outcome(right, *(finding(f"f{n}") for n in range(count))))
        assert lines[0] == "faithfulness: scored 0.50"
        assert lines[1 : 1 + min(count, 10)] == [
            f"  not supported: f{n}" for n in range(min(count, 10))
        ]
        assert lines[1 + min(count, 10) :] == rest
    (_, text, why) = record_lines(outcome(finding("x" * 301, reasoning="y" * 301)))
    assert text.removeprefix("  not supported: ") == "x" * 299 + "…"
    assert why.removeprefix("    why: ") == "y" * 299 + "…"
    (_, text) = record_lines(outcome(finding("x" * 300, None, support=0.5)))
    assert text == f"  not supported: {'x' * 300}"
    assert record_lines(outcome(finding("t", None, support=1.0))) == ["faithfulness: scored 0.50"]


def test_a_passage_is_cut_too() -> None:
    """At the same length as a text; without the run there is none."""
    quoted = finding("t", quotes=[asdict(Quote(0, 0, 400, "z" * 400))])
    run = Run([outcome(quoted)], samples={"a": StoredSample("a", chunks=("z" * 400,))})

    assert record_lines(run.records[0]) == ["faithfulness: scored 0.50", "  not supported: t"]
    line = record_lines(run.records[0], run)[2]
    assert line.count("z") == 299
    assert outcome_lines(Outcome.from_record(run.records[0]), ("z",))[0].endswith("0.50")


def test_the_worst_rows_are_the_failed_ones_and_those_below_a_score() -> None:
    """A score at the limit is not below it, and a row that cannot be scored is no fault."""
    scores = {"a": 0.5, "b": 0.2, "c": None, "d": 1.0, "e": 0.9}
    run = scores_run(scores)
    failed = {**record(5, "f", None), "status": "failed", "reason": None}
    failed["error"] = {"type": "JudgeError", "message": "m"}
    run = Run([*run.records, failed])

    def worst(most: int, *under: float) -> list[str]:
        return [one["sample_id"] for one in worst_records(run, most, *under)]

    assert worst(9) == ["f", "b", "a", "e"]
    assert worst(9, 0.9) == ["f", "b", "a"]
    assert worst(9, 0.5) == ["f", "b"]
    assert worst(2) == ["f", "b"]
    assert worst(9, 0.0) == ["f"]


def test_a_link_leads_to_the_published_report_or_to_the_local_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either there is none; the id is quoted, slashes too."""
    run = Run([record(0, "a", 1.0)], folder=tmp_path)
    assert row_link(run, "a") is None
    (tmp_path / "report.html").touch()
    assert row_link(run, "a/b c") == f"{tmp_path}/report.html#row=a%2Fb%20c"
    assert row_link(Run([record(0, "a", 1.0)]), "a") is None
    monkeypatch.setenv("RAG_EVALS_REPORT_URL", "https://ci/r.html")
    assert row_link(run, "a") == row_link(Run([]), "a") == "https://ci/r.html#row=a"


def suites(run: Run, *limits: Any) -> list[str]:
    """Return the heads of the suites of a JUnit file."""
    return [line for line in junit_xml(run, *limits) if line.startswith("<testsuite ")]


def test_a_suite_counts_its_own_rows() -> None:
    """At a limit a row passes; what is counted as a score is none that is skipped."""
    rows = [
        record(0, "a", 0.5, seconds=1.25),
        record(1, "b", 1.0, seconds=None),
        record(2, "c", None),
        record(0, "a", 0.25, grader="other", seconds=2.0),
        {**record(3, "d", None), "status": "failed", "reason": None, "error": None},
    ]
    run = Run(rows)

    def head(failures: int, errors: int, skipped: int) -> str:
        counts = f'tests="4" failures="{failures}" errors="{errors}" skipped="{skipped}"'
        return f'<testsuite name="faithfulness" {counts} time="1.250">'

    other = '<testsuite name="other" tests="1" failures="{}" errors="0" skipped="0" time="2.000">'
    assert suites(run) == [head(1, 1, 1), other.format(1)]
    assert suites(run, 0.5) == [head(0, 1, 1), other.format(1)]
    assert suites(run, 0.25) == [head(0, 1, 1), other.format(0)]
    assert suites(run, 0.5, {"empty_context": 0.25}) == [head(1, 1, 0), other.format(1)]
    assert suites(run, 0.5, {"empty_context": 0.75}) == [head(0, 1, 0), other.format(1)]


def test_the_first_two_hundred_failures_have_their_passages() -> None:
    """Finding them takes time; passed and skipped rows are not counted."""
    rows = {f"p{number}": [("It stands in Paris.", True)] for number in range(5)}
    rows |= {f"f{number:03}": [("It stands in Rome.", False)] for number in range(202)}
    chunks = ("It stands in Paris.",)
    samples = {name: StoredSample(name, chunks=chunks, metadata=({},)) for name in rows}
    graded = map(dict, statements_run(rows).records)
    skipped = [record(number, f"s{number}", None) for number in range(9)]
    run = Run([*skipped, *({**one, "index": one["index"] + 9} for one in graded)], samples=samples)
    text = "\n".join(junit_xml(run))

    assert text.count("nearest chunk 0: It stands in Paris.") == 200
    assert text.count("<failure ") == 202
    assert "f199" in text.split("nearest chunk")[-2]


def test_a_warning_has_one_line_of_bounded_length() -> None:
    """Signs that would end it or begin another one are coded."""
    run = Run([{**outcome(finding("x")), "sample_id": "i" * 61}])
    (line,) = build_warnings(run)
    assert line == (
        f"::warning title=rag-evals%3A faithfulness%2C row {'i' * 60}::"
        "faithfulness: scored 0.50%0A  not supported: x"
    )
    assert build_warnings(run, 0.5) == []
    long = [finding("x" * 290, reasoning="y" * 290) for _ in range(10)]
    (line,) = build_warnings(Run([outcome(*long)]))
    assert len(line.partition("row a::")[2].replace("%0A", "\n")) == 2000
    odd = Run([{**outcome(finding("50 %\r:,\n")), "sample_id": "a:b,c%\n"}])
    assert "row a%3Ab%2Cc%25%0A::" in build_warnings(odd)[0]
    assert build_warnings(odd)[0].endswith("%0A  not supported: 50 %25\ufffd:,")
    assert len(build_warnings(scores_run([0.1] * 30))) == 10


def test_a_cell_of_markdown_has_at_most_two_hundred_signs() -> None:
    """Of one line; what would be a mark or a link is text."""
    assert markdown_text("x" * 200) == "x" * 200
    assert markdown_text("x" * 201) == "x" * 199 + "…"
    assert markdown_text(" a\n\t b ") == "a b"
    assert markdown_text("a|b*c_d`e[f]g~h!i#j{k}\\") == (
        "a\\|b\\*c\\_d\\`e\\[f\\]g\\~h\\!i\\#j\\{k\\}\\\\"
    )
    assert markdown_text("<a&b> @me http://x") == "&lt;a&amp;b&gt; @\u200bme http:\u200b//x"
    assert markdown_text(7) == "7"


def test_ten_rows_need_a_look_in_markdown() -> None:
    """The lowest ones; a link to the report stands there only where it is public."""
    text = report_markdown(scores_run([number / 20 for number in range(20)]))

    assert re.findall(r"^\| (r\d+) \|", text, re.MULTILINE) == [f"r{n}" for n in range(10)]


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("https://ci/a (b)|c.html", "https://ci/a%20%28b%29%7Cc.html#row=r0"),
        ("http://ci/a.html", None),
        ("/tmp/a.html", None),
    ],
)
def test_a_link_in_markdown_is_a_safe_one(
    monkeypatch: pytest.MonkeyPatch, address: str, link: str | None
) -> None:
    """Signs that would end it are quoted."""
    monkeypatch.setenv("RAG_EVALS_REPORT_URL", address)
    text = report_markdown(scores_run([0.5]))

    assert ("| [r0](" in text) is (link is not None)
    assert link is None or f"| [r0]({link}) |" in text


def test_a_group_has_the_rows_of_its_own() -> None:
    """Its scores, its reasons, and in another grader another group."""
    scores = {"a": 0.5, "b": 1.0, "c": None, "d": 0.25, "e": None}
    columns = {name: {"t": "x" if name in "abc" else None} for name in scores}
    run = scores_run(scores, columns=columns)
    (numbers,) = grader_numbers(run, View(by="t"))

    cells = [group_cells(group, View(by="t")) for group in numbers.groups]
    assert [[one[0], one[1], one[3], one[4]] for one in cells] == [
        ["x", "0.750", "2 of 3", "1 empty_context"],
        ["(none)", "0.250", "1 of 2", "1 empty_context"],
    ]
    assert [one[2].split(" to ")[0] for one in cells] == [
        f"{group.mean.low:.3f}" for group in numbers.groups if group.mean is not None
    ]
    assert numbers.unscored == {"empty_context": 2}
    assert numbers_words(numbers, View()) == []
    assert grader_numbers(run, View())[0].groups == ()
    halves = View(by="t", bands=[Band("upper", 0.5), Band("lower", 0.0)])
    (halved,) = grader_numbers(run, halves)
    assert dict(halved.bands) == {"upper": 2, "lower": 1}
    assert [dict(one.bands) for one in halved.groups] == [
        {"upper": 2, "lower": 0},
        {"upper": 0, "lower": 1},
    ]
    bands = {"high": 1, "good": 0, "medium": 1, "low": 1}
    assert dict(numbers.bands) == bands
    assert [dict(group.bands) for group in numbers.groups] == [
        {"high": 1, "good": 0, "medium": 1, "low": 0},
        {"high": 0, "good": 0, "medium": 0, "low": 1},
    ]


def test_the_rows_on_a_terminal_are_the_lowest_and_the_rest_is_counted(capsys: Capsys) -> None:
    """Twenty of them, or as many as asked for; all graders' outcomes count."""
    run = scores_run([number / 40 for number in range(40)])
    text = shown(capsys, lambda: show_run(run))
    assert re.findall(r"^(r\d+) ", text, re.MULTILINE) == [f"r{n}" for n in range(20)]
    assert "20 more" in text
    assert "38 more" in shown(capsys, lambda: show_run(run, rows=2))
    assert " more" not in shown(capsys, lambda: show_run(run, rows=40))
    both = Run([*run.records, *({**one, "grader": "other"} for one in run.records)])
    text = shown(capsys, lambda: show_run(both, rows=3))
    assert "77 more" in text
    assert re.findall(r"^(r\d+) +(\w+)", text, re.MULTILINE) == [
        *(("r0", "faithfulness"), ("r0", "other"), ("r1", "faithfulness"))
    ]
    heads = [shown(capsys, partial(show_run, run)).split("\n")[0] for run in (run, both)]
    assert ["grader" in head for head in heads] == [False, True]


def test_a_reason_may_be_counted_as_a_score(capsys: Capsys) -> None:
    """In the text as in JSON."""
    run = scores_run([1.0, 0.5, None])
    text = shown(capsys, lambda: show_run(run, count={"empty_context": 0.0}))
    assert "faithfulness: 0.50 over 2 scored of 3, empty_context as 0 (" in text
    show_json(run, count={"empty_context": 0.0})
    counted = json.loads(capsys.readouterr().out)["graders"]["faithfulness"]
    show_json(run)
    alone = json.loads(capsys.readouterr().out)["graders"]["faithfulness"]

    assert (counted["mean"], counted["n"], counted["min"]) == (0.5, 3, 0.0)
    assert (alone["mean"], alone["n"], alone["min"]) == (0.75, 2, 0.5)
    assert counted["interval"] != alone["interval"]
    assert (counted["scored"], counted["total"]) == (alone["scored"], alone["total"]) == (2, 3)


def test_clusters_are_told_in_json(capsys: Capsys) -> None:
    """By which column, and how many there are."""
    scores = {f"r{number}": float(number % 2) for number in range(8)}
    run = scores_run(scores, columns={name: {"d": int(name[1:]) // 2} for name in scores})
    show_json(run, view=View(cluster="d"))
    told = json.loads(capsys.readouterr().out)["graders"]["faithfulness"]

    assert told["clusters"] == {"by": "d", "units": 4}
    columns = {name: {"d": int(name[1:]) // 2} for name in [*scores, "r8", "r9"]}
    more = scores_run({**scores, "r8": None, "r9": None}, columns=columns)
    show_json(more, view=View(cluster="d"), count={"empty_context": 0.0})
    counted = json.loads(capsys.readouterr().out)["graders"]["faithfulness"]
    assert counted["clusters"] == {"by": "d", "units": 5}


def test_only_a_full_score_is_green() -> None:
    """A row that cannot be scored is yellow, a failed one red."""
    error = {"type": "E", "message": "m"}
    failed = {"status": "failed", "reason": None, "error": error}
    for score, more, style in (
        (1.0, {}, "green"),
        (0.99, {}, ""),
        (0.0, {}, ""),
        (None, {}, "yellow"),
        (None, failed, "red"),
    ):
        one = Outcome.from_record(record(0, "a", score) | more)
        assert _score(one, phrases("en")).style == style


def test_the_chunks_of_a_row_are_those_that_support_it(capsys: Capsys) -> None:
    """Each once, in order; those of a fault are none."""
    run = Run([
        outcome(
            finding("a", True, chunk_ids=(3, 1), label="supported"),
            finding("b", True, chunk_ids=(1, 0), label="supported"),
            finding("c", False, chunk_ids=(7,)),
            finding("d", None, chunk_ids=(8,)),
        )
    ])  # fmt: skip
    assert shown(capsys, lambda: show_run(run)).splitlines()[1].endswith(" 0, 1, 3")


def test_an_answer_on_a_terminal_has_its_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red goes over green; a statement stands where its offsets say, else where its words do."""
    answer = "One is so. Two is not. Three."
    found = findings_in(
        outcome(
            finding("Two is not.", False, about="statement"),
            finding("reworded", True, about="statement", start=0, end=22),
            finding("Three.", True, about="statement", start=23, end=29),
            finding("One", False, about="chunk", start=0, end=3),
            finding("is", None, about="statement", start=0, end=29),
            finding("not there", False, about="statement"),
            finding("", False, about="statement"),
        )
    )
    text = _answer(answer, found, phrases("en"))

    assert text.plain == f"answer: {answer}"
    assert [(span.start - 8, span.end - 8, str(span.style)) for span in text.spans] == [
        *((0, 11, "green"), (11, 22, "red"), (23, 29, "green"))
    ]


def test_a_cell_of_a_table_is_cut_at_its_length() -> None:
    """The last sign shows that there is more."""
    assert cell("abcd", max_chars=4).plain == "abcd"
    assert cell("abcde", max_chars=4).plain == "abc…"
    assert cell("abcde").plain == "abcde"


def test_scores_over_time_are_points_of_a_line() -> None:
    """From the left to the right, 1 at the top; a run without a score leaves a gap."""
    assert _trend([None, 0.5, 1.0]) == "60.0,12.0 116.0,2.0"
    assert _trend([0.25]) == "4.0,17.0"
    assert _trend([0.0, 1.0, None, 0.5, None]) == "4.0,22.0 32.0,2.0 88.0,12.0"
    assert _trend([]) == _trend([None]) == ""


def test_runs_are_found_in_a_folder_and_in_the_folders_in_it(tmp_path: Path) -> None:
    """Sorted, those directly in it first; copies of earlier runs are none."""
    for name in ("b", "a", "x/c", "x/before-1", "before-2", "x/y/z", "d/e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").touch()
    found = find_runs(tmp_path)

    assert list(found) == ["a", "b", "d/e", "x/c"]
    assert found["x/c"] == tmp_path / "x" / "c"
    (tmp_path / "x" / "manifest.json").touch()
    assert find_runs(tmp_path / "x") == {"x": tmp_path / "x"}
    many = tmp_path / "many"
    for number in range(502):
        (many / f"{number:03}").mkdir(parents=True)
        (many / f"{number:03}" / "manifest.json").touch()
    assert list(find_runs(many)) == [f"{number:03}" for number in range(500)]


def test_a_label_is_known_by_its_finding() -> None:
    """Row, grader, place and text; one that lacks any is none."""
    line = {"sample_id": 7, "grader": "g", "statement": "3", "text": "t", "label": True}

    assert _label_key(line) == ("7", "g", 3, "t")
    for name in ("sample_id", "grader", "statement", "text"):
        with pytest.raises(ConfigurationError, match="a label lacks sample_id, grader"):
            _label_key({key: value for key, value in line.items() if key != name})
    for wrong in (7, None, "x", line | {"statement": "x"}):
        with pytest.raises(ConfigurationError, match="a label lacks"):
            _label_key(wrong)
