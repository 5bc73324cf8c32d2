"""Data files: encodings, JSON and CSV of every shape, archives."""

import gzip
import json
from collections.abc import Iterator

from tests.cli.inputs.table import ROW, RUSSIAN, Content, Entry, graded

OK = "over 1 scored of 1"
NO_SCORE = "scored none of its 1 rows"


def row(**changes: object) -> str:
    """Write the usual row with other values."""
    return json.dumps(json.loads(ROW) | changes)


def raw(column: str, value: str) -> str:
    """Write the usual row with a column of JSON as it is given."""
    return f'{ROW[:-1]}, "{column}": {value}}}'


JSONL: list[tuple[str, Content, int, str]] = [
    ("empty", "", 2, "'d.jsonl' has no rows"),
    ("blank lines", "\n \n\t\n", 2, "'d.jsonl' has no rows"),
    ("only a byte order mark", b"\xef\xbb\xbf", 2, "'d.jsonl' has no rows"),
    ("null", "null", 2, "line 1: NoneType; expected an object"),
    ("true", "true", 2, "line 1: bool; expected an object"),
    ("a number", "7", 2, "line 1: int; expected an object"),
    ("a text", '"да"', 2, "line 1: str; expected an object"),
    ("a list", "[1]", 2, "line 1: list; expected an object"),
    ("an empty object", "{}", 2, "no column for 'answer'"),
    ("an open bracket", "{", 2, "line 1: invalid JSON"),
    ("a closed bracket", "}", 2, "line 1: invalid JSON"),
    ("single quotes", "{'answer': 'a'}", 2, "line 1: invalid JSON"),
    ("a trailing comma", '{"answer": "a",}', 2, "line 1: invalid JSON"),
    ("a comment", ROW + " // да", 2, "line 1: invalid JSON"),
    ("two objects on a line", ROW + ROW, 2, "line 1: invalid JSON"),
    ("carriage returns alone", f"{ROW}\r{ROW}", 2, "line 1: invalid JSON"),
    ("a broken last line", f"{ROW}\n{{", 2, "line 2: invalid JSON"),
    ("zeros", b"\0" * 100, 2, "line 1: invalid JSON"),
    ("a zero in a text", raw("m", '"\\u0000"'), 0, OK),
    ("NaN as answer", row(answer=float("nan")), 3, NO_SCORE),
    ("NaN beside", row(m=float("nan")), 0, OK),
    ("infinity beside", row(m=float("inf")), 0, OK),
    ("a number beyond floats", raw("m", "1e999"), 0, OK),
    ("5,000 digits", raw("m", "9" * 5000), 2, "invalid JSON: number out of range"),
    ("5,000 digits below 0", raw("m", "-" + "9" * 5000), 2, "number out of range"),
    ("5,000 digits as id", raw("id", "9" * 5000), 2, "number out of range"),
    ("5,000 digits as answer", raw("x", "[[" + "9" * 5000 + "]]"), 2, "number out of range"),
    ("4,000 digits as id", raw("id", "9" * 4000), 0, OK),
    ("5,000 digits in a text", raw("m", '"' + "9" * 5000 + '"'), 0, OK),
    ("5,000 digits behind a point", raw("m", "1." + "9" * 5000), 0, OK),
    ("150 levels", raw("m", "[" * 150 + "]" * 150), 0, OK),
    ("250 levels", raw("m", "[" * 250 + "]" * 250), 2, "invalid JSON: recursion limit exceeded"),
    (
        "100,000 levels",
        raw("m", "[" * 100_000 + "]" * 100_000),
        2,
        "invalid JSON: recursion limit exceeded",
    ),
    (
        "5,000 objects deep",
        raw("m", '{"a":' * 5000 + "1" + "}" * 5000),
        2,
        "recursion limit exceeded",
    ),
    ("half a pair in the answer", raw("m", "1").replace("Paris", "\\ud800", 1), 2, "hex escape"),
    ("half a pair in the context", row(context=["\ud800"]), 2, "line 1: invalid JSON"),
    ("half a pair as id", row(id="\udfff"), 2, "line 1: invalid JSON"),
    ("half a pair in a name", '{"\\ud800": 1, ' + ROW[1:], 2, "line 1: invalid JSON"),
    ("Latin-1", row(m="é").encode().replace(b"\\u00e9", b"\xe9"), 2, "not UTF-8 (byte 0xe9)"),
    ("Windows-1251", RUSSIAN.encode("cp1251"), 2, "not UTF-8"),
    ("UTF-16", RUSSIAN.encode("utf-16"), 2, "not UTF-8"),
    ("UTF-32", RUSSIAN.encode("utf-32"), 2, "not UTF-8"),
    ("KOI8-R", RUSSIAN.encode("koi8-r"), 2, "not UTF-8"),
    ("UTF-8 cut in a letter", RUSSIAN.encode()[:13], 2, "not UTF-8"),
    ("UTF-8 with a mark", b"\xef\xbb\xbf" + RUSSIAN.encode(), 0, OK),
    ("Windows line ends", f"{RUSSIAN}\r\n\r\n", 0, OK),
    ("Russian", RUSSIAN, 0, OK),
    ("a name twice in a row", '{"m": 1, "m": 2, ' + ROW[1:], 0, OK),
    (
        "one id twice",
        f"{row(id='a')}\n{row(id='a')}",
        2,
        "line 2: an earlier row has the same id 'a'",
    ),
    ("the ids 1 and '1'", f"{row(id=1)}\n{row(id='1')}", 2, "has the same id '1'"),
    ("one row twice", f"{ROW}\n{ROW}", 2, "a hash of their content: the rows are identical"),
    ("a list as id", row(id=["a"]), 2, "id is ['a'] (list); expected text"),
    ("half a number as id", row(id=1.5), 2, "id is 1.5 (float); expected text"),
    ("no id", row(id=None), 0, OK),
    ("an empty id", row(id=""), 0, OK),
    ("true as id", row(id=True), 0, OK),
    ("an id of 10,000 letters", row(id="я" * 10_000), 0, OK),
    ("an id of control characters", row(id="\x1b[2J\r\x07"), 0, OK),
    ("an id with a line end", row(id="a\nb"), 0, OK),
    ("a number as answer", row(answer=7), 2, "answer is 7 (int); expected text"),
    ("a list as answer", row(answer=["It is in Paris."]), 0, OK),
    ("a list of answers", row(answer=["да", "нет"]), 2, "(list); expected text"),
    ("an object as answer", row(answer={"a": 1}), 2, "(dict); expected text"),
    ("a huge list as answer", row(answer=["a"] * 50_000), 2, "... (list); expected text"),
    ("no answer", row(answer=None), 3, NO_SCORE),
    ("an empty answer", row(answer=""), 3, NO_SCORE),
    ("blanks as answer", row(answer=" \n\t\u00a0\u200b "), 3, NO_SCORE),
    ("signs as answer", row(answer="!!! ... ???"), 3, NO_SCORE),
    ("no column answer", '{"context": ["c"]}', 2, "no column for 'answer'"),
    ("no column context", '{"answer": "a"}', 2, "--column context=COLUMN"),
    ("no context", row(context=None), 3, NO_SCORE),
    ("an empty context", row(context=[]), 3, NO_SCORE),
    ("a number as context", row(context=7), 2, "context is 7 (int); expected text or a list"),
    ("null in the context", row(context=[None]), 2, "context[0] is None (NoneType)"),
    ("a number in the context", row(context=["a", 7]), 2, "context[1] is 7 (int)"),
    ("a list in the context", row(context=[["a"]]), 2, "context[0] is ['a'] (list)"),
    ("an object without text", row(context=[{"a": 1}]), 2, "context[0] is {'a': 1} (dict)"),
    ("a number as text", row(context=[{"text": 5}]), 2, "context[0].text is 5 (int)"),
    ("odd metadata", row(context=[{"text": "It is in Paris.", "metadata": 5}]), 0, OK),
    ("2,000 chunks", row(context=["It is in Paris."] * 2000), 0, OK),
    ("two answers", row(response="a"), 2, "'answer' and 'response' could both be 'answer'"),
    ("a number as question", row(question=3), 2, "question is 3 (int); expected text"),
    ("a number as language", row(language=3), 2, "language is 3 (int); expected text"),
    ("a list as reference", row(reference=[]), 2, "reference is [] (list); expected text"),
    ("an unknown language", row(language="xx-!"), 3, NO_SCORE),
    ("a name that is empty", '{"": 1, ' + ROW[1:], 0, OK),
    ("a name of 10,000 letters", '{"' + "я" * 10_000 + '": 1, ' + ROW[1:], 0, OK),
    ("5,000 names and no answer", json.dumps({f"c{n}": n for n in range(5000)}), 2, "no column"),
    (
        "letters of all kinds",
        row(answer="H\u0307\u0358 \u05d4\u200f \ufdfa \u202e\U000e0041 It is in Paris."),
        0,
        "scored of 1",
    ),
    *(
        (f"an answer of {name}", row(answer=filler * 3000), *ended)
        for ended, name, filler in [
            ((0, "of 1"), "one letter", "a"),
            ((3, NO_SCORE), "brackets", "("),
            ((3, NO_SCORE), "quotes", '"'),
            ((0, "of 1"), "numbers", "1,"),
            ((3, NO_SCORE), "points", "."),
            ((3, NO_SCORE), "dashes", "-—"),
            ((3, NO_SCORE), "line ends", "\n"),
            ((0, "of 1"), "percents", "12 % "),
            ((0, "of 1"), "citations", "[1]"),
            ((3, NO_SCORE), "marks", "\u0301"),
            ((0, "of 1"), "words", "не "),
            ((3, NO_SCORE), "tags", "<chunk>"),
        ]
    ),
]

