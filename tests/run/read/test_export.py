"""A run becomes a frame or a file: the data's own columns, scores, and what is unsupported."""

import csv
import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_evals import FaithfulnessResult, Run, StatementEvaluation, evaluate, load_run
from rag_evals.core import phrases
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.read.export import RunTable, frame_of
from rag_evals.run.record.extras import LabelLines, labels_by_finding
from rag_evals.run.record.samples import StoredSample
from rag_evals.testing import JudgeRequest, Reply, Script, ScriptedJudge
from rag_evals.verify.tuned import Confidence
from tests.analysis.runs import graded, record
from tests.conftest import Command, statement
from tests.dataset.tables import ROWS
from tests.late import Late

if TYPE_CHECKING:
    import openpyxl
    import pandas
    import pyarrow.parquet
else:
    openpyxl, pandas = Late("openpyxl"), Late("pandas")
    pyarrow = Late("pyarrow", "parquet")

DATA: list[dict[str, Any]] = [
    {**row, "id": f"r{place}", "topic": "=1+1", "meta": {"page": place}}
    for place, row in enumerate(ROWS)
]
DATA.append({"id": "r3", "answer": "", "context": ["c"], "topic": None})
WIDE = [
    "id", "question", "answer", "context", "topic", "meta", "faithfulness", "faithfulness_percent",
    "faithfulness_band", "faithfulness_outcome", "faithfulness_why", "faithfulness_unsupported",
    "faithfulness_reasons", "faithfulness_passages", "judge",
]  # fmt: skip


@pytest.fixture
def run() -> Run:
    """Grade the rows, and keep them in a folder."""
    return evaluate(DATA, client="embedded", out="out")


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_run_becomes_a_frame(where: str) -> None:
    """In memory and from its folder the same: the data's own columns first."""
    run = evaluate(DATA, client="embedded", out=None if where == "memory" else "out")
    frame = (run if where == "memory" else load_run("out")).to_pandas()

    assert list(frame.columns) == WIDE
    assert frame["faithfulness"].tolist()[:3] == [1.0, 0.5, 0.0]
    assert pandas.isna(frame["faithfulness"][3])
    assert frame["faithfulness_outcome"].tolist() == ["scored"] * 3 + ["not_scorable"]
    assert frame["faithfulness_why"].tolist()[3] == "empty_answer"
    assert frame["faithfulness_unsupported"][1] == "It is 500 metres tall."
    assert "500" in frame["faithfulness_reasons"][1]
    assert frame["context"][1] == DATA[1]["context"]
    assert frame["meta"][1] == '{"page": 1}'
    assert frame["judge"][0] == "embedded"


def test_every_library_has_the_same_table(run: Run) -> None:
    """Polars and Arrow too, one row a finding where that is asked for."""
    arrow = run.to_arrow()

    assert run.to_polars().rows() == [tuple(row.values()) for row in arrow.to_pylist()]
    assert arrow.column_names == WIDE
    findings = run.to_pandas("long")
    assert findings["text"].tolist()[1:3] == ["It was finished in 1889.", "It is 500 metres tall."]
    assert findings["id"].tolist() == ["r0", "r1", "r1", "r2", "r3"]
    assert findings["why"].tolist()[-1] == "empty_answer"


def test_a_verdict_without_a_reason_has_an_empty_line() -> None:
    """The reasons stand beside their statements, line by line."""
    said = [
        StatementEvaluation(statement="It is red.", is_supported=False),
        StatementEvaluation(statement="It is big.", is_supported=False, reasoning="It is small."),
    ]
    made = graded(0, "r", FaithfulnessResult(statements=said))
    table = RunTable([made], {}, ["faithfulness"], None, phrases(), {}, {})
    (row,) = table.rows("wide")

    assert row["faithfulness_unsupported"] == "It is red.\nIt is big."
    assert row["faithfulness_reasons"] == "\nIt is small."


def test_a_column_of_several_kinds_is_text() -> None:
    """Numbers, texts and lists of these are kept as they are; all else is JSON, and texts stay."""
    columns: dict[str, list[Any]] = {
        "number": [1, 2.5, None],
        "mixed": ["x", 1, None],
        "lists": [["a"], [], None],
        "nested": [["a", {"k": 1}], None, ["b"]],
        "shortest": [-(2**63), 2**63 - 1, None],
        "long": [2**63, 1, None],
        "below": [-(2**63) - 1, None, 1],
    }
    table = frame_of(({name: columns[name][n] for name in columns} for n in range(3)), "pyarrow")

    assert table.to_pydict() == {
        **columns,
        "mixed": ["x", "1", None],
        "nested": ['["a", {"k": 1}]', None, '["b"]'],
        "long": ["9223372036854775808", "1", None],
        "below": ["-9223372036854775809", None, "1"],
    }


def test_labels_of_people_are_columns(run: Run) -> None:
    """Each finding has the share of people who say yes and their notes, each row the share."""
    label = {"sample_id": "r1", "grader": "faithfulness", "text": ""}
    anna = [{**label, "statement": 0, "label": True, "note": "page 3"},
            {**label, "statement": 1, "label": True}]  # fmt: skip
    boris = [{**label, "statement": 1, "label": False, "note": "wrong"},
             {**label, "statement": 0, "label": None, "note": "cannot tell"}]  # fmt: skip
    for name, lines in (("anna", anna), ("boris", boris)):
        Path(f"out/labels-{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows, findings = load_run("out").to_pandas(), list(load_run("out").rows("long"))
    load_run("out").write("a.xlsx")

    assert [*rows.columns] == [*WIDE[:-1], "faithfulness_people", "judge"]
    assert rows["faithfulness_people"].tolist()[1] == 0.75
    assert pandas.isna(rows["faithfulness_people"][0])
    assert [one["people"] for one in findings] == [None, 1.0, 0.5, None, None]
    assert [one["note"] for one in findings] == ["", "page 3; cannot tell", "wrong", "", ""]
    assert openpyxl.load_workbook("a.xlsx").active["O3"].value == 0.75


def test_the_confidence_of_a_verdict_counts_how_often_the_judge_was_asked() -> None:
    """Odds of as many to one with this weight; none of another verifier or without a verdict."""
    found = Confidence(auroc=0.9, auroc_low=0.8, auroc_high=1.0, weights={"asked_again": 1.0})
    said = [
        {"text": "s", "verdict": verdict, "label": "l", "decided_by": by}
        for verdict, by in ((True, "v"), (None, "v"), (True, "w"))
    ]
    records = [
        record(n, f"r{n}", 1.0, findings=said, attempts=asked) for n, asked in enumerate((4, 1, 0))
    ]
    confidences = {"faithfulness": {"v": found}}
    table = RunTable(records, {}, ["faithfulness"], None, phrases(), {}, confidences)
    sure = [row["confidence"] for row in table.rows("long")]

    assert sure == [pytest.approx(0.8), None, None, *[pytest.approx(0.5), None, None] * 2]


def test_a_line_that_is_no_label_is_passed_over(tmp_path: Path) -> None:
    """A torn line, one without a finding, and one that is no object leave the others."""
    label = {"sample_id": "a", "grader": "g", "statement": 1, "label": True}
    lines = [label, [], 7, None, "statement", {"sample_id": "a"}, label | {"statement": "1"}]
    lines += [label | {"label": False}, label | {"grader": "h"}]
    written = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "labels-anna.jsonl").write_text(written + '{"sample_id": "a", "st')
    (tmp_path / "labels.jsonl").write_text(json.dumps(label | {"annotator": "boris"}))
    (tmp_path / "other.jsonl").write_text(json.dumps(label))

    found = labels_by_finding(tmp_path)
    said = [(one["annotator"], one["label"]) for one in found["a", "g", 1]]
    assert said == [("anna", True), ("anna", False), ("boris", True)]
    assert found.keys() == {("a", "g", 1), ("a", "h", 1)}
    assert labels_by_finding(None) == {}


def test_files_hold_what_the_frame_holds(run: Run) -> None:
    """Parquet, Excel and JSON lines; only the owner reads them."""
    for name in ("a.parquet", "a.xlsx", "a.jsonl", "a.csv"):
        assert run.write(name).stat().st_mode & 0o777 == 0o600
    sheet = openpyxl.load_workbook("a.xlsx").active
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]

    assert pyarrow.parquet.read_table("a.parquet").to_pylist() == run.to_arrow().to_pylist()
    assert [cell.value for cell in sheet[1]] == WIDE
    assert [cell.value for cell in sheet["G"]] == ["faithfulness", 1, 0.5, 0, None]
    assert (sheet["E2"].value, sheet["E2"].data_type) == ("=1+1", "s")
    assert [line["faithfulness"] for line in lines] == [1.0, 0.5, 0.0, None]


