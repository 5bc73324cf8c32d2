"""Errors say what is wrong, survive pickling, and stand where the tree says."""

import inspect
import pickle

import pytest

from rag_evals import errors
from rag_evals.errors import NotScorableError, RagEvalsError, UnknownNameError

ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, RagEvalsError)
]


@pytest.mark.parametrize("kind", ALL)
def test_every_error_survives_pickling(kind: type[RagEvalsError]) -> None:
    """An error that crosses a process border arrives with its type and message."""
    error = kind("empty_answer")
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is kind
    assert str(copy) == str(error)


def test_the_tree_names_every_error() -> None:
    """The tree on top of errors.py lists each class once, under its base."""
    tree = inspect.getdoc(errors) or ""

    for kind in ALL:
        assert kind.__name__ in tree


def test_an_unknown_name_gets_the_nearest_one() -> None:
    """The message has the value, a suggestion and all names."""
    error = UnknownNameError.of("grader", "faithfulnes", ["faithfulness", "chunk_precision"])

    assert str(error) == (
        "no grader 'faithfulnes'; did you mean 'faithfulness'? "
        "available: chunk_precision, faithfulness"
    )


def test_a_reason_stays_readable_as_an_attribute() -> None:
    """Summaries count the reason, so it is kept as one word."""
    assert NotScorableError("empty_context").reason == "empty_context"
