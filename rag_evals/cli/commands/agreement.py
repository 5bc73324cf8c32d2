"""`rag-evals agreement`: how often does the judge agree with people?"""

from pydantic_core import to_json

from rag_evals.analysis import agreement as measure
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import (
    By,
    Json,
    LabelColumn,
    Labels,
    OneGrader,
    Quiet,
    RunFolder,
    Threshold,
)
from rag_evals.report.terminal.screen import echo, echo_json


def agreement(
    run: RunFolder,
    labels: Labels = None,
    grader: OneGrader = None,
    by: By = None,
    threshold: Threshold = 1.0,
    label_column: LabelColumn = "label",
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the verdicts of a run against labels from people.

    Labels are what a report exports, a labelled file, or columns of the data. Several files are
    several people.

    [bold]Examples[/bold]

      rag-evals agreement runs/before labels.jsonl
      rag-evals agreement runs/before anna.jsonl boris.jsonl --by topic
    """
    measured = measure(
        opened_run(run),
        labels or [],
        grader=grader,
        by=by,
        column=label_column,
        threshold=threshold,
    )
    if json_output:
        echo_json(to_json(measured).decode())
    else:
        echo(measured)
    offer_next("correct", run, *(labels or []), quiet=quiet, json_output=json_output)