def test_csv_opens_in_excel(run: Run) -> None:
    """A mark for UTF-8, the reader's own signs, and no formula."""
    run.write("a.csv", decimal=",", language="ru")
    raw = Path("a.csv").read_bytes()
    rows = list(csv.DictReader(raw.decode("utf-8-sig").splitlines(), delimiter=";"))

    assert raw.startswith(b"\xef\xbb\xbf")
    assert [rows[1]["верность контексту"], rows[1]["верность контексту, %"]] == ["0,5", "50,0"]
    assert rows[0]["topic"] == "'=1+1"
    assert rows[0]["верность контексту: уровень"] == "Высокая достоверность"


def test_a_written_table_can_be_graded_again(run: Run) -> None:
    """What is written is read by the same rules; our columns are columns of the data then."""
    for name in ("a.parquet", "a.xlsx", "a.jsonl", "a.csv"):
        again = evaluate(str(run.write(name)), client="embedded")

        assert [outcome.score for outcome in again] == [1.0, 0.5, 0.0, None]


def test_the_data_keeps_columns_that_are_called_like_ours() -> None:
    """A person's label in a column `faithfulness` stands beside the judge's score."""
    row = {"answer": "It is red.", "context": ["It is red."], "faithfulness": 0.3, "judge": "me"}
    (written,) = evaluate([row], client="embedded").rows()

    assert (written["faithfulness_"], written["judge_"]) == (0.3, "me")
    assert (written["faithfulness"], written["judge"]) == (1.0, "embedded")


def test_a_renamed_column_hides_no_other() -> None:
    """Columns that differ by an underscore keep their own values, also where one has none."""
    text = {"answer": "It is red.", "context": ["It is red."]}
    rows = [
        {**text, "id": "a", "judge": "me", "judge_": "you", "topic": "red", "topic_": None},
        {**text, "id": "b", "judge": None, "judge__": "they", "topic": None, "topic_": "blue"},
    ]
    first, second = evaluate(rows, client="embedded").rows()

    assert (first["judge_"], first["judge__"], first["judge___"]) == ("you", None, "me")
    assert (second["judge_"], second["judge__"], second["judge___"]) == (None, "they", None)
    assert (first["topic"], first["topic_"]) == ("red", None)
    assert (second["topic"], second["topic_"]) == (None, "blue")
    assert first.keys() == second.keys()


def test_a_long_cell_says_that_it_is_cut() -> None:
    """No Excel cell holds more than 32,767 characters."""
    run = evaluate([{"answer": "a" * 40_000, "context": ["c\0d"]}], client="embedded")
    run.write("a.xlsx")
    cell = openpyxl.load_workbook("a.xlsx").active["B2"].value

    assert len(cell) == 32_767
    assert cell.endswith("… [cut: 40000 characters]")


def test_a_run_is_a_collection_of_outcomes(run: Run) -> None:
    """It iterates, has a length, and finds by grader or sample; `print` says what it is."""
    faithfulness = run["faithfulness"]

    assert [outcome.sample_id for outcome in run] == ["r0", "r1", "r2", "r3"]
    assert len(run) == len(faithfulness) == 4
    assert (faithfulness.mean(), faithfulness.median(), faithfulness.std()) == (0.5, 0.5, 0.5)
    assert (faithfulness.min(), faithfulness.max(), faithfulness.n) == (0.0, 1.0, 3)
    assert [outcome.score for outcome in faithfulness[1:3]] == [0.5, 0.0]
    assert run["r1"][0].score == 0.5
    assert repr(run) == (
        "Run(faithfulness: 0.50 over 3 scored of 4 (1 not scorable: empty_answer); out)"
    )
    assert str(run).startswith("judge: embedded\nfaithfulness: 0.50")
    assert evaluate([], client="embedded")


def test_a_run_is_indexed_by_place_too(run: Run) -> None:
    """As a list of its outcomes; ids are texts, so that a number is a place."""
    assert [run[0].sample_id, run[-1].sample_id] == ["r0", "r3"]
    assert [outcome.sample_id for outcome in run[:2]] == ["r0", "r1"]
    numbered = evaluate([{**row, "id": place} for place, row in enumerate(ROWS)], client="embedded")
    assert numbered[2].score == numbered["2"][0].score == 0.0
    shifted = evaluate(
        [{**row, "id": place} for place, row in enumerate(ROWS, 1)], client="embedded"
    )
    with pytest.raises(
        DataError, match=r"1 is a position and the id of another row; use run\['1'\]"
    ):
        shifted[1]


