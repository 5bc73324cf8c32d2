"""How good is this judge with this prompt? Grades labelled rows, and measures the verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from rag_evals.dataset import ColumnMap
from rag_evals.grader import Grader
from rag_evals.judge import Client
from rag_evals.quality.people import PeopleAgreement, agreement
from rag_evals.run import Report, Run, RunOptions, Summary, execute, make_plan


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


def calibrate(
    data: str | Path,
    graders: Sequence[Grader[Any] | str] = ("faithfulness",),
    client: Client = None,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    columns: ColumnMap | None = None,
    label_column: str | None = None,
    by: str | None = None,
    threshold: float = 1.0,
    progress: Report | bool | None = None,
    **options: Unpack[RunOptions],
) -> JudgeQuality:
    """Grade labelled rows and measure the judge against their labels.

    Args:
        data: A file whose rows have `label` (1 faithful, 0 not), or `statements` with `text` and
            `label` each, or both.
        graders: As in `evaluate`.
        client: The judge to measure, as in `evaluate`.
        out: Folder to keep the run in; None names one below `runs` after data and settings.
        model: As in `evaluate`.
        columns: Where the fields are; None looks for the usual names.
        label_column: The column that holds the labels; None takes `label` and `statements`.
        by: Column to measure each group by.
        threshold: Score from which the judge calls a row right.
        progress: As in `evaluate`.
        options: As in `evaluate`: limits, time-outs, the cache.

    Raises:
        DataError: The rows cannot be graded, or have no labels.
        ConfigurationError: A setting cannot work; nothing was sent.
    """
    plan = make_plan(data, graders, client, model=model, columns=columns, options=options)
    run: Run = execute(plan, out=out or plan.default_folder(), progress=progress)
    labels = () if label_column is None else (label_column,)
    return JudgeQuality(agreement(run, labels, by=by, threshold=threshold), run.summary())
