"""Does a build want a summary? GitHub names a file for it; the numbers are added as Markdown."""

import os
from pathlib import Path

from rag_evals.analysis import Comparison
from rag_evals.errors import ConfigurationError
from rag_evals.report import View, comparison_markdown, report_markdown
from rag_evals.run import Run

VARIABLE = "GITHUB_STEP_SUMMARY"


def append_step_summary(shown: Run | Comparison, view: View | None = None) -> None:
    """Add a run or a comparison to the summary of a build step; does nothing outside of a build.

    Args:
        shown: What to add.
        view: Groups and bands of a run.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    target = os.environ.get(VARIABLE)
    if not target:
        return
    if isinstance(shown, Run):
        title, text = "Scores", report_markdown(shown, view=view)
    else:
        title, text = "Comparison", comparison_markdown(shown)
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"### rag-evals: {title}\n\n{text}\n")
    except OSError as error:
        raise ConfigurationError(
            f"{VARIABLE}={target!r} cannot be written: {error.strerror}"
        ) from error
