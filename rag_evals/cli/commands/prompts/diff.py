"""`rag-evals prompts diff`: what changes for the judge from one prompt to another?"""

import difflib
import json
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.commands.prompts.preview import described, grader_of, sample_from
from rag_evals.cli.shared.complete import prompts as offered_prompts
from rag_evals.cli.shared.graders import LanguageCode, PromptFolders
from rag_evals.cli.shared.options import Json
from rag_evals.report.terminal.screen import echo, echo_json

_Side = Annotated[
    str,
    typer.Argument(
        help="Prompt file, or name of a shipped prompt or grader.", autocompletion=offered_prompts
    ),
]


def diff(
    a: _Side,
    b: _Side,
    grader: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Response model of a file that names none."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare its first row. Default: our own.")
    ] = None,
    prompts: PromptFolders = None,
    language: LanguageCode = None,
    json_output: Json = False,
) -> None:
    """Show what changes for the judge between two prompts: messages, reply, settings.

    Comments, names and whatever else a judge never sees are left out.

    [bold]Example[/bold]

      rag-evals prompts diff score_faithfulness my_strict.jinja
    """
    sample = sample_from(data)
    sides = []
    for spec in (a, b):
        made = grader_of(spec, grader, prompts or [])
        made = made if language is None else made.with_language(language)
        sides.append(described(made, sample))
    before, after = sides
    lines = list(difflib.unified_diff(before, after, fromfile=a, tofile=b, lineterm=""))
    if json_output:
        echo_json(json.dumps({"changed": bool(lines), "diff": lines}, ensure_ascii=False))
        return
    for line in lines:
        echo(line)
    if not lines:
        echo("nothing changes for the judge")
