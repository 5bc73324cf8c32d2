"""Which rows are graded again with every run, to see whether the judge drifts? Its anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.analysis import AnchorCheck, anchor_plan, checked_anchors
from rag_evals.cli.shared.carrying import run_or_exit
from rag_evals.grading import Grader
from rag_evals.report import View
from rag_evals.report.terminal.screen import echo
from rag_evals.run import Plan, Run, RunOptions, aexecute, load_anchors, reporting

_FOLDER = "anchors"

Anchors = Annotated[
    Path | None,
    typer.Option(
        "--anchors",
        metavar="FOLDER",
        help="Rows of rag-evals anchors: grade them again first, and say whether the judge drifts.",
    ),
]


@dataclass(frozen=True, slots=True)
class PlannedAnchors:
    """Anchors that are to be graded again.

    Attributes:
        kept: What they were.
        plan: How they are graded now.
    """

    kept: Run
    plan: Plan

    def check(self, folder: Path, view: View, *, progress: bool) -> AnchorCheck:
        """Grade them, and say on standard error what changed.

        Args:
            folder: Of the run; the anchors are kept in it.
            view: In which language progress is shown.
            progress: Whether it is shown.

        Raises:
            TooManyFailuresError: The judge could not be asked.
        """
        inner = folder / _FOLDER
        with reporting(progress, language=view.language) as report:
            fresh = run_or_exit(aexecute(self.plan, out=inner, progress=report), folder)
        checked = checked_anchors(self.kept, fresh)
        for line in checked.lines(view.say):
            echo(view.say("anchors.line", text=line), err=True)
        return checked


def planned_anchors(
    folder: Path | None,
    graders: Sequence[Grader[Any]],
    judge: str,
    concurrency: int,
    options: RunOptions,
) -> PlannedAnchors | None:
    """Read anchors and plan to grade them as a run grades its rows; None where none are named.

    Raises:
        ConfigurationError: They were graded in another way.
        DataError: The folder holds no anchors.
    """
    if folder is None:
        return None
    kept = load_anchors(folder)
    plan = anchor_plan(kept, graders, judge, concurrency=concurrency, options=options)
    return PlannedAnchors(kept, plan)