JSON: list[tuple[str, Content, int, str]] = [
    ("empty", "", 2, "'d.json' has no rows"),
    ("blanks", " \n ", 2, "'d.json' has no rows"),
    ("an empty list", "[]", 2, "'d.json' has no rows"),
    ("an object", "{}", 2, "contains dict; expected a list of objects"),
    ("a text", '"a"', 2, "contains str; expected a list of objects"),
    ("null", "null", 2, "contains NoneType; expected a list of objects"),
    ("a number", "1", 2, "contains int; expected a list of objects"),
    ("a list of numbers", "[1]", 2, "row 0: int; expected an object"),
    ("a list of lists", "[[]]", 2, "row 0: list; expected an object"),
    ("lines", f"{ROW}\n{ROW}", 2, "invalid JSON: trailing characters at line 2"),
    ("an open list", f"[{ROW}", 2, "invalid JSON"),
    ("a trailing comma", f"[{ROW},]", 2, "invalid JSON"),
    ("5,000 digits", f"[{raw('m', '9' * 5000)}]", 2, "number out of range"),
    ("100,000 levels", "[" * 100_000 + "]" * 100_000, 2, "invalid JSON: recursion limit exceeded"),
    ("Windows-1251", f"[{RUSSIAN}]".encode("cp1251"), 2, "not UTF-8"),
    ("UTF-16", f"[{RUSSIAN}]".encode("utf-16"), 2, "not UTF-8"),
    ("Russian with a mark", b"\xef\xbb\xbf" + f"[{RUSSIAN}]".encode(), 0, OK),
    ("a second row without answer", f'[{ROW}, {{"context": []}}]', 2, "row 1: no column"),
]

