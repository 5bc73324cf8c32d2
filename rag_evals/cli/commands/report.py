"""`rag-evals report`: a run as one HTML page, or as Markdown, JSON or CSV."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.language import reader_language
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import (
    Bands,
    By,
    Cluster,
    Quiet,
    ReaderLanguage,
    RunFolder,
    parsed_bands,
)
from rag_evals.cli.shared.step_summary import append_step_summary
from rag_evals.report import (
    View,
    report_csv,
    report_html,
    report_json,
    report_markdown,
    write_private,
)
from rag_evals.report.terminal.screen import echo, echo_json


class Format(StrEnum):
    """What a report can be."""

    HTML = "html"
    MD = "md"
    JSON = "json"
    CSV = "csv"


def report(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write. Default: report.html in the run folder; other formats are "
            "printed.",
        ),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="What to make.")] = Format.HTML,
    by: By = None,
    cluster: Cluster = None,
    bands: Bands = None,
    language: ReaderLanguage = None,
    json_output: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show a run: scores with their intervals, bands, and every row with its evidence.

    The HTML page is one file that needs no network. It holds the data of the run.

    [bold]Examples[/bold]

      rag-evals report runs/first
      rag-evals report runs/first -o first.html
      rag-evals report runs/first --format csv -o first.csv
      rag-evals report runs/first --language ru
      rag-evals report runs/first --bands "pass=0.8,fail=0"
    """
    output_format = Format.JSON if json_output else output_format
    stored = opened_run(run)
    view = View(by, cluster, parsed_bands(bands), reader_language(language))
    append_step_summary(stored, view)
    if output_format is Format.HTML:
        path = write_private(out or run / "report.html", report_html(stored, view=view))
        echo(view.say("terminal.report", path=path))
        offer_next("label", run, quiet=quiet, language=view.language)
        return
    make = {
        Format.MD: report_markdown,
        Format.JSON: report_json,
        Format.CSV: report_csv,
    }[output_format]
    text = make(stored, view=view)
    if out is not None:
        echo(view.say("terminal.report", path=write_private(out, text)))
    elif output_format is Format.JSON:
        echo_json(text.rstrip())
    else:
        echo(text, nl=False)
