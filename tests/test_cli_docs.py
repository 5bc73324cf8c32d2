"""Does every command say what it does, with an example, and every option what it is for?"""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from rag_evals.cli.main import app


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {word}")


COMMANDS = dict(_commands(get_command(app), "rag-evals"))


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
