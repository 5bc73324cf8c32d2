"""How good is this judge with this prompt? Grades labelled rows, and measures the verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evals.analysis.agreement import PeopleAgreement, agreement
from rag_evals.dataset import Columns
from rag_evals.judge import (
    DEFAULT_MAX_WAIT_SECONDS,
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    Client,
)
from rag_evals.run import (
    DEFAULT_MAX_FAILURES,
    Graders,
    Report,
    Run,
    RunOptions,
    Summary,
    execute,
    make_plan,
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
    data: str | Path,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    columns: Columns = None,
    label_column: str | None = None,
    by: str | None = None,
    threshold: float = 1.0,
    progress: Report | bool | None = None,
    limit: int | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    rpm: float | None = None,
    tpm: float | None = None,
    max_wait: float = DEFAULT_MAX_WAIT_SECONDS,
    max_failures: int | str = DEFAULT_MAX_FAILURES,
    cache: bool | str | Path | None = None,
    restart: bool = False,
    settings: Mapping[str, Any] | None = None,
    reasks: int = DEFAULT_REASKS,
) -> JudgeQuality:
    """Grade labelled rows and measure the judge against their labels.

    Args:
        data: A file whose rows have `label` (1 faithful, 0 not), or `statements` with `text` and
            `label` each, or both.
        graders: As in `evaluate`.
        client: The judge to measure, as in `evaluate`.
        out: Folder to keep the run in; None names one below `runs` after data and settings.
        model: As in `evaluate`.
        columns: As in `evaluate`.
        label_column: The column that holds the labels; None takes `label` and `statements`.
        by: Column to measure each group by.
        threshold: Score from which the judge calls a row right.
        progress: As in `evaluate`.
        limit: As in `evaluate`, like the rest.
        timeout: Seconds for all calls of one row.
        rpm: Requests a minute, at most.
        tpm: Tokens a minute, at most.
        max_wait: Seconds that the endpoint may ask to wait, for one wait.
        max_failures: A number or a share; more failures end the run.
        cache: Where answers are kept.
        restart: Begin anew.
        settings: Of the judge, such as `{"temperature": 0}`.
        reasks: How often an invalid reply is asked again.

    Raises:
        DataError: The rows cannot be graded, or have no labels.
        ConfigurationError: A setting cannot work; nothing was sent.
        TooManyFailuresError: As for `evaluate`.
    """
    options = RunOptions(
        limit=limit,
        timeout=timeout,
        rpm=rpm,
        tpm=tpm,
        max_wait=max_wait,
        max_failures=max_failures,
        cache=cache,
        restart=restart,
        settings=settings,
        reasks=reasks,
    )
    plan = make_plan(data, graders, client, model=model, columns=columns, options=options)
    run: Run = execute(plan, out=out or plan.default_folder(), progress=progress)
    labels = () if label_column is None else (label_column,)
    return JudgeQuality(agreement(run, labels, by=by, threshold=threshold), run.summary())
