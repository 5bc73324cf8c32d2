"""Which grader does `--grader package.module:object` mean? One of the user's own Python files."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rag_evals.core import fingerprint
from rag_evals.errors import ConfigurationError, RagEvalsError
from rag_evals.grading import Grader
from rag_evals.text import one_line


def is_own_grader(name: str) -> bool:
    """Say whether `--grader` names a Python object; no shipped grader has a colon in its name."""
    return ":" in name


def own_grader(spec: str) -> Grader[Any]:
    """Import a grader of the user's own; modules in the working directory are found first.

    Args:
        spec: `package.module:object`; the object may stand inside another, as in `my:Team.strict`.

    Returns:
        The grader, with a hash of the files that it comes from as its `source`.

    Raises:
        ConfigurationError: The module cannot be imported, has no such object, or it is no grader.
    """
    module_name, _, path = spec.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), *path.split(".")]):
        raise ConfigurationError(
            f"grader {spec!r} is not package.module:object, as in my_graders:Strict; the module is "
            "written as in an import, without .py and with dots for folders"
        )
    module = _imported(module_name, spec)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(_missing(spec, module_name, path, module))
        found = getattr(found, part)
    if isinstance(found, type) and issubclass(found, Grader):
        raise ConfigurationError(
            f"grader {spec!r} is a class; name an instance, such as one that the module makes with "
            f"strict = {found.__name__}(...)"
        )
    if not isinstance(found, Grader):
        raise ConfigurationError(
            f"grader {spec!r} is {type(found).__name__}, no grader; expected an object such as "
            "ContextEvaluation(prompt=..., response_model=...)"
        )
    return found.with_source(_source_hash(module, found))


def _imported(name: str, spec: str) -> ModuleType:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(name)
    except RagEvalsError as error:
        raise ConfigurationError(f"grader {spec!r}: {error}") from error
    # Whatever a user's module does when it is imported, SystemExit among it.
    except (Exception, SystemExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and name.startswith(error.name or " ")
        place = f"; looked in {here} and where Python finds modules" if missing else ""
        raise ConfigurationError(
            f"grader {spec!r}: the module {name!r} cannot be imported: "
            f"{type(error).__name__}: {one_line(str(error))}{place}"
        ) from error
    finally:
        # What the module imports later is still found; but nothing that Python has is hidden.
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def _missing(spec: str, module_name: str, path: str, module: ModuleType) -> str:
    graders = [name for name, value in vars(module).items() if isinstance(value, Grader)]
    return (
        f"grader {spec!r}: the module {module_name!r} has no {path!r}; its graders are "
        f"{', '.join(graders) or 'none'}"
    )


def _source_hash(module: ModuleType, grader: Grader[Any]) -> str | None:
    """Hash the files that can change what the grader does; None where there is no file to read.

    A grader's own fingerprint covers prompt and schema. How a score is computed is code.
    """
    names = {module.__name__, type(grader).__module__, grader.result_model.__module__}
    files = [
        Path(file)
        for name in sorted(names)
        if not name.startswith("rag_evals.") and (file := getattr(_loaded(name), "__file__", None))
    ]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    return fingerprint(*texts) if texts else None


def _loaded(name: str) -> ModuleType | None:
    return sys.modules.get(name)
