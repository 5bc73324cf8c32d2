"""Does every command say what it does, with an example, and every option what it is for?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rag_evals.cli import commands
from rag_evals.cli.main import COMMANDS as LISTED
from rag_evals.cli.main import FILES, app


def _below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from _below(inner, f"{name} {word}")


COMMANDS = dict(_below(get_command(app), "rag-evals"))


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


@pytest.mark.parametrize("name", LISTED)
def test_the_list_says_what_the_command_says(name: str) -> None:
    """The list, which loads no command, has the first sentence of each one's own help."""
    first = (COMMANDS[f"rag-evals {name}"].help or "").strip().partition("\n\n")[0]

    assert LISTED[name] == " ".join(first.split())


def test_every_file_of_a_command_is_listed() -> None:
    """A new command is not forgotten."""
    room = Path(commands.__file__).parent
    files = {path.stem for path in room.iterdir() if not path.name.startswith("_")}

    assert files == {FILES.get(name, name) for name in LISTED}


def test_the_commands_stay_few() -> None:
    """A reader of the help sees at most 23 commands, those of groups counted one by one."""
    leaves = [name for name, command in COMMANDS.items() if not hasattr(command, "commands")]

    assert len(leaves) <= 24
