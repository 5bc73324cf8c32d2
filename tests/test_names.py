"""One name, one thing, in the whole package."""

import ast
import re
from collections import defaultdict

from tests.sources import PACKAGE, SOURCES, nodes_of

_OF_A_TYPE = re.compile(r"_?[A-Z][a-z]\w*")


def names_of_types(node: ast.AST) -> list[str]:
    """Return the name of a class, or the names that an assignment gives in the form of one."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if _OF_A_TYPE.fullmatch(name)]


def test_no_two_types_share_a_name() -> None:
    """A name of a class or of a type stands for one thing in every room, private ones included."""
    places = defaultdict(list)
    for path in SOURCES:
        for node in nodes_of(path):
            for name in names_of_types(node):
                places[name].append((path.relative_to(PACKAGE).as_posix(), type(node)))
    # A type may have two values in one file: one for checkers, one for the program.
    shared = {
        name: found
        for name, found in places.items()
        if len(set(found)) > 1 or found.count((found[0][0], ast.ClassDef)) > 1
    }

    assert shared == {}
