"""A file is checked whole before anything is paid for; an iterable row by row."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import ColumnMap, Sample
from rag_evals.dataset import FileData, KeptCheck, RowData, data_from
from rag_evals.errors import DataError, DuplicateIdError, MissingColumnError

NEEDED = frozenset({"answer", "context"})


def file_of(*rows: dict[str, Any], limit: int | None = None) -> FileData:
    """Write rows to a file and open it."""
    path = Path("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return FileData(path, ColumnMap(), NEEDED, limit)


def test_a_check_counts_hashes_and_says_what_it_took() -> None:
    """Equal rows have one hash, changed rows another."""
    rows = [{"response": "a", "contexts": ["c"]}, {"response": "b", "contexts": ["c"]}]
    checked = file_of(*rows).check()

    assert checked.count == 2
    assert checked.taken == {"answer": "response", "context": "contexts"}
    assert file_of(*rows).check().data_hash == checked.data_hash
    assert file_of(*reversed(rows)).check().data_hash != checked.data_hash


def test_a_check_of_a_file_that_changes_meanwhile_is_not_kept() -> None:
    """What was read is neither the file before nor after, so the next run checks it again."""
    data = file_of({"answer": "a", "context": "c"})

    def changing() -> Iterator[KeptCheck]:
        file_of({"answer": "a", "context": "c"}, {"answer": "b", "context": "c"})
        yield from ()

    assert data.check().count == 1
    assert data.kept_check is not None
    assert data.check(changing()).count == 2
    assert data.kept_check is None


def test_a_check_for_fewer_fields_does_not_cover_more() -> None:
    """A grader that needs further columns finds the row that lacks one."""
    path = Path("rows.jsonl")
    path.write_text('{"answer": "a"}\n')
    data = FileData(path, ColumnMap(), frozenset({"answer"}))
    assert data.check().count == 1
    assert data.kept_check is not None

    with pytest.raises(MissingColumnError, match="no column for 'context'"):
        FileData(path, ColumnMap(), NEEDED).check([data.kept_check])


def test_a_row_that_moves_to_the_next_file_is_a_change(tmp_path: Path) -> None:
    """Where one file ends and the next begins is a part of what was checked."""
    lines = [json.dumps({"answer": answer, "context": "c"}) + "\n" for answer in "abc"]
    contents = []
    for first in (1, 2):
        (tmp_path / "a.jsonl").write_text("".join(lines[:first]))
        (tmp_path / "b.jsonl").write_text("".join(lines[first:]))
        data = FileData(tmp_path / "*.jsonl", ColumnMap(), NEEDED)
        assert data.check().count == 3
        assert data.kept_check is not None
        contents.append(data.kept_check.content)

    assert contents[0] != contents[1]


@pytest.mark.parametrize("fields", [("answer",), ("answer", "context"), ()])
def test_a_check_with_a_function_of_the_row_is_not_kept(fields: tuple[str, ...]) -> None:
    """Its code may be another at the next start, so that the rows are read again."""
    file_of({"answer": "a", "context": "c"})
    own: dict[str, Any] = {name: lambda row, name=name: row[name] for name in fields}
    data = FileData(Path("rows.jsonl"), ColumnMap(**own), NEEDED)

    assert data.check().count == 1
    assert (data.kept_check is None) == bool(fields)


def test_rows_of_one_file_may_name_their_columns_differently() -> None:
    """Each row is recognised by itself, and both names are reported."""
    checked = file_of({"answer": "a", "context": "c"}, {"output": "b", "context": "c"}).check()

    assert checked.taken["answer"] == "answer or output"


def test_an_id_is_made_from_the_content() -> None:
    """Without an id column the name of a row is a hash that stays the same."""
    (row,) = file_of({"answer": "a", "context": "c"})

    assert row.sample_id == Sample(answer="a", context="c").content_hash()


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        (
            [
                {"id": "x", "answer": "a", "context": "c"},
                {"id": "x", "answer": "b", "context": "c"},
            ],
            DuplicateIdError,
            "line 2: an earlier row has the same id 'x'",
        ),
        (
            [{"answer": "a", "context": "c"}] * 2,
            DuplicateIdError,
            "a hash of their content: the rows are identical",
        ),
        (
            [{"answer": "a", "context": "c"}, {"answer": "a"}],
            MissingColumnError,
            "line 2: no column for 'context'",
        ),
        ([{"answer": "a", "context": [1]}], DataError, r"line 1: context\[0\] is 1 \(int\)"),
        ([{"answer": "\ud800", "context": "c"}], DataError, "line 1: invalid JSON"),
    ],
)
def test_a_bad_row_is_found_before_grading(
    rows: list[dict[str, Any]], kind: type[DataError], message: str
) -> None:
    """The check raises with the line, whatever rows come before it."""
    with pytest.raises(kind, match=message):
        file_of(*rows).check()


def test_a_limit_leaves_the_rest_unread() -> None:
    """Rows beyond the limit are neither checked nor graded."""
    data = file_of({"answer": "a", "context": "c"}, {"answer": 1}, limit=1)

    assert data.check().count == 1
    assert len(list(data)) == 1


def test_a_bad_row_of_an_iterable_is_an_error_in_its_place() -> None:
    """Rows that are handed over are checked one by one, and the good ones go on."""
    rows: list[Any] = [
        {"answer": "a", "context": "c", "id": "x"},
        {"answer": 3, "context": "c"},
        Sample(answer="b", context="c"),
        {"answer": "d", "context": "c", "id": "x"},
        17,
        ("a", "c"),
    ]
    numbered = list(RowData(rows, ColumnMap(), NEEDED))

    assert [n for n, row in enumerate(numbered) if isinstance(row.sample, Sample)] == [0, 2]
    assert [str(row.sample) for row in numbered if isinstance(row.sample, DataError)] == [
        "row 1: answer is 3 (int); expected text",
        "rows 0 and 3 have the same id 'x'",
        "row 4: int; expected a mapping, a Sample, or an object with fields",
        "row 5: tuple; expected a mapping, a Sample, or an object with fields",
    ]


def test_the_first_row_is_looked_at_and_still_read() -> None:
    """Of a stream, which is read once, and of a list, which is read as often as one likes."""
    rows = [{"answer": "a", "context": "c"}, {"answer": "b", "context": "d"}]
    stream, listed, empty = (
        RowData(each, ColumnMap(), NEEDED) for each in (iter(rows), rows, iter([]))
    )
    for data in (stream, listed, empty):
        data.require_columns()

    assert [len(list(data)) for data in (stream, listed, listed, empty)] == [2, 2, 2, 0]


@pytest.mark.parametrize("data", [3, {"answer": "a"}])
def test_what_is_no_data_is_refused(data: Any) -> None:
    """A number and a single row are not data."""
    with pytest.raises(DataError, match="expected a path, a table or an iterable of rows"):
        data_from(data, ColumnMap(), NEEDED)
