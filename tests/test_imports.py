"""Does an import of any kind, at any depth of the code, go where the house says?"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.sources import PACKAGE, ROOT, SOURCES, nodes_of

KNOWN_CYCLES: list[set[str]] = []
"""Cycles that are still to be undone."""


def module_name(path: Path) -> str:
    """Return `rag_evals.core.flow` for its file, and the package's name for an `__init__.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of() -> Mapping[str, set[str]]:
    """Return what each module imports: at its top, inside functions and for type checkers."""
    files = {module_name(path): path for path in SOURCES}
    lazy = {name: file for name, file in files.items() if file.name == "__init__.py"}
    homes: dict[str, dict[str, str]] = {}
    for door, file in lazy.items():
        if "lazy_names(__name__" in file.read_text(encoding="utf-8"):
            stub = file.with_suffix(".pyi").read_text(encoding="utf-8")
            listed = re.findall(r"(?m)^from (rag_evals\S*) import (\w+)", stub)
            homes[door] = {
                name: f"{door}.{name}" if home == door else home for home, name in listed
            }
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        found = set(imported_names(file))
        # A name of a lazy door stands for the file that has it, a module for itself.
        targets = {homes.get(door, {}).get(name, f"{door}.{name}") for door, name in found}
        targets = {one if one in files else one.rpartition(".")[0] for one in targets}
        graph[module] = {one for one in targets if one in files and one != module}
    return graph


def imported_names(file: Path) -> Iterator[tuple[str, str]]:
    """Yield pairs of a module and the name that is imported from it, wherever they stand."""
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, _, name = alias.name.rpartition(".")
                yield package, name


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of two or more modules each of which reaches all others of its group."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        pending = [start]
        while pending:
            for target in graph[pending.pop()] - seen:
                seen.add(target)
                pending.append(target)
        reached[start] = seen
    groups = {
        frozenset(other for other in reached[one] if one in reached[other])
        for one in graph
        if one in reached[one]
    }
    return [set(group) for group in groups]


@pytest.mark.slow
def test_no_module_imports_itself_by_way_of_others() -> None:
    """No cycle, with imports inside functions and for type checkers counted."""
    assert sorted(map(sorted, cycles(imports_of()))) == sorted(map(sorted, KNOWN_CYCLES))


def test_a_cycle_is_seen() -> None:
    """Three modules in a ring are one cycle; the one that only leads there is not in it."""
    ring = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "before": {"a"}, "after": set()}

    assert cycles(ring) == [{"a", "b", "c"}]


TOGETHER = {"errors": "text", "testing": "text"}
"""Rooms that are one box in the picture."""


def box_of(module: str) -> str:
    """Return the box of a module in the picture of the architecture page."""
    room = module.split(".")[1]
    return "score" if room.startswith("score_") else TOGETHER.get(room, room)


def drawn_arrows() -> set[tuple[str, str]]:
    """Return the arrows of the picture, each as two boxes."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("```mermaid")[1].split("```")[0]
    arrows = set()
    for line in picture.splitlines():
        left, arrow, right = re.sub(r"\[.*?\]", "", line).partition("-->")
        if arrow:
            arrows |= {(a.strip(), b.strip()) for a in left.split("&") for b in right.split("&")}
    return arrows


def reachable(start: str, arrows: set[tuple[str, str]]) -> set[str]:
    """Return every box below one, along the arrows."""
    below = {end for begin, end in arrows if begin == start}
    return below.union(*(reachable(box, arrows) for box in below))


def test_the_picture_is_the_code() -> None:
    """Each arrow is an import; each import between rooms follows arrows; every room is there."""
    graph = imports_of()
    inner = {module: targets for module, targets in graph.items() if module.count(".")}
    imports = {
        (box_of(module), box_of(target))
        for module, targets in inner.items()
        for target in targets
        if target.count(".") and module != "rag_evals.__main__"
    }
    imports = {(a, b) for a, b in imports if a != b}
    arrows = drawn_arrows()
    boxes = {box for arrow in arrows for box in arrow}

    assert boxes == {box_of(module) for module in inner} - {"__main__"}
    assert arrows - imports == set()
    assert {(a, b) for a, b in imports if b not in reachable(a, arrows)} == set()


FORBIDDEN = [
    "score_new.py",
    "base.py",
    "embedded/new.py",
    "cli/shared/new.py",
    "verify/classifier/new.py",
]
"""A grader, the base, a room, a folder in a room, and the classifiers."""


def test_only_the_judge_may_import_openai(tmp_path: Path) -> None:
    """New files of other rooms that import it break a contract, inside functions too."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(PACKAGE, tmp_path / "rag_evals", ignore=ignored)
    for place in [*FORBIDDEN, "judge/new.py"]:
        deep = (package / place).with_stem(f"{Path(place).stem}_deep")
        for path, depth in ((package / place, ""), (deep, "def late() -> None:\n    ")):
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n{depth}import openai\n")

    checked = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Only judge talks to a model endpoint BROKEN" in checked.stdout
    broken = re.findall(r"rag_evals\.(\S+) -> openai", checked.stdout)
    modules = [place.removesuffix(".py").replace("/", ".") for place in FORBIDDEN]
    assert set(broken) == {*modules, *(f"{module}_deep" for module in modules)}
