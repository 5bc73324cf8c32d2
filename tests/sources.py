"""The project's Python files, each parsed once for all the tests that read them."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rag_evals"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    # Nothing of a tree is garbage, and looking for some takes three times as long as parsing.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's syntax tree."""
    return list(ast.walk(tree_of(path)))
