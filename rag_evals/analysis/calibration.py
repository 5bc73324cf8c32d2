"""How good is this judge with this prompt? Grades labelled rows, and measures the verdicts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from rag_evals.analysis.agreement import PeopleAgreement, agreement
from rag_evals.core import require_known
from rag_evals.dataset import DataFile
from rag_evals.judge import Client
from rag_evals.run import (
    OPTIONS,
    Graders,
    Run,
    RunOptions,
    Summary,
    execute,
    make_plan,
    refuse_sampling,
)


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge measured on labelled data.

    Attributes:
        agreement: The tables.
        summary: Scores, counts, tokens and time of the grading.
    """

    agreement: PeopleAgreement
    summary: Summary

    def __str__(self) -> str:
        """What a terminal shows."""
        return f"{self.summary}\n\n{self.agreement}"

    def __repr__(self) -> str:
        """One line: how well the judge agrees with people."""
        return f"JudgeQuality({self.agreement!r})"


def calibrate(
    data: str | Path | DataFile,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    label_column: str | None = None,
    by: str | None = None,
    threshold: float = 1.0,
    **options: Unpack[RunOptions],
) -> JudgeQuality:
    """Grade labelled rows and measure the judge against their labels.

    Args:
        data: A file whose rows have `label` (1 faithful, 0 not), or `statements` with `text` and
            `label` each, or both.
        graders: As in `evaluate`.
        client: The judge to measure, as in `evaluate`.
        out: Folder to keep the run in; None names one below `runs` after data and settings.
        label_column: The column that holds the labels; None takes `label` and `statements`.
        by: Column to measure each group by.
        threshold: Score from which the judge calls a row right.
        options: As in `evaluate`, without `sampling`.

    Raises:
        DataError: The rows cannot be graded, or have no labels.
        ConfigurationError: A setting cannot work; nothing was sent.
        TooManyFailuresError: As for `evaluate`.
    """
    require_known("calibrate", options, list(OPTIONS))
    refuse_sampling(options, "calibrate")
    plan = make_plan(data, graders, client, options=options)
    folder = out or plan.default_folder()
    run: Run = execute(plan, out=folder, progress=options.get("progress"))
    labels = () if label_column is None else (label_column,)
    return JudgeQuality(agreement(run, labels, by=by, threshold=threshold), run.summary())
