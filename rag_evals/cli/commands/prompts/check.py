"""`rag-evals prompts check`: can this file grade, and what would the judge read?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.base import JudgedGrader
from rag_evals.cli.commands.prompts.preview import grader_of, messages_of, sample_from
from rag_evals.cli.shared.graders import LanguageCode, PromptFolders
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.options import Json, Quiet
from rag_evals.core import Message
from rag_evals.report.terminal.screen import echo, echo_json
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
    json_output: Json = False,
    quiet: Quiet = False,
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
    facts = dict(_facts(made, messages))
    if json_output:
        echo_json(json.dumps({**facts, "messages": messages}, ensure_ascii=False))
        return
    for name, fact in facts.items():
        echo(f"{name:<15} {fact}")
    for message in messages:
        echo(f"\n--- {message['role']} message")
        echo(message["content"])
    echo(f"\n{file}: ok")
    offer_next("grade", "DATA", "--prompt", file, quiet=quiet)


def _facts(
    grader: JudgedGrader[Any, Any], messages: tuple[Message, ...]
) -> Iterator[tuple[str, str]]:
    fields = ", ".join(grader.response_model.model_fields)
    header = grader.header
    yield "grader", grader.name
    yield "task", grader.description or "-"
    yield "response model", f"{grader.response_model.__name__} ({fields})"
    yield "needs", ", ".join(grader.requires)
    yield "blocks", ", ".join(sorted(grader.blocks)) or "-"
    yield "language", header.language or grader.language or "-"
    yield "settings", str(header.settings) if header.settings else "-"
    yield "criteria", ", ".join(header.criteria) or "-"
    yield "examples", f"{len(header.examples)}, valid" if header.examples else "-"
    count, how = token_counter(grader.model)
    sizes = ", ".join(f"{count(m['content'])} in the {m['role']} message" for m in messages)
    yield "tokens", f"{sizes} ({how})"
    if len(messages) == 1:
        yield (
            "note",
            "the prompt places the data itself: say in it that data is data, and repeat the task "
            "at its end",
        )
