"""Does a build want a summary? GitHub names a file for it; the numbers are added as Markdown."""

import os
from pathlib import Path

from rag_evals.analysis import Comparison
from rag_evals.errors import ConfigurationError
from rag_evals.report import (
    View,
    comparison_markdown,
    report_markdown,
)
from rag_evals.run import Run

VARIABLE = "GITHUB_STEP_SUMMARY"
# GitHub refuses the summary of a step that is longer than 1 MiB, all of it.
_MOST_BYTES = 1_000_000


def append_step_summary(shown: Run | Comparison, view: View | None = None) -> None:
    """Add a run or a comparison to the summary of a build step; does nothing outside of a build.

    Args:
        shown: What to add.
        view: Groups and bands of a run, and the reader's language.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    target = os.environ.get(VARIABLE)
    if not target:
        return
    say = (view or View()).say
    if isinstance(shown, Run):
        title, text = say("table.scores"), report_markdown(shown, view=view)
    else:
        title, text = say("table.comparison"), comparison_markdown(shown, view=view)
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            cut = f"\n*{say('table.cut')}*\n"
            file.write(_bounded(f"### rag-evals: {title}\n\n{text}\n", file.tell(), cut))
    except OSError as error:
        raise ConfigurationError(
            f"{VARIABLE}={target!r} cannot be written: {error.strerror}"
        ) from error


def _bounded(text: str, written: int, cut: str) -> str:
    """Cut a text at a line end where it does not fit behind what was written before."""
    room = _MOST_BYTES - written
    # A character takes at least one byte, so that no more of them can fit.
    if len(text) <= room and len(text.encode()) <= room:
        return text
    kept = text.encode()[: max(0, room - len(cut.encode()))].decode(errors="ignore")
    kept = kept[: kept.rfind("\n") + 1]
    return f"{kept}{cut}" if room > len(cut.encode()) else ""
