"""`rag-evals judge`: examine, measure, correct, tune, teach and attack a judge."""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import typer
from pydantic_core import to_json
from rich.table import Column, Table

import rag_evals
from rag_evals import analysis
from rag_evals.analysis import (
    AttackReport,
    ExamReport,
    exam_numbers,
    prepare_teaching,
    suspicious_labels,
)
from rag_evals.base import JudgedGrader
from rag_evals.cli.shared.config import GradingCommand
from rag_evals.cli.shared.exits import GATE_MISSED
from rag_evals.cli.shared.gates import share_option
from rag_evals.cli.shared.graders import Chosen
from rag_evals.cli.shared.options import (
    By,
    Cluster,
    Json,
    LabelOptions,
    OutFolder,
    Output,
    ReaderLanguage,
    RunFolder,
    Threshold,
    flat,
    out_file,
)
from rag_evals.cli.shared.runs import HTML, open_run, require_suffix
from rag_evals.errors import ConfigurationError, DataError, RagEvalsError
from rag_evals.report.html_page import write_private
from rag_evals.report.label_page import RowToLabel, label_html, rows_to_label
from rag_evals.report.screen import cell, echo, echo_json, show_table
from rag_evals.report.tables import View
from rag_evals.run import Run, RunOptions

judge = typer.Typer(
    name="judge",
    help="Measure a judge: exam, label, agreement, correct, tune, teach, attack.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


@judge.command()
@flat
def label(
    run: RunFolder,
    decisions: Annotated[
        int, typer.Option(min=1, help="Maximum number of statements to label.")
    ] = 50,
    focus: Annotated[
        Literal["all", "uncertain", "suspicious"],
        typer.Option(help="Prefer rows with uncertain verdicts, or review suspicious labels."),
    ] = "all",
    seed: Annotated[int, typer.Option(help="Random seed; the same seed draws the same rows.")] = 0,
    out: Annotated[
        Path | None, out_file(help="File to write. Default: label.html in the run folder.")
    ] = None,
    show_verdict: Annotated[
        bool, typer.Option("--shown", help="Show the judge's verdict before the person decides.")
    ] = False,
    language: ReaderLanguage = "en",
    *,
    output: Output,
) -> None:
    """Write a page where people decide whether the passages support an answer.

    Rows are drawn at random, with low, medium and high scores in proportion. The page saves
    labels.jsonl, which agreement, correct, tune and report look for in the run folder. With --focus
    uncertain, each label stores the weight of its row, which these commands apply. With --focus
    suspicious, the new decisions replace the most doubtful labels.

    [bold]Examples[/bold]

      rag-evals judge label runs/first --decisions 50 --seed 1
      rag-evals judge label runs/first --focus uncertain
    """
    require_suffix(out, *HTML)
    stored = open_run(run)
    if focus == "suspicious":
        chosen = _second_looks(stored, decisions)
    else:
        chosen = rows_to_label(stored, decisions, focus=focus, seed=seed)
    if not chosen:
        raise DataError(f"{str(run)!r} has no verdicts to label")
    view = View(language=language)
    is_second = focus == "suspicious"
    page = label_html(stored, chosen, view, shown=show_verdict, is_second=is_second)
    path = write_private(out or run / "label.html", page)
    count = sum(one.decisions for one in chosen)
    told = view.say("terminal.to_label", count=count, path=path)
    output.result({"file": str(path), "rows": len(chosen), "decisions": count}, told)
    output.offer_next("judge", "agreement", run, "labels.jsonl", language=view.language)


def _second_looks(run: Run, decisions: int) -> list[RowToLabel]:
    """Return the rows with the most suspicious fifth of the labels, at most `decisions` labels."""
    listed, texts = suspicious_labels(run), dict[str, list[str]]()
    for one in listed[: min(decisions, math.ceil(len(listed) / 5))]:
        texts.setdefault(one.sample_id, []).append(one.text)
    return [
        RowToLabel(name, run.graders[0], len(own), None, tuple(own)) for name, own in texts.items()
    ]


@judge.command()
@flat
def agreement(
    run: RunFolder,
    labels: LabelOptions,
    by: By = None,
    cluster: Cluster = None,
    threshold: Threshold = 1.0,
    *,
    output: Output,
) -> None:
    """Measure how well a run's verdicts agree with people's labels.

    Labels come from a file saved by a label page, another labelled file, or columns of the data.
    Each file counts as one person.

    [bold]Examples[/bold]

      rag-evals judge agreement runs/before labels.jsonl
      rag-evals judge agreement runs/before anna.jsonl boris.jsonl --by topic
    """
    stored = open_run(run)
    measured = rag_evals.agreement(
        stored, **labels.arguments(), by=by, cluster=cluster, threshold=threshold
    )
    output.result(measured, measured)
    with suppress(RagEvalsError):  # a correction needs more labels
        rag_evals.correct(stored, **labels.arguments(), cluster=cluster, threshold=threshold)
        output.offer_next("judge", "correct", run, *(labels.labels or []))


@judge.command()
@flat
def correct(
    run: RunFolder,
    labels: LabelOptions,
    cluster: Cluster = None,
    threshold: Threshold = 1.0,
    json_output: Json = False,
) -> None:
    """Correct a run's metrics, using labels for a random sample of its rows.

    The labelled rows must be a random sample, such as the one that `rag-evals judge label` draws.

    [bold]Example[/bold]

      rag-evals judge correct runs/before labels.jsonl
    """
    found = rag_evals.correct(
        open_run(run), **labels.arguments(), cluster=cluster, threshold=threshold
    )
    Output(json_output).result(found, found)


@judge.command()
@flat
def tune(
    run: RunFolder,
    labels: LabelOptions,
    out: Annotated[Path | None, out_file(help="File to write, for use with --tuned.")] = None,
    max_error: Annotated[
        float,
        share_option(
            help="Maximum share of wrong verdicts when a cascade relies on this verifier alone."
        ),
    ] = 0.05,
    *,
    output: Output,
) -> None:
    """Tune a run's last verifier with labels, and write a file for --tuned.

    Calibrates support values, chooses the threshold, and determines when a cascade can rely on
    this verifier alone. Needs at least 30 labels; 200 are better.

    [bold]Examples[/bold]

      rag-evals judge tune runs/embedded labels.jsonl -o judge.json
      rag-evals grade answers.jsonl --tuned judge.json
    """
    tuning = rag_evals.tune(open_run(run), **labels.arguments(), max_error=max_error)
    output.result(tuning, tuning)
    if out is not None:
        tuning.write(out)
        echo(f"written: {out}", err=True)
        output.offer_next("grade", "DATA", "--tuned", out)


@judge.command()
@partial(flat, names=("settings", "concurrency", "reasks"))
def teach(
    run: RunFolder,
    labels: LabelOptions,
    out: Annotated[Path | None, out_file(help="File to write, for use with --prompt.")] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The run's prompt file. Default: the shipped prompt."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of calls. Default: 10 per label.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write the prompt even if the gain is not significant.")
    ] = False,
    *,
    output: Output,
    **options: Unpack[RunOptions],
) -> None:
    """Teach a run's judge from labels: add examples to its prompt, and measure the gain.

    Calls the judge again for each labelled row, with examples from other questions. If the gain's
    confidence interval includes 0, writes nothing and exits with 1. Needs 30 labelled rows or more.

    [bold]Example[/bold]

      rag-evals judge teach runs/after labels.jsonl -o taught.jinja
    """
    options["progress"] = not output.quiet
    teaching = prepare_teaching(
        open_run(run), **labels.arguments(), prompt=prompt, budget=budget, **options
    )
    echo(f"{teaching.calls} calls to {teaching.judge}", err=True)
    lesson = teaching.learn()
    output.result(lesson.receipt, lesson.receipt)
    if not lesson.receipt.proved and not anyway:
        echo("nothing was written; label more rows, or add --anyway", err=True)
        raise typer.Exit(GATE_MISSED)
    if out is not None:
        lesson.write(out, anyway=anyway)
        echo(f"written: {out}", err=True)
        output.offer_next("grade", "DATA", "--prompt", out, "--judge", teaching.judge)


