"""Which run does a command read? Its folder, with notes to read before the numbers."""

from pathlib import Path

from rag_evals.report.screen import echo
from rag_evals.run import Run, load_run


def opened_run(folder: Path) -> Run:
    """Read a run folder, and say on standard error what its numbers leave out.

    Raises:
        DataError: The folder holds no run, or a broken one.
    """
    stored = load_run(folder)
    for note in stored.notes():
        echo(f"{folder}: {note}", err=True)
    return stored
