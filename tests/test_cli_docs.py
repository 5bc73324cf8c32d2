"""Is every command in the docs, with the help text that it prints and an example?"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rag_evals.cli.main import app

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "paste_cli_help.py"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {word}")


COMMANDS = dict(_commands(get_command(app), "rag-evals"))


@pytest.mark.parametrize("columns", ["40", "200"])
def test_the_page_has_the_help_text_of_every_command(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is up to date in any terminal; when it is not, the tool says what to run."""
    for name, value in {"COLUMNS": columns, "FORCE_COLOR": "1", "TERMINAL_WIDTH": columns}.items():
        monkeypatch.setenv(name, value)

    checked = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, encoding="utf-8", check=False
    )

    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example(name: str) -> None:
    """Each command says what it does; each that does something shows how it is called."""
    text = COMMANDS[name].help or ""

    assert text.strip()
    assert hasattr(COMMANDS[name], "commands") or f"\n  {name}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    """No option or argument is listed without a word on what it does."""
    without = [
        parameter.name
        for parameter in COMMANDS[name].params
        if not getattr(parameter, "help", None) and parameter.name != "help"
    ]

    assert without == []
