"""Files of JSON lines: a torn line is cut off before anything is added, and each fault is named."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.errors import DataError, RagEvalsError
from rag_evals.run import Run, load_run

OUT = Path("out")
FILES = ["results.jsonl", "samples.jsonl"]
READERS: list[Callable[[], Run]] = [
    lambda: load_run(OUT),
    lambda: evaluate(rows(3), out=OUT),
]


def rows(count: int) -> list[dict[str, Any]]:
    """Make rows; each id once."""
    return [
        {"id": f"row-{n}", "answer": f"Tower {n} is here.", "context": [f"Tower {n} is here."]}
        for n in range(count)
    ]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("lost", [1, 20])
def test_what_is_added_to_a_torn_file_can_be_read(name: str, lost: int) -> None:
    """A run that goes on after a kill leaves a folder that every later start can read."""
    evaluate(rows(3), out=OUT)
    path = OUT / name
    path.write_bytes(path.read_bytes()[:-lost])
    evaluate(rows(5), out=OUT)

    assert len(load_run(OUT).outcomes) == 5
    assert set(load_run(OUT).samples) == {f"row-{n}" for n in range(5)}
    assert evaluate(rows(6), out=OUT).graded == 1
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], b"\n", b"   \n", *lines[1:]],
        lambda lines: [*lines, b"\n"],
        lambda lines: [*lines, b"\x00\x00\x00\x00"],
        lambda lines: [*lines, b'{"sample_id": "row-9", "ind'],
        lambda lines: [line.replace(b"{", b'{"newer": {"a": [1]}, ', 1) for line in lines],
    ],
    ids=["blank lines", "blank end", "zeros behind a crash", "torn", "a newer field"],
)
def test_what_loses_nothing_is_passed_over(name: str, change: Any) -> None:
    """Every reader takes the folder as it is, and a run goes on with it."""
    evaluate(rows(3), out=OUT)
    path = OUT / name
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    assert [o.score for o in load_run(OUT).outcomes] == [1.0] * 3
    assert evaluate(rows(3), out=OUT).graded == 0
    assert [o.score for o in load_run(OUT).outcomes] == [1.0] * 3


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "line",
    [
        b"[]\n",
        b'"text"\n',
        b"7\n",
        b"null\n",
        b"{}\n",
        b"{oops\n",
        b"\x00\x00\n",
        b'\xff\xfe{"sample_id": 1}\n',
        b'{"sample_id": ["a"]}\n',
        b'{"sample_id": "a", "context": {"a": 1}, "grader": 3}\n',
        b'{"sample_id": "a", "columns": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}\n",
        b'{"sample_id": ' + b"9" * 5_000 + b"}\n",
    ],
)
def test_a_line_that_is_something_else_is_named(name: str, line: bytes) -> None:
    """One message with the file and the number of the line, from every reader."""
    evaluate(rows(3), out=OUT)
    path = OUT / name
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], line, *lines[1:]]))

    for read in READERS:
        with pytest.raises(DataError, match=rf"{name}', line 2: ") as caught:
            read()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "changes",
    [
        {"score": 2},
        {"score": None},
        {"score": "high"},
        {"status": "fine"},
        {"status": "failed"},
        {"index": -1},
        {"index": None},
        {"usage": []},
        {"usage": {"calls": "many"}},
        {"error": "none"},
        {"warnings": 3},
        {"tallies": {"a": 1}},
        {"result": []},
        {"result": {"statements": 7}},
    ],
)
def test_an_outcome_with_a_wrong_field_is_named(changes: dict[str, Any]) -> None:
    """A value that no run writes is damage, and never counted as something."""
    evaluate(rows(3), out=OUT)
    path = OUT / "results.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1] |= changes
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    if "result" not in changes or not changes["result"]:
        with pytest.raises(DataError, match=r"results.jsonl', line 2: "):
            evaluate(rows(3), out=OUT)
        with pytest.raises(DataError, match=r"results.jsonl', line 2: "):
            load_run(OUT).summary()
    else:
        with pytest.raises(
            DataError, match="row .*, grader 'faithfulness': the result is not a valid"
        ):
            _ = load_run(OUT).outcomes


def test_a_broken_line_leaves_no_lock_on_the_index() -> None:
    """Whoever reads next need not wait for a transaction that nobody will end."""
    evaluate(rows(3), out=OUT)
    path = OUT / "results.jsonl"
    first, _, last = path.read_text().splitlines()
    path.write_text(f"{first}\n{{}}\n{last}\n")
    for read in READERS:
        with pytest.raises(DataError) as caught:
            read()
        with closing(sqlite3.connect(OUT / "index.sqlite", timeout=0)) as database:
            database.execute("BEGIN IMMEDIATE")
        assert "line 2" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00" * 100,
        b"[]",
        b'"text"',
        b"{}",
        b"{oops",
        b"\xff\xfe",
        b'{"identity": 3}',
        b'{"identity": {}}',
        b'{"identity": {"graders": ["faithfulness"]}}',
        b'{"identity": {"graders": {"faithfulness": 7}}}',
        b'{"format": "two", "identity": {"graders": {}}}',
        b'{"format": 3, "identity": {"graders": {}}}',
        b'{"a": ' + b"[" * 50_000,
    ],
)
def test_a_damaged_manifest_is_named(text: bytes) -> None:
    """One message with the file, from every reader; the file is left as it is."""
    evaluate(rows(3), out=OUT)
    path = OUT / "manifest.json"
    path.write_bytes(text)

    for read in READERS:
        with pytest.raises(RagEvalsError, match=r"manifest.json'") as caught:
            read()
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == text
