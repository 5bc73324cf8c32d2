"""How does `rag-evals --help` list the commands without loading them? Each is loaded when called.

A command loads graders, judges and statistics; together they cost three times what the help does.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import copy
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

_ROOM = "rag_evals.cli.commands"


class Commands(MutableMapping[str, Any]):
    """The commands by name; a command's file, which has its name, is loaded when it is asked for.

    Attributes:
        helps: What the list of commands says of each, by name.
    """

    def __init__(self, helps: Mapping[str, str]) -> None:
        self.helps = dict(helps)
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return a command, ready to be called."""
        if name not in self.helps:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        """Add a command that is loaded already."""
        self.helps.setdefault(name, command.help or "")
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        """Take a command out."""
        del self.helps[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of the help."""
        return iter(self.helps)

    def __len__(self) -> int:
        """Count the commands."""
        return len(self.helps)

    def listed(self) -> dict[str, Any]:
        """Return what the help needs of each command: its name and its first line."""
        return {name: TyperCommand(name, help=text) for name, text in self.helps.items()}


def loading(helps: Mapping[str, str]) -> type[TyperGroup]:
    """Return the kind of group that has these commands, for `typer.Typer(cls=...)`."""

    class LoadingGroup(TyperGroup):
        """A group whose commands are loaded when they are called."""

        # Any: what the base class takes has no public type.
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**{**attributes, "commands": None})
            self.commands = Commands(helps)

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names, and load nothing."""
            return list(self.commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """Write the help from the table."""
            shown = copy(self)
            shown.commands = Commands(helps).listed()
            TyperGroup.format_help(shown, ctx, formatter)

    return LoadingGroup


def _load(name: str) -> Any:
    try:
        module = import_module(f"{_ROOM}.{name}")
    except KeyboardInterrupt:
        # typer would end without a word; this it hands on.
        raise typer.Abort from None
    found: typer.Typer | Callable[..., None] = getattr(module, name)
    if isinstance(found, typer.Typer):
        return get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, cls=getattr(module, "KIND", None))(found)
    return get_command(alone)
