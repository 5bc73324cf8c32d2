"""`rag-evals demo`: grade the shipped rows, with no key, no network and no model file."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.language import reader_language
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.options import Json, Quiet, ReaderLanguage
from rag_evals.report.terminal import show_json, show_run
from rag_evals.run import execute, make_plan


def demo(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/demo-SETTINGS."),
    ] = None,
    language: ReaderLanguage = None,
    json_output: Json = False,
    quiet: Quiet = False,
) -> None:
    """Grade 24 shipped rows with the embedded judge: no key, no network, no model file.

    [bold]Example[/bold]

      rag-evals demo
    """
    with resources.as_file(resources.files("rag_evals") / "_data" / "demo.jsonl") as data:
        plan = make_plan(data, ["faithfulness"], "embedded")
        run = execute(plan, out=out or plan.default_folder(), progress=not quiet)
    read_in = reader_language(language)
    if json_output:
        show_json(run)
    else:
        show_run(run, rows=len(run), language=read_in)
    offer_next("report", run.folder, quiet=quiet, json_output=json_output, language=read_in)
