"""What is missing of a grader, a verifier or a file format? One message says all of it."""

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from pathlib import Path

from rag_evals import verify
from rag_evals.base import JudgedGrader
from rag_evals.catalog import GRADERS
from rag_evals.core import Result, phrases
from rag_evals.core.wording import LANGUAGES
from rag_evals.dataset.readers import READERS
from rag_evals.judge.clients.strings import PROVIDERS
from rag_evals.prompt.template import shipped_languages
from tools.generate.graders import GraderFile, grader_files

ROOT = Path(__file__).parent.parent
SNAPSHOTS = "UPDATE_SNAPSHOTS=1 python -m pytest tests/prompt/test_rendered.py"


def missing_of(file: GraderFile) -> Iterator[str]:
    """Yield what one `score_*.py` lacks, each with what to do."""
    names = {id(grader): name for name, grader in GRADERS.items()}
    page = f"docs/graders/{file.page}"
    # Its entries in these two are generated.
    written = set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs/api.md", ROOT / "docs/index.md"}
    pages = "".join(path.read_text("utf-8") for path in written)
    if not (ROOT / f"tests/test_{file.module}.py").is_file():
        yield f"tests/test_{file.module}.py: write it"
    for python_name, grader in file.graders.items():
        if id(grader) not in names:
            yield f"rag_evals/catalog.py: no line for {file.module}.{python_name}"
            continue
        if not re.search(rf"\b{python_name}\b", pages):
            yield f"{page}: write it, with an example of {python_name}"
        if grader.result_model.findings is Result.findings:
            yield f"rag_evals/{file.module}.py: {grader.result_model.__name__} has no findings"
        for language in LANGUAGES:
            if names[id(grader)] not in phrases(language).section("graders"):
                yield f"rag_evals/_data/phrases/{language}.json: no name of {names[id(grader)]}"
        if isinstance(grader, JudgedGrader):
            yield from missing_prompts(grader.template.stem or "", names[id(grader)])


def missing_prompts(prompt: str, name: str) -> Iterator[str]:
    """Yield the languages that a prompt is not in, and the snapshots that it has not."""
    for folder in ("", *(f"{language}/" for language in shipped_languages())):
        if not (ROOT / f"prompts/{folder}{prompt}.jinja").is_file():
            yield f"prompts/{folder}{prompt}.jinja: write it"
        elif not (ROOT / f"tests/prompt/rendered/{folder}{name}.txt").is_file():
            yield f"tests/prompt/rendered/{folder}{name}.txt: run {SNAPSHOTS}"


def missing_elsewhere() -> Iterator[str]:
    """Yield verifiers, file formats and providers that no page or test speaks of."""
    described = {
        "docs/verifiers.md": [one.__name__ for one in verifiers()],
        "docs/data-and-columns.md": list(READERS),
        "tests/dataset/test_readers.py": list(READERS),
        "docs/providers/index.md": [f"`{provider}/" for provider in PROVIDERS],
    }
    for page, names in described.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        yield from (f"{page}: no word of {name}" for name in names if name not in text)
    strings = (ROOT / "rag_evals/verify/judge_string.py").read_text(encoding="utf-8")
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for one in verifiers():
        # One that wraps another is made by an option, and the string names the other.
        if one.__name__ not in strings and "verifier" not in one.__annotations__:
            yield f"rag_evals/verify/judge_string.py: no string names {one.__name__}"
        if one.__name__ not in tests:
            yield f"tests/verify: no test of {one.__name__}"
        if one.__name__ not in verify.__all__:
            yield f"rag_evals/verify/__init__.pyi: no line for {one.__name__}"


def verifiers() -> list[type]:
    """Return every verifier that a file of the room `verify` makes."""
    files = pkgutil.walk_packages(verify.__path__, f"{verify.__name__}.")
    found = {
        value.__name__: value
        for file in files
        for value in vars(import_module(file.name)).values()
        if isclass(value) and hasattr(value, "traits")
    }
    inside = f"{verify.__name__}."
    return [found[name] for name in sorted(found) if found[name].__module__.startswith(inside)]


def test_nothing_is_missing_of_what_was_added() -> None:
    """Prompts, pages, tests, snapshots, findings and names for readers are there."""
    missing = [line for file in grader_files(ROOT / "rag_evals") for line in missing_of(file)]
    missing += missing_elsewhere()

    assert not missing, "\n".join(["", *missing])
