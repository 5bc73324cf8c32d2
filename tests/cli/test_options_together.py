"""Every option of `grade` keeps its word beside every other one, or the two are refused."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Command, Ended

ROWS = [
    {"id": "a", "topic": "towers", "answer": "It is in Paris.", "context": ["It is in Paris."]},
    {"id": "b", "topic": "rivers", "answer": "It is in Rome.", "context": ["It is in Paris."]},
    {"id": "c", "topic": "rivers", "answer": "It is in Bonn.", "context": []},
]
OUT = Path("out")


class Option(NamedTuple):
    """An option, and how to see that it did what it says."""

    words: tuple[str, ...]
    kept: Callable[[Ended, set[str]], bool]


def numbers(ended: Ended) -> dict[str, object]:
    """Read standard output as the one JSON object that it must be."""
    read: dict[str, object] = json.loads(ended.out)
    return read


def graded() -> int:
    """Count the outcomes in the run folder."""
    return len((OUT / "results.jsonl").read_text().splitlines())


OPTIONS = {
    "--dry-run": Option((), lambda ended, _: ended.code == 0 and not OUT.exists()),
    "--limit": Option(
        ("2",),
        lambda ended, others: (
            "2 rows" in ended.out or '"rows": 2' in ended.out
            if "--dry-run" in others
            else graded() == 2
        ),
    ),
    "--restart": Option((), lambda ended, _: ended.code != 2 and (OUT / "manifest.json").exists()),
    "--json": Option(
        (),
        lambda ended, others: ("calls" if "--dry-run" in others else "graders") in numbers(ended),
    ),
    "--report": Option((), lambda ended, _: (OUT / "report.html").is_file()),
    "--by": Option(("topic",), lambda ended, _: "towers" in ended.out + ended.err),
    "--fail-under": Option(("0.9",), lambda ended, _: ended.code == 1 and "0.9" in ended.err),
    "--min-scored": Option(
        ("0.1",), lambda ended, others: ended.code == int("--fail-under" in others)
    ),
    "--count": Option(
        ("empty_context=0",), lambda ended, others: "--limit" in others or "0.33" in ended.out
    ),
    "--no-cache": Option((), lambda ended, _: not Path("cache/calls.sqlite3").exists()),
    "--quiet": Option((), lambda ended, _: "columns" not in ended.err),
    "--max-failures": Option(("1",), lambda ended, _: ended.code != 3),
    "--concurrency": Option(("1",), lambda ended, _: ended.code in (0, 1)),
}
REFUSED = {"--restart", "--report", "--by", "--fail-under", "--min-scored"}
"""What `--dry-run` cannot do, because it grades nothing."""

PAIRS = list(combinations(OPTIONS, 2))


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[" ".join(pair) for pair in PAIRS])
def test_two_options_keep_their_word(command: Command, first: str, second: str) -> None:
    """What each option promises is there, or the command says that they cannot go together."""
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    words = [word for name in (first, second) for word in (name, *OPTIONS[name].words)]
    ended = command("grade", "rows.jsonl", "--judge", "embedded", "--out", str(OUT), *words)
    pair = {first, second}

    if "--dry-run" in pair and pair & REFUSED:
        assert ended.code == 2
        assert "--dry-run grades nothing" in ended.err
        assert not OUT.exists()
        return
    if pair == {"--dry-run", "--count"}:
        assert ended.code == 0
        return
    for name in (first, second):
        assert OPTIONS[name].kept(ended, pair - {name}), (name, ended)


def test_restart_and_limit_begin_anew(command: Command) -> None:
    """A run in the folder is set aside, and only the first rows are graded again."""
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    command("grade", "rows.jsonl", "--out", str(OUT))
    ended = command("grade", "rows.jsonl", "--out", str(OUT), "--restart", "--limit", "1")

    assert ended.code == 0
    assert graded() == 1
    earlier = [path for path in OUT.parent.rglob("results*") if path != OUT / "results.jsonl"]
    assert [len(path.read_text().splitlines()) for path in earlier] == [3]
