"""Every table gives the same rows, and so the same scores."""

import datetime
import json
import re
import secrets
import sys
import tracemalloc
import zipfile
from collections import UserDict
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_evals import evaluate, load_run
from rag_evals.dataset import DataFile, read_rows
from rag_evals.dataset.columns import Cells
from rag_evals.dataset.readers import locate
from rag_evals.dataset.tables import row_of, rows_of
from rag_evals.errors import ConfigurationError, DataError, MissingColumnError, RagEvalsError
from rag_evals.run import Progress
from tests.dataset.tables import (
    FILES,
    FRAMES,
    ROWS,
    Attrs,
    Model,
    Named,
    Plain,
    delimited,
    excel,
    lines,
    written,
)
from tests.late import Late

if TYPE_CHECKING:
    import datasets
    import openpyxl
    import pandas
    import polars
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
else:
    datasets, openpyxl = Late("datasets"), Late("openpyxl")
    pandas, polars = Late("pandas"), Late("polars")
    pyarrow = Late("pyarrow", "feather", "parquet")

SCORES = [1.0, 0.5, 0.0]


def scores(data: Any, **options: Any) -> list[float | None]:
    """Grade with the embedded judge."""
    run = evaluate(data, client="embedded", **options)
    return [outcome.score for outcome in run.outcomes]


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_scores(name: str) -> None:
    """In memory: rows of any class, frames of any library."""
    assert scores(FRAMES[name]()) == SCORES


@pytest.mark.parametrize("name", FILES)
def test_every_file_gives_the_same_scores(name: str) -> None:
    """On disk: any kind, any encoding."""
    assert scores(FILES[name]()) == SCORES


def test_a_sheet_is_chosen_by_its_name() -> None:
    """Two sheets and none named: the error lists them."""
    path = excel(more=True)
    with pytest.raises(
        DataError, match=r"has the sheets 'Ответы', 'Notes'; specify one, as in --sheet"
    ):
        scores(path)
    with pytest.raises(DataError, match="has the sheets 'Ответы', 'Notes'; specify one"):
        scores(DataFile(path, sheet="Ответ"))

    assert scores(DataFile(path, sheet="Ответы")) == SCORES


def test_encoding_and_delimiter_can_be_said() -> None:
    """Where nothing in the file shows them."""
    path = written("a.csv", delimited(ROWS, "~").encode("cp866"))

    assert scores(DataFile(path, encoding="cp866", delimiter="~")) == SCORES


