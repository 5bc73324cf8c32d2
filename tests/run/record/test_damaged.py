"""A damaged run folder ends every command in one message, never in a traceback."""

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals.cli.main import app
from rag_evals.errors import RagEvalsError
from tests.slow import some_slow

COMMANDS = [
    ["grade", "d.jsonl", "--out", "hurt", "--quiet", "--json"],
    ["report", "hurt", "--by", "topic"],
    ["report", "hurt", "--format", "md"],
    ["report", "hurt", "--json", "--cluster", "topic"],
    ["compare", "whole", "hurt", "--by", "topic", "--out", "compared.html"],
    ["compare", "hurt", "whole", "--json"],
    ["judge", "agreement", "hurt"],
    ["judge", "correct", "hurt"],
    ["judge", "label", "hurt", "--decisions", "2"],
]
FILES = ["results.jsonl", "samples.jsonl", "manifest.json"]
VALUES: list[Any] = [None, [], {}, "text", "", -7, 1e308, True, [[1]], {"a": None}, float("nan")]
CASES = 60

Change = Callable[[bytes, random.Random], bytes]


def cut(data: bytes, rng: random.Random) -> bytes:
    """Lose the end."""
    return data[: rng.randrange(len(data))]


def lose(data: bytes, rng: random.Random) -> bytes:
    """Lose some bytes in the middle."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randrange(1, 60) :]


def overwrite(data: bytes, rng: random.Random) -> bytes:
    """Write zeros, or anything, over some bytes."""
    start, length = rng.randrange(len(data)), rng.randrange(1, 40)
    new = bytes(length) if rng.random() < 0.5 else rng.randbytes(length)
    return data[:start] + new + data[start + length :]


def shuffle(data: bytes, rng: random.Random) -> bytes:
    """Repeat, mix and leave out lines, with blank ones between."""
    lines = data.splitlines(keepends=True)
    return b"".join(rng.choices([*lines, b"\n"], k=len(lines) + 2))


def exchange(data: bytes, rng: random.Random) -> bytes:
    """Put another value somewhere into the JSON of a line, or take one out."""
    lines = data.splitlines(keepends=True) if b"\n{" in data.strip() else [data]
    number = rng.randrange(len(lines))
    value = json.loads(lines[number])
    place = rng.choice(list(places(value)))
    lines[number] = json.dumps(changed(value, place, rng)).encode() + b"\n"
    return b"".join(lines)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside."""
    yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*place, key))


def changed(value: Any, place: tuple[Any, ...], rng: random.Random) -> Any:
    """Return a copy with one value exchanged or taken out."""
    if not place:
        return rng.choice(VALUES)
    whole = copy.deepcopy(value)
    inner = whole
    for key in place[:-1]:
        inner = inner[key]
    if rng.random() < 0.2:
        del inner[place[-1]]
    else:
        inner[place[-1]] = rng.choice(VALUES)
    return whole


CHANGES: list[Change] = [cut, lose, overwrite, shuffle, exchange, exchange, exchange]


@pytest.fixture
def whole() -> Path:
    """Keep a run of five rows with labels, groups and metadata."""
    rows: list[dict[str, Any]] = [
        {
            "id": f"row-{n}",
            "question": "Where?",
            "answer": f"Tower {n} stands in Paris. It is {n} m tall.",
            "context": [{"text": f"Tower {n} stands in Paris.", "source": "guide"}, "Other."],
            "topic": "ab"[n % 2],
            "label": n % 2,
            "statements": [{"text": f"Tower {n} stands in Paris.", "label": 1}],
        }
        for n in range(4)
    ]
    rows.append({"id": "empty", "question": "q", "answer": "", "context": ["c"], "topic": "a"})
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = CliRunner().invoke(app, ["grade", "d.jsonl", "--out", "whole", "--quiet"])
    assert ended.exit_code == 0
    return Path("whole")


@pytest.mark.parametrize("part", some_slow(range(10), 10))
def test_no_damage_is_a_traceback(whole: Path, part: int) -> None:
    """Each change of a file meets each command; an error says which file, in one line."""
    rng = random.Random(part)
    refused = 0
    for case in range(CASES // 10):
        name, change = rng.choice(FILES), rng.choice(CHANGES)
        spoiled = change((whole / name).read_bytes(), rng)
        for command in COMMANDS:
            shutil.rmtree("hurt", ignore_errors=True)
            shutil.copytree(whole, "hurt")
            Path("hurt", name).write_bytes(spoiled)
            error = CliRunner().invoke(app, command).exception
            where = f"part {part}, case {case}: {change.__name__} of {name}, {' '.join(command)}"
            assert error is None or isinstance(error, RagEvalsError | SystemExit), (where, error)
            if isinstance(error, RagEvalsError):
                refused += 1
                assert "\n" not in str(error), where
                assert len(str(error)) < 1_000, where
    assert refused > CASES // 10
