"""`rag-evals prompts`: list, show and copy the shipped prompts."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rag_evals.errors import ConfigurationError
from rag_evals.prompt import Prompt, shipped_names, shipped_source

prompts = typer.Typer(help="List, show and copy the shipped prompts.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="Name of a shipped prompt, as `list` shows it.")]


@prompts.command("list")
def list_prompts() -> None:
    """List the shipped prompts.

    [bold]Example[/bold]

      rag-evals prompts list
    """
    table = Table("prompt", "what it is for", header_style="bold")
    for name in shipped_names():
        table.add_row(name, Prompt.shipped(name).header.description or "")
    Console().print(table)


@prompts.command()
def show(name: _Name) -> None:
    """Print a shipped prompt as it is in its file.

    [bold]Example[/bold]

      rag-evals prompts show score_faithfulness
    """
    typer.echo(shipped_source(name), nl=False)


@prompts.command()
def copy(
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the copy.")],
) -> None:
    """Copy a shipped prompt, to change it and use it with --prompt.

    [bold]Example[/bold]

      rag-evals prompts copy score_faithfulness my_prompts
    """
    source = shipped_source(name)
    target = folder / f"{name}.jinja"
    if target.exists():
        raise ConfigurationError(f"{str(target)!r} exists; remove it, or copy to another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(source, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{str(target)!r} cannot be written: {error.strerror}") from error
    typer.echo(str(target))
