"""`rag-evals grade`: grade every row of a file. `rag-evals batch`: collect its batches."""

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn, Unpack

import typer

from rag_evals.cli.shared.config import GradingCommand
from rag_evals.cli.shared.exits import NOT_DECIDED, TOO_MANY_FAILURES
from rag_evals.cli.shared.gates import (
    Batches,
    Draws,
    Execute,
    GateResult,
    Gates,
    grade_again,
    refuse_batches_under_way,
)
from rag_evals.cli.shared.graders import Chosen, TunedBy
from rag_evals.cli.shared.options import Json, RowFile, flat, grading_language
from rag_evals.cli.shared.runs import Outputs, check_group_column, run_or_exit
from rag_evals.errors import ConfigurationError, TooManyFailuresError
from rag_evals.report.screen import echo, echo_json
from rag_evals.report.tables import View
from rag_evals.report.terminal import announce_columns, show_json, show_run
from rag_evals.run import NOT_CLUSTERED, Run, RunOptions, load_run
from rag_evals.run.engine.batches import (
    BatchSteps,
    batch_words,
    check_batch_judges,
    collect_results,
    open_batches,
    pending_in,
)
from rag_evals.run.engine.evaluate import aexecute
from rag_evals.run.plan.plan import Plan, default_folders, estimate, folders_of, make_plan
from rag_evals.run.plan.progress import reporting
from rag_evals.run.plan.sampling import budget_text

KINDS = {"grade": GradingCommand}
"""Custom command classes, by command."""


@flat
def grade(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="JSONL, JSON, CSV, TSV, Parquet, Arrow or Excel file, optionally with .gz or "
            ".zst; a folder or glob pattern; - for standard input; a URL such as hf://..."
        ),
    ],
    chosen: Chosen,
    reading: RowFile,
    gates: Gates,
    draws: Draws,
    batches: Batches,
    outputs: Outputs,
    tuned_by: TunedBy,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")
    ] = False,
    **options: Unpack[RunOptions],
) -> None:
    """Grade every row of a file, and store the outcomes in a run folder.

    To resume an interrupted run, run the same command again.

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
      rag-evals grade answers.jsonl -o graded.xlsx
    """
    outputs.check(data)
    _check_dry_run(dry_run, gates, outputs, options)
    sampling = draws.sampling(gates)
    asked = batches.executor(context, sampling)
    graders, judge = chosen.graders_and_judge()
    options["columns"] = reading.columns()
    options["sampling"] = sampling
    options["cache"] = bool(options.get("cache")) and not dry_run
    options["tuned"] = tuned_by.tuned or ()
    # An earlier run may already have checked the file.
    folders = folders_of(outputs.folder) or default_folders(Path(data))
    plan = make_plan(reading.file(data), graders, judge, options=options, folders=folders)
    tuned_by.check(plan)
    view = View(outputs.by, outputs.cluster, language=grading_language(chosen.language))
    if chosen.is_default_judge and not outputs.quiet:
        echo(view.say("terminal.default_judge"), err=True)
    _announce(plan, data, view, quiet=outputs.quiet)
    if dry_run:
        _show_estimate(replace(plan, batched=batches.batch), view, outputs)
    else:
        folder = outputs.folder or plan.default_folder()
        _grade(plan, asked, folder, (gates, tuned_by), outputs, view)


def _grade(
    plan: Plan,
    batches: Execute | None,
    folder: Path,
    asked: tuple[Gates, TunedBy],
    outputs: Outputs,
    view: View,
) -> None:
    gates, tuned_by = asked
    run, too_many = _carry_out(plan, folder, view, batches, progress=not outputs.quiet)
    if not (run.graded or run.summary().pending or outputs.quiet):
        echo(view.say("terminal.nothing_left"), err=True)
    if outputs.json_output:
        show_json(run, count=gates.counts, view=view, gate=gates.decision(run, view.cluster))
    else:
        show_run(run, count=gates.counts, cluster=view.cluster, language=view.language)
    if failed := run.summary().failed:
        echo(view.say("terminal.failed", count=failed), err=True)
    if too_many is None:
        result = gates.result(run, view.say, view.cluster).then(tuned_by.result(run, view.say))
    else:
        result = GateResult((str(too_many),), TOO_MANY_FAILURES)
    outputs.show_more(run, view, gates.counts, result)
    result.exit()


