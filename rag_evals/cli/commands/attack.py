"""`rag-evals attack`: does prompt injection in the data raise the grade?"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rag_evals.analysis import AttackReport, read_attacks
from rag_evals.analysis import attack as attack_judge
from rag_evals.base import JudgedGrader
from rag_evals.cli.shared.complete import graders as offered_graders
from rag_evals.cli.shared.complete import judges
from rag_evals.cli.shared.graders import LanguageCode, PromptFolders, chosen_graders
from rag_evals.cli.shared.options import JsonForTable, Quiet, Reasks, Settings
from rag_evals.core import parse_settings
from rag_evals.errors import ConfigurationError
from rag_evals.judge import DEFAULT_REASKS
from rag_evals.report.terminal.screen import cell, echo, echo_json, show_table
from rag_evals.run import DEFAULT_CONCURRENCY


def attack(
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER/MODEL",
            help="Judge to attack. Default: $RAG_EVALS_JUDGE.",
            autocompletion=judges,
        ),
    ] = None,
    grader: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Grader whose prompt to attack. Default: faithfulness.",
            autocompletion=offered_graders,
        ),
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prompt file to attack instead.")
    ] = None,
    prompts: PromptFolders = None,
    language: LanguageCode = None,
    setting: Settings = None,
    attacks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own attacks. Default: ours."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Gradings at a time, at most 4096.")] = (
        DEFAULT_CONCURRENCY
    ),
    json_output: JsonForTable = False,
    quiet: Quiet = False,
    reasks: Reasks = DEFAULT_REASKS,
) -> None:
    """Attack your own judge and prompt, and see how often text in the data wins.

    Each attack is a wrong answer, and a text in a chunk or in the answer that asks for a better
    grade. It is sent twice, with our hardening and without. Each attack costs two calls.

    [bold]Examples[/bold]

      rag-evals attack --judge openai/gpt-4o-mini
      rag-evals attack --judge openai/gpt-4o-mini --grader faithfulness_audited
      rag-evals attack --judge openai/gpt-4o-mini --prompt my_strict.jinja --json
    """
    (chosen,) = chosen_graders([grader] if grader else [], prompt, prompts or [], language)
    if not isinstance(chosen, JudgedGrader):
        raise ConfigurationError(f"grader {chosen.name!r} asks no judge with a prompt of its own")
    report = attack_judge(
        chosen,
        judge,
        attacks=None if attacks is None else read_attacks(attacks),
        concurrency=concurrency,
        progress=not quiet,
        settings=parse_settings(setting),
        reasks=reasks,
    )
    if json_output:
        echo_json(json.dumps(_numbers(report), ensure_ascii=False))
    else:
        _show(report)


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
    table = Table("kind", header_style="bold")
    for title in ("attacks", "won, hardened", "won, not hardened"):
        table.add_column(title, justify="right")
    for kind in [*report.kinds, None]:
        if kind is None:
            table.add_section()
        trials = report.of(hardened=True, kind=kind)
        rates = [report.success_rate(hardened=side, kind=kind) for side in (True, False)]
        table.add_row(cell(kind or "all"), str(len(trials)), *map(_percent, rates))
    show_table(table)
    numbers = _numbers(report)
    for name, words in (
        ("won", "won in spite of hardening"),
        ("failed", "failed to be graded, and are not counted"),
        ("no_room", "not counted: no low score without the attack, so there is nothing to win"),
    ):
        if numbers[name]:
            echo(f"{len(numbers[name])} {words}: {', '.join(numbers[name])}")


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.0%}"
