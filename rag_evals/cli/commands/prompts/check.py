"""`rag-evals prompts check`: can this file grade, and what would the judge read?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.base import JudgedGrader
from rag_evals.cli.commands.prompts.preview import grader_of, messages_of, sample_from
from rag_evals.cli.shared.graders import LanguageCode, PromptFolders
from rag_evals.core import Message
from rag_evals.report.terminal.screen import echo
from rag_evals.text import token_counter


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Prompt file to check.")],
    grader: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Response model of a file that names none."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Preview its first row. Default: our own.")
    ] = None,
    prompts: PromptFolders = None,
    language: LanguageCode = None,
) -> None:
    """Check a prompt file before it costs anything: nothing is sent.

    Looks at the syntax, the variables, the response model, the criteria and the examples, counts
    tokens, and shows what a judge would read. The exit code is 0 for a file that can grade, else 2.

    [bold]Examples[/bold]

      rag-evals prompts check my_strict.jinja
      rag-evals prompts check my_strict.jinja --data answers.jsonl
    """
    made = grader_of(str(file), grader, prompts or [])
    if language is not None:
        made = made.with_language(language)
    messages = messages_of(made, sample_from(data))
    for line in _facts(made, messages):
        echo(line)
    for message in messages:
        echo(f"\n--- {message['role']} message")
        echo(message["content"])
    echo(f"\n{file}: ok")


def _facts(grader: JudgedGrader[Any, Any], messages: tuple[Message, ...]) -> Iterator[str]:
    fields = ", ".join(grader.response_model.model_fields)
    header = grader.header
    yield f"grader          {grader.name}"
    yield f"task            {grader.description or '-'}"
    yield f"response model  {grader.response_model.__name__} ({fields})"
    yield f"needs           {', '.join(grader.requires)}"
    yield f"blocks          {', '.join(sorted(grader.blocks)) or '-'}"
    yield f"language        {header.language or grader.language or '-'}"
    yield f"settings        {header.settings or '-'}"
    yield f"criteria        {', '.join(header.criteria) or '-'}"
    yield (
        f"examples        {len(header.examples)}, valid" if header.examples else "examples        -"
    )
    count, how = token_counter(grader.model)
    sizes = ", ".join(f"{count(m['content'])} in the {m['role']} message" for m in messages)
    yield f"tokens          {sizes} ({how})"
    if len(messages) == 1:
        yield (
            "note            the prompt places the data itself: say in it that data is data, and "
            "repeat the task at its end"
        )
