"""How does a command carry out a run? Until it ends, or a signal ends it."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import typer

from rag_evals.errors import RunInterruptedError
from rag_evals.report.screen import echo
from rag_evals.run import Run, run_until_signal


def run_or_exit(work: Coroutine[Any, Any, Run], folder: Path) -> Run:
    """Carry out a run; a signal ends the command, and says where the run is kept.

    Args:
        work: The run.
        folder: Where the command keeps what was graded.
    """
    try:
        return run_until_signal(work)
    except RunInterruptedError as error:
        echo(f"{error}; what was graded is kept in {folder}. The same command continues.", err=True)
        # As shells have it: 128 and the number of the signal.
        raise typer.Exit(128 + error.signal_number) from None
