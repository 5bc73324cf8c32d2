"""How is a user told our own spelling? By a warning at the line of the script that is meant."""

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag_evals.errors import ConfigurationError, UnknownNameError

_PACKAGE = str(Path(__file__).parents[1])


class CompatWarning(UserWarning):
    """Says how rag_evals itself spells a call, and where the two tools differ."""


def say(message: str) -> None:
    """Warn at the innermost line that is the user's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, CompatWarning, stacklevel=level)


def refused(what: str, instead: str) -> ConfigurationError:
    """Make the error for what has no counterpart.

    Args:
        what: As the user wrote it, such as "ragas' AspectCritic(strictness=3)".
        instead: What to use.
    """
    return ConfigurationError(f"{what} has no counterpart in rag_evals; {instead}")


def check_arguments(call: str, given: Mapping[str, Any], *, idle: frozenset[str]) -> None:
    """Pass over arguments that change nothing here, and refuse all others.

    Args:
        call: Name of the function, as the user wrote it.
        given: Those that it does not have by itself; None is as good as not given.
        idle: Names of those that are only passed over, with a warning.

    Raises:
        ConfigurationError: An argument has no counterpart.
    """
    for name, value in given.items():
        if value is None:
            continue
        if name not in idle:
            known = f"; {', '.join(sorted(idle))} are passed over" if idle else ""
            raise refused(f"{call}({name}={value!r})", f"leave {name} out{known}")
        say(f"{call}({name}=…) changes nothing here; leave it out")


def refusing(
    module: str, tool: str, known: list[str], instead: Mapping[str, str]
) -> Callable[[str], Any]:
    """Make a module's `__getattr__` that says what to use for names that are not there.

    Args:
        module: Name of the module.
        tool: Whose names these are.
        known: Names that the module has.
        instead: What to use, by name.
    """
    owner = tool + ("'" if tool.endswith("s") else "'s")

    def refuse(name: str) -> Any:
        if name in instead:
            raise refused(f"{owner} {name}", instead[name])
        # Python and pytest look for names of their own, and must not find an error.
        if name.startswith("_") or not name[0].isupper():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise UnknownNameError.of(f"counterpart of {owner}", name, known)

    return refuse
