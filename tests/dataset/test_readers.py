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
from rag_evals.dataset.readers import _kind_of, locate
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


PROSE = "Башня стоит в Париже, и её построил Гюстав Эйфель"


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251", "koi8_r", "cp866"])
def test_a_long_table_in_any_encoding_is_read_to_its_end(encoding: str) -> None:
    """Short lines first, prose later, and far more lines than are looked at for the encoding."""
    answers = ["plain"] * 3 + ["да"] * 5 + [f"{PROSE} {place}" for place in range(500)]
    text = "answer;context\n" + "".join(f"{answer};c\n" for answer in answers)
    rows = list(read_rows(write("long.csv", text.encode(encoding))))

    assert [row.values for row in rows] == [{"answer": each, "context": "c"} for each in answers]
    assert [row.place for row in rows] == [f"line {place + 2}" for place in range(508)]


def test_a_table_in_a_western_encoding_is_read_as_such() -> None:
    """French of older Windows programs is no Russian."""
    answer = "Où est la tour? Élevée à Paris, bâtie en été"
    (row,) = read_rows(write("a.csv", f'answer,context\n"{answer}",c\n'.encode("cp1252")))

    assert row.values == {"answer": answer, "context": "c"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"a;b\n{PROSE};1\n".encode() + b"\xff;2\n", "line 3, byte 0: not UTF-8 .byte 0xff"),
        (f"a;b\n{PROSE};1\n".encode() + b"xy\xe9;2\n", "line 3, byte 2: not UTF-8 .byte 0xe9"),
        (
            b"a;b\n1;2\n\n" + f"{PROSE};1\n".encode() + b"3;4\nx\xd0;2\n",
            "line 6, byte 1: not UTF-8 .byte 0xd0",
        ),
        (b"a;b\n\xe2\x82x;1\n" + f"{PROSE};1\n".encode() * 9, "line 2, byte 0: .* .byte 0xe2"),
        (
            b"a;b\n" + f"{PROSE};1\n".encode() + f"{PROSE};1\n".encode("cp1251") * 150,
            "line 3, byte 0: not UTF-8 .byte 0xc1",
        ),
        (b"a;b\n" + f"{PROSE};1\n".encode() * 400 + b"\xff;2\n", "line 402, byte 0: not UTF-8"),
    ],
)
def test_the_byte_that_is_not_utf8_is_named(content: bytes, message: str) -> None:
    """By its line in the file and its place in the line, from the first line that is not ASCII."""
    with pytest.raises(DataError, match=message):
        list(read_rows(write("a.csv", content)))


def test_a_byte_that_is_not_in_the_named_encoding_is_named() -> None:
    """A byte has a place only in UTF-8, also where the user has named it."""
    path = write("a.csv", b"a;b\n1;2\n" + "Ж\n".encode("cp1251"))
    for encoding, message in (
        ("utf-8", "line 3, byte 0: not utf-8 .byte 0xc6"),
        ("UTF-8", "line 3, byte 0: not UTF-8 .byte 0xc6"),
        ("ascii", "a.csv, line 3: not ascii .byte 0xc6"),
    ):
        with pytest.raises(DataError, match=message):
            list(read_rows(DataFile(path, encoding=encoding)))
    with pytest.raises(ConfigurationError, match="encoding '' is unknown"):
        list(read_rows(DataFile(path, encoding="")))


