"""`rag-evals plan`: how many rows do I need?"""

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from rag_evals.analysis import plan as plan_rows
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import Cluster, Json
from rag_evals.errors import ConfigurationError
from rag_evals.report.terminal.screen import echo, echo_json


def plan(
    baseline: Annotated[
        Path, typer.Option(metavar="RUN", help="Run folder of rows like those to come.")
    ],
    candidate: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Another run of the same rows: how far do rows differ?"),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(metavar="DIFFERENCE", help="True difference of means to see, as in 0.03."),
    ] = None,
    gate: Annotated[
        float | None, typer.Option(metavar="MEAN", help="Mean that a gate asks for, as in 0.85.")
    ] = None,
    power: Annotated[float, typer.Option(help="How often the difference should be seen.")] = 0.8,
    cluster: Cluster = None,
    json_output: Json = False,
) -> None:
    """Count the rows that a comparison or a gate needs, and what they cost.

    [bold]Examples[/bold]

      rag-evals plan --baseline runs/before --detect 0.03
      rag-evals plan --baseline runs/before --candidate runs/after --detect 0.03
      rag-evals plan --baseline runs/before --gate 0.85
    """
    if detect is None and gate is None:
        raise ConfigurationError("nothing to plan; give --detect 0.03, --gate 0.85, or both")
    needed = plan_rows(
        opened_run(baseline),
        None if candidate is None else opened_run(candidate),
        detect=detect,
        gate=gate,
        power=power,
        cluster=cluster,
    )
    if json_output:
        echo_json(to_json(needed).decode())
    else:
        for each in needed:
            echo(each)
