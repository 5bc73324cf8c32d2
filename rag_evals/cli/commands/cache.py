"""`rag-evals cache`: show, thin out and delete the cache."""

import json
import re
import time
from typing import Annotated

import typer

from rag_evals.cache import (
    CALLS_TABLE,
    STATEMENTS_TABLE,
    count_rows,
    default_path,
    models_in,
    remove,
    size_of,
)
from rag_evals.cache import (
    prune as prune_cache,
)
from rag_evals.cli.shared.options import Json
from rag_evals.errors import ConfigurationError
from rag_evals.report.terminal.screen import echo, echo_json

cache = typer.Typer(
    help="See, thin out and clear the cache of judges' answers and of verdicts.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

_SECONDS = {"h": 3600, "d": 86400, "w": 604800}


@cache.command()
def info(json_output: Json = False) -> None:
    """Show where the cache is, its size, and what it holds.

    [bold]Example[/bold]

      rag-evals cache info
    """
    path = default_path()
    answers, verdicts = count_rows(path, CALLS_TABLE), count_rows(path, STATEMENTS_TABLE)
    size = size_of(path)
    if json_output:
        _echo_numbers(file=str(path), bytes=size, answers=answers, verdicts=verdicts)
        return
    echo(f"file: {path}")
    echo(f"size: {size / 1e6:.1f} MB")
    echo(f"answers of judges: {answers}")
    echo(f"verdicts on statements: {verdicts}")


@cache.command()
def prune(
    older_than: Annotated[
        str | None,
        typer.Option(help="Only entries older than this, such as 12h, 30d or 4w.", metavar="AGE"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Only entries of this model, such as gpt-4o-mini.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Delete entries by age, by model, or by both.

    [bold]Example[/bold]

      rag-evals cache prune --older-than 30d --model gpt-4o-mini
    """
    if older_than is None and model is None:
        raise ConfigurationError(
            "nothing says what to delete; give --older-than 30d, --model NAME or both, or use "
            "rag-evals cache clear"
        )
    before = None if older_than is None else time.time() - _age_seconds(older_than)
    path = default_path()
    known = models_in(path)
    answers, verdicts = prune_cache(path, before=before, model=model)
    if json_output:
        _echo_numbers(file=str(path), answers=answers, verdicts=verdicts)
    else:
        echo(f"removed from {path}: {answers} answers, {verdicts} verdicts")
    if model is not None and answers + verdicts == 0:
        echo(f"the cache has entries of: {', '.join(known) or 'no model'}", err=json_output)


@cache.command()
def clear(json_output: Json = False) -> None:
    """Delete the cache; the next run asks everything again.

    [bold]Example[/bold]

      rag-evals cache clear
    """
    path = default_path()
    answers, verdicts = count_rows(path, CALLS_TABLE), count_rows(path, STATEMENTS_TABLE)
    remove(path)
    if json_output:
        _echo_numbers(file=str(path), answers=answers, verdicts=verdicts)
    else:
        echo(f"removed {path}: {answers} answers, {verdicts} verdicts")


def _echo_numbers(**numbers: str | int) -> None:
    echo_json(json.dumps(numbers, ensure_ascii=False))


def _age_seconds(written: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([hdw])", written.strip(), re.ASCII)
    if found is None:
        raise ConfigurationError(
            f"--older-than is {written!r}; expected hours, days or weeks, such as 12h, 30d or 4w"
        )
    return float(found[1]) * _SECONDS[found[2]]