def test_a_guessed_encoding_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """Once, with the option that names another one; UTF-8 needs no word."""
    scores(written("guessed.csv", delimited(ROWS, ";").encode("cp1251")))
    scores(written("plain.csv", delimited(ROWS, ";").encode()))

    (said,) = caplog.messages
    assert "guessed.csv: not UTF-8, read as cp1251; specify another encoding with" in said


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "splits": (
        lambda: datasets.DatasetDict(a=datasets.Dataset.from_list(ROWS)),
        r"splits 'a'; .*data\['train'\]",
    ),
    "a column of pandas": (
        lambda: pandas.DataFrame(ROWS)["answer"],
        r"one column, a pandas\.Series",
    ),
    "a column of polars": (
        lambda: polars.DataFrame(ROWS)["answer"],
        r"one column, a polars\.Series",
    ),
    "two columns": (
        lambda: pandas.DataFrame([[1, 2]], columns=["a", "a"]),
        "the header contains 'a' twice",
    ),
    "other columns": (
        lambda: pandas.DataFrame({"text": ["a"]}),
        "no column for 'answer'.*the row has 'text'",
    ),
    "no file": (lambda: "none/*.jsonl", "no file matches 'none/"),
    "no such place": (lambda: "nothing://a/b.jsonl", "'nothing://a/b.jsonl' cannot be read: .*not"),
    "no such encoding": (
        lambda: DataFile(written("a.csv", "a,b\n1,2\n"), encoding="utf-99"),
        "encoding 'utf-99' is unknown",
    ),
    "no delimiter": (
        lambda: DataFile(written("b.csv", "a,b\n1,2\n"), delimiter=";;"),
        "delimiter is ';;'; expected one character",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_table_is_one_error(name: str) -> None:
    """Before the first row is graded."""
    data, message = WRONG[name]
    with pytest.raises(RagEvalsError, match=message):
        scores(data())


def test_a_table_without_the_column_ends_before_the_first_row() -> None:
    """All rows lack it: it is no fault of a row."""
    with pytest.raises(MissingColumnError, match="no column for 'context'"):
        scores(pandas.DataFrame({"answer": ["a", "b"]}))


def test_empty_cells_are_empty() -> None:
    """NaN, NaT and NA are no text; the rows end as not scorable, and numbers are ids."""
    frame = pandas.DataFrame(
        {
            "id": [1, 2, 3],
            "answer": [float("nan"), pandas.NaT, pandas.NA],
            "context": [["c"], ["c"], ["c"]],
            "topic": [float("nan"), "x", "y"],
        }
    )
    run = evaluate(frame, client="embedded", out="out")

    assert [outcome.reason for outcome in run.outcomes] == ["empty_answer"] * 3
    assert [outcome.sample_id for outcome in run.outcomes] == ["1", "2", "3"]
    assert run.column("topic") == {"1": None, "2": "x", "3": "y"}


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command that installs it."""
    parquet, sheet = FILES["parquet"](), excel()
    # What Python does for a package that is not installed.
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'rag-evals\[data\]'"):
        scores(parquet)
    with pytest.raises(ConfigurationError, match=r"pip install 'rag-evals\[excel\]'"):
        scores(sheet)


def test_a_broken_row_is_named_with_its_file() -> None:
    """Among many files the place has the name of one."""
    written("parts/a.jsonl", '{"answer": "a", "context": "c"}\n')
    written("parts/b.jsonl", '{"answer": 3, "context": "c"}\n')

    with pytest.raises(DataError, match=r"b\.jsonl, line 1: answer is 3"):
        scores("parts/*.jsonl")


def test_an_address_is_a_file_a_folder_or_a_pattern(tmp_path: Path) -> None:
    """Of a folder the Parquet files are read, of a pattern all that match, sorted by name."""
    pytest.importorskip("fsspec")
    for name in ("b/2.parquet", "a.parquet"):
        (tmp_path / "parts" / name).parent.mkdir(parents=True, exist_ok=True)
        table = pyarrow.Table.from_pylist([{"answer": name, "context": "c"}])
        pyarrow.parquet.write_table(table, tmp_path / "parts" / name)
    (tmp_path / "parts" / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()

    for end, answers in (
        ("parts/a.parquet", ["a.parquet"]),
        ("parts", ["a.parquet", "b/2.parquet"]),
        ("parts/*.parquet", ["a.parquet"]),
    ):
        located = locate(f"file://{tmp_path}/{end}")
        assert located.name.name == end.rpartition("/")[2]
        assert [row.values["answer"] for row in located.rows()] == answers
    for end in ("empty", "parts/*.csv"):
        with pytest.raises(DataError, match=r"no file at 'file://"):
            locate(f"file://{tmp_path}/{end}")


def test_lines_of_two_bytes_a_sign_may_be_cut_anywhere(tmp_path: Path) -> None:
    """UTF-16 is decoded block by block; a sign that spans two blocks stays whole."""
    rows = [{"answer": "Ж" * 40_000, "context": "c"}] * 30
    (tmp_path / "w.csv").write_bytes(delimited(rows).encode("utf-16"))

    assert {row.values["answer"] for row in read_rows(tmp_path / "w.csv")} == {"Ж" * 40_000}


def test_a_row_that_cannot_be_graded_keeps_its_name_and_columns() -> None:
    """No row takes the name of another, in memory and from the folder."""
    rows: list[dict[str, Any]] = [
        {"id": "row-1", "answer": "The tower stands.", "context": ["The tower stands."]},
        {"answer": 5, "context": ["x"]},
        {"id": "b", "answer": 5, "context": ["x"], "note": "n"},
        {"id": "b", "answer": "The tower stands.", "context": ["The tower stands."]},
    ]
    run = evaluate(rows, client="embedded", max_failures="100%", out="out")

    assert [outcome.sample_id for outcome in run] == ["row-1", "row-1-2", "b", "row-3"]
    assert [row["id"] for row in load_run("out").rows()] == ["row-1", "row-1-2", "b", "row-3"]
    assert run.column("note")["b"] == load_run("out").column("note")["b"] == "n"


def test_excel_cells_are_read_as_they_are_shown() -> None:
    """An error is an empty cell, a date has no clock, and rows have their numbers in Excel."""
    book = openpyxl.Workbook()
    book.active.append(["answer", "context", "day"])
    book.active.append(["#VALUE!", "c", datetime.datetime(2020, 5, 1)])  # noqa: DTZ001 - as Excel has it
    book.active["A2"].data_type = "e"
    book.active.append([None, "", None])
    book.active.append(["a"])
    book.save("e.xlsx")
    first, second = read_rows(Path("e.xlsx"))

    assert first.values == {"answer": None, "context": "c", "day": "2020-05-01"}
    assert (first.place, second.place) == ("row 2", "row 4")
    assert second.values["answer"] == "a"


def test_a_formula_of_excel_is_read_as_its_value() -> None:
    """The value is the one that Excel stored when it last computed the sheet."""
    book = openpyxl.Workbook()
    book.active.append(["answer", "context"])
    book.active.append(["=1900+87", "c"])
    book.save("formula.xlsx")
    with zipfile.ZipFile("formula.xlsx") as old, zipfile.ZipFile("stored.xlsx", "w") as new:
        for name in old.namelist():
            content = re.sub(rb"(?<=</f>).*?(?=</c>)", b"<v>1987</v>", old.read(name))
            new.writestr(name, content)
    (row,) = read_rows(Path("stored.xlsx"))

    assert row.values == {"answer": 1987, "context": "c"}


def test_two_columns_of_one_name_are_refused_in_arrow_too() -> None:
    """The last one would win in silence."""
    table = pyarrow.Table.from_arrays([["a"], ["b"], ["c"]], names=["answer", "context", "context"])

    with pytest.raises(DataError, match="the table: the header contains 'context' twice"):
        scores(table)


UNCOUNTED = {"generator", "polars, lazy", "pyarrow data set", "pyarrow reader", "C stream"}
UNCOUNTED |= {"Hugging Face, streamed", "pairs of iterrows"}


@pytest.mark.parametrize("name", FRAMES)
def test_progress_has_a_total_where_the_data_knows_it(name: str) -> None:
    """A list, a frame, a table: the bar has an end, and a limit counts."""
    seen: list[Progress] = []
    run = evaluate(FRAMES[name](), client="embedded", limit=2, progress=seen.append)

    assert len(run) == len(seen) == 2
    assert {progress.total for progress in seen} == {None if name in UNCOUNTED else 2}


def test_a_number_in_a_column_of_texts_is_its_text() -> None:
    """Excel knows no difference: an answer 1987 is "1987", and other columns stay numbers."""
    book = openpyxl.Workbook()
    book.active.append(["id", "answer", "context", "reference", "label"])
    for place, answer in enumerate([1987, 1987.0, 0.1 + 0.2, 12_345_678_901]):
        book.active.append([place, answer, 7, 1987, 1])
    book.save("n.xlsx")
    run = evaluate("n.xlsx", client="embedded")
    rows = list(run.rows())

    assert [row["answer"] for row in rows] == ["1987", "1987", "0.3", "12345678901"]
    assert [row["reference"] for row in rows] == ["1987"] * 4
    assert [row["context"] for row in rows] == [["7"]] * 4
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    assert {row["label"] for row in rows} == {1}


NUMBER_TABLES: dict[str, Callable[[], Any]] = {
    "pandas, whole numbers": lambda: pandas.DataFrame({"answer": [1987], "context": "c"}),
    "pandas, one answer missing": lambda: pandas.DataFrame(
        {"answer": [1987, None], "context": "c"}
    ),
    "pandas, nullable": lambda: pandas.DataFrame({"answer": [1987], "context": "c"}).astype(
        {"answer": "Int64"}
    ),
    "polars": lambda: polars.DataFrame({"answer": [1987.0], "context": ["c"]}),
    "arrow": lambda: pyarrow.table({"answer": [1987], "context": ["c"]}),
    "Hugging Face": lambda: datasets.Dataset.from_dict({"answer": [1987], "context": ["c"]}),
    "parquet": lambda: numbers_in_parquet(),
    "csv": lambda: written("n.csv", "answer,context\n1987,c\n"),
    "rows of a frame": lambda: [
        row for _, row in pandas.DataFrame({"answer": [1987.0], "context": "c"}).iterrows()
    ],
}


def numbers_in_parquet() -> str:
    """Write a column of numbers where texts belong."""
    pyarrow.parquet.write_table(pyarrow.table({"answer": [1987.0], "context": ["c"]}), "n.parquet")
    return "n.parquet"


@pytest.mark.parametrize("name", NUMBER_TABLES)
def test_a_number_of_any_table_is_its_text(name: str) -> None:
    """One rule for all: a whole number has no ".0", even where a missing cell made it a float."""
    run = evaluate(NUMBER_TABLES[name](), client="embedded")

    assert next(run.rows())["answer"] == "1987"
    # A number alone tells no language; it was read and decided all the same.
    assert run[0].status == "scored"


@pytest.mark.parametrize("answer", [True, [1, 2], {"a": 1}])
def test_what_is_no_number_stays_a_fault(answer: object) -> None:
    """A bool, a list and an object are no answers, in a frame as in rows."""
    (outcome,) = evaluate(
        pandas.DataFrame({"answer": [answer], "context": ["c"]}), max_failures="100%"
    )

    assert outcome.error is not None
    assert "expected text" in outcome.error.message


def test_a_dict_of_columns_is_read_as_a_table() -> None:
    """What `to_dict("list")` makes; columns of several lengths are refused."""
    frame = pandas.DataFrame(ROWS)

    assert scores(frame.to_dict("list")) == SCORES
    assert scores(polars.DataFrame(ROWS).to_dict()) == SCORES
    with pytest.raises(DataError, match="columns have different lengths: 'answer' 2, 'context' 1"):
        scores({"answer": ["a", "b"], "context": ["c"]})
    with pytest.raises(DataError, match=r"evaluate\(\[row\]\) for one row"):
        scores(ROWS[0])
    with pytest.raises(DataError, match=r"evaluate\(\[row\]\) for one row"):
        scores({"answer": "a", "context": "c"})
    with pytest.raises(DataError, match="expected a path, a table or an iterable of rows"):
        scores({"answer": iter("a"), "context": iter("c")})


def test_rows_of_a_frame_are_rows() -> None:
    """A pandas Series is the mapping it is, also in the pairs of `iterrows`."""
    frame = pandas.DataFrame(ROWS)

    assert scores([row for _, row in frame.iterrows()]) == SCORES
    assert scores(frame.iterrows()) == SCORES


FORMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "texts": lambda row: row,
    "mappings": lambda row: row | {"context": [{"text": text} for text in row["context"]]},
    "LangChain": lambda row: (
        row
        | {"context": [{"page_content": text, "metadata": {"page": 1}} for text in row["context"]]}
    ),
    "JSON text": lambda row: row | {"context": json.dumps(row["context"])},
    "Python text": lambda row: row | {"context": str(row["context"])},
    "deepeval": lambda row: {
        "input": row["question"],
        "actual_output": row["answer"],
        "retrieval_context": row["context"],
    },
    "ragas": lambda row: {
        "user_input": row["question"],
        "response": row["answer"],
        "retrieved_contexts": row["context"],
    },
    "Russian": lambda row: {
        "Вопрос": row["question"],
        "Ответ": row["answer"],
        "Контекст": row["context"],
    },
}
"""The same rows as retrievers and other tools write them."""

SOURCES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": lambda rows: rows,
    "pandas": lambda rows: pandas.DataFrame(rows),
    "polars": lambda rows: polars.DataFrame(rows),
    "arrow": lambda rows: pyarrow.Table.from_pylist(rows),
    "Hugging Face": lambda rows: datasets.Dataset.from_list(rows),
    "jsonl": lambda rows: written("f.jsonl", lines(rows)),
    "csv": lambda rows: written("f.csv", delimited(rows)),
    "xlsx": lambda rows: excel("f.xlsx", rows),
}
"""Where the rows stand."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_form_in_every_source_gives_the_same_scores(source: str, form: str) -> None:
    """64 combinations end in equal scores."""
    assert scores(SOURCES[source]([FORMS[form](row) for row in ROWS])) == SCORES


def test_rows_of_a_parquet_file_keep_their_places_when_others_are_passed_over() -> None:
    """A whole group that nobody wants counts too."""
    table = pyarrow.table({"answer": ["a", "b", "c", "d"]})
    pyarrow.parquet.write_table(table, "p.parquet", row_group_size=2)
    found = list(read_rows(Path("p.parquet"), iter(b"\0\0\0\1")))

    assert [(row.place, row.values["answer"]) for row in found] == [("row 3", "d")]


def test_a_large_parquet_file_is_read_in_pieces() -> None:
    """The first row needs the first group of rows in memory, not the bytes of all of them."""
    texts = [secrets.token_hex(100) for _ in range(20_000)]
    table = pyarrow.table({"answer": texts})
    pyarrow.parquet.write_table(table, "large.parquet", row_group_size=1000, use_dictionary=False)
    next(read_rows(Path("large.parquet")))  # loads what reads it
    tracemalloc.start()
    row = next(read_rows(Path("large.parquet")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert row.values["answer"] == texts[0]
    assert peak < Path("large.parquet").stat().st_size / 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("wanted", [(1, 0, 1), (0, 1, 0), (0, 0, 0)])
def test_rows_that_are_not_wanted_are_passed_over(name: str, wanted: tuple[int, ...]) -> None:
    """Of every kind of file the others are what they were, with their places."""
    path = FILES[name]()
    rows = list(locate(path).rows())

    assert list(locate(path).rows(wanted=iter(wanted))) == list(compress(rows, wanted))


def test_a_group_of_a_parquet_file_without_a_wanted_row_is_not_read() -> None:
    """Whoever resumes at the end of a large file reads its end, also past damaged pages."""
    rows = [{"id": f"{number}", "answer": secrets.token_hex(500)} for number in range(30)]
    path = Path("groups.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=10)
    content = bytearray(path.read_bytes())
    content[4:5000] = bytes(4996)
    path.write_bytes(content)

    with pytest.raises(DataError, match="cannot be read"):
        list(locate(path).rows())
    wanted = [0] * 29 + [1]
    assert [row.values["id"] for row in locate(path).rows(wanted=iter(wanted))] == ["29"]


def test_what_is_a_row_is_known_by_its_kind() -> None:
    """An object with named fields is one; its class, a pair and a plain tuple are none."""
    fields: dict[str, Any] = {"question": "q", "answer": "a", "context": ["c"]}
    for row in (fields, UserDict(fields), Model(**fields), Plain(**fields), Attrs(**fields)):
        assert row_of(row) == fields
    assert row_of(Named(**fields)) == fields
    for other in (Model, Plain, Attrs, Named, dict, (1, fields), ("a", "b"), "text", 7, None):
        assert row_of(other) is None


def test_the_rows_of_a_frame_are_cells_with_named_columns() -> None:
    """Whatever its columns are called, and in the pairs of `iterrows` too."""
    frame = pandas.DataFrame([[1, "a"], [2, "b"]], columns=[3, ("x", "y")])
    rows = [Cells({"3": 1, "x y": "a"}), Cells({"3": 2, "x y": "b"})]
    found = list(rows_of(frame) or ())

    assert found == rows
    assert {type(row) for row in found} == {Cells}
    pairs = list(pandas.DataFrame([[1, "a"]], columns=[3, "x"]).iterrows())
    assert [row_of(pair) for pair in pairs] == [row_of(pairs[0][1])] == [Cells({"3": 1, "x": "a"})]
    assert type(row_of(pairs[0])) is Cells


@pytest.mark.parametrize("kind", ["pandas", "arrow", "batch", "parquet", "feather"])
@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2500])
def test_a_table_of_any_length_is_read_once_and_in_order(kind: str, count: int) -> None:
    """Pieces of 1024 rows begin where the last one ended."""
    numbers = list(range(count))
    if kind == "pandas":
        found = [row["n"] for row in rows_of(pandas.DataFrame({"n": numbers})) or ()]
    elif kind in ("arrow", "batch"):
        table = pyarrow.table({"n": numbers})
        given = table if kind == "arrow" else table.to_batches()[0]
        found = [row["n"] for row in rows_of(given) or ()]
    else:
        table = pyarrow.table({"n": numbers})
        if kind == "parquet":
            pyarrow.parquet.write_table(table, "n.parquet", row_group_size=1500)
        else:
            pyarrow.feather.write_feather(table, "n.feather")
        rows = list(read_rows(Path(f"n.{kind}")))
        found = [row.values["n"] for row in rows]
        assert [row.place for row in rows] == [f"row {number}" for number in numbers]
        last = list(read_rows(Path(f"n.{kind}"), iter([0] * (count - 1) + [1])))
        assert [(row.place, row.values) for row in last] == [(f"row {count - 1}", {"n": count - 1})]

    assert found == numbers


def test_a_dict_is_a_table_only_of_columns_that_have_a_length() -> None:
    """Of columns with any names; texts, bytes and mappings are no columns."""
    assert rows_of({3: (1, 2), "b": ["x", "y"]}) == [
        Cells({"3": 1, "b": "x"}),
        Cells({"3": 2, "b": "y"}),
    ]
    assert [type(row) for row in rows_of({"a": [1]}) or ()] == [Cells]
    assert rows_of({"a": [], "b": []}) == []
    for other in ({}, {"a": "x"}, {"a": b"x"}, {"a": {"b": 1}}, {"a": [1], "b": 2}):
        with pytest.raises(DataError, match="data is a dict without columns of values"):
            rows_of(other)
    with pytest.raises(DataError, match="different lengths: 'a' 1, 'b' 2, 'c' 1"):
        rows_of({"a": [1], "b": [1, 2], "c": [3]})
    assert rows_of([{"a": 1}]) is rows_of(iter(())) is rows_of(7) is None
    assert rows_of(pyarrow.Table) is None


def test_a_sheet_is_read_by_its_first_line_with_a_cell() -> None:
    """Names lose their blanks, columns without a name are left out, short lines have less."""
    book = openpyxl.Workbook()
    sheet = book.active
    for cells in ([None], ["", None], [" a ", None, "b", 7], ["x", "lost", 0, False], [], ["y"]):
        sheet.append(cells)
    sheet.append(["z", None, datetime.datetime(2020, 5, 1, 12, 30), datetime.time(8, 5)])  # noqa: DTZ001 - as Excel has it
    sheet.append([None, None, datetime.date(2020, 5, 2), None])
    book.save("s.xlsx")
    rows = list(read_rows(Path("s.xlsx")))

    assert [(row.place, dict(row.values)) for row in rows] == [
        ("row 4", {"a": "x", "b": 0, "7": False}),
        ("row 6", {"a": "y", "b": None, "7": None}),
        ("row 7", {"a": "z", "b": "2020-05-01T12:30:00", "7": "08:05:00"}),
        ("row 8", {"a": None, "b": "2020-05-02", "7": None}),
    ]
    assert {type(row.values) for row in rows} == {Cells}
    some = list(read_rows(Path("s.xlsx"), iter((0, 1, 0, 1))))
    assert [row.place for row in some] == ["row 6", "row 8"]


def test_a_sheet_with_a_name_twice_is_refused_by_its_name() -> None:
    """The file and the sheet are in the message; of several sheets the first is proposed."""
    book = openpyxl.Workbook()
    book.active.title = "One"
    book.active.append(["a", "b", "a"])
    book.create_sheet("Two").append(["a"])
    book.save("s.xlsx")

    with pytest.raises(DataError, match="'s.xlsx', sheet 'One': the header contains 'a' twice"):
        list(read_rows(DataFile("s.xlsx", sheet="One")))
    with pytest.raises(DataError, match="'s.xlsx' has no rows"):
        list(read_rows(DataFile("s.xlsx", sheet="Two")))
    with pytest.raises(DataError, match="'One', 'Two'; specify one, as in --sheet 'One'"):
        list(read_rows(Path("s.xlsx")))


def test_two_columns_of_one_name_are_refused_in_a_file_of_arrow() -> None:
    """Before the first row, in Parquet as in Arrow."""
    table = pyarrow.Table.from_arrays([["a"], ["b"]], names=["answer", "answer"])
    pyarrow.parquet.write_table(table, "t.parquet")
    with pyarrow.OSFile("t.arrow", "wb") as file, pyarrow.ipc.new_file(file, table.schema) as out:
        out.write_table(table)

    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(DataError, match="the header contains 'answer' twice"):
            list(read_rows(Path(name)))


def test_only_faults_of_arrow_are_faults_of_the_file() -> None:
    """What a caller raises while it reads stays what it is."""
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), "t.parquet")
    rows = read_rows(Path("t.parquet"))
    next(rows)

    with pytest.raises(ZeroDivisionError):
        rows.throw(ZeroDivisionError())  # type: ignore[attr-defined]
