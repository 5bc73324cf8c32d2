"""`rag-evals export`: a run as a table that other programs open."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.language import reader_language
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import Json, ReaderLanguage, RunFolder
from rag_evals.core import phrases
from rag_evals.report.terminal.screen import echo, echo_json


class TableShape(StrEnum):
    """What one row of the table is."""

    WIDE = "wide"
    LONG = "long"


def export(
    run: RunFolder,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FILE", help="A .xlsx, .csv, .parquet or .jsonl file."),
    ],
    shape: Annotated[
        TableShape, typer.Option(help="One row a sample (wide) or a finding (long).")
    ] = TableShape.WIDE,
    language: ReaderLanguage = None,
    decimal: Annotated[
        str, typer.Option(metavar=".|,", help="Sign before the fraction in CSV.")
    ] = ".",
    delimiter: Annotated[
        str | None,
        typer.Option(help="Sign between cells of CSV. Default: a comma; ; with --decimal ,"),
    ] = None,
    json_output: Json = False,
) -> None:
    """Write a run as a table: the data's own columns, scores, bands, and what is unsupported.

    CSV opens in Excel as it is; no cell is a formula.

    [bold]Examples[/bold]

      rag-evals export runs/first --to scores.xlsx
      rag-evals export runs/first --to scores.csv --decimal , --language ru
      rag-evals export runs/first --to findings.parquet --shape long
    """
    read_in = reader_language(language)
    written = opened_run(run).write(
        to, shape.value, language=read_in, decimal=decimal, delimiter=delimiter
    )
    if json_output:
        echo_json(json.dumps({"file": str(written)}, ensure_ascii=False))
    else:
        echo(phrases(read_in)("terminal.table", path=written))
