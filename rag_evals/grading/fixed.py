"""What keeps a grader as it was made? The shipped ones are shared by a whole program."""

import copy
from abc import ABC, ABCMeta
from typing import TYPE_CHECKING, Self

from rag_evals.errors import FixedGraderError


class _Finished(ABCMeta):
    """Marks a grader as finished once all constructors have run."""

    # Checkers take a call of a class for its constructor, and should.
    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **kwargs: object) -> object:
            made = super().__call__(*args, **kwargs)
            made.__dict__["_finished"] = True
            return made


class FixedOnceMade(ABC, metaclass=_Finished):
    """Base of what does not change after its constructor; a copy with other values is made.

    Attributes:
        name: What messages call it.
    """

    name: str

    # A checker that saw it would take any attribute for one that may be set.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse to change a finished grader: the shipped ones are shared by a whole program.

            A grader of the user's own may change what it has.
            """
            shipped = type(self).__module__.startswith("rag_evals.")
            is_new = not hasattr(self, name)
            if self.__dict__.get("_finished") and not name.startswith("_") and (shipped or is_new):
                raise FixedGraderError(_how_to_change(self, name, is_new=is_new))
            super().__setattr__(name, value)

    def _copy_with(self, **values: object) -> Self:
        """Return a copy with other values for some attributes."""
        changed = copy.copy(self)
        changed.__dict__.update(values)
        return changed


def _how_to_change(grader: FixedOnceMade, name: str, *, is_new: bool) -> str:
    kind = type(grader)
    ways = [
        f"{method}({name}=...), which returns a changed copy"
        for method in ("with_options", "with_parts")
        if name in getattr(getattr(kind, method, None), "__annotations__", ())
    ]
    if hasattr(kind, f"with_{name}"):
        ways.append(f"with_{name}(...), which returns a changed copy")
    if name in ("model", "settings"):
        ways.append(f"{name}= of grade and evaluate")
    if not ways:
        ways.append(f"the constructor of {kind.__name__} for one of your own")
    fault = "has no such attribute" if is_new else "is shared and cannot be changed"
    return f"{grader.name}.{name} cannot be set: the grader {fault}; use {' or '.join(ways)}"
