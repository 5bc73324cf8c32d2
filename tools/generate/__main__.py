"""Write everything that is generated, or check it.

python -m tools.generate            write
python -m tools.generate --check    write nothing; exit with 1 when a file is stale
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.generate import cli_help, doors, graders

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rag_evals"
COMMAND = "python -m tools.generate"


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with the text that it should have."""
    files = graders.grader_files(PACKAGE)
    for place in ("pyproject.toml", "docs/architecture.md"):
        yield ROOT / place, graders.with_layer(_read(ROOT / place), files)
    root = PACKAGE / "__init__.py"
    source = _formatted(graders.with_names(_read(root), files), root)
    yield root, source
    for door in doors.doors(PACKAGE):
        package = ".".join(door.parent.relative_to(ROOT).parts)
        path = door.with_suffix(".pyi")
        text = doors.stub(source if door == root else _read(door), package)
        yield path, _formatted(text, path)
    docs = ROOT / "docs"
    entries = graders.with_entries(_read(docs / "api.md"), files)
    yield docs / "api.md", cli_help.with_options(graders.with_verifiers(entries))
    yield docs / "index.md", graders.with_rows(_read(docs / "index.md"), files)
    yield docs / "custom-graders.md", graders.with_models(_read(docs / "custom-graders.md"))
    menu = ROOT / "mkdocs.yml"
    yield menu, graders.with_pages(_read(menu), docs / "graders")
    commands = docs / "command-line.md"
    yield commands, cli_help.pasted(_read(commands))


def stale_files() -> dict[Path, str]:
    """Return each generated file that is not what it should be, with the text for it."""
    return {path: text for path, text in texts() if not path.exists() or _read(path) != text}


def main(arguments: list[str]) -> int:
    """Write or check; return the exit code."""
    stale = stale_files()
    for path, text in stale.items():
        print(path.relative_to(ROOT))
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
    if stale and arguments == ["--check"]:
        print(f"stale; run: {COMMAND}", file=sys.stderr)
        return 1
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _formatted(text: str, path: Path) -> str:
    """Return Python text in the house's format."""
    ruff = [Path(sys.executable).with_name("ruff")]
    for verb in (["check", "--quiet", "--select=I", "--fix"], ["format", "--quiet"]):
        text = subprocess.run(
            [*ruff, *verb, "--stdin-filename", str(path), "-"],
            cwd=ROOT,
            input=text,
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
