"""What do type checkers read of a door whose names load when they are first used?"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HEAD = "# Written by `python -m tools.generate` from the table in __init__.py."
_ROOT_ONLY = """
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NAMES: Mapping[str, Sequence[str]]
__version__: str
__all__: list[str]

def lazy_names(
    door: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]: ...
"""


def doors(package: Path) -> Iterator[Path]:
    """Yield every `__init__.py` that has one table of its names."""
    for path in sorted(package.rglob("__init__.py")):
        if "lazy_names(__name__" in path.read_text(encoding="utf-8"):
            yield path


def names_in(source: str) -> Mapping[str, Sequence[str]]:
    """Return the table of a door: names by the file that has them.

    Args:
        source: The text of its `__init__.py`.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NAMES":
            table: dict[str, tuple[str, ...]] = ast.literal_eval(node.value)
            return table
    raise ValueError("the door has no table NAMES")


def stub(source: str, package: str) -> str:
    """Return the text of `__init__.pyi`: each name, imported from its file.

    Args:
        source: The text of `__init__.py`.
        package: Such as `rag_evals.cache`.
    """
    lines = []
    for inner, names in names_in(source).items():
        for name in names:
            # A room listed under its own name is a module.
            home = package if name == inner else f"{package}.{inner}"
            lines.append(f"from {home} import {name} as {name}")
    rest = _ROOT_ONLY if "." not in package else "\n__all__: list[str]\n"
    return "\n".join([HEAD, *sorted(lines), rest])
