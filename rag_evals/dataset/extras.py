"""Is an optional library there? If not, the error names the command that installs it."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rag_evals.errors import MissingExtraError


def required_module(name: str, extra: str, purpose: str) -> Any:
    """Import a library of an extra.

    Args:
        name: Of the library, as it is imported.
        extra: Of ours that installs it.
        purpose: What it is needed for, in words that follow "to".

    Raises:
        MissingExtraError: It is not installed.
    """
    if find_spec(name.partition(".")[0]) is None:
        raise MissingExtraError(
            f"{name.partition('.')[0]} is not installed, which is needed to {purpose}: "
            f"pip install 'rag-evals[{extra}]'"
        )
    return import_module(name)
