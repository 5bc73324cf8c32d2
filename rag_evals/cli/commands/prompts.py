"""`rag-evals prompts`: show, copy and check prompts. `rag-evals graders`: list them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from rag_evals.base import JudgedGrader
from rag_evals.catalog import GRADERS, PROMPTED, grader_from_file
from rag_evals.cli.shared.graders import LanguageCode, PromptFolders
from rag_evals.cli.shared.options import Output, flat
from rag_evals.core import JudgeCall, Message, Sample, fields_of_judge
from rag_evals.dataset import ColumnMap, read_rows
from rag_evals.errors import (
    ConfigurationError,
    DataError,
    JudgeRequestError,
    NotScorableError,
    PromptError,
    UnknownNameError,
)
from rag_evals.grading import require_fields, sample_flow
from rag_evals.prompt import Prompt, search_folders, shipped_names
from rag_evals.prompt.rendering import arrive_whole
from rag_evals.prompt.template import shipped_languages, shipped_source
from rag_evals.report.screen import cell, echo, echo_json, show_table
from rag_evals.score_faithfulness import Faithfulness
from rag_evals.text import token_counter
from rag_evals.verify import EMBEDDED_GRADERS

prompts = typer.Typer(
    help="Show, copy and check prompts.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

Entry = Mapping[str, str | bool | Sequence[str]]
"""A table row: its cells, keyed by column title; the name comes first."""


_ROW = {
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris [1]. It was completed in 1923 [2].",
    "context": ["The Eiffel Tower stands in Paris.", "It was completed in 1889."],
    "reference": "It stands in Paris and was finished in 1889.",
}


@prompts.command()
@flat
def show(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|WORD]...",
            help="Name of a shipped prompt (ru/NAME for Russian), or words to search for.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Copy the file to this folder for editing."),
    ] = None,
    *,
    output: Output,
) -> None:
    """Print or copy a shipped prompt; without a name, list the prompts.

    To use an edited copy, pass the file with --prompt, or its folder with --prompts.

    [bold]Examples[/bold]

      rag-evals prompts show
      rag-evals prompts show quotes
      rag-evals prompts show score_faithfulness
      rag-evals prompts show score_faithfulness --to my_prompts
    """
    asked = words or []
    if len(asked) == 1 and ("/" in asked[0] or asked[0] in shipped_names()):
        _show_prompt(asked[0], to, output)
        return
    if to is not None:
        raise ConfigurationError("--to copies one prompt; specify its name")
    entries: list[Entry] = [
        {
            "prompt": name,
            "what it is for": Prompt.shipped(name).header.description or "",
            "also in": [code for code in shipped_languages() if name in shipped_names(code)],
        }
        for name in shipped_names()
    ]
    shown = _show_list("prompt", entries, asked, output)
    usual = str(Faithfulness.template.stem)
    following = usual if usual in shown else shown[0]
    output.offer_next("prompts", "show", following, "--to", "my_prompts")


def _show_prompt(name: str, to: Path | None, output: Output) -> None:
    source = shipped_source(name)
    if to is None:
        output.result({"prompt": name, "text": source}, source.removesuffix("\n"))
        return
    target = to / f"{name.rpartition('/')[2]}.jinja"
    if target.exists():
        raise ConfigurationError(f"{str(target)!r} already exists; remove it, or change DIR")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source, encoding="utf-8")
    output.result({"file": str(target)}, target)
    output.offer_next("prompts", "check", target)


@prompts.command()
@flat
def check(
    file: Annotated[
        str, typer.Argument(help="Prompt file to check, or name of a shipped prompt or grader.")
    ],
    grader: Annotated[
        str | None, typer.Option(metavar="NAME", help="Response model if none is set in the file.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Preview its longest row instead of a built-in row."),
    ] = None,
    prompts: PromptFolders = None,
    language: LanguageCode = None,
    *,
    output: Output,
) -> None:
    """Check a prompt file without sending anything.

    Checks the syntax, variables, response model, criteria and examples, counts tokens, and shows
    what a judge would read for one row (with --data, the longest). The exit code is 0 if the prompt
    can be used for grading, else 2. It is also 2 if the prompt truncates a field of the row.

    [bold]Examples[/bold]

      rag-evals prompts check my_strict.jinja
      rag-evals prompts check my_strict.jinja --data answers.jsonl
    """
    made = _grader_behind(file, grader, prompts or [])
    made = made if language is None else made.with_language(language)
    sample, place = _row_from(data, made)
    messages = _first_messages(made, sample)
    shares = _arriving(sample, messages, made.requires)
    facts = {**dict(_facts(made, messages)), "row": place, **_shown_fields(shares)}
    if output.json_output:
        echo_json(json.dumps({**facts, "messages": messages}, ensure_ascii=False))
    else:
        for name, fact in facts.items():
            echo(f"{name:<15} {fact}")
        for message in messages:
            echo(f"\n--- {message['role']} message")
            echo(message["content"])
    for name, is_whole in shares.items():
        is_needed = name.partition(",")[0] in made.requires
        if is_whole is False or (is_needed and not is_whole):
            raise PromptError(f"{file}: {name} is cut or missing in {place}")
    if not output.json_output:
        echo(f"\n{file}: ok")
        used = ["--prompt", file] if Path(file).exists() else []
        used += ["--grader", grader or made.name] if grader or not used else []
        output.offer_next("grade", "DATA", *used, "--judge", "openai/gpt-4o-mini")


def _arriving(
    sample: Sample, messages: Sequence[Message], needed: Sequence[str]
) -> dict[str, bool | None]:
    texts = {name: getattr(sample, name) for name in ("question", "answer", "reference")}
    texts |= {f"context, chunk {chunk.id}": chunk.text for chunk in sample.context}
    rendered = "\n".join(message["content"] for message in messages)
    names = sorted(filter(texts.get, texts), key=lambda name: name.partition(",")[0] not in needed)
    return arrive_whole({name: str(texts[name]) for name in names}, rendered)


def _shown_fields(shares: Mapping[str, bool | None]) -> dict[str, str]:
    fields = dict.fromkeys(name.partition(",")[0] for name in shares)
    cut = {name.partition(",")[0] for name, is_whole in shares.items() if not is_whole}
    return {
        "arrives whole": ", ".join(name for name in fields if name not in cut) or "-",
        "does not": ", ".join(name for name in fields if name in cut) or "-",
    }


def _facts(
    grader: JudgedGrader[Any, Any], messages: tuple[Message, ...]
) -> Iterator[tuple[str, str]]:
    reply: Any = grader.response_model
    fields = ", ".join(fields_of_judge(reply))
    header = grader.template.header
    yield "grader", grader.name
    yield "task", grader.description or "-"
    yield "response model", f"{grader.response_model.__name__} ({fields})"
    yield "needs", ", ".join(grader.requires)
    yield "criteria", ", ".join(header.criteria) or "-"
    yield "examples", f"{len(header.examples)}, valid" if header.examples else "-"
    count, how = token_counter(grader.model)
    sizes = ", ".join(f"{count(m['content'])} in the {m['role']} message" for m in messages)
    yield "tokens", f"{sizes} ({how})"
    if grader.template.places_data:
        yield (
            "data",
            "in the prompt, which must mark them as data and repeat the task after them",
        )


def _row_from(data: Path | None, grader: JudgedGrader[Any, Any]) -> tuple[Sample, str]:
    """Return the file's longest gradable row, or a built-in row, and a description of it."""
    if data is None:
        return Sample(**_ROW), "the built-in row (for yours: --data FILE)"  # type: ignore[arg-type]  # fields
    columns = ColumnMap()
    longest: tuple[tuple[bool, int], Sample, str] = ((False, -1), Sample(), "")
    for row in read_rows(data):
        try:
            sample = columns.sample(row.values)
        except DataError as error:
            raise DataError(f"{str(data)!r}, {row.place}: {error}") from error
        chunks = [chunk.text for chunk in sample.context]
        texts = (sample.question, sample.answer, sample.reference, *chunks)
        rank = (_can_be_graded(sample, grader), sum(len(text or "") for text in texts))
        if rank > longest[0]:
            longest = (rank, sample, row.place)
    return longest[1], f"{longest[2]} of {str(data)!r}, the longest row"


