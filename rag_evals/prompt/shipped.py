"""Where do prompts come from? The user's folders, then the files that come with rag_evals."""

import os
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from rag_evals.errors import PromptError, UnknownNameError

SUFFIX = ".jinja"

FOLDERS_VARIABLE = "RAG_EVALS_PROMPTS"
"""Environment variable with folders of prompts that come before the shipped ones."""


def shipped_folder() -> Traversable:
    """Return the folder of the prompts that come with rag_evals, installed or in a checkout."""
    installed = resources.files("rag_evals") / "_prompts"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "prompts"


def shipped_source(name: str) -> str:
    """Return the whole file of a shipped prompt, front matter included.

    Args:
        name: Its stem, or `ru/STEM` for a version in another language.

    Raises:
        UnknownNameError: There is none of that name.
    """
    code, slash, stem = name.rpartition("/")
    known = shipped_names(code or None) if not slash or code in shipped_languages() else []
    if stem not in known:
        raise UnknownNameError.of("prompt", name, shipped_names())
    return (shipped_folder() / f"{name}{SUFFIX}").read_text(encoding="utf-8")


@cache
def shipped_names(language: str | None = None) -> tuple[str, ...]:
    """List the stems of the shipped prompt files, sorted; those of another language on demand."""
    folder = shipped_folder() if language is None else shipped_folder() / language
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(n.removesuffix(SUFFIX) for n in names if n.endswith(SUFFIX)))


@cache
def shipped_languages() -> tuple[str, ...]:
    """List the codes of the languages of shipped prompts, without English."""
    return tuple(sorted(entry.name for entry in shipped_folder().iterdir() if entry.is_dir()))


def search_folders(first: Sequence[Path] = ()) -> list[Path]:
    """Return the user's prompt folders: those given, then those of `RAG_EVALS_PROMPTS`.

    Raises:
        PromptError: One of them is not a folder.
    """
    named = os.environ.get(FOLDERS_VARIABLE, "")
    folders = [*first, *(Path(part) for part in named.split(os.pathsep) if part)]
    for folder in folders:
        if not folder.is_dir():
            raise PromptError(f"prompt folder {str(folder)!r} is not a folder")
    return folders
