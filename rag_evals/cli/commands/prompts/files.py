"""`rag-evals prompts list`, `show` and `copy`: the shipped prompts as files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from rag_evals.errors import ConfigurationError
from rag_evals.prompt import Prompt, shipped_languages, shipped_names, shipped_source
from rag_evals.report.terminal.screen import echo, screen

_Name = Annotated[
    str, typer.Argument(help="Name of a shipped prompt, as `list` shows it; ru/NAME in Russian.")
]


def list_prompts() -> None:
    """List the shipped prompts.

    [bold]Example[/bold]

      rag-evals prompts list
    """
    table = Table(Column("prompt", no_wrap=True), "what it is for", "also in", header_style="bold")
    for name in shipped_names():
        languages = [code for code in shipped_languages() if name in shipped_names(code)]
        description = Prompt.shipped(name).header.description or ""
        table.add_row(name, description, ", ".join(languages))
    screen().print(table)


def show(name: _Name) -> None:
    """Print a shipped prompt, exactly as in its file.

    [bold]Example[/bold]

      rag-evals prompts show score_faithfulness
    """
    echo(shipped_source(name), nl=False)


def copy(
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the copy.")],
) -> None:
    """Copy a shipped prompt, to change it and use it with --prompt, or its folder with --prompts.

    [bold]Example[/bold]

      rag-evals prompts copy score_faithfulness my_prompts
    """
    source = shipped_source(name)
    target = folder / f"{name.rpartition('/')[2]}.jinja"
    if target.exists():
        raise ConfigurationError(f"{str(target)!r} exists; remove it, or copy to another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(source, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{str(target)!r} cannot be written: {error.strerror}") from error
    echo(str(target))
