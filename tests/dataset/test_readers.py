"""Files are read row by row; what is broken is named with its line."""

import gzip
import io
import json
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path

import pytest

from rag_evals.dataset import DataFile, read_rows
from rag_evals.dataset.files import Opened, max_line_bytes, read_csv
from rag_evals.dataset.readers import locate
from rag_evals.errors import ConfigurationError, DataError

ROW = {"answer": "Да. 🗼", "context": ["c"]}


def write(name: str, content: str | bytes) -> Path:
    """Write a file in the working folder; compressed when its name says so."""
    raw = content.encode() if isinstance(content, str) else content
    path = Path(name)
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps(ROW) + "\n\n" + json.dumps(ROW)),
        ("a.ndjson", "\ufeff" + json.dumps(ROW, ensure_ascii=False) + "\r\n" + json.dumps(ROW)),
        ("a.json", json.dumps([ROW, ROW], indent=1)),
        ("a.csv", 'answer,context\nДа. 🗼,"[""c""]"\n\nДа. 🗼,"[""c""]"\n'),
        ("a.tsv", 'answer\tcontext\nДа. 🗼\t["c"]\n\nДа. 🗼\t["c"]\n'),
        ("my.data.v2.JSONL", json.dumps(ROW) + "\n" + json.dumps(ROW)),
    ],
)
def test_every_kind_of_file_gives_the_same_rows(name: str, content: str, suffix: str) -> None:
    """JSONL, JSON and CSV, plain or compressed, hold the same data."""
    rows = list(read_rows(write(name + suffix, content)))

    assert [row.values for row in rows] == [ROW, ROW]


def test_a_csv_cell_is_text_unless_it_is_json() -> None:
    """Footnotes in brackets stay text; multi-line cells stay whole."""
    path = write("a.csv", 'answer,context\n"[1] A note\nand more","[""a"", ""b""]"\n')
    (row,) = read_rows(path)

    assert row.values == {"answer": "[1] A note\nand more", "context": ["a", "b"]}


def test_a_row_of_empty_cells_is_a_row() -> None:
    """Only a line without cells is none, so that rows and their places are those of the file."""
    rows = list(read_rows(write("a.csv", "answer,context\nx,c\n,\n\ny,c\n")))

    assert [row.values["answer"] for row in rows] == ["x", "", "y"]
    assert [row.place for row in rows] == ["line 2", "line 3", "line 5"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "'a.jsonl' has no rows"),
        ("a.json", " ", "'a.json' has no rows"),
        ("a.json", "[]", "'a.json' has no rows"),
        ("a.csv", "answer,context\n", "'a.csv' has no rows"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "a.jsonl, line 2: invalid JSON: .* at column 5"),
        ("a.json", '[{"a": 1},\n{]', "a.json: invalid JSON: .* at line 2 column 2"),
        ("a.jsonl", "[1]\n", "a.jsonl, line 1: list; expected an object"),
        ("a.json", '{"a": 1}', "'a.json' contains dict; expected a list of objects"),
        ("a.json", "[1]", "a.json, row 0: int; expected an object"),
        ("a.csv", "a,b\n1,2\n1\n", r"'a.csv', line 3: 1 cells, but the header has 2; columns"),
        ("a.csv", "a,a\n1,2\n", "'a.csv': the header contains 'a' twice"),
        ("a.csv", "b,c,a,b,a\n", "'a.csv': the header contains 'a', 'b' twice"),
        ("a.csv", 'a,b\n1,"2\n', "'a.csv', line 2: unexpected end of data"),
        ("a.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "a.jsonl, line 2, byte 7: not UTF-8 .byte 0xff."),
        (
            "a.csv",
            "a,b\nя,1\n".encode() + b"\xff,1\n",
            "a.csv, line 3, byte 0: not UTF-8 .byte 0xff.*--enc",
        ),
        ("a.csv", b"a,b\n\xff\0,1\n", "a.csv, line 2, byte 0: not UTF-8 .byte 0xff."),
        ("a.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "a.csv, line 2: not UTF-16"),
        ("a.csv.zst", "a,b\n1,2\n", "'a.csv.zst' is not a complete zstd file"),
        ("a.arrow", "ARROW1x", "'a.arrow' cannot be read: "),
        ("a.feather", "x", "'a.feather' cannot be read: "),
        ("a.parquet", "x", "'a.parquet' cannot be read: Parquet file size is 1 bytes"),
        ("a.xlsx", "x", "'a.xlsx' cannot be read as an Excel file: File is not a zip file"),
        ("a.csv", b"PK\x03\x04\x14", "'a.csv' is a zip or Excel file; rename an Excel file"),
        ("a.jsonl.gz", b"PK\x03\x04\x14", "'a.jsonl.gz' is a zip or Excel file"),
        ("a.txt", "x", "'a.txt' cannot be read; expected a file that ends in .jsonl, .*.xlsx"),
        ("a", "x", "'a' cannot be read; expected"),
    ],
)
def test_what_is_broken_is_named(name: str, content: str | bytes, message: str) -> None:
    """File, line, value, and what would be right."""
    with pytest.raises(DataError, match=message):
        list(read_rows(write(name, content)))


