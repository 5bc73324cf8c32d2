"""Which options do several commands share? One spelling and one help text for each."""

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]

Labels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LABELS]...",
        help="Labels from people: files, or columns of the data. Default: the data's columns "
        "label and statements.",
    ),
]

By = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Also show each group of rows by this column.")
]

Cluster = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Rows that share this column's value are not independent."),
]

Threshold = Annotated[
    float, typer.Option(min=0, max=1, help="Score from which a row counts as right.")
]

LabelColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column of a labels file that holds the label.")
]

Json = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]

OneGrader = Annotated[
    str | None, typer.Option("--grader", metavar="NAME", help="The only grader to take.")
]