def _announce(plan: Plan, data: str, view: View, *, quiet: bool) -> None:
    if plan.checked is not None and not quiet:
        announce_columns(plan.checked, data, language=view.language)
    if plan.budget is not None:
        told = f"--budget ${budget_text(plan.budget)} pays for {plan.drawn} rows at list prices"
        echo(told, err=True)
    check_group_column(plan, view.by)
    if view.cluster != NOT_CLUSTERED:
        check_group_column(plan, view.cluster, "cluster")


def _show_estimate(plan: Plan, view: View, outputs: Outputs) -> None:
    if plan.batched:
        # Batch prices apply only to judges that support batches.
        check_batch_judges(plan)
    estimated = estimate(plan)
    if outputs.json_output:
        echo_json(json.dumps(asdict(estimated)))
    else:
        echo(estimated.line(view.say))


def _check_dry_run(dry_run: bool, gates: Gates, outputs: Outputs, options: RunOptions) -> None:
    asked = {
        "a gate": gates,
        "--by": outputs.by,
        "--report": outputs.report,
        "--junit": outputs.junit,
        "--restart": options.get("restart"),
    }
    others = [name for name, value in asked.items() if value]
    if dry_run and others:
        raise ConfigurationError(
            f"--dry-run grades nothing, so it cannot be combined with "
            f"{', '.join(others)}; omit one of them"
        )


def _carry_out(
    plan: Plan, folder: Path, view: View, batches: Execute | None, *, progress: bool
) -> tuple[Run, TooManyFailuresError | None]:
    """Execute the plan; return the run, and the error if too many rows failed."""
    too_many: TooManyFailuresError | None = None
    if batches is None and not plan.settings.restart:
        refuse_batches_under_way(folder)
    try:
        with reporting(progress, language=view.language) as report:
            # The command shows the summary and reads the lowest rows from the folder.
            work = (batches or partial(aexecute, holds=False))(plan.into(folder, progress=report))
            run = run_or_exit(work, folder)
    except TooManyFailuresError as error:
        run, too_many = error.run, error
    return run, too_many


batch = typer.Typer(
    name="batch",
    help="Collect the batches started by grade --batch.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@batch.callback()
def _batch() -> None: ...


_TOLD = ("batch", "status", "ended", "requests", "endpoint", "model")


@batch.command()
def collect(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    status: Annotated[
        bool, typer.Option("--status", help="Show only the status of the batches.")
    ] = False,
    send: Annotated[
        bool,
        typer.Option(
            "--send",
            help="Then send the outstanding calls: follow-up calls, re-asks after invalid replies, "
            "and calls that a batch lost.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also resend batches that the endpoint no longer has."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Keep sending and waiting until no row is pending.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Fetch the replies of finished batches, and grade the rows that they complete.

    Applies the gates given to `grade --batch`. The exit code is 4 while any row is pending. With
    --status, it is 3 if rows failed.

    [bold]Examples[/bold]

      rag-evals batch collect runs/batched --status
      rag-evals batch collect runs/batched
      rag-evals batch collect runs/batched --send
      rag-evals batch collect runs/batched --wait
    """
    if status:
        if send or again or wait:
            raise ConfigurationError("--status sends nothing; omit --send, --again and --wait")
        _show_states(run, json_output=json_output)
    steps = BatchSteps(send=send or again or wait, wait=wait, again=again)
    grade_again(grade, context, run, steps, json_output=json_output)
    if pending_in(run):
        raise typer.Exit(NOT_DECIDED)


def _show_states(run: Path, *, json_output: bool) -> NoReturn:
    with open_batches(run) as table:
        collect_results(table, echo, only_ask=True)
        parts = table.parts()
    pending, failed = pending_in(run), load_run(run).summary().failed
    if json_output:
        numbers = [{name: getattr(part, name) for name in _TOLD} for part in parts]
        echo_json(json.dumps({"batches": numbers, "pending": pending, "failed": failed}))
    else:
        for part in parts:
            name = part.batch or f"part {part.number}"
            echo(f"{name}: {part.status}, {part.ended} of {part.requests} requests processed")
        echo(batch_words(parts))
        echo(f"{pending} gradings pending, {failed} failed")
    if pending or parts:
        raise typer.Exit(NOT_DECIDED)
    raise typer.Exit(TOO_MANY_FAILURES if failed else 0)