@pytest.mark.parametrize("encoding", ["utf-16-le", "UTF_16", "U16", "utf-32", "U32"])
def test_a_wide_encoding_may_have_any_of_its_names(encoding: str) -> None:
    """A line break inside a cell, and signs whose bytes look like one, stay where they are."""
    path = write("a.csv", 'answer,context\n"Ж\r\nਊ\u0a0d",c\n'.encode(encoding))
    (row,) = read_rows(DataFile(path, encoding=encoding))

    assert row.values == {"answer": "Ж\r\nਊ\u0a0d", "context": "c"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_wide_encoding_is_known_by_its_mark(encoding: str) -> None:
    """Of either byte order; the mark is no part of the first name."""
    path = write("a.csv", f"\ufeffanswer,context\n{PROSE.replace(',', '')},c\n".encode(encoding))
    (row,) = read_rows(path)

    assert row.values == {"answer": PROSE.replace(",", ""), "context": "c"}


TABLES: list[tuple[str, str, str | None, list[dict[str, object]]]] = [
    ("a.csv", "a,b;c\n1,2;3\n", None, [{"a": "1", "b;c": "2;3"}]),
    ("a.csv", "a;b,c;d\n1;2,3;4\n", None, [{"a": "1", "b,c": "2,3", "d": "4"}]),
    ("a.csv", "a\tb\n1\t2\n", None, [{"a": "1", "b": "2"}]),
    ("a.csv", "a|b\n1|2\n", None, [{"a": "1", "b": "2"}]),
    ("a.csv", '"a,b,c";d\n1;2\n', None, [{"a,b,c": "1", "d": "2"}]),
    ("a.csv", '"a;b|c|d",e\n1,2\n', None, [{"a;b|c|d": "1", "e": "2"}]),
    ("a.csv", "a\n1,2;3\n", ";", []),
    ("a.csv", "a,b|c\n1,2|3\n", None, [{"a": "1", "b|c": "2|3"}]),
    ("a.csv", "a;b|c\n1;2|3\n", None, [{"a": "1", "b|c": "2|3"}]),
    ("a.csv", "a;b,c\n1;2,3\n", None, [{"a;b": "1;2", "c": "3"}]),
    ("a.csv", "a\tb|c\n1\t2|3\n", None, [{"a": "1", "b|c": "2|3"}]),
    ("a.csv", "one\n1\n", None, [{"one": "1"}]),
    ("a.csv", "\n \n a , b \n 1 , 2 \n", None, [{"a": " 1 ", "b": " 2 "}]),
    ("a.csv", "a;b,c\n1;2\n", ";", [{"a": "1", "b,c": "2"}]),
    ("a.csv", "sep=|\na|b,c\n1|2\n", None, [{"a": "1", "b,c": "2"}]),
    ("a.csv", "SEP=;\r\na;b,c,d\r\n1;2\r\n", None, [{"a": "1", "b,c,d": "2"}]),
    ("a.csv", "sep=ab,b\n1,2\n", None, [{"sep=ab": "1", "b": "2"}]),
    ("a.csv", "a,,b\n1,2,3\n", None, [{"a": "1", "b": "3"}]),
    ("a.csv", 'a,b\n"[1, 2]","{""k"": 3}"\n', None, [{"a": [1, 2], "b": {"k": 3}}]),
    ("a.csv", 'a,b\n" [1] ","[1}"\n', None, [{"a": [1], "b": "[1}"}]),
    ("a.csv", 'a,b\n"[""x""","{x}"\n', None, [{"a": '["x"', "b": "{x}"}]),
    ("a.csv", 'a,b\n[,"[""x"", ""y]"\n', None, [{"a": "[", "b": '["x", "y]'}]),
    ("a.csv", "a,b\n7,true\n", None, [{"a": "7", "b": "true"}]),
    ("a.tsv", "a,b,c\td\n1\t2\n", None, [{"a,b,c": "1", "d": "2"}]),
    ("a.TSV", "a,b,c\td\n1\t2\n", None, [{"a,b,c": "1", "d": "2"}]),
    ("a.tsv.gz", "a,b,c\td\n1\t2\n", None, [{"a,b,c": "1", "d": "2"}]),
    ("a.tsv", "a;b\tc\n1;2\n", ";", [{"a": "1", "b\tc": "2"}]),
]


@pytest.mark.parametrize(("name", "content", "delimiter", "rows"), TABLES)
def test_a_table_is_split_at_its_delimiter(
    name: str, content: str, delimiter: str | None, rows: list[dict[str, object]]
) -> None:
    """The named one, else that of the file's kind, else the one that makes the most columns."""
    file = DataFile(write(name, content), delimiter=delimiter)
    if not rows:
        with pytest.raises(DataError, match="line 2: 2 cells, but the header has 1; columns are a"):
            list(read_rows(file))
        return

    assert [row.values for row in read_rows(file)] == rows


THREE: dict[str, tuple[str, str]] = {
    "a.jsonl": ('\n{"a": "1"}\n \n{"a": "2"}\n\n{"a": "3"}\n', "line 2,line 4,line 6"),
    "a.JSONL": ('{"a": "1"}\n{"a": "2"}\n{"a": "3"}', "line 1,line 2,line 3"),
    "a.json": ('[{"a": "1"}, {"a": "2"}, {"a": "3"}]', "row 0,row 1,row 2"),
    "a.csv": ("a,b\n\n1,\n\n2,\n3,\n", "line 3,line 5,line 6"),
    "a.Csv": ('a,b\n"1",\n2,"x\ny"\n3,\n', "line 2,line 4,line 5"),
}


@pytest.mark.parametrize("name", THREE)
def test_only_rows_are_counted_as_wanted_or_not(name: str) -> None:
    """Blank lines and the header are none; rows past the end of the list are not wanted."""
    content, places = THREE[name]
    path = write(name, content)
    for wanted in ((1, 1, 1), (0, 1, 0), (1, 0, 1), (0, 0, 1), (1,), (0, 1), ()):
        rows = list(read_rows(path, iter(wanted)))
        kept = [place for place, is_wanted in enumerate(wanted) if is_wanted]

        assert [row.values["a"] for row in rows] == [str(place + 1) for place in kept]
        assert [row.place for row in rows] == [places.split(",")[place] for place in kept]


def test_a_row_that_is_not_wanted_is_not_parsed() -> None:
    """Whoever resumes a run has checked it before."""
    path = write("a.jsonl", '{"a": \n{"a": 2}\n')

    assert [row.values for row in read_rows(path, iter((0, 1)))] == [{"a": 2}]


@pytest.mark.parametrize("suffix", [".gz", ".GZ", ".Gz"])
def test_a_packed_file_is_known_by_its_last_name(suffix: str) -> None:
    """In letters of any size."""
    path = Path(f"a.jsonl{suffix}")
    path.write_bytes(gzip.compress(json.dumps(ROW).encode()))

    assert [row.values for row in read_rows(path)] == [ROW]


@pytest.mark.parametrize("written", ["0", "000", "1.5", "-1", "²", " 1", "1 ", "MB", "1_0"])
def test_a_limit_that_is_no_whole_number_is_refused(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """A limit of 0 would refuse every file."""
    monkeypatch.setenv("RAG_EVALS_MAX_LINE_MB", written)
    with pytest.raises(ConfigurationError, match=r"RAG_EVALS_MAX_LINE_MB is .*, 1 or more"):
        max_line_bytes()


def test_the_limit_is_told_in_megabytes() -> None:
    """Whole ones, of a million bytes."""
    for limit, told in ((256_000_000, "256 MB"), (1_999_999, "1 MB")):
        assert f"line 3 is larger than {told}; write one" in str(
            opened(b"", limit).too_long("line 3")
        )


def test_a_fault_in_json_has_its_line_and_column() -> None:
    """A line of JSON has a column, a file of JSON both."""
    for name, content, message in (
        (
            "a.jsonl",
            '\n{"a": 1}\n  {"a" 1}\n',
            r"^a\.jsonl, line 3: invalid JSON: \D* column 6$",
        ),
        ("a.json", '[{"a": 1},\n {"a" 1}]', r"^a\.json: invalid JSON: \D* line 2 column 7$"),
        ("a.json", '[{"a": 1}, "b"]', r"^a\.json, row 1: str; expected an object with named"),
        ("a.json", b'[\n{"a": "\xff"}]', r"^a\.json, byte 9: not UTF-8 .byte 0xff.; save the file"),
    ):
        with pytest.raises(DataError, match=message):
            list(read_rows(write(name, content)))


def test_each_file_of_several_is_named_in_the_places() -> None:
    """A single file is not, and options hold for all of them."""
    write("p-2.csv", "a~b;c\n2~y\n")
    path = write("p-1.csv", "a~b;c\n1~x\n")
    for pattern, places in (
        ("p-*.csv", ["p-1.csv, line 2", "p-2.csv, line 2"]),
        (path, ["line 2"]),
    ):
        located = locate(DataFile(pattern, delimiter="~"))
        rows = list(located.rows())

        assert [row.place for row in rows] == places
        assert [row.values["b;c"] for row in rows] == ["x", "y"][: len(rows)]
        assert [row.place for row in located.rows(iter([0, 1]))] == places[1:]


def test_a_pattern_may_name_all_folders_below() -> None:
    """And a file whose own name holds signs of a pattern is that file."""
    for name in ("b/c/2.jsonl", "a/1.jsonl", "3.jsonl", "odd[1].jsonl", "odd1.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(json.dumps({"a": name}) + "\n")

    def found(pattern: str) -> list[str]:
        return [row.values["a"] for row in locate(pattern).rows()]

    assert found("**/[0-9].jsonl") == ["3.jsonl", "a/1.jsonl", "b/c/2.jsonl"]
    assert found("[ab]/*.jsonl") == ["a/1.jsonl"]
    assert found("odd[1].jsonl") == ["odd[1].jsonl"]
    assert found("od?1.jsonl") == ["odd1.jsonl"]


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (b"PAR1x", ".parquet"),
        (b"ARROW1x", ".arrow"),
        (b"PK\x03\x04x", ".xlsx"),
        (b"PKx", ".csv"),
        (b"\x1f\x8bx", ".jsonl.gz"),
        (b"[{", ".json"),
        (b'{"a"', ".jsonl"),
        (b' \n{"a"', ".jsonl"),
        (b"\xef\xbb\xbf\n [", ".json"),
        (b"\xef\xbb\xbf{", ".jsonl"),
        (b"", ".jsonl"),
        (b" \n", ".jsonl"),
        (b"a,b\n[1]", ".csv"),
    ],
)
def test_the_kind_of_standard_input_is_seen_in_its_first_bytes(begin: bytes, kind: str) -> None:
    """There is no name to tell it."""
    assert _kind_of(begin) == kind


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a,b\n1,\n", "line 2"),
        ("\n \n\na,b\n1,\n", "line 5"),
        ("sep=;\na;b\n1;\n", "line 3"),
        ("\n\nsep=;\n\na;b\n1;\n", "line 6"),
    ],
)
def test_a_line_is_counted_from_the_files_beginning(content: str, place: str) -> None:
    """Blank lines above the header count, as does one that only names the delimiter."""
    (row,) = read_rows(DataFile(write("a.csv", content)))
    assert (row.place, row.values) == (place, {"a": "1", "b": ""})

    with pytest.raises(DataError, match=rf"'a.csv', {place}: 1 cells, but the header has 2"):
        [*read_rows(DataFile(write("a.csv", content.replace("1,", "1").replace("1;", "1"))))]


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_a_table_of_blank_lines_has_no_rows(content: str) -> None:
    """There is no header in it either."""
    assert [*read_csv(opened(content.encode(), 1_000))] == []
