"""Adds the names of graders to import contracts, tables and pages."""

import re
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any, NamedTuple

from rag_evals import verify
from rag_evals.catalog import GRADERS, PROMPTED
from rag_evals.grading import Grader


class GraderFile(NamedTuple):
    """One `score_*.py`.

    Attributes:
        module: Such as `score_precision`.
        graders: Its graders, by their name in Python.
    """

    module: str
    graders: dict[str, Grader[Any]]

    @property
    def results(self) -> list[str]:
        """Names of the result models that are made here, not in `response_models`."""
        return sorted(
            {
                grader.result_model.__name__
                for grader in self.graders.values()
                if grader.result_model.__module__ == f"rag_evals.{self.module}"
            }
        )

    @property
    def page(self) -> str:
        """The file in `docs/graders/`."""
        return f"{self.module.removeprefix('score_')}.md"


def grader_files(package: Path) -> list[GraderFile]:
    """Read every `score_*.py` of the package."""
    files = []
    for path in sorted(package.glob("score_*.py")):
        module = import_module(f"rag_evals.{path.stem}")
        values = {name: getattr(module, name) for name in sorted(module.__all__)}
        graders = {name: one for name, one in values.items() if isinstance(one, Grader)}
        files.append(GraderFile(path.stem, graders))
    return files


def with_layer(text: str, files: list[GraderFile]) -> str:
    """Return a text with the line of an import contract that names every grader's file."""
    layer = " | ".join(one.module for one in files)
    return re.sub(r"(?m)\bscore_\w+(?: \| score_\w+)+", layer, text, count=1)


MODULE_ONLY = {"HHEMFaithfulness", "Rag", "RetrievalRanks"}
"""Graders that are rarely imported: their file has them, and the root has not."""


def with_names(stub: str, files: list[GraderFile]) -> str:
    """Return `rag_evals/__init__.pyi` with a line for each grader."""
    line = re.compile(r"from rag_evals\.score_.*\n")
    first = next(line.finditer(stub)).start()
    lines = "".join(
        f"from rag_evals.{one.module} import {name} as {name}\n"
        for one in files
        for name in sorted(one.graders)
        if name not in MODULE_ONLY
    )
    return stub[:first] + lines + line.sub("", stub[first:])


def with_entries(page: str, files: list[GraderFile]) -> str:
    """Return `docs/api.md` with an entry for each grader and result that has none."""
    for one in files:
        for name in [*one.graders, *one.results]:
            entry, options = f"::: rag_evals.{one.module}.{name}\n", ""
            following = "## Read a result\n"
            if name in one.results:
                options = "    options:\n      show_if_no_docstring: true\n"
                following = "## Grade with a rubric\n"
            if entry not in page:
                page = page.replace(following, f"{entry}{options}\n{following}", 1)
    return page


def with_verifiers(page: str) -> str:
    """Return `docs/api.md` with an entry for each verifier of the room that has none."""
    for name in sorted(verify.__all__):
        value = getattr(verify, name)
        entry = f"::: rag_evals.verify.{name}\n"
        if isclass(value) and hasattr(value, "adapt") and entry not in page:
            following = "::: rag_evals.core.Verdict\n"
            page = page.replace(following, f"{entry}\n{following}", 1)
    return page


def with_rows(page: str, files: list[GraderFile]) -> str:
    """Return `docs/index.md` with a row for each grader that has none."""
    rows = list(re.finditer(r"(?m)^\| \[`\w+`\]\(.*\n", page))
    new = ""
    names = {id(grader): name for name, grader in GRADERS.items()}
    for one in files:
        for name, grader in one.graders.items():
            if f"| [`{name}`](" not in page:
                embedded = "yes" if names[id(grader)] in verify.EMBEDDED_GRADERS else "no"
                needs = ", ".join(grader.requires)
                link = f"[`{name}`](graders/{one.page})"
                new += f"| {link} | {grader.description} | {needs} | {embedded} |\n"
    return page[: rows[-1].end()] + new + page[rows[-1].end() :]


def with_models(page: str) -> str:
    """Return `docs/custom-graders.md` with the names of all graders' response models."""
    names = ", ".join(f"`{name}`" for name in PROMPTED)
    before = "You can also use the built-in graders' response models: "
    changed, found = re.subn(rf"{before}[^.]*\.", f"{before}{names}.", page)
    if not found:
        raise ValueError(f"docs/custom-graders.md does not contain {before!r}")
    return changed


def with_pages(settings: str, pages: Path) -> str:
    """Return `mkdocs.yml` with a menu entry for each page in `docs/graders/` that has none."""
    for page in sorted(pages.glob("*.md")):
        if f": graders/{page.name}\n" not in settings:
            title = re.findall(r"(?m)^# (.*)", page.read_text(encoding="utf-8"))[0]
            last = list(re.finditer(r"(?m)^ +- .*: graders/.*\n", settings))[-1].end()
            entry = f"      - {title}: graders/{page.name}\n"
            settings = settings[:last] + entry + settings[last:]
    return settings