def _can_be_graded(sample: Sample, grader: JudgedGrader[Any, Any]) -> bool:
    try:
        require_fields(sample, grader.requires)
    except NotScorableError:
        return False
    return True


def _grader_behind(spec: str, fallback: str | None, folders: list[Path]) -> JudgedGrader[Any, Any]:
    path = Path(spec)
    if path.exists() or path.suffix:
        return grader_from_file(path, fallback, folders=search_folders(folders))
    by_prompt = {str(grader.template.stem): grader for grader in PROMPTED.values()}
    known = {**by_prompt, **PROMPTED}
    if spec not in known:
        raise UnknownNameError.of("prompt file or shipped prompt", spec, known)
    return known[spec]


def _first_messages(grader: JudgedGrader[Any, Any], sample: Sample) -> tuple[Message, ...]:
    flow = sample_flow(grader, sample)
    try:
        steps = next(flow)
    except NotScorableError as error:
        raise ConfigurationError(f"the row cannot be graded: {error.reason}") from error
    # A prompt that cuts off a field is never sent, but this command shows it.
    except (StopIteration, JudgeRequestError):
        return grader.messages(sample)
    finally:
        flow.close()
    call = steps[0]
    assert isinstance(call, JudgeCall), "a grader with a prompt calls a judge first"
    return call.messages


@flat
def graders(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="Show only graders that match every word."),
    ] = None,
    *,
    output: Output,
) -> None:
    """List the graders: what they measure, which fields they need, and which run without a model.

    [bold]Examples[/bold]

      rag-evals graders
      rag-evals graders chunk
    """
    entries: list[Entry] = [
        {
            "grader": name,
            "what it measures": one.description or "",
            "needs": one.requires,
            "embedded judge": name in EMBEDDED_GRADERS,
        }
        for name, one in GRADERS.items()
    ]
    shown = _show_list("grader", entries, words or [], output)
    output.offer_next("grade", "DATA", "--grader", shown[0])


def _show_list(
    kind: str, entries: Sequence[Entry], words: Sequence[str], output: Output
) -> list[str]:
    """Print the entries that contain every word, and return their names."""
    wanted = [word.casefold() for word in words]
    found = [
        one
        for one in entries
        if all(word in " ".join(map(_text, one.values())).casefold() for word in wanted)
    ]
    if not found:
        names = [str(one[kind]) for one in entries]
        raise UnknownNameError.of(f"{kind} about", " ".join(words), names)
    if output.json_output:
        echo_json(json.dumps(found, ensure_ascii=False))
    else:
        table = Table(Column(kind, no_wrap=True), *[*found[0]][1:], header_style="bold")
        for one in found:
            table.add_row(*(cell(_text(value)) for value in one.values()))
        show_table(table)
    return [str(one[kind]) for one in found]


def _text(value: str | bool | Sequence[str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else ", ".join(value)