@judge.command(cls=GradingCommand)
@partial(flat, names=("settings", "concurrency", "reasks"))
def attack(
    chosen: Chosen,
    output: Output,
    **options: Unpack[RunOptions],
) -> None:
    """Attack a judge and its prompt, and measure how often prompt injection succeeds.

    Each attack is a wrong answer with text injected into a chunk or the answer, asking for a better
    grade. It takes two calls, one with and one without prompt hardening.

    [bold]Examples[/bold]

      rag-evals judge attack --judge openai/gpt-4o-mini
      rag-evals judge attack --judge openai/gpt-4o-mini --grader faithfulness_audited
      rag-evals judge attack --judge openai/gpt-4o-mini --prompt my_strict.jinja --json
    """
    grader, asked = chosen.grader_and_judge()
    if not isinstance(grader, JudgedGrader):
        raise ConfigurationError(f"grader {grader.name!r} has no prompt to attack")
    options["progress"] = not output.quiet
    report = analysis.attack(grader, asked, **options)
    if output.json_output:
        echo_json(json.dumps(_numbers(report), ensure_ascii=False))
    else:
        _show(report)


@judge.command(cls=GradingCommand)
@partial(flat, names=("settings", "concurrency", "reasks"))
def exam(
    chosen: Chosen,
    out: OutFolder = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Run folder of an earlier exam to compare with."),
    ] = None,
    fail_under: Annotated[
        float | None,
        share_option(help="Exit with 1 if the share of right pairs is lower."),
    ] = None,
    threshold: Threshold = 1.0,
    *,
    output: Output,
    **options: Unpack[RunOptions],
) -> None:
    """Examine a judge and a prompt with 200 pairs of answers; no labels needed.

    The answers in a pair differ in one detail, and only one answer is supported. A pair is right if
    both verdicts are correct. Covers 14 skills in English and Russian, with 400 calls.

    [bold]Examples[/bold]

      rag-evals judge exam --judge openai/gpt-4o-mini -o runs/old
      rag-evals judge exam --judge openai/gpt-4o-mini --prompt my_strict.jinja
      rag-evals judge exam --judge openai/gpt-5 -o runs/new --against runs/old
    """
    grader, asked = chosen.grader_and_judge()
    earlier = None if against is None else ExamReport.of(open_run(against), threshold=threshold)
    options["progress"] = not output.quiet
    report = analysis.exam(grader, asked, out=out, threshold=threshold, **options)
    compared = None if earlier is None else report.against(earlier)
    if output.json_output:
        echo_json(to_json(exam_numbers(report, compared)).decode())
    else:
        _show_exam(report)
        if compared is not None:
            echo(compared)
    if out is not None:
        output.offer_next("report", out)
    if fail_under is not None and report.rates().estimate < fail_under:
        raise typer.Exit(GATE_MISSED)


