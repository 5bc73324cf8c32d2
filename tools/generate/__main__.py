"""Write everything that is generated, or check it.

python -m tools.generate            write
python -m tools.generate --check    write nothing; exit with 1 when a file is stale
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tools.generate import cli_help, graders

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rag_evals"
COMMAND = "python -m tools.generate"


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with the text that it should have."""
    files = graders.grader_files(PACKAGE)
    for place in ("pyproject.toml", "docs/architecture.md"):
        yield ROOT / place, graders.with_layer(_read(ROOT / place), files)
    stub = PACKAGE / "__init__.pyi"
    yield stub, graders.with_names(_read(stub), files)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
