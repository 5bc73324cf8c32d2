"""`rag-evals correct`: what would the score be without the judge's bias?"""

from pydantic_core import to_json

from rag_evals.analysis import correct as correct_run
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import (
    Cluster,
    Json,
    LabelColumn,
    Labels,
    OneGrader,
    RunFolder,
    Threshold,
)
from rag_evals.report.terminal.screen import echo, echo_json


def correct(
    run: RunFolder,
    labels: Labels = None,
    grader: OneGrader = None,
    cluster: Cluster = None,
    threshold: Threshold = 1.0,
    label_column: LabelColumn = "label",
    json_output: Json = False,
) -> None:
    """Correct the numbers of a run by labels of a random part of its rows.

    The labelled rows must be a random sample, as `rag-evals label` draws it.

    [bold]Example[/bold]

      rag-evals correct runs/before labels.jsonl
    """
    found = correct_run(
        opened_run(run),
        labels or [],
        grader=grader,
        cluster=cluster,
        column=label_column,
        threshold=threshold,
    )
    if json_output:
        echo_json(to_json(found).decode())
    else:
        echo(found)
