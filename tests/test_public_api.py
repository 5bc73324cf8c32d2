"""The public names are what is there, documented, and typed."""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import rag_evals


def test_all_is_what_is_there() -> None:
    """Every name in `__all__` loads, and `dir` shows exactly these."""
    assert dir(rag_evals) == sorted(rag_evals.__all__)
    for name in rag_evals.__all__:
        assert getattr(rag_evals, name) is not None


def test_every_public_name_is_documented() -> None:
    """Classes, functions and modules have a docstring, and so have their public members."""
    for name in rag_evals.__all__:
        value = getattr(rag_evals, name)
        assert name.startswith("_") or inspect.getdoc(value), name
        for member, inner in vars(value).items() if inspect.isclass(value) else ():
            if callable(inner) and not member.startswith("_"):
                assert inspect.getdoc(inner), f"{name}.{member}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Lazy loading fails as a plain module would."""
    with pytest.raises(AttributeError, match="no attribute 'Faithfullness'"):
        _ = rag_evals.Faithfullness  # type: ignore[attr-defined]  # misspelt on purpose


def test_the_owners_import_paths_work() -> None:
    """The names that were fixed stand where they were fixed."""
    from rag_evals import Faithfulness, base
    from rag_evals.response_models import FaithfulnessResult, StatementEvaluation
    from rag_evals.score_faithfulness import Faithfulness as Same

    assert Faithfulness is Same
    assert base.ContextEvaluation is rag_evals.ContextEvaluation
    assert FaithfulnessResult is rag_evals.FaithfulnessResult
    assert StatementEvaluation is rag_evals.StatementEvaluation


def moved_names() -> list[tuple[str, str, list[str]]]:
    """Read the rows of the change log's table: old path, new path, names."""
    text = Path(__file__).parents[1].joinpath("CHANGELOG.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `(rag_evals[\w.]+)` \| (?:`(rag_evals[\w.]+)` \| )?(.+) \|$", text, re.M
    )
    return [(old, new or old, re.findall(r"`(\w+)`", names)) for old, new, names in rows]


def test_the_change_log_says_where_names_moved() -> None:
    """Every name loads from the new path, and from the old one no longer."""
    assert moved_names()
    for old, new, names in moved_names():
        room = import_module(new)
        assert names, new
        assert [name for name in names if name not in room.__all__] == []
        assert [name for name in names if getattr(room, name) is None] == []
        assert old == new or [name for name in names if stands_at(old, name)] == []


def stands_at(path: str, name: str) -> bool:
    """Whether a module exists and has the name."""
    try:
        return find_spec(path) is not None and hasattr(import_module(path), name)
    except ModuleNotFoundError:
        return False


def test_the_version_is_the_packages() -> None:
    """One number, in the metadata and in the module."""
    from importlib.metadata import version

    assert rag_evals.__version__ == version("rag-evals")
