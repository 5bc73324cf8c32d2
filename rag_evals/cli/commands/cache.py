"""`rag-evals cache`: show and clear the cache."""

import json
from typing import Annotated

import typer

from rag_evals.cache import count_entries, default_path, remove, size_of
from rag_evals.cli.shared.options import Json
from rag_evals.report.screen import echo, echo_json


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Delete the cache; the next run asks everything again.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Show or clear the cache of judges' answers and of verdicts.

    [bold]Examples[/bold]

      rag-evals cache
      rag-evals cache --clear
    """
    path = default_path()
    answers, verdicts = count_entries(path)
    found = {"file": str(path), "answers": answers, "verdicts": verdicts}
    if clear:
        remove(path)
        words = f"removed from {path}: {answers} answers, {verdicts} verdicts"
    else:
        size = found["bytes"] = size_of(path)
        words = (
            f"file: {path}\nsize: {size / 1e6:.1f} MB\nanswers of judges: {answers}\n"
            f"verdicts on statements: {verdicts}"
        )
    if json_output:
        echo_json(json.dumps(found, ensure_ascii=False))
    else:
        echo(words)
