"""What does `--help` of every command print? For `docs/command-line.md`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# Nothing of the caller's terminal or CI reaches the rendering: this is its whole environment.
_ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", "TERM": "dumb"}
_PASTED = re.compile(
    r"(?P<begin><!-- help: (?P<command>rag-evals[^\n]*) -->\n).*?(?P<end><!-- /help -->)", re.DOTALL
)


def pasted(page: str) -> str:
    """Return the page with the help text that each command prints now.

    Raises:
        ValueError: A command has no place in the page.
    """
    texts = help_texts()
    missing = sorted(set(texts) - {found["command"] for found in _PASTED.finditer(page)})
    if missing:
        places = ", ".join(f"'<!-- help: {command} -->'" for command in missing)
        raise ValueError(
            f"docs/command-line.md has no place for help; write {places}, and '<!-- /help -->'"
        )
    return _PASTED.sub(lambda found: _block(found, texts), page)


def help_texts() -> Mapping[str, str]:
    """Return what `--help` prints, by command, the same on every machine."""
    rendered = subprocess.run(
        [sys.executable, "-m", "tools.generate.cli_help"],
        cwd=ROOT,
        env=_ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    texts: dict[str, str] = json.loads(rendered.stdout)
    return texts


def with_options(page: str) -> str:
    """Return the page with a row for each option of a run."""
    from rag_evals.run import OPTIONS  # noqa: PLC0415 - only this page needs it

    rows = ["| Option | What it does | Default |", "|---|---|---|"]
    rows += [f"| `{name}` | {one.help} | `{one.default}` |" for name, one in OPTIONS.items()]
    begin, end = "<!-- options -->\n", "<!-- /options -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return "\n".join([f"{before}{begin}", *rows, "", f"{end}{after}"])


def _block(found: re.Match[str], texts: Mapping[str, str]) -> str:
    command = found["command"]
    text = texts.get(command, f"There is no command {command!r}; remove this block.")
    return f"{found['begin']}```text\n{text}\n```\n{found['end']}"


def _render() -> Iterator[tuple[str, str]]:
    # Imported here: only the rendering process pays for the command line.
    from typer.main import get_command  # noqa: PLC0415 - as above
    from typer.testing import CliRunner  # noqa: PLC0415 - as above

    from rag_evals.cli.main import app  # noqa: PLC0415 - as above

    for names, option in _paths(get_command(app), ()):
        result = CliRunner().invoke(app, [*names, option], prog_name="rag-evals")
        lines = [line.rstrip() for line in result.stdout.splitlines()]
        yield " ".join(("rag-evals", *names)), "\n".join(lines).strip("\n")


def _paths(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words behind `rag-evals` for a command and those below, and its help option."""
    has_more = any(one.name == "help_all" for one in command.params)
    yield names, "--help-all" if has_more else "--help"
    for name, inner in getattr(command, "commands", {}).items():
        yield from _paths(inner, (*names, name))


if __name__ == "__main__":
    print(json.dumps(dict(_render())))
