"""`rag-evals cache`: show and delete the cache."""

import typer

from rag_evals.cache import CALLS_TABLE, STATEMENTS_TABLE, count_rows, default_path, remove, size_of
from rag_evals.report.terminal.screen import echo

cache = typer.Typer(
    help="See and clear the cache of judges' answers and of verdicts.", no_args_is_help=True
)


@cache.command()
def info() -> None:
    """Show where the cache is, its size, and what it holds.

    [bold]Example[/bold]

      rag-evals cache info
    """
    path = default_path()
    echo(f"file: {path}")
    echo(f"size: {size_of(path) / 1e6:.1f} MB")
    echo(f"answers of judges: {count_rows(path, CALLS_TABLE)}")
    echo(f"verdicts on statements: {count_rows(path, STATEMENTS_TABLE)}")


@cache.command()
def clear() -> None:
    """Delete the cache; the next run asks everything again.

    [bold]Example[/bold]

      rag-evals cache clear
    """
    path = default_path()
    answers, verdicts = count_rows(path, CALLS_TABLE), count_rows(path, STATEMENTS_TABLE)
    remove(path)
    echo(f"removed {path}: {answers} answers, {verdicts} verdicts")
