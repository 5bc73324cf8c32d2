"""The public names are what is there, documented, and typed."""

import importlib
import inspect
import pkgutil

import pytest

import rag_evals


def test_all_is_what_is_there() -> None:
    """Every name in `__all__` loads, and `dir` shows exactly these."""
    assert dir(rag_evals) == sorted(rag_evals.__all__)
    for name in rag_evals.__all__:
        assert getattr(rag_evals, name) is not None


DOORS = [
    "rag_evals",
    *(
        f"rag_evals.{room.name}"
        for room in pkgutil.iter_modules(rag_evals.__path__)
        if room.ispkg and room.name != "cli"
    ),
]


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_documented(door: str) -> None:
    """Classes, functions and modules have a docstring, and so have their public members."""
    room = importlib.import_module(door)
    for name in getattr(room, "__all__", ()):
        value = getattr(room, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            assert value.__doc__, name
        for member, inner in vars(value).items() if inspect.isclass(value) else ():
            told = isinstance(inner, property | classmethod | staticmethod) or callable(inner)
            if told and not member.startswith("_"):
                assert inspect.getdoc(getattr(value, member)), f"{name}.{member}"


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


def test_the_version_is_the_packages() -> None:
    """One number, in the metadata and in the module."""
    from importlib.metadata import version

    assert rag_evals.__version__ == version("rag-evals")