CSV: list[tuple[str, Content, int, str]] = [
    ("empty", "", 2, "'d.csv' has no rows"),
    ("blank lines", "\n\n", 2, "'d.csv' has no rows"),
    ("a header alone", "answer,context\n", 2, "'d.csv' has no rows"),
    ("a short row", "answer,context\na\n", 2, "line 2: 1 cells, but the header has 2"),
    ("a long row", "answer,context\na,b,c\n", 2, "line 2: 3 cells, but the header has 2"),
    ("a name twice", "answer,answer\na,b\n", 2, "the header contains 'answer' twice"),
    ("empty names", ",,\na,b,c\n", 2, "no column for 'answer'"),
    ("an open quote", 'answer,context\na,"b\n', 2, "unexpected end of data"),
    ("text behind a quote", 'answer,context\n"a"b,c\n', 2, "',' expected after '\"'"),
    ("zeros", b"answer,context\n\0,\0\n", 3, NO_SCORE),
    ("semicolons", "answer;context\nСнег бел.;Снег бел.\n", 0, OK),
    ("tabs", "answer\tcontext\nСнег бел.\tСнег бел.\n", 0, OK),
    ("spaces around names", " answer , context \nСнег бел.,Снег бел.\n", 0, OK),
    ("Windows-1251", "answer,context\nСнег бел.,Снег бел.\n".encode("cp1251"), 0, OK),
    ("UTF-16", "answer,context\nСнег бел.,Снег бел.\n".encode("utf-16"), 0, OK),
    ("a Python list", "answer,context\nСнег бел.,\"['Снег бел.']\"\n", 0, OK),
    (
        "an array of numpy",
        "answer,context\nДа.,\"['Да.' 'a']\"\n",
        2,
        "a printed numpy array",
    ),
    ("a deep cell", "answer,context,m\nДа.,Да.," + "[" * 9999 + "]" * 9999, 3, NO_SCORE),
    ("a cell of 5,000 digits", f"answer,context,m\nДа.,Да.,[{'9' * 5000}]", 3, NO_SCORE),
    ("a number of 5,000 digits", f"answer,context,m\nДа.,Да.,{'9' * 5000}", 3, NO_SCORE),
    ("a note in brackets", 'answer,context\n"[1] Да, так.",Да\n', 0, "of 1"),
    ("an object as context", 'answer,context\na,"{""a"": 1}"\n', 2, "context[0] is {'a': 1}"),
    ("carriage returns alone", "answer,context\rДа.,Да.\r", 2, "'d.csv'"),
    ("formulas", "answer,context,m\nДа.,Да.,=1+1\n", 3, NO_SCORE),
    ("a cell of 1 MB", "answer,context\nДа.," + "Нет. " * 100_000, 3, NO_SCORE),
    ("1,000 columns", _wide := ",".join(f"c{n}" for n in range(1000)) + "\n", 2, "has no rows"),
    ("1,000 columns, none of ours", _wide + _wide, 2, "no column for 'answer'"),
    ("1,000 columns, a short row", _wide + "a\n", 2, "1 cells, but the header has 1000"),
    (
        "Russian with a mark",
        b"\xef\xbb\xbf" + "answer,context\nСнег бел.,Снег бел.\n".encode(),
        0,
        "of 1",
    ),
    ("lines in a cell", 'answer,context\n"It is\nin Paris.","It is\nin Paris."\n', 0, "of 1"),
]

_PACKED = gzip.compress(ROW.encode())
ARCHIVES: list[tuple[str, str, Content, int, str]] = [
    ("no archive", "d.jsonl.gz", ROW, 2, "is not a complete gzip file"),
    ("empty", "d.jsonl.gz", b"", 2, "has no rows"),
    ("cut off", "d.jsonl.gz", _PACKED[:-9], 2, "is not a complete gzip file"),
    ("broken inside", "d.jsonl.gz", _PACKED[:12] + b"xxxx" + _PACKED[16:], 2, "gzip file"),
    ("a wrong checksum", "d.jsonl.gz", _PACKED[:-8] + b"xxxxyyyy", 2, "gzip file"),
    ("something behind it", "d.jsonl.gz", _PACKED + b"xxxx", 2, "gzip file"),
    ("packed twice", "d.jsonl.gz", gzip.compress(_PACKED), 2, "not UTF-8"),
    ("nothing inside", "d.jsonl.gz", gzip.compress(b""), 2, "has no rows"),
    ("a row", "d.jsonl.gz", _PACKED, 0, OK),
    ("a list", "d.json.gz", gzip.compress(f"[{ROW}]".encode()), 0, OK),
    (
        "a table",
        "d.csv.gz",
        gzip.compress("answer,context\nСнег бел.,Снег бел.\n".encode()),
        0,
        "of 1",
    ),
    ("a tape", "d.tar.gz", _PACKED, 2, "cannot be read; expected a file"),
    ("a zip", "d.zip", b"PK\3\4", 2, "cannot be read; expected a file"),
    ("a parquet file", "d.parquet", b"PAR1", 2, "'d.parquet' cannot be read"),
    ("a sheet", "d.xlsx", b"PK\3\4", 2, "'d.xlsx' cannot be read as an Excel file"),
    ("a parquet file that says CSV", "d.csv", b"PAR1\x15\x04\xff\xfe", 2, "not UTF-8"),
]

_ONE_MB = {"RAG_EVALS_MAX_LINE_MB": "1"}
_LONG = b"x" * 1_000_001
BOUNDS: list[tuple[str, Content, str]] = [
    ("d.jsonl", _LONG, "'d.jsonl': line 1 is larger than 1 MB"),
    ("d.json", b"[" + _LONG, "'d.json': the file is larger than 1 MB"),
    ("d.csv", b"answer,context\n" + _LONG, "'d.csv': line 2 is larger than 1 MB"),
    ("e.csv", b'answer,context\na,"' + b"x\n" * 400_000, "a cell that ends in line"),
    ("d.jsonl.gz", gzip.compress(bytes(5_000_000)), "'d.jsonl.gz': line 1 is larger than 1 MB"),
    ("d.json.gz", gzip.compress(bytes(5_000_000)), "'d.json.gz': the file is larger than 1 MB"),
]


def entries() -> Iterator[Entry]:
    """Yield the entries of this family."""
    yield from graded("d.jsonl", JSONL)
    yield from graded("d.json", JSON)
    yield from graded("d.csv", CSV)
    for name, file, content, code, says in ARCHIVES:
        yield Entry(f"{file}: {name}", ("grade", file, "--quiet"), code, says, {file: content})
    for file, content, says in BOUNDS:
        words = ("grade", file, "--quiet")
        yield Entry(f"{file}: over the bound", words, 2, says, {file: content}, _ONE_MB)