def test_a_run_of_one_grader_has_its_numbers(run: Run) -> None:
    """Of several it says which there are, and how to take one."""
    assert (run.mean(), run.median(), run.std(), run.n) == (0.5, 0.5, 0.5, 3)
    assert (run.min(), run.max(), run.scores) == (0.0, 1.0, [1.0, 0.5, 0.0, None])
    assert run.interval() == run["faithfulness"].interval()
    assert evaluate([], client="embedded").mean() is None
    two = evaluate(DATA, ["faithfulness", "faithfulness_two_step"], client="embedded")
    with pytest.raises(DataError, match=r"graders faithfulness, .*run\['faithfulness'\]"):
        two.mean()


def test_scores_have_the_order_of_the_data(scripted: Callable[[Script], ScriptedJudge]) -> None:
    """Whichever row ends first."""

    def answered(request: JudgeRequest) -> Reply:
        is_first = "row one" in str(request.messages[-1]["content"])
        time.sleep(0.1 if is_first else 0.0)
        return Reply({"statements": [statement(supported=is_first)]})

    scripted(answered)
    rows = [{"answer": f"row {word}", "context": ["c"]} for word in ("one", "two", "three")]
    run = evaluate(rows, client="openai/m", concurrency=3)
    assert run.scores == run["faithfulness"].scores == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda run: run["none"], KeyError, "no grader and no sample 'none' in the run; graders"),
        (lambda run: run[4], KeyError, "no outcome 4 in the run; it has 4, from 0"),
        (lambda run: run[-5], KeyError, "no outcome -5 in the run; it has 4, from 0"),
        (
            lambda run: run[0.5],
            DataError,
            "a run is indexed by a position, a grader or a sample id, not by 0.5",
        ),
        (lambda run: run.write("a.pdf"), ConfigurationError, "'a.pdf' has no known suffix"),
        (lambda run: run.write("a.csv", "flat"), ConfigurationError, "shape is 'flat'; expected"),
        (lambda run: run.write("a.csv", decimal="x"), ConfigurationError, "decimal is 'x'"),
        (lambda run: run.write("a.csv", delimiter=""), ConfigurationError, "delimiter is ''"),
        (lambda run: run.write("a.csv", delimiter="."), ConfigurationError, "both '.'"),
        (lambda run: run.write("/dev/null/a.csv"), ConfigurationError, "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_one_error(
    run: Run, ask: Any, kind: type[Exception], message: str
) -> None:
    """Before a file is made."""
    with pytest.raises(kind) as caught:
        ask(run)

    assert message in str(caught.value)
    assert isinstance(caught.value, ConfigurationError | DataError)


def test_the_command_exports(command: Command, run: Run) -> None:
    """A bad name is one line and exit code 2."""
    ended = command("export", "out", "--to", "s.csv", "--decimal", ",")

    assert (ended.code, ended.out) == (0, "table: s.csv\n")
    assert Path("s.csv").read_text("utf-8-sig").startswith("id;question;answer;")
    refused = command("export", "out", "--to", "s.doc")
    assert (refused.code, refused.err[:24]) == (2, "Error: 's.doc' has no kn")


def test_scores_have_a_place_for_every_row() -> None:
    """A row without a score has None in its place."""
    rows = [
        {"answer": answer, "context": ["The tower is in Paris."]}
        for answer in ("", "The tower is in Paris.")
    ]

    run = evaluate(rows, client="embedded")

    assert run.scores == run["faithfulness"].scores == [None, 1.0]


def test_a_run_is_indexed_from_both_ends(run: Run) -> None:
    """As a list is."""
    assert [run[place].sample_id for place in (0, 3, -1, -4)] == ["r0", "r3", "r3", "r0"]


def test_an_excel_file_keeps_headers_and_cells_of_the_sheet() -> None:
    """Dates, numbers and texts are what they were; a formula is its value, and never one again."""
    book = openpyxl.Workbook()
    book.active.append(["Frage", "Reply", "Context", "Asked on", "Price", "ID", "Note"])
    asked = datetime.fromisoformat("2026-03-04")
    book.active.append(["Where?", "It is in Paris.", "It is in Paris.", asked, 12.5, "007", "'=x"])
    two = ["It is in Paris.", "It is large."]
    book.active.append(["Why?", "It is large.", json.dumps(two), None, 3, "008", "20260304"])
    book.save("own.xlsx")
    columns = {"question": "Frage", "answer": "Reply"}
    evaluate("own.xlsx", client="embedded", columns=columns, out="kept")
    load_run("kept").write("out.xlsx")
    header, cells, more = openpyxl.load_workbook("out.xlsx").active.rows

    assert [cell.value for cell in header[:7]] == [
        "id", "Frage", "Reply", "Context", "Asked on", "Price", "Note"
    ]  # fmt: skip
    assert [cell.value for cell in cells[:7]] == [
        "007", "Where?", "It is in Paris.", "It is in Paris.", asked, 12.5, "'=x"
    ]  # fmt: skip
    assert cells[4].is_date
    assert cells[4].number_format == "yyyy-mm-dd"
    assert more[6].value == "20260304"
    # A cell with a list of chunks keeps them all.
    assert all(text in str(more[3].value) for text in two)


