"""`rag-evals report`, `show`, `view`, `export`, `merge`, `compare`: commands about stored runs."""

import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic_core import from_json, to_json

from rag_evals.analysis import Comparison
from rag_evals.analysis import compare as compare_runs
from rag_evals.analysis.comparing import pair_graders
from rag_evals.cli.shared.gates import (
    Counts,
    GateError,
    GateResult,
    MinScored,
    check_error,
    gate_option,
    gate_share,
)
from rag_evals.cli.shared.options import (
    By,
    Cluster,
    Json,
    Output,
    ReaderLanguage,
    RunFolder,
    flat,
    out_file,
)
from rag_evals.cli.shared.runs import HTML, append_step_summary, open_run, require_suffix
from rag_evals.core import Phrases, phrases
from rag_evals.errors import ConfigurationError
from rag_evals.report import comparison_html, report_html
from rag_evals.report.html_page import write_private
from rag_evals.report.screen import echo, echo_json
from rag_evals.report.server import ViewServer
from rag_evals.report.tables import View, report_markdown
from rag_evals.report.terminal import row_json, show_json, show_row
from rag_evals.run import DEFAULT_MIN_SCORED, GateDecision
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
    """Show a run: scores with confidence intervals, bands, and rows with their evidence.

    The HTML page is a single file that works offline. It contains the run's data.

    [bold]Examples[/bold]

      rag-evals report runs/first
      rag-evals report runs/first -o first.html
      rag-evals report runs/first --format md
      rag-evals report runs/first --language ru
    """
    is_page = output_format == "html"
    if output.json_output and (out is not None or not is_page):
        raise ConfigurationError("--json prints to the terminal; drop --out and --format")
    stored = open_run(run)
    view = View(by, cluster, language=language)
    append_step_summary(stored, view)
    if output.json_output:
        show_json(stored, view=view)
        return
    require_suffix(out, *(HTML if is_page else (".md", ".markdown", ".txt")))
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
    Output(json_output).result({"address": server.address}, server.address)
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

    Excel opens the CSV directly, without treating any cell as a formula.

    [bold]Examples[/bold]

      rag-evals export runs/first --to scores.xlsx
      rag-evals export runs/first --to scores.csv --decimal , --language ru
      rag-evals export runs/first --to findings.parquet --shape long
    """
    written = open_run(run).write(
        to, shape, language=language, decimal=decimal, delimiter=delimiter
    )
    told = phrases(language)("terminal.table", path=written)
    Output(json_output).result({"file": str(written)}, told)


@flat
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(help="Run folders, or files or folders with outcome rows, such as Parquet."),
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


@flat
def compare(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="Run folder.")],
    candidate: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CANDIDATE]",
            help="Run folder of the candidate. If omitted, --pair compares two graders in one run.",
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BASELINE=CANDIDATE",
            help="Compare only these two graders, whose names may differ; repeatable.",
        ),
    ] = None,
    by: By = None,
    cluster: Cluster = None,
    fail_if_worse: Annotated[
        float | None,
        gate_share(
            metavar="MARGIN",
            help="Exit with 1 if the whole interval of the difference is below -MARGIN.",
        ),
    ] = None,
    allow_shorter: Annotated[
        bool,
        gate_option(
            "--allow-shorter",
            help="Allow shorter answers. By default, --fail-if-worse and --gate also fail if the "
            "number of supported statements per row falls by a share larger than MARGIN.",
        ),
    ] = False,
    gate: Annotated[
        float | None,
        gate_share(
            metavar="MARGIN",
            help="Test whether the candidate's score is lower by at most MARGIN: passed, failed "
            "(exit code 1) or not decided (4), with the number of rows needed.",
        ),
    ] = None,
    error: GateError = None,
    min_scored: MinScored = None,
    count: Counts = None,
    out: Annotated[
        Path | None, out_file(help="Also write a page with both runs side by side.")
    ] = None,
    language: ReaderLanguage = "en",
    *,
    output: Output,
) -> None:
    """Compare two runs row by row: the difference, its confidence interval, and its significance.

    Rows are paired by id. The first run is the baseline, the second the candidate.

    [bold]Examples[/bold]

      rag-evals compare runs/before runs/after
      rag-evals compare runs/before runs/after --by topic
      rag-evals compare runs/before runs/after -o compared.html
      rag-evals compare runs/before runs/after --fail-if-worse 0.02
      rag-evals compare runs/before runs/after --gate 0.02
      rag-evals compare runs/both --pair faithfulness=faithfulness_two_step
      rag-evals compare runs/before runs/both --pair faithfulness=faithfulness_two_step
    """
    view = View(language=language)
    say = view.say
    require_suffix(out, *HTML)
    asked = check_error(gate, error)
    least = DEFAULT_MIN_SCORED if min_scored is None else min_scored
    if allow_shorter and fail_if_worse is None and gate is None:
        raise ConfigurationError("--allow-shorter does nothing without --fail-if-worse or --gate")
    first = open_run(baseline)
    second = first if candidate is None else open_run(candidate)
    first, second = pair_graders(first, second, _parse_pairs(pair or []))
    compared = compare_runs(
        first,
        None if second is first else second,
        count=dict(count or ()),
        by=by,
        cluster=cluster,
        gate=gate,
        error=asked,
    )
    if output.json_output:
        echo_json(comparison_json(compared))
    else:
        echo(compared.lines(say))
    asks = fail_if_worse is not None or min_scored is not None
    result = _check_gates(compared, asks, (fail_if_worse, least, allow_shorter), say)
    append_step_summary(compared, view, result)
    if out is not None:
        path = write_private(out, comparison_html(compared, first, second, view=view))
        echo(say("terminal.report", path=path), err=output.json_output)
    elif candidate is not None:
        page = ("-o", "compared.html")
        output.offer_next("compare", baseline, candidate, *page, language=view.language)
    result.exit()


def _check_gates(
    compared: Comparison, asks: bool, asked: tuple[float | None, float, bool], say: Phrases
) -> GateResult:
    margin, least, shorter = asked
    result = GateResult()
    if asks:
        missed = compared.missed(margin=margin, min_scored=least, allow_shorter=shorter)
        worse = "" if margin is None else f"fail-if-worse {margin:g}, "
        result = GateResult.missed(missed, f"{worse}min-scored {least:.4g}", say)
        if compared.pending:
            result = GateResult.decided(GateDecision((), compared.pending), say)
    decision = compared.decision(min_scored=least, allow_shorter=shorter)
    return result if decision is None else result.then(GateResult.decided(decision, say))


def _parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        old, _, new = (part.strip() for part in text.partition("="))
        if not old or not new:
            raise ConfigurationError(
                f"pair {text!r} is not BASELINE=CANDIDATE, two grader names such as strict=mild"
            )
        if pairs.get(old, new) != new:
            raise ConfigurationError(f"{old!r} is paired with both {pairs[old]!r} and {new!r}")
        pairs[old] = new
    return pairs


def comparison_json(compared: Comparison) -> str:
    numbers = from_json(to_json(compared))
    del numbers["differences"]
    numbers["warnings"] = compared.notes()
    for written, grader in zip(numbers["graders"], compared.graders, strict=True):
        written["verdict"] = grader.verdict
        written["says_less"] = grader.says_less()
        written["rows_needed"] = grader.paired.rows_needed
        for written_group, group in zip(written["groups"], grader.groups, strict=True):
            written_group["verdict"] = group.verdict
    return to_json(numbers).decode()
