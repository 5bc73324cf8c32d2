"""`rag-evals label`: a page on which a person labels a random sample of a run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.language import reader_language
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import Json, Quiet, ReaderLanguage, RunFolder
from rag_evals.errors import DataError
from rag_evals.report import View, report_html, rows_to_label, write_private
from rag_evals.report.terminal.screen import echo, echo_json


def label(
    run: RunFolder,
    sample: Annotated[int, typer.Option(min=1, help="How many rows to label.")] = 50,
    seed: Annotated[int, typer.Option(help="Same seed, same rows.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write the page. Default: label.html in the run folder.",
        ),
    ] = None,
    language: ReaderLanguage = None,
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a page to label a random sample of a run: a and d agree and disagree with a verdict.

    Every row has the same chance, and low, middle and high scores are there in their shares. The
    page exports labels.jsonl, which agreement and correct read.

    [bold]Example[/bold]

      rag-evals label runs/first --sample 50 --seed 1
    """
    stored = opened_run(run)
    chosen = rows_to_label(stored, sample, seed=seed)
    if not chosen:
        raise DataError(f"{str(run)!r} has no verdicts to label")
    view = View(language=reader_language(language))
    page = report_html(stored, view=view, only=chosen, labelling=True)
    path = write_private(out or run / "label.html", page)
    if json_output:
        numbers = {"file": str(path), "rows": len(chosen)}
        echo_json(json.dumps(numbers, ensure_ascii=False))
    else:
        echo(view.say("terminal.to_label", count=len(chosen), path=path))
    following = ("agreement", run, "labels.jsonl")
    offer_next(*following, quiet=quiet, json_output=json_output, language=view.language)
