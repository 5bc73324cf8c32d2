"""The wheel holds what a user needs, and works without the checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source archive, as an index would get it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    unpacked = folder / "source"
    (archive,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "xzf", str(archive), "--one-top-level=source"], cwd=folder, check=True)
    (checkout,) = unpacked.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "again")],
        cwd=checkout,
        check=True,
        capture_output=True,
    )
    (built,) = (folder / "again").glob("*.whl")
    return built


def test_the_wheel_has_every_prompt_and_data_file(wheel: Path) -> None:
    """Templates, demo rows, the type marker and the licence are in; tests are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    prompts = {
        path.relative_to(ROOT / "prompts").as_posix()
        for path in (ROOT / "prompts").rglob("*.jinja")
    }

    assert {f"rag_evals/_prompts/{name}" for name in prompts} <= names
    assert {"rag_evals/_data/demo.jsonl", "rag_evals/py.typed"} <= names
    assert "rag_evals/_data/lexicon/forms.txt" in names
    page = {f"rag_evals/report/page.{kind}" for kind in ("css", "js", "html.jinja")}
    assert page <= names
    assert {"rag_evals/_data/attacks.jsonl", "rag_evals/_data/exam.jsonl"} <= names
    assert "rag_evals/_prompts/ru/chunk_template.jinja" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "prompts", "docs")) for name in names)
    assert {n for n in names if n.endswith(".py")} == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "rag_evals").rglob("*.py")
    }


def test_the_installed_package_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    """Unpacked somewhere else, prompts and rows are found in the package itself."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    ended = subprocess.run(
        [sys.executable, "-m", "rag_evals", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "over 22 scored of 24" in ended.stdout


def test_the_core_stays_within_45_packages() -> None:
    """A fresh install without extras brings at most 45 packages, ours included."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    needs = {
        package["name"]: [
            dependency["name"]
            for dependency in package.get("dependencies", [])
            if "sys_platform == 'win32'" not in dependency.get("marker", "")
        ]
        for package in packages
    }
    core: set[str] = set()
    pending = ["rag-evals"]
    while pending:
        name = pending.pop()
        if name not in core:
            core.add(name)
            pending += needs[name]

    assert len(core) <= 45, sorted(core)
