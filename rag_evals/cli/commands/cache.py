"""`rag-evals cache`: show and clear the cache."""

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
    prune,
    remove,
    size_of,
)
from rag_evals.cli.shared.options import Json
from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import echo, echo_json

_SECONDS = {"h": 3600, "d": 86400, "w": 604800}


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Delete the cache; the next run asks everything again.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Clear only entries older than this, such as 12h, 30d or 4w."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Clear only entries of this model, such as gpt-4o-mini.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Show or clear the cache of judges' answers and of verdicts.

    [bold]Examples[/bold]

      rag-evals cache
      rag-evals cache --clear
      rag-evals cache --clear --older-than 30d --model gpt-4o-mini
    """
    if clear:
        _clear(older_than, model, json_output=json_output)
    elif older_than is not None or model is not None:
        raise ConfigurationError("--older-than and --model do nothing without --clear")
    else:
        _show(json_output=json_output)


def _show(*, json_output: bool) -> None:
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


def _clear(older_than: str | None, model: str | None, *, json_output: bool) -> None:
    path = default_path()
    if older_than is None and model is None:
        answers, verdicts = count_rows(path, CALLS_TABLE), count_rows(path, STATEMENTS_TABLE)
        known = []
        remove(path)
    else:
        before = None if older_than is None else time.time() - _age_seconds(older_than)
        known = models_in(path)
        answers, verdicts = prune(path, before=before, model=model)
    if json_output:
        _echo_numbers(file=str(path), answers=answers, verdicts=verdicts)
    else:
        echo(f"removed from {path}: {answers} answers, {verdicts} verdicts")
    if model is not None and answers + verdicts == 0:
        echo(f"the cache has entries of: {', '.join(known) or 'no model'}", err=json_output)


def _echo_numbers(**numbers: str | int) -> None:
    echo_json(json.dumps(numbers, ensure_ascii=False))


def _age_seconds(written: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([hdw])", written.strip(), re.ASCII)
    if found is None:
        raise ConfigurationError(
            f"--older-than is {written!r}; expected hours, days or weeks, such as 12h, 30d or 4w"
        )
    return float(found[1]) * _SECONDS[found[2]]
