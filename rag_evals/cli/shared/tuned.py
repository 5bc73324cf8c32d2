"""Which options say how far a judge is to be relied on, by labels?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from rag_evals.analysis import tune_cascade
from rag_evals.dataset import ColumnMap, DataFile
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader
from rag_evals.run import Plan
from rag_evals.verify import Tuning, read_tunings

TUNED_PANEL = "Tuned by labels"

TunedFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--tuned",
        metavar="FILE",
        help="What rag-evals judge tune wrote for a judge or a stage of a cascade; may be "
        "repeated.",
        rich_help_panel=TUNED_PANEL,
    ),
]

RequireTuned = Annotated[
    bool,
    typer.Option(
        "--require-tuned",
        help="Refuse to grade with a verifier that no labels tuned.",
        rich_help_panel=TUNED_PANEL,
    ),
]

MaxError = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Most wrong verdicts where a stage of a cascade decides alone, as in 0.05.",
        rich_help_panel=TUNED_PANEL,
    ),
]

LabelFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Labels that --max-error is kept by: labelled rows, or labels of rows of the data; "
        "may be repeated.",
        rich_help_panel=TUNED_PANEL,
    ),
]


class TunedOptions(NamedTuple):
    """What a command was told of labels.

    Attributes:
        files: After `--tuned`.
        max_error: After `--max-error`.
        labels: After `--labels`.
    """

    files: Sequence[Path] | None
    max_error: float | None
    labels: Sequence[Path] | None


def asked_tunings(
    asked: TunedOptions,
    judge: str,
    graders: Sequence[Grader[Any]],
    data: DataFile,
    columns: ColumnMap,
) -> tuple[Tuning, ...]:
    """Read the tuned files, or tune the stages of a cascade by labels now.

    Raises:
        ConfigurationError: Options that do not go together, or files that promise something else.
        DataError: A file cannot be read.
    """
    files, max_error, labels = asked
    tunings = read_tunings(list(files or ()))
    if max_error is not None and not 0 < max_error < 1:
        raise ConfigurationError(
            f"--max-error is {max_error:g}; expected a share between 0 and 1, as in 0.05"
        )
    if labels and max_error is None:
        raise ConfigurationError("--labels does nothing without --max-error")
    if labels and tunings:
        raise ConfigurationError(
            "--labels tunes every stage, and --tuned brings what was tuned; give one of them"
        )
    if max_error is None:
        return tunings
    if labels:
        return tune_cascade(
            judge, list(labels), data, graders=graders, columns=columns, max_error=max_error
        )
    if not tunings:
        raise ConfigurationError(
            f"--max-error {max_error:g} needs labels to be kept by; give --labels FILE, or "
            "--tuned FILE"
        )
    for one in tunings:
        if one.promise is None or one.promise.max_error > max_error:
            promised = "nothing" if one.promise is None else f"{one.promise.max_error:g}"
            raise ConfigurationError(
                f"--max-error is {max_error:g}, and the tuned file of {one.stage!r} promises "
                f"{promised}; run `rag-evals judge tune --max-error {max_error:g}`"
            )
    return tunings


def require_tuned(plan: Plan, asked: bool) -> None:
    """Refuse a run in which a verifier with a support has no tuned file, where that is asked.

    Raises:
        ConfigurationError: There is one, or no verifier decides.
    """
    for grader in plan.graders if asked else ():
        stages = grader.stages
        # The last of a cascade may be a judge, whose support is 0 or 1: there is nothing to tune.
        loose = [one["name"] for one in stages if one["tuned"] is None and one["has_support"]]
        if loose or not stages:
            who = ", ".join(map(repr, loose)) or f"the judge of {grader.name!r}"
            raise ConfigurationError(
                f"--require-tuned: {who} was not tuned by labels; run `rag-evals judge tune`, and "
                "give its file with --tuned"
            )
