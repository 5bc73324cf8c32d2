"""Which graders does a command mean? The options that choose them, the same for every command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.catalog import GRADERS, PROMPTED, grader_from_file, grader_named
from rag_evals.cli.shared.complete import languages
from rag_evals.cli.shared.own_graders import is_own_grader, own_grader
from rag_evals.grading import Grader
from rag_evals.prompt import search_folders

PromptFolders = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Your prompts, before the shipped ones. Also: $RAG_EVALS_PROMPTS."
    ),
]
LanguageCode = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Language of rows without one, such as ru.",
        autocompletion=languages,
    ),
]


def chosen_graders(
    names: Sequence[str],
    prompt: Path | None,
    folders: Sequence[Path] = (),
    language: str | None = None,
) -> list[Grader[Any]]:
    """Find the graders that the options name.

    Args:
        names: What `--grader` was given; none is `faithfulness`.
        prompt: What `--prompt` was given.
        folders: What `--prompts` was given; those of the environment follow.
        language: What `--language` was given.

    Raises:
        ConfigurationError: A grader, a file or a folder that cannot be used.
    """
    places = search_folders(folders)
    if prompt is None:
        graders = [
            own_grader(name) if is_own_grader(name) else grader_named(name, places)
            for name in names or ["faithfulness"]
        ]
    elif any(map(is_own_grader, names)):
        raise typer.BadParameter(
            f"--prompt makes a grader of a file, and {names[0]!r} is one already; leave one out"
        )
    elif len(names) > 1:
        raise typer.BadParameter("one prompt file makes one grader; give --grader at most once")
    elif names and names[0] in GRADERS and names[0] not in PROMPTED:
        raise typer.BadParameter(
            f"grader {names[0]!r} has more than one prompt; give a folder with its prompts by "
            "--prompts, or leave --prompt out"
        )
    else:
        fallback = names[0] if names else None
        graders = [grader_from_file(prompt, fallback=fallback, folders=places)]
    if language is None:
        return graders
    return [grader.with_language(language) for grader in graders]
