"""Which class had a stored result? Found by its name, so that `load_run` returns the same object.

A run folder is data, and may come from anyone. So a name in it is not simply imported:
the class must derive from `BaseModel`, and a module that is not loaded yet must be found where
Python finds modules, not in the run folder, and its source must define a class of that name.
"""

import ast
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from rag_evals.core import Finding, Result, Tallies
from rag_evals.errors import NotScorableReason


class StoredResult(Result):
    """A result whose class no longer exists: its stored fields, score and findings."""

    model_config = ConfigDict(extra="allow")

    _score: float = PrivateAttr(default=0.0)
    _not_scorable: NotScorableReason | None = PrivateAttr(default=None)
    _findings: tuple[Finding, ...] = PrivateAttr(default=())
    _warnings: list[str] = PrivateAttr(default_factory=list)
    _tallies: dict[str, tuple[int, int]] = PrivateAttr(default_factory=dict)
    _ranking_score: float | None = PrivateAttr(default=None)

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Any],
        *,
        score: float | None,
        not_scorable: NotScorableReason | None,
        findings: tuple[Finding, ...],
        warnings: Iterable[str],
        tallies: Tallies,
        ranking_score: float | None,
    ) -> "StoredResult":
        """Make one from the parts of a stored outcome."""
        stored = cls.model_validate(dict(fields))
        stored._score = 0.0 if score is None else score
        stored._not_scorable = not_scorable
        stored._findings = findings
        stored._warnings = list(warnings)
        stored._tallies = dict(tallies)
        stored._ranking_score = ranking_score
        return stored

    @property
    def score(self) -> float:
        """As its outcome has it; 0.0 when it is not scorable."""
        return self._score

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """As its outcome has it."""
        return self._not_scorable

    @property
    def findings(self) -> tuple[Finding, ...]:
        """As its outcome has them."""
        return self._findings

    @property
    def warnings(self) -> list[str]:
        """As its outcome has them."""
        return self._warnings

    @property
    def tallies(self) -> Tallies:
        """As its outcome has them."""
        return self._tallies

    @property
    def ranking_score(self) -> float | None:
        """As its outcome has it."""
        return self._ranking_score


def type_name(model: type) -> str:
    """Name a class for a run folder: its module and its name there."""
    return f"{model.__module__}:{model.__qualname__}"


def read_result(
    fields: Mapping[str, Any],
    name: str | None,
    known: Mapping[str, type[BaseModel]],
    folder: Path | None,
) -> BaseModel | None:
    """Make a stored result an object of its class; None when the class no longer exists.

    Args:
        fields: The result as it was stored.
        name: What `type_name` said of its class, or None.
        known: Classes that need no search, by that name.
        folder: Folder of the run; nothing in it is imported.

    Raises:
        ValidationError: The fields are damaged.
    """
    model = None if name is None else known.get(name) or _find_class(name, folder)
    if model is None:
        return None
    try:
        return model.model_validate(fields)
    except ValidationError:
        if model.__module__.startswith("rag_evals."):
            raise  # damage: what our own classes wrote, they can read
        # A user's class of that name may have other fields by now.
        return None


def _find_class(name: str, folder: Path | None) -> type[BaseModel] | None:
    module_name, _, qualified = name.partition(":")
    module = sys.modules.get(module_name)
    if module is None and _defines(module_name, qualified, folder):
        try:
            module = import_module(module_name)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a module does when it is imported
            return None
    if module is None:
        return None
    found: Any = module
    for part in qualified.split("."):
        # No `getattr`: a module's own `__getattr__` may run anything.
        found = vars(found).get(part) if found is module or isinstance(found, type) else None
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def _defines(module_name: str, qualified: str, folder: Path | None) -> bool:
    """Read, without running it, whether a module defines the class; packages are not run either."""
    spec = _spec(module_name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return False
    source = Path(spec.origin).resolve()
    if folder is not None and source.is_relative_to(folder.resolve()):
        return False
    try:
        body: list[ast.stmt] = ast.parse(source.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    for part in qualified.split("."):
        classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == part]
        if not classes:
            return False
        body = classes[-1].body
    return True


def _spec(module_name: str) -> ModuleSpec | None:
    """Find a module as Python does, but without importing the packages that it is in."""
    first, *rest = parts = module_name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    try:
        spec = find_spec(first)
    except ValueError:  # a loaded module that names no source
        return None
    for count in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = ".".join(parts[: count + 2])
        spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    return spec
