"""The house stands as drawn: small files, imports in their budget, nothing loaded too early."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rag_evals.catalog import GRADERS
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.verify import EMBEDDED_GRADERS
from tests.sources import ROOT, SOURCES, nodes_of

TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


def loaded_modules(code: str) -> set[str]:
    """Return the top-level modules in memory after some code ran in a fresh interpreter."""
    program = f"{code}\nimport sys; print('\\n'.join({{m.partition('.')[0] for m in sys.modules}}))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def own_modules(code: str) -> int:
    """Return how many modules of the package are in memory after some code ran."""
    program = f"{code}\nimport sys; print(sum(m.startswith('rag_evals') for m in sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(ended.stdout)


def test_importing_the_package_loads_what_grading_needs() -> None:
    """`from rag_evals import Faithfulness` loads 63 modules of ours at most, and no run or report.

    Its CPU time, measured by `python -m tests.benchmarks.imports`, follows from that.
    """
    assert own_modules("from rag_evals import Faithfulness") <= 63


def test_help_loads_no_command() -> None:
    """`rag-evals --help` loads 12 modules of ours at most: none of them runs a command."""
    code = (
        "import contextlib, os, sys; sys.argv = ['rag-evals', '--help']\n"
        "from rag_evals.cli.main import run\n"
        "with contextlib.redirect_stdout(open(os.devnull, 'w')), contextlib.suppress(SystemExit):\n"
        "    run()"
    )

    assert own_modules(code) <= 12


def test_an_embedded_grade_loads_nothing_heavy() -> None:
    """Neither openai, instructor nor numpy is in memory after grading offline."""
    loaded = loaded_modules(
        "from rag_evals import Faithfulness\n"
        "assert Faithfulness.grade(answer='It is in Paris.', context=['It is in Paris.'],"
        " client='embedded').score == 1.0"
    )

    assert "rag_evals" in loaded
    assert not loaded & {"openai", "instructor", "numpy", "typer", "rich", "torch", "asyncio"}


def test_functions_are_small() -> None:
    """A function's body has at most 40 lines, docstring left out."""
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                documented = ast.get_docstring(node) and len(node.body) > 1
                first = node.body[1] if documented else node.body[0]
                assert (node.end_lineno or 0) - first.lineno < 40, f"{path}: {node.name}"


def test_signatures_are_small() -> None:
    """A public function has at most 8 parameters; commands, whose options these are, aside."""
    commands = ROOT / "rag_evals" / "cli" / "commands"
    for path in (one for one in SOURCES if not one.is_relative_to(commands)):
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = node.args
                names = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
                names += [one.arg for one in (taken.vararg, taken.kwarg) if one is not None]
                counted = len(names) - (names[:1] in (["self"], ["cls"]))
                assert counted <= 8, f"{path}: {node.name}"


def test_the_root_is_tidy() -> None:
    """Only the owner's folders and these files are in the root: no scratch file is committed."""
    here = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    assert here == {
        *(".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"),
        *("README.md", "action.yml", "docs", "mkdocs.yml", "prompts", "pyproject.toml"),
        *("rag_evals", "tests", "tools"),
    }


def test_defaults_of_fields_are_named() -> None:
    """`Field(default=…)`: checkers without pydantic's plugin take `Field(None)` for required."""
    for path in SOURCES:
        for node in nodes_of(path):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Field"
            ):
                assert not node.args, f"{path}: line {node.lineno}"


def test_every_test_states_its_promise() -> None:
    """Each test has a docstring of its own and checks something."""
    for path in TESTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = f"{path}: {node.name}"
                assert ast.get_docstring(node), name
                body = "\n".join(lines[node.body[0].end_lineno : node.end_lineno])
                assert re.search(r"assert|raises|check|expect|_run_", body), name


def tracked_files() -> Iterator[Path]:
    """Yield the files that belong to the project."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and name != "uv.lock":
            yield ROOT / name


def test_no_file_knows_this_machine() -> None:
    """No path of a developer's machine stands in the project."""
    pattern = re.compile("/" + r"(?:home|root|work|Users)/[a-z]")
    for path in tracked_files():
        text = path.read_text(encoding="utf-8", errors="ignore")
        assert not pattern.search(text), path


def test_the_embedded_graders_are_those_that_have_the_form() -> None:
    """The list in error messages is the catalog's."""
    with_form = set()
    for name, grader in GRADERS.items():
        with suppress(ConfigurationError):
            grader.with_verifier(EmbeddedVerifier())
            with_form.add(name)

    assert set(EMBEDDED_GRADERS) == with_form
