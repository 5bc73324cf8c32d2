"""Which batches do the options of `grade` ask for, and how do later commands ask for the rest?

`grade --batch` keeps its options in the run folder. `rag-evals batch collect` gives the
same command again, in the folder where it was given, with other steps.
"""

import contextlib
import json
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import echo
from rag_evals.run import (
    BatchSteps,
    Plan,
    Report,
    Run,
    aexecute_batches,
    open_batches,
    parts_under_way,
)

Batched = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Send all calls of the judge as a batch, at half the price, and end; "
        "`rag-evals batch collect` takes the replies.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="With --batch: wait until no row is pending.")]

_steps: ContextVar[BatchSteps | None] = ContextVar("batch_steps", default=None)
_PATH = "path"


@dataclass(frozen=True, slots=True)
class AskedBatches:
    """What `grade` does with batches.

    Attributes:
        steps: What is done.
        command: Its options as JSON, where it begins the batches; else None.
    """

    steps: BatchSteps
    command: str | None

    def work(self, plan: Plan, folder: Path, report: Report) -> Coroutine[Any, Any, Run]:
        """Return what carries out a plan by batches."""
        return aexecute_batches(
            plan,
            self.steps,
            out=folder,
            tell=lambda line: echo(line, err=True),
            progress=report,
            command=self.command,
        )


def asked_batches(
    context: typer.Context, data: str, batch: bool, wait: bool, others: Sequence[object]
) -> AskedBatches | None:
    """Return what `--batch` and `--wait` ask for; None for calls as always.

    Args:
        context: Of the command, with its options.
        data: The file of rows.
        batch: Whether calls go out in batches.
        wait: Whether to wait for them.
        others: Options that it does not go with; those that were not given are None or false.

    Raises:
        ConfigurationError: They do not go with the rest.
    """
    if not batch:
        if wait:
            raise ConfigurationError("--wait does nothing without --batch")
        return None
    if any(others):
        raise ConfigurationError(
            "--batch sends all rows at once, so it cannot be used with --stop-early, --sample "
            "or --budget; --limit grades the first rows"
        )
    if data == "-":
        raise ConfigurationError(
            "--batch reads the data again when replies come, and standard input can be read once; "
            "write it into a file"
        )
    steps = _steps.get()
    if steps is not None:
        return AskedBatches(steps, None)
    kept = {"options": context.params, "folder": Path.cwd()}
    return AskedBatches(BatchSteps(wait=wait), json.dumps(kept, default=_written))


def refuse_batches_under_way(folder: Path) -> None:
    """Refuse to ask at once what a batch is asked already, and paid for.

    Raises:
        ConfigurationError: A batch of the run folder is under way.
    """
    if parts := parts_under_way(folder):
        raise ConfigurationError(
            f"{sum(part.requests for part in parts)} requests of {str(folder)!r} are in a batch "
            f"under way, and would be paid for twice; `rag-evals batch collect {folder}` takes "
            "them, --restart begins anew"
        )


def grade_again(
    grade: Callable[..., None],
    context: typer.Context,
    folder: Path,
    steps: BatchSteps,
    *,
    json_output: bool,
) -> None:
    """Give the command again that began the batches of a run folder.

    Args:
        grade: The command.
        context: Of the command that asks for it.
        folder: The run folder.
        steps: What is done with the batches.
        json_output: Whether the numbers are printed as JSON, whatever that command said.

    Raises:
        ConfigurationError: The folder has no batches, or the command's own folder is gone.
    """
    with open_batches(folder) as table:
        command = table.command
    if command is None:
        raise ConfigurationError(
            f"{str(folder)!r} does not say which command began its batches; give that again: "
            "rag-evals grade DATA ... --batch"
        )
    kept = json.loads(command, object_hook=_read)
    options = {**kept["options"], "out": folder.absolute(), "restart": False}
    options["json_output"] = json_output or options["json_output"]
    token = _steps.set(steps)
    try:
        with contextlib.chdir(kept["folder"]):
            grade(context, **options)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{str(kept['folder'])!r}, where the batches were begun, is no more: {error.strerror}"
        ) from error
    finally:
        _steps.reset(token)


def _written(value: object) -> dict[str, str]:
    assert isinstance(value, Path), f"an option holds {value!r}"
    return {_PATH: str(value)}


def _read(found: dict[str, Any]) -> Any:
    return Path(found[_PATH]) if found.keys() == {_PATH} else found