def exported() -> RunTable:
    """Make a table of two graders and three rows, of which people labelled some findings."""
    said: list[dict[str, Any]] = [
        {"text": "s", "verdict": True, "label": "supported", "reasoning": "r"},
        {"text": "t", "verdict": False, "label": "not supported", "reasoning": "why"},
        {"text": "u", "verdict": None, "label": "no claim"},
    ]
    failure: dict[str, Any] = {
        "status": "failed",
        "reason": None,
        "error": {"type": "E", "message": "m"},
    }
    records = [
        record(0, "a", 1 / 3, grader="g", findings=said),
        record(0, "a", 1.0, grader="h", findings=said[:1]),
        record(1, "b", None, grader="g", result=None),
        record(1, "b", None, grader="h", **failure),
        record(2, "c", 0.0, grader="h", findings=said[1:2]),
    ]
    samples = {"a": StoredSample("a", answer="x", columns={"g": 7, "topic": "t"})}
    labels: LabelLines = {
        ("a", "g", 0): [{"label": True}, {"label": False}, {"label": None, "note": "?"}],
        ("a", "g", 1): [{"label": True, "note": ""}, {"note": "ok", "label": True}],
        ("a", "h", 0): [{"label": False}],
    }
    return RunTable(records, samples, ["g", "h"], "judge", phrases(), labels, {})


def test_a_wide_row_has_the_numbers_of_each_grader() -> None:
    """Share of people over the findings that anyone labelled; only what lowers a score is told."""
    a, b, c = exported().rows("wide")

    assert (a["answer"], a["g_"], a["topic"], a["judge"]) == ("x", 7, "t", "judge")
    assert (b["answer"], b["g_"], b["topic"], b["judge"]) == (None, None, None, "judge")
    of_g = ("g", "g_percent", "g_outcome", "g_why", "g_unsupported", "g_reasons", "g_people")
    assert [a[name] for name in of_g] == [1 / 3, 33.33, "scored", None, "t", "why", 0.75]
    assert [b[name] for name in of_g] == [
        *(None, None, "not_scorable", "empty_context", "", "", None),
    ]
    assert [c[name] for name in of_g] == [None] * 7
    of_h = [name.replace("g", "h", 1) for name in of_g]
    assert [a[name] for name in of_h] == [1.0, 100.0, "scored", None, "", "", 0.0]
    assert [b[name] for name in of_h] == [None, None, "failed", "E: m", "", "", None]
    assert [c[name] for name in of_h] == [0.0, 0.0, "scored", None, "t", "why", None]


def test_a_long_row_has_the_labels_of_its_own_finding() -> None:
    """A grading without findings has one row; confidence is a column of tuned verifiers only."""
    names = ("id", "grader", "score", "outcome", "why", "text", "verdict", "people", "note")
    rows = list(exported().rows("long"))

    assert [tuple(row[name] for name in names) for row in rows] == [
        ("a", "g", 1 / 3, "scored", None, "s", True, 0.5, "?"),
        ("a", "g", 1 / 3, "scored", None, "t", False, 1.0, "ok"),
        ("a", "g", 1 / 3, "scored", None, "u", None, None, ""),
        ("a", "h", 1.0, "scored", None, "s", True, 0.0, ""),
        ("b", "g", None, "not_scorable", "empty_context", "", None, None, ""),
        ("b", "h", None, "failed", "E: m", "", None, None, ""),
        ("c", "h", 0.0, "scored", None, "t", False, None, ""),
    ]
    assert [row["about"] for row in rows][4:6] == [None, None]
    stages = {"g": [{"name": "v", "has_support": True, "tuned": None}]}
    run = Run([record(0, "a", 1.0, grader="g")], manifest={"stages": stages})
    assert run.confidences() == {}
    assert "confidence" not in rows[0]
    assert "confidence" not in next(run.rows("long"))
