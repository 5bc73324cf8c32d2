"""`rag-evals demo`: grade the shipped rows, with no key, no network and no model file."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.language import reader_language
from rag_evals.cli.shared.options import ReaderLanguage
from rag_evals.report.terminal.run import show_run
from rag_evals.run import execute, make_plan


def demo(
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder. Default: runs/demo-SETTINGS.")
    ] = None,
    language: ReaderLanguage = None,
) -> None:
    """Grade 24 shipped rows with the embedded judge: no key, no network, no model file.

    [bold]Example[/bold]

      rag-evals demo
    """
    with resources.as_file(resources.files("rag_evals") / "_data" / "demo.jsonl") as data:
        plan = make_plan(data, ["faithfulness"], "embedded")
        run = execute(plan, out=out or plan.default_folder(), progress=True)
    show_run(run, run.outcomes, language=reader_language(language))
