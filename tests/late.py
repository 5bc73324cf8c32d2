"""Import a large package when a test first uses it: every process collects every test."""

from importlib import import_module
from typing import Any


class Late:
    """Stands for a package, or for one of its modules, until a test asks for a name in it.

    Its submodules are imported first, in the order given: `pyarrow.parquet` is no part of `pyarrow`
    before somebody imports it.
    """

    def __init__(self, name: str, *submodules: str) -> None:
        self._names = [*(f"{name}.{module}" for module in submodules), name]

    # Any: what the package has under this name. pytest asks for marks of its own; there are none.
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "pytest" in name:
            raise AttributeError(name)
        return getattr([import_module(each) for each in self._names][-1], name)
