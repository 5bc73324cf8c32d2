"""`rag-evals report`, `show`, `view`, `export`, `merge`: show, export and merge runs."""

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic_core import to_json

from rag_evals.cli.shared.options import (
    By,
    Cluster,
    Json,
    Output,
    ReaderLanguage,
    RunFolder,
    flat,
    out_file,
    print_result,
)
from rag_evals.cli.shared.runs import append_step_summary, open_run
from rag_evals.core import phrases
from rag_evals.report import report_html
from rag_evals.report.html_page import write_private
from rag_evals.report.screen import echo, echo_json
from rag_evals.report.server import ViewServer
from rag_evals.report.tables import View, report_markdown
from rag_evals.report.terminal import row_json, show_json, show_row
from rag_evals.run import merge as merged


@flat
def report(
    run: RunFolder,
    out: Annotated[
        Path | None,
        out_file(
            help="File to write. Default: report.html in the run folder; Markdown is printed."
        ),
    ] = None,
    output_format: Annotated[
        Literal["html", "md"], typer.Option("--format", help="HTML page or Markdown.")
    ] = "html",
    by: By = None,
    cluster: Cluster = None,
    language: ReaderLanguage = "en",
    *,
    output: Output,
) -> None:
    """Show a run: scores with their intervals, bands, and every row with its evidence.

    The HTML page is a single file that works offline. It contains the run's data.

    [bold]Examples[/bold]

      rag-evals report runs/first
      rag-evals report runs/first -o first.html
      rag-evals report runs/first --format md
      rag-evals report runs/first --language ru
    """
    stored = open_run(run)
    view = View(by, cluster, language=language)
    append_step_summary(stored, view)
    if output.json_output:
        show_json(stored, view=view)
        return
    is_page = output_format == "html"
    text = (report_html if is_page else report_markdown)(stored, view=view)
    if is_page or out is not None:
        path = write_private(out or run / "report.html", text)
        echo(view.say("terminal.report", path=path))
        output.offer_next("judge", "label", run, language=view.language)
    else:
        echo(text, nl=False)


def show(
    run: RunFolder,
    row: Annotated[str, typer.Argument(metavar="ROW", help="Row id.")],
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Also print the prompt sent to the judge.")
    ] = False,
    reply: Annotated[
        bool, typer.Option("--reply", help="Also print the judge's reply; needs --keep-replies.")
    ] = False,
    language: ReaderLanguage = "en",
    json_output: Json = False,
) -> None:
    """Show one row of a run: the answer, and each verdict with its reason and evidence.

    [bold]Examples[/bold]

      rag-evals show runs/first eiffel
      rag-evals show runs/first eiffel --prompt
    """
    stored = open_run(run)
    if json_output:
        echo_json(to_json(row_json(stored, row)).decode())
    else:
        show_row(stored, row, prompt=prompt, reply=reply, language=language)


def view(
    run: Annotated[
        Path, typer.Argument(metavar="[RUN|FOLDER]", help="A run folder, or a folder of runs.")
    ] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 picks a free port.")] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address without opening a browser.")
    ] = False,
    language: ReaderLanguage = "en",
    json_output: Json = False,
) -> None:
    """View runs in the browser: a list, scores over time, rows, comparisons and labels.

    Pages are served only on this machine, at an address with a token. Press Ctrl-C to stop.

    [bold]Examples[/bold]

      rag-evals view
      rag-evals view runs/first --no-open
    """
    server = ViewServer(run, language=language, port=port)
    print_result({"address": server.address}, server.address, json_output=json_output)
    sys.stdout.flush()
    if not (no_open or json_output):
        webbrowser.open(server.address)
    with suppress(KeyboardInterrupt), server:
        server.serve_forever()


def export(
    run: RunFolder,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help=".xlsx, .csv, .parquet or .jsonl file.")
    ],
    shape: Annotated[
        Literal["wide", "long"],
        typer.Option(help="One table row per sample (wide) or per finding (long)."),
    ] = "wide",
    language: ReaderLanguage = "en",
    decimal: Annotated[str, typer.Option(metavar=".|,", help="Decimal separator in CSV.")] = ".",
    delimiter: Annotated[
        str | None,
        typer.Option(help="CSV delimiter. Default: a comma, or ; with --decimal ,"),
    ] = None,
    json_output: Json = False,
) -> None:
    """Export a run as a table: the data's columns, scores, bands, and unsupported parts.

    Excel opens the CSV directly, and treats no cell as a formula.

    [bold]Examples[/bold]

      rag-evals export runs/first --to scores.xlsx
      rag-evals export runs/first --to scores.csv --decimal , --language ru
      rag-evals export runs/first --to findings.parquet --shape long
    """
    written = open_run(run).write(
        to, shape, language=language, decimal=decimal, delimiter=delimiter
    )
    told = phrases(language)("terminal.table", path=written)
    print_result({"file": str(written)}, told, json_output=json_output)


@flat
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(help="Run folders, or files or folders of outcome rows, such as Parquet."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the merged run.")],
    cluster: Cluster = None,
    *,
    output: Output,
) -> None:
    """Merge the parts of a run, so that report, compare and correct cover the whole run.

    All parts must have the same graders and the same judge.

    [bold]Examples[/bold]

      rag-evals merge runs/part-0 runs/part-1 --out runs/whole
    """
    whole = merged(parts, out)
    if output.json_output:
        show_json(whole, view=View(cluster=cluster))
    else:
        echo(whole.words(cluster=cluster))
    output.offer_next("report", out)
