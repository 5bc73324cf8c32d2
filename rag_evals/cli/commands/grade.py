"""`rag-evals grade`: grade every row of a file."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from rag_evals.cli.shared.after_run import check_group_column, show_more
from rag_evals.cli.shared.batching import (
    AskedBatches,
    Batched,
    Wait,
    asked_batches,
    refuse_batches_under_way,
)
from rag_evals.cli.shared.builds import (
    BuildOutputs,
    JunitFile,
    RowUnder,
    asked_of_build,
)
from rag_evals.cli.shared.carrying import run_or_exit
from rag_evals.cli.shared.complete import judges, languages
from rag_evals.cli.shared.draws import (
    BudgetText,
    SampleRows,
    StopEarly,
    announce_draw,
    draw_options,
    planned_draws,
)
from rag_evals.cli.shared.exits import TOO_MANY_FAILURES
from rag_evals.cli.shared.gates import (
    AskedGates,
    AtOption,
    Counts,
    FailUnder,
    GateError,
    GateMean,
    MinScored,
    asked_gates,
    parsed_counts,
)
from rag_evals.cli.shared.graders import PromptFolders, chosen_graders
from rag_evals.cli.shared.language import grading_language
from rag_evals.cli.shared.options import (
    LIMITS,
    By,
    ColumnOption,
    DelimiterOption,
    EncodingOption,
    GraderNames,
    JsonForTable,
    Limit,
    OutFolder,
    PresetOption,
    PromptFile,
    Quiet,
    Reasks,
    Settings,
    SheetOption,
)
from rag_evals.cli.shared.tuned import (
    LabelFiles,
    MaxError,
    RequireTuned,
    TunedFiles,
    TunedOptions,
    asked_tunings,
    require_tuned,
)
from rag_evals.cli.shared.verifiers import with_verifier_options
from rag_evals.core import parse_settings
from rag_evals.dataset import ColumnMap, DataFile
from rag_evals.errors import ConfigurationError, TooManyFailuresError
from rag_evals.grading import default_judge
from rag_evals.judge import DEFAULT_REASKS
from rag_evals.report import View
from rag_evals.report.screen import echo, echo_error, echo_json
from rag_evals.report.terminal import announce_columns, show_json, show_run
from rag_evals.run import (
    DEFAULT_CONCURRENCY,
    DEFAULT_MAX_FAILURES,
    Plan,
    Run,
    RunOptions,
    aexecute,
    estimate,
    reporting,
)


def grade(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="JSONL, JSON, CSV, TSV, Parquet, Arrow or Excel file, also with .gz or .zst; "
            "a folder or pattern of them; - for standard input; an address such as hf://..."
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|PROVIDER/MODEL|hf:MODEL|A>B",
            help="The judge; embedded@strict or embedded@0.8 set its threshold, "
            "yes-no:PROVIDER/MODEL asks a yes/no checker, "
            "decisions:PROVIDER/MODEL a decision model. "
            "Default: $RAG_EVALS_JUDGE, else embedded.",
            autocompletion=judges,
        ),
    ] = None,
    grader: GraderNames = None,
    prompt: PromptFile = None,
    prompts: PromptFolders = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Language of rows without one, such as ru; numbers and table are shown in it, "
            "where it is en or ru. $RAG_EVALS_LANGUAGE shows them in another.",
            autocompletion=languages,
        ),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            help="Verifier of faithfulness_two_step. Default: the judge.",
            autocompletion=judges,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="cpu|cuda:N|mps|auto", help="Device of classifiers. Default: cpu."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Pairs a classifier reads at a time. Default: 10.")
    ] = None,
    tuned: TunedFiles = None,
    max_error: MaxError = None,
    labels: LabelFiles = None,
    must_be_tuned: RequireTuned = False,
    setting: Settings = None,
    column: ColumnOption = None,
    preset: PresetOption = None,
    sheet: SheetOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    repeat: Annotated[
        int,
        typer.Option(min=1, help="Grade each row so often; shows how far verdicts differ."),
    ] = 1,
    out: OutFolder = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start over; an earlier run is moved to before-1.")
    ] = False,
    limit: Limit = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost; send nothing.")
    ] = False,
    batch: Batched = False,
    wait: Wait = False,
    stop_early: StopEarly = False,
    sample: SampleRows = None,
    budget: BudgetText = None,
    gate: GateMean = None,
    error: GateError = None,
    fail_under: FailUnder = None,
    at: AtOption = None,
    min_scored: MinScored = None,
    count: Counts = None,
    by: By = None,
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html into the run folder.")
    ] = False,
    junit: JunitFile = None,
    row_under: RowUnder = None,
    json_output: JsonForTable = False,
    quiet: Quiet = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Gradings at a time, at most 4096.", rich_help_panel=LIMITS)
    ] = DEFAULT_CONCURRENCY,
    timeout: Annotated[
        float, typer.Option(help="Seconds for all calls of one row.", rich_help_panel=LIMITS)
    ] = 120.0,
    rpm: Annotated[
        float | None,
        typer.Option(help="Requests a minute, at most.", rich_help_panel=LIMITS),
    ] = None,
    tpm: Annotated[
        float | None, typer.Option(help="Tokens a minute, at most.", rich_help_panel=LIMITS)
    ] = None,
    max_wait: Annotated[
        float,
        typer.Option(
            help="Seconds that the endpoint may ask to wait, for one wait.", rich_help_panel=LIMITS
        ),
    ] = 600.0,
    max_failures: Annotated[
        str,
        typer.Option(
            metavar="N|N%", help="End the run when more rows failed.", rich_help_panel=LIMITS
        ),
    ] = DEFAULT_MAX_FAILURES,
    reasks: Reasks = DEFAULT_REASKS,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Do not use stored replies.", rich_help_panel=LIMITS),
    ] = False,
) -> None:
    """Grade every row of a file, and keep the outcomes in a run folder.

    Give the same command again to continue an interrupted run.

    [bold]Examples[/bold]

      rag-evals grade answers.jsonl
      rag-evals grade answers.csv --judge openai/gpt-4o-mini --column answer=response
      rag-evals grade answers.jsonl --judge openai/gpt-4o-mini --prompt my_strict.jinja
      rag-evals grade answers.jsonl --judge "embedded>openai/gpt-4o-mini"
      rag-evals grade answers.jsonl --judge openai/gpt-4o-mini --dry-run
      rag-evals grade answers.jsonl --judge openai/gpt-4o-mini --batch
      rag-evals grade answers.jsonl --gate 0.85 --stop-early
      rag-evals grade answers.jsonl --fail-under 0.9 --json
      rag-evals grade answers.jsonl --fail-under 0.8 --at lower --count empty_context=0
      rag-evals grade answers.jsonl --junit out.xml --row-under 0.5
      rag-evals grade answers.xlsx --sheet Answers --report
    """
    gates = asked_gates(gate, error, fail_under, at, min_scored, parsed_counts(count))
    build = asked_of_build(junit, row_under, gates.count, data, dry_run=dry_run)
    _check_dry_run(dry_run, a_gate=gates, by=by, report=report, restart=restart)
    batches = asked_batches(context, data, batch, wait, (stop_early, sample, budget))
    options: RunOptions = {
        "limit": limit,
        "timeout": timeout,
        "rpm": rpm,
        "tpm": tpm,
        "max_wait": max_wait,
        "max_failures": max_failures,
        "cache": not (no_cache or dry_run),
        "restart": restart,
        "settings": parse_settings(setting),
        "reasks": reasks,
        "repeat": repeat,
        **draw_options(stop_early, sample, budget, gates),
    }
    graders, asked = with_verifier_options(
        chosen_graders(grader or [], prompt, prompts or [], language),
        judge or default_judge(),
        verifier=verifier,
        device=device,
        batch_size=batch_size,
    )
    file = DataFile(data, sheet, encoding, delimiter)
    columns = ColumnMap.parse(column or [], preset)
    tunings = asked_tunings(TunedOptions(tuned, max_error, labels), asked, graders, file, columns)
    with_files: RunOptions = {**options, "tuned": tunings}
    planned = planned_draws(columns, concurrency, out, data)
    require_tuned(plan := planned(file, graders, asked, options=with_files), must_be_tuned)
    shown = _Looks(View(by, language=grading_language(language)), report, build, json_output, quiet)
    _announce(plan, data, shown.view, quiet=quiet)
    if dry_run:
        _show_estimate(replace(plan, batched=batch), shown.view, json_output=json_output)
    else:
        _grade(plan, batches, out or plan.default_folder(), gates, shown)


class _Looks(NamedTuple):
    """How a run is shown: the options of that name."""

    view: View
    report: bool
    build: BuildOutputs
    json_output: bool
    quiet: bool


def _grade(
    plan: Plan,
    batches: AskedBatches | None,
    folder: Path,
    gates: AskedGates,
    shown: _Looks,
) -> None:
    view, progress = shown.view, not shown.quiet
    run, too_many = _carry_out(plan, folder, view, batches, progress=progress)
    if not (run.graded or run.summary().pending or shown.quiet):
        echo(view.say("terminal.nothing_left"), err=True)
    if shown.json_output:
        show_json(run, count=gates.count)
    else:
        show_run(run, count=gates.count, language=view.language)
    if failed := run.summary().failed:
        echo(view.say("terminal.failed", count=failed), err=True)
    more = {"report": shown.report, "quiet": shown.quiet, "json_output": shown.json_output}
    show_more(run, view, shown.build, **more)
    _check(run, too_many, gates, view)


def _announce(plan: Plan, data: str, view: View, *, quiet: bool) -> None:
    if plan.checked is not None and not quiet:
        announce_columns(plan.checked, data, language=view.language)
    announce_draw(plan)
    check_group_column(plan, view.by)


def _show_estimate(plan: Plan, view: View, *, json_output: bool) -> None:
    estimated = estimate(plan)
    if json_output:
        echo_json(json.dumps(asdict(estimated)))
    else:
        echo(estimated.line(view.say))


def _check(run: Run, too_many: TooManyFailuresError | None, gates: AskedGates, view: View) -> None:
    if too_many is not None:
        echo_error(too_many)
        raise typer.Exit(TOO_MANY_FAILURES)
    gates.exit_unless_passed(run, view.say)


def _check_dry_run(dry_run: bool, *, a_gate: object, **asked: object) -> None:
    """Refuse what a dry run cannot do, because it grades nothing."""
    named = {"a gate": a_gate, **{f"--{name}": value for name, value in asked.items()}}
    others = [name for name, value in named.items() if value]
    if dry_run and others:
        raise ConfigurationError(
            f"--dry-run grades nothing and writes nothing, so it cannot be used with "
            f"{', '.join(others)}; leave one of them out"
        )


def _carry_out(
    plan: Plan,
    folder: Path,
    view: View,
    batches: AskedBatches | None,
    *,
    progress: bool,
) -> tuple[Run, TooManyFailuresError | None]:
    """Grade; a run with too many failures is shown like any other before the command fails."""
    too_many: TooManyFailuresError | None = None
    if batches is None and not plan.settings.restart:
        refuse_batches_under_way(folder)
    try:
        with reporting(progress, language=view.language) as report:
            if batches is not None:
                work = batches.work(plan, folder, report)
            else:
                work = aexecute(plan, out=folder, progress=report)
            run = run_or_exit(work, folder)
    except TooManyFailuresError as error:
        run, too_many = error.run, error
    return run, too_many
