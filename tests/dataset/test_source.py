"""A file is checked whole before anything is paid for; an iterable row by row."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import ColumnMap, Sample
from rag_evals.dataset import DataFile, FileData, KeptCheck, RowData, data_from
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


TABLE = "answer,context,text,note\nA.,c,t,1\nB.,c,u,2\n"
NAMED = ColumnMap(answer="text")


def table(
    path: str = "t.csv", columns: ColumnMap = NAMED, limit: int | None = None, **options: Any
) -> FileData:
    """Open the table."""
    return FileData(DataFile(path, **options), columns, NEEDED, limit)


def covers(kept: KeptCheck | None, data: FileData) -> bool:
    """Check data, and say whether its rows were not read again."""
    assert kept is not None
    checked = data.check([kept])
    assert data.kept_check is not None
    assert (checked is kept.checked) == (data.kept_check is kept)
    return data.kept_check is kept


def test_a_kept_check_covers_only_the_same_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever decides which rows are read, and as what, is a part of it; the folder is not."""
    for name in ("t.csv", "other.csv", "folder/t.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(TABLE)
    first = table()
    first.check()
    kept = first.kept_check

    assert covers(kept, table())
    assert covers(kept, FileData("t.csv", NAMED, NEEDED))
    assert covers(kept, table("folder/t.csv"))
    for other in (
        table("other.csv"),
        table(limit=2),
        table(limit=1),
        table(encoding="utf-8"),
        table(delimiter=","),
        table(sheet="one"),
        table(columns=ColumnMap(answer="note")),
        table(columns=ColumnMap(context="text", answer="text")),
        FileData("t.csv", NAMED, frozenset({"answer"})),
    ):
        assert not covers(kept, other)
    monkeypatch.setenv("RAG_EVALS_MAX_LINE_MB", "1")
    assert not covers(kept, table())
    monkeypatch.delenv("RAG_EVALS_MAX_LINE_MB")
    assert covers(kept, table())
    monkeypatch.setattr("rag_evals.dataset.source.version", lambda _: "0.0.1")
    assert not covers(kept, table())


def test_a_kept_check_covers_only_the_same_bytes() -> None:
    """One letter is enough; the fitting one of several is taken."""
    kept: list[KeptCheck] = []
    for text in (TABLE, TABLE.replace("u", "v"), TABLE + "\n"):
        Path("t.csv").write_text(text)
        data = table()
        assert data.check(kept).count == 2
        assert data.kept_check is not None
        assert data.kept_check not in kept
        kept.append(data.kept_check)
    Path("t.csv").write_text(TABLE)
    again = table()

    assert again.check(kept) == kept[0].checked
    assert again.kept_check is kept[0]
    assert len({each.reading for each in kept}) == 1
    assert len({each.content for each in kept}) == 3


def test_a_check_tells_which_columns_any_row_has() -> None:
    """Also one that only the first row has, and one that is not used."""
    checked = file_of(
        {"output": "b", "context": "c", "first": 1},
        {"response": "a", "context": "d", "label": 2},
        {"answer": "a", "contexts": "e"},
    ).check()

    assert checked.count == 3
    assert checked.taken == {
        "answer": "answer or output or response",
        "context": "context or contexts",
    }
    assert checked.columns == {
        *("output", "context", "first", "response", "label", "answer", "contexts")
    }


def test_the_hash_of_a_check_covers_ids_and_all_that_is_graded() -> None:
    """And no other column."""
    base = {"id": "x", "question": "q", "answer": "a", "context": ["c"], "reference": "r"}
    hashes = [
        file_of(base | change).check().data_hash
        for change in (
            {},
            {"id": "y"},
            {"question": "p"},
            {"answer": "b"},
            {"context": ["d"]},
            {"reference": "s"},
            {"note": "n"},
        )
    ]

    assert len(set(hashes[:-1])) == 6
    assert hashes[-1] == hashes[0]


def test_a_file_looks_unchanged_while_size_time_and_inode_are_the_same() -> None:
    """Each of the three is enough to look again."""
    path = Path("t.csv")

    def written(text: str, times: tuple[int, int] | None = None) -> None:
        path.write_text(text)
        os.utime(path, ns=times or (10**18, 10**18))

    assert not table().looks_unchanged()
    written(TABLE)
    data = table()
    assert not data.looks_unchanged()
    assert not data.has_same_content()
    data.check()
    assert data.looks_unchanged()
    written(TABLE + "C.,c,t,3\n")
    assert not data.looks_unchanged()
    assert not data.has_same_content()
    written(TABLE)
    assert data.looks_unchanged()
    assert data.has_same_content()
    written(TABLE, (10**18, 10**18 + 1))
    assert not data.looks_unchanged()
    assert data.has_same_content()
    other = Path("other.csv")
    other.write_text(TABLE)
    os.utime(other, ns=(10**18, 10**18))
    other.replace(path)
    assert not data.looks_unchanged()
    path.unlink()
    assert not data.looks_unchanged()
    assert not data.has_same_content()


def test_some_rows_of_a_file_keep_their_positions() -> None:
    """Those that are wanted, within the limit; nothing is read where none is."""
    rows = [{"answer": f"a{place}", "context": "c", "n": place} for place in range(6)]
    data = file_of(*rows, limit=5)
    data.check()
    found = list(data.some(bytes([0, 1, 0, 1, 1])))

    assert [(one.position, one.columns["n"]) for one in found] == [(1, 1), (3, 3), (4, 4)]
    assert [one.sample.answer for one in found if isinstance(one.sample, Sample)] == [
        *("a1", "a3", "a4")
    ]
    data.require_unchanged()
    Path("rows.jsonl").unlink()
    assert list(data.some(bytes(5))) == []


def test_a_file_that_was_read_twice_is_compared_with_its_check() -> None:
    """Read in full, its rows count; read in part, its bytes."""
    rows = [{"answer": "a", "context": "c"}, {"answer": "b", "context": "d"}]
    data = file_of(*rows)
    data.check()
    list(data)
    data.require_unchanged()
    list(data)
    data.require_unchanged()
    file_of(rows[0], {"answer": "b", "context": "e"})
    list(data)
    with pytest.raises(DataError, match="'rows.jsonl' changed while it was being read"):
        data.require_unchanged()
    data.check()
    data.require_unchanged()
    list(data)
    data.require_unchanged()

    partly = file_of(*rows)
    partly.check()
    list(partly.some(bytes([1, 1])))
    partly.require_unchanged()
    file_of(*rows, {"answer": "d", "context": "e"})
    with pytest.raises(DataError, match="changed while it was being read"):
        partly.require_unchanged()


def test_nothing_that_is_not_rated_makes_a_file_another() -> None:
    """A further column may be written meanwhile: each row has the same hash."""
    rows = [{"answer": "a", "context": "c"}, {"answer": "b", "context": "d"}]
    data = file_of(*rows)
    data.check()
    file_of(*(row | {"note": "n"} for row in rows))

    assert [one.columns for one in data] == [{"note": "n"}] * 2
    data.require_unchanged()


def test_a_row_that_breaks_after_the_check_says_so() -> None:
    """Its line too."""
    data = file_of({"answer": "a", "context": "c"}, {"answer": "b", "context": "c"})
    data.check()
    file_of({"answer": "a", "context": "c"}, {"answer": "b"})

    with pytest.raises(MissingColumnError, match=r"'rows.jsonl', line 2: no column .* it has cha"):
        list(data)


def test_rows_of_an_iterable_have_names_positions_and_columns() -> None:
    """No two the same name, whatever their faults; the number of a fault is that of its row."""
    good = {"answer": "a", "context": "c"}
    rows: list[Any] = [
        good | {"id": "x", "note": 1},
        good | {"note": 2},
        good | {"id": "x", "note": 3},
        good | {"note": 4},
        {"id": "x", "answer": 3, "note": 5},
        {"id": "y", "answer": 3, "context": "c", "note": 6},
        good | {"id": "y", "note": 7},
        {"answer": 3, "context": "c", "note": 8},
        Sample(answer="b", context="c"),
        good | {"id": "row-2", "note": 9},
        17,
        good | {"id": "beyond"},
    ]
    found = list(RowData(rows, ColumnMap(), NEEDED, 11))
    own = Sample(answer="a", context="c").content_hash()

    assert [(one.position, one.sample_id) for one in found] == [
        *[(0, "x"), (1, own), (2, "row-2"), (3, "row-3"), (4, "row-4"), (5, "y"), (6, "row-6")],
        *[(7, "row-7"), (8, Sample(answer="b", context="c").content_hash())],
        *[(9, "row-9"), (10, "row-10")],
    ]
    assert [one.columns.get("note") for one in found] == [1, 2, 3, 4, 5, 6, 7, 8, None, 9, None]
    assert [str(one.sample) for one in found if isinstance(one.sample, DataError)] == [
        "rows 0 and 2 have the same id 'x'",
        f"rows 1 and 3 have the same id {own!r}",
        next(str(one.sample) for one in found[4:5]),
        "row 5: answer is 3 (int); expected text",
        "rows 5 and 6 have the same id 'y'",
        "row 7: answer is 3 (int); expected text",
        "rows 2 and 9 have the same id 'row-2'",
        "row 10: int; expected a mapping, a Sample, or an object with fields",
    ]
    assert str(found[4].sample).startswith("row 4: no column for 'context'")
    assert [one.fingerprint for one in found] == [
        one.sample.fingerprint() if isinstance(one.sample, Sample) else "" for one in found
    ]


def test_a_name_that_is_taken_gets_the_next_free_number() -> None:
    """The first mark is 2."""
    good = {"answer": "a", "context": "c"}
    bad: dict[str, Any] = {"answer": 3, "context": "c"}
    rows = [good | {"id": "row-3"}, good | {"id": "row-3-2"}, good | {"id": "row-4"}, bad, bad]
    found = RowData(rows, ColumnMap(), NEEDED)

    assert [one.sample_id for one in found] == [
        *("row-3", "row-3-2", "row-4", "row-3-3", "row-4-2")
    ]


@pytest.mark.parametrize("limit", [None, 0, 1, 2, 3, sys.maxsize * 10])
def test_data_has_as_many_rows_as_the_limit_lets_through(limit: int | None) -> None:
    """Known beforehand where the data has a length: in a list, in columns, not in a stream."""
    rows = [{"answer": "a", "context": "c"}, {"answer": "b", "context": "c"}]
    columns = {"answer": ["a", "b"], "context": ["c", "c"], "note": [1, 2], "more": [1, 2]}
    expected = 2 if limit is None else min(limit, 2)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for data, count in ((rows, expected), (columns, expected), (iter(rows), None)):
        found = data_from(data, ColumnMap(), NEEDED, limit)
        assert isinstance(found, RowData)
        assert found.count == count
        assert len(list(found)) == expected

    file = data_from("rows.jsonl", ColumnMap(), NEEDED, limit)
    assert isinstance(file, FileData)
    if expected:
        assert file.check().count == len(list(file)) == expected


def test_only_a_missing_column_of_the_first_row_ends_a_table() -> None:
    """Another fault is that row's own; rows of a list may differ, so that none ends it."""
    wrong = {"answer": [True, "b"], "context": ["c", "c"]}
    found = data_from(wrong, ColumnMap(), NEEDED)
    assert [isinstance(row.sample, Sample) for row in found] == [False, True]

    with pytest.raises(MissingColumnError, match="no column for 'context'"):
        data_from({"answer": ["a"]}, ColumnMap(), NEEDED)
    listed = data_from([{"answer": "a"}], ColumnMap(), NEEDED)
    assert [isinstance(row.sample, MissingColumnError) for row in listed] == [True]
    with pytest.raises(MissingColumnError, match="no column for 'context'"):
        RowData([], ColumnMap(), NEEDED).require_names(["answer", "note"])
    RowData([], ColumnMap(), NEEDED).require_names(["answer", "note", "contexts"])
