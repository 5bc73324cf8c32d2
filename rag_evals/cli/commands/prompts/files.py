"""`rag-evals prompts list`, `show` and `copy`: the shipped prompts as files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.complete import prompts as offered_prompts
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.options import Json, Quiet
from rag_evals.cli.shared.searched import Entry, SearchWords, show_list
from rag_evals.errors import ConfigurationError
from rag_evals.prompt import Prompt, shipped_languages, shipped_names, shipped_source
from rag_evals.report.terminal.screen import echo, echo_json
from rag_evals.score_faithfulness import Faithfulness

_Name = Annotated[
    str,
    typer.Argument(
        help="Name of a shipped prompt, as `list` shows it; ru/NAME in Russian.",
        autocompletion=offered_prompts,
    ),
]


def list_prompts(
    words: SearchWords = None,
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the shipped prompts.

    [bold]Examples[/bold]

      rag-evals prompts list
      rag-evals prompts list quotes
    """
    entries: list[Entry] = [
        {
            "prompt": name,
            "what it is for": Prompt.shipped(name).header.description or "",
            "also in": [code for code in shipped_languages() if name in shipped_names(code)],
        }
        for name in shipped_names()
    ]
    shown = show_list("prompt", entries, words or [], as_json=json_output)
    usual = Faithfulness.prompt_name
    name = usual if usual in shown else shown[0]
    offer_next("prompts", "copy", name, "my_prompts", quiet=quiet, json_output=json_output)


def show(name: _Name, json_output: Json = False) -> None:
    """Print a shipped prompt, exactly as in its file.

    [bold]Example[/bold]

      rag-evals prompts show score_faithfulness
    """
    source = shipped_source(name)
    if json_output:
        echo_json(json.dumps({"prompt": name, "text": source}, ensure_ascii=False))
    else:
        echo(source, nl=False)


def copy(
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put the copy.")],
    json_output: Json = False,
    quiet: Quiet = False,
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
    if json_output:
        echo_json(json.dumps({"file": str(target)}, ensure_ascii=False))
    else:
        echo(target)
    offer_next("prompts", "check", target, quiet=quiet, json_output=json_output)
