"""The public names are what is there, documented, and typed."""

import inspect
import re
import subprocess
import sys
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


@pytest.mark.parametrize("name", [n for n in rag_evals.__all__ if not n.startswith("_")])
def test_every_public_name_is_documented(name: str) -> None:
    """Classes, functions and modules have a docstring, and so have their public members."""
    value = getattr(rag_evals, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        for member, inner in vars(value).items():
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


@pytest.mark.parametrize(("old", "new", "names"), moved_names())
def test_the_change_log_says_where_names_moved(old: str, new: str, names: list[str]) -> None:
    """Every name loads from the new path, and from the old one no longer."""
    room = import_module(new)

    assert names
    assert [name for name in names if name not in room.__all__] == []
    assert [name for name in names if getattr(room, name) is None] == []
    if old != new:
        assert [name for name in names if stands_at(old, name)] == []


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


CHECKERS = {
    "mypy": ("mypy", "--no-incremental"),
    "pyright": ("pyright", "--pythonpath", sys.executable),
}


@pytest.mark.parametrize("checker", CHECKERS.values(), ids=CHECKERS)
def test_how_users_call_it_type_checks(checker: tuple[str, ...]) -> None:
    """`tests/typing/api.py` is never run; both checkers read it as a user's program."""
    root = __file__.rsplit("/tests/", 1)[0]
    ended = subprocess.run(
        [sys.executable, "-m", *checker, "tests/typing/api.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout
