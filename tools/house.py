"""Measures the size of the package, and how many files one row touches.

    python -m tools.house           print the table
    python -m tools.house --check   exit with 1 if a figure is above the limit that holds today

Each figure has a goal and a limit that holds today; CI fails if a figure exceeds its limit. If a
figure falls, lower its limit. At its goal, remove something before you add more. In the table,
~ marks a figure above its goal, ! one above its limit.

The figures are lines and files, the widest signature, commands and options, public names of
subpackages, import cycles inside `run` and `judge`, and the files whose functions run for one row
(in the second call of each kind, so imports are left out). The scripted endpoint is not counted.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from typer.main import get_command
from typer.testing import CliRunner

from rag_evals.cli.main import app

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rag_evals"

TRACE = """
import json, sys, tempfile, threading
from pathlib import Path
files = set()
def note(frame, event, arg):
    name = frame.f_code.co_filename
    if event == "call" and "/rag_evals/" in name and "/rag_evals/testing/" not in name:
        files.add(name)
def traced(work):
    work()
    files.clear()
    threading.setprofile(note); sys.setprofile(note)
    work()
    sys.setprofile(None); threading.setprofile(None)
    return len(files)
from rag_evals import Faithfulness, evaluate
from rag_evals.testing import ScriptedJudge
row = {"question": "When was it built?", "answer": "It stands in Paris. It was built in 1889.",
       "context": ["The tower stands in Paris. It was built in 1889."]}
verdict = {"reasoning": "r", "verdict": {"supported_by": [0]}}
reply = {"s0": verdict, "s1": verdict}
kind = sys.argv[1]
if kind == "embedded grade":
    print(traced(lambda: Faithfulness.grade(**row, client="embedded")))
else:
    with ScriptedJudge(reply) as judge:
        client = f"openai/any@{judge.base_url}"
        if kind == "LLM grade":
            print(traced(lambda: Faithfulness.grade(**row, client=client)))
        else:
            data = Path(tempfile.mkdtemp()) / "one.jsonl"
            data.write_text(json.dumps(row) + "\\n")
            work = lambda: evaluate(str(data), "faithfulness", client, out=tempfile.mkdtemp(),
                                    progress=False)
            if kind == "evaluate":
                print(traced(work))
            else:
                work()
                loaded = [name for name in sys.modules if name.startswith("rag_evals")]
                print(len([name for name in loaded if ".testing" not in name]))
"""


class Figure(NamedTuple):
    """One line of the table.

    Attributes:
        name: What was counted.
        found: How many.
        goal: The most that there should be.
        holds: The most that there may be, until the goal is reached.
        where: The place that has the most, where that helps.
    """

    name: str
    found: int
    goal: int
    holds: int
    where: str = ""


def sources() -> Iterator[tuple[Path, str]]:
    """Yield every source file of the package with its text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def widest_signature() -> tuple[int, str]:
    """Return the most parameters that a public function has, commands left out, and its place."""
    found = [(0, "")]
    for path, text in sources():
        if "commands" in path.parts:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
                names += [a.arg for a in node.args.kwonlyargs]
                count = len([name for name in names if name not in ("self", "cls")])
                if not node.name.startswith("_"):
                    found.append((count, f"{path.relative_to(ROOT)}:{node.name}"))
    return max(found)


def fullest_folder() -> tuple[int, str]:
    """Return the most files that a folder of the package has, the root left out, and its name."""
    counts: dict[str, int] = {}
    for path, _ in sources():
        if path.parent != PACKAGE:
            name = str(path.parent.relative_to(ROOT))
            counts[name] = counts.get(name, 0) + 1
    return max((count, name) for name, count in counts.items())


def circles(room: str) -> tuple[int, str]:
    """Count the sub-rooms of a room that import each other in a circle, and name them."""
    folder = PACKAGE / room
    parts = sorted(path.name for path in folder.iterdir() if (path / "__init__.py").exists())
    reaches: dict[str, set[str]] = {part: set() for part in parts}
    for part in parts:
        for path in (folder / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    words = node.module.split(".")
                    if words[:2] == ["rag_evals", room] and len(words) > 2:
                        reaches[part] |= {words[2]} & set(parts) - {part}
    for _ in parts:
        for seen in reaches.values():
            seen |= {far for near in list(seen) for far in reaches[near]}
    looped = [part for part in parts if part in reaches[part]]
    return len(looped), ", ".join(looped)


def options_and_commands() -> tuple[int, int]:
    """Count the options that `grade --help` shows, and the commands with their sub-commands."""

    def leaves(command: object) -> Iterator[object]:
        inner = getattr(command, "list_commands", None)
        if inner is None:
            yield command
            return
        for name in inner(None):
            yield from leaves(command.get_command(None, name))  # type: ignore[attr-defined]

    page = CliRunner().invoke(app, ["grade", "--help"]).output
    shown = re.findall(r"^│ (--[a-z-]+)", page, re.M)
    return len(shown), len(list(leaves(get_command(app))))


def names_behind_doors() -> tuple[int, int]:
    """Count the names of the package's own door, and those of it and its rooms together."""
    doors = [PACKAGE / "__init__.py", *PACKAGE.glob("*/__init__.py")]
    total = 0
    for door in doors:
        module = ".".join(door.parent.relative_to(ROOT).parts)
        total += len(getattr(import_module(module), "__all__", ()))
    return len(import_module("rag_evals").__all__), total


def traced(kind: str) -> int:
    """Return how many files one row touches, or how many modules are loaded."""
    ended = subprocess.run(
        [sys.executable, "-c", TRACE, kind], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(ended.stdout.splitlines()[-1])


def measured() -> list[Figure]:
    """Measure every figure."""
    texts = [text for _, text in sources()]
    width, widest = widest_signature()
    full, folder = fullest_folder()
    options, commands = options_and_commands()
    names, behind = names_behind_doors()
    return [
        Figure("lines", sum(text.count("\n") for text in texts), 42_000, 42_000),
        Figure("files", len(texts), 260, 172),
        Figure("parameters of a public function", width, 8, 8, widest),
        Figure("files in a folder", full, 12, 12, folder),
        Figure("options that grade --help shows", options, 25, 25),
        Figure("commands", commands, 20, 20),
        Figure("names of the package", names, 40, 40),
        Figure("names behind all doors", behind, 350, 350),
        *(
            Figure(f"parts of {room} in a circle", *found[:1], 0, 0, found[1])
            for room in ("run", "judge")
            for found in [circles(room)]
        ),
        Figure("files of an embedded grade", traced("embedded grade"), 25, 25),
        Figure("files of an LLM grade", traced("LLM grade"), 20, 20),
        Figure("files of evaluate, one row", traced("evaluate"), 50, 50),
        Figure("modules loaded by evaluate", traced("modules"), 140, 140),
    ]


def main(arguments: list[str]) -> int:
    """Print the table; return 1 where `--check` finds a figure above what holds."""
    figures = measured()
    if "--json" in arguments:
        print(json.dumps([figure._asdict() for figure in figures]))
    else:
        for figure in figures:
            limits = figure.goal, figure.holds
            mark = " ~!"[sum(figure.found > limit for limit in limits)]
            place = f"  {figure.where}" if figure.where and mark != " " else ""
            print(f"{mark} {figure.name:34} {figure.found:7,} of {figure.goal:7,}{place}")
    over = any(figure.found > figure.holds for figure in figures)
    return int("--check" in arguments and over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