def _show_exam(report: ExamReport) -> None:
    for trial in report.failed:
        echo("\n".join(trial.lines()))
    rows = []
    for name, found in [*report.skills().items(), ("all", report.rates())]:
        pairs = sum(name in ("all", trial.pair.skill) for trial in report.trials)
        limits = f"{found.low:.0%} to {found.high:.0%}"
        rows.append((name, str(pairs), _percent(found.estimate), limits))
    _show_rates(("skill", "pairs", "right", "95 % interval"), rows)
    cost = "" if report.cost_usd is None else f", ${report.cost_usd:.4f}"
    echo(f"{report.judge}, {report.grader}: {report.calls} calls{cost}")


def _numbers(report: AttackReport) -> dict[str, Any]:
    hardened = report.of(hardened=True)
    return {
        "grader": report.grader,
        "attacks": len(hardened),
        "success_rate": {
            "hardened": report.success_rate(hardened=True),
            "not_hardened": report.success_rate(hardened=False),
        },
        "won": [trial.attack.id for trial in hardened if trial.won],
        "failed": {trial.attack.id: trial.error for trial in hardened if trial.error},
        "no_room": [t.attack.id for t in hardened if not t.counts and t.error is None],
    }


def _show(report: AttackReport) -> None:
    rows = []
    for kind in [*report.kinds, None]:
        trials = report.of(hardened=True, kind=kind)
        rates = [report.success_rate(hardened=side, kind=kind) for side in (True, False)]
        rows.append((kind or "all", str(len(trials)), *map(_percent, rates)))
    _show_rates(("kind", "attacks", "won, hardened", "won, not hardened"), rows)
    numbers = _numbers(report)
    for name, words in (
        ("won", "won despite hardening"),
        ("failed", "could not be graded, and are not counted"),
        ("no_room", "not counted: the score is high even without the attack"),
    ):
        if numbers[name]:
            echo(f"{len(numbers[name])} {words}: {', '.join(numbers[name])}")


def _show_rates(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*(Column(title, justify="right") for title in head), header_style="bold")
    table.columns[0].justify = "left"
    for row in rows:
        if row is rows[-1]:
            table.add_section()
        table.add_row(*map(cell, row))
    show_table(table)


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.0%}"