def test_a_gzip_that_is_none_or_torn_is_named() -> None:
    """A renamed or cut-off archive is a data error, not a traceback."""
    Path("plain.jsonl.gz").write_text("{}")
    whole = gzip.compress(json.dumps(ROW).encode() * 100)
    Path("torn.jsonl.gz").write_bytes(whole[:-10])

    for name in ("plain.jsonl.gz", "torn.jsonl.gz"):
        with pytest.raises(DataError, match="not a complete gzip file"):
            list(read_rows(Path(name)))


def test_a_missing_file_and_a_folder_are_named() -> None:
    """Each says which it is."""
    Path("folder.jsonl").mkdir()

    with pytest.raises(DataError, match=r"'none.jsonl' does not exist"):
        list(read_rows(Path("none.jsonl")))
    with pytest.raises(DataError, match="'folder.jsonl' is a folder"):
        list(read_rows(Path("folder.jsonl")))


def test_a_huge_cell_is_read() -> None:
    """A whole context in one cell is no error."""
    path = write("a.csv", "answer,context\na," + "x" * 500_000 + "\n")

    assert len(next(read_rows(path)).values["context"]) == 500_000


def opened(content: bytes, limit: int) -> Opened:
    """Open bytes as a file of which at most so many are read at once."""
    return Opened(io.BufferedReader(io.BytesIO(content)), Path("a"), DataFile("a"), limit)


def test_a_line_may_be_as_long_as_the_limit_and_no_longer() -> None:
    """The line break counts; the line that is too long is named, not split."""
    assert list(opened(b"1234\n67890", 5)) == [b"1234\n", b"67890"]
    with pytest.raises(DataError, match="'a': line 2 is larger than"):
        list(opened(b"1\n12345\n", 5))
    assert opened(b"12345", 5).read() == b"12345"
    with pytest.raises(DataError, match="'a': the file is larger than"):
        opened(b"123456", 5).read()


def test_a_line_of_utf16_is_bounded_by_its_characters() -> None:
    """And its byte order mark belongs to the first line alone, also where the order is named."""

    def rows(text: str, limit: int, encoding: str) -> list[dict[str, str]]:
        file = opened(text.encode(encoding), limit)
        named = replace(file, options=DataFile("a", encoding=encoding))
        return [dict(row.values) for row in read_csv(named)]

    for encoding in ("utf-16-le", "utf-32-be", "UTF-16"):
        assert rows("a,b,c,d\n1,2,3,4\n", 8, encoding) == [{"a": "1", "b": "2", "c": "3", "d": "4"}]
        with pytest.raises(DataError, match="'a': line 2 is larger than"):
            rows("a,b,c,d\n1,2,3,44\n", 8, encoding)
    assert rows("\ufeffa\n\ufeff1\n", 9, "utf-16-le") == [{"a": "\ufeff1"}]


def test_a_cell_of_many_lines_has_at_most_a_quarter_of_the_limit() -> None:
    """A character has up to four bytes: of 40 bytes, a cell may have ten characters."""
    cells = {count: b'a\n"' + b"x\n" * count + b'"\n' for count in (5, 6)}
    (row,) = read_csv(opened(cells[5], 40))

    assert row.values["a"] == "x\n" * 5
    with pytest.raises(DataError, match="a cell that ends in line 7 is larger than"):
        list(read_csv(opened(cells[6], 40)))


def test_only_the_beginning_of_a_file_has_a_byte_order_mark() -> None:
    """The same bytes in a later line are a part of the text."""
    later = BOM_UTF8 + b"b\n"

    assert list(opened(BOM_UTF8 + b"a\n" + later, 9)) == [b"a\n", later]
    assert opened(BOM_UTF8 + later, 9).read() == later


@pytest.mark.parametrize(
    ("written", "limit"), [("", 256_000_000), ("1", 1_000_000), ("999999999", 999_999_999_000_000)]
)
def test_the_longest_line_is_set_in_megabytes(
    monkeypatch: pytest.MonkeyPatch, written: str, limit: int
) -> None:
    """An empty variable is none; a number of more than nine digits is a mistake."""
    monkeypatch.setenv("RAG_EVALS_MAX_LINE_MB", written)
    assert max_line_bytes() == limit
    monkeypatch.setenv("RAG_EVALS_MAX_LINE_MB", "1000000000")
    with pytest.raises(ConfigurationError, match="expected a whole number of megabytes"):
        max_line_bytes()


@pytest.mark.parametrize(
    ("pattern", "name"), [("parts/*.jsonl", "parts"), ("*.jsonl", "files"), ("p?/*/c", "c")]
)
def test_a_pattern_has_a_name_without_its_signs(pattern: str, name: str) -> None:
    """Messages and the run's folder show what is fixed in it."""
    for file in ("parts/b.jsonl", "parts/a.jsonl", "b.jsonl", "a.jsonl", "p1/x/c"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    located = locate(pattern)

    assert str(located.name) == name
    assert [*located.files] == sorted(located.files)
    assert len(located.files) == (1 if name == "c" else 2)
