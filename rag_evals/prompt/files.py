"""Which file is a prompt read from? Front matter, the user's folders, parents, shipped prompts."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rag_evals.core import check_settings, fault_of
from rag_evals.errors import ConfigurationError, PromptError, UnknownNameError

SUFFIX = ".jinja"

FOLDERS_VARIABLE = "RAG_EVALS_PROMPTS"
"""Environment variable with folders of prompts that come before the shipped ones."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
# The text of a prompt is read by a judge; ten novels are none.
_MAX_BYTES = 10_000_000


def _settings(given: Any) -> dict[str, Any]:
    """Check settings; pydantic takes a ValueError for the fault of a field."""
    try:
        return check_settings(given)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


class PromptHeader(BaseModel):
    """What the front matter of a prompt file says."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, description="What the grader is called in results.")
    version: int | str | None = Field(
        default=None, description="The author's own count of changes."
    )
    description: str | None = Field(
        default=None, description="The task in one line, for lists and judges."
    )
    response_model: str | None = Field(
        default=None, description="Catalog name of the reply's model."
    )
    language: str | None = Field(
        default=None, pattern=r"^[a-z]{2,3}$", description="Language the prompt is written in."
    )
    unit: Literal["claims", "sentence", "answer"] | None = Field(
        default=None, description="What gets a verdict, for replies about statements."
    )
    settings: Annotated[dict[str, Any], BeforeValidator(_settings)] = Field(
        default_factory=dict, description="What the judge is asked with, such as temperature."
    )
    criteria: dict[str, str] = Field(
        default_factory=dict, description="What a checklist asks, by name."
    )
    examples: list[dict[str, Any]] = Field(default_factory=list, description="Few-shot examples.")
    receipt: dict[str, Any] = Field(
        default_factory=dict, description="What teaching gained, as `judge teach` wrote it."
    )


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases: a few of them, each naming the one before, fill any memory."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # as the stubs have it
            raise yaml.MarkedYAMLError(None, None, "aliases (*) are not read here", mark)
        return super().compose_node(parent, index)


def split_front_matter(raw: str, origin: str) -> tuple[PromptHeader, str, int]:
    """Return the header, the template text, and how many lines stood before it."""
    found = _FRONT_MATTER.match(raw)
    if found is None:
        return PromptHeader(), raw, 0
    try:
        loaded = yaml.load(found.group(1), _Loader) or {}
        header = PromptHeader.model_validate(loaded)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        raise PromptError(f"{origin}, line {line}: front matter is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "front matter"
        known = ", ".join(PromptHeader.model_fields)
        said = first["msg"].removeprefix("Value error, ")
        raise PromptError(f"{origin}: {place}: {said}; keys are {known}") from error
    except (ValueError, TypeError, RecursionError) as error:
        # A date such as 2024-99-99, a number of 5,000 digits, ten thousand brackets.
        raise PromptError(f"{origin}: front matter cannot be read: {error}") from error
    return header, raw[found.end() :], raw.count("\n", 0, found.end())


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


@dataclass(frozen=True, slots=True)
class Parent:
    """A template that another extends or includes.

    Attributes:
        key: What errors call it: its path, or its name among the shipped prompts.
        header: Its front matter; only its description counts.
        text: The template.
        line_offset: Lines of front matter before the text.
    """

    key: str
    header: PromptHeader
    text: str
    line_offset: int


def read_template(file: Traversable, name: str) -> str:
    """Read a template's file.

    Args:
        file: On disk, or in an archive among the shipped prompts.
        name: What errors call it.

    Raises:
        PromptError: It is no file, too long, or no UTF-8 text.
    """
    fault = fault_of(file) if isinstance(file, Path) else None
    if fault is not None:
        raise PromptError(f"{name} {fault}; expected a Jinja text file")
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise PromptError(f"{name} has more than {_MAX_BYTES // 1_000_000} MB; is it a prompt?")
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{name} cannot be read: {error}") from error


def find_parent(
    name: str,
    places: Sequence[Traversable],
    language: str | None,
    chain: Collection[str],
    child: str,
) -> Parent:
    """Find a template: beside the file, in the user's folders, among the shipped prompts.

    Args:
        name: As the template's text has it.
        places: Folders to look in before the shipped prompts.
        language: The prompt's own; shipped prompts in it come before the English ones.
        chain: Keys of the templates that lead here; a file never extends itself, so that
            `score_faithfulness.jinja` of a user extends ours.
        child: Who asks; errors start with it.

    Raises:
        PromptError: There is none.
    """
    # The name comes from the template's text and must not lead out of the folders.
    if "/" not in name and "\\" not in name:
        for key, file in _candidates(name, places, language):
            if key not in chain and file.is_file():
                raw = read_template(file, f"template {key!r}")
                header, text, offset = split_front_matter(raw, key)
                return Parent(key, header, text, offset)
    raise PromptError(
        f"{child}: no template {name!r} beside it; shipped: "
        + ", ".join(f"{stem}{SUFFIX}" for stem in shipped_names())
    )


def _candidates(
    name: str, places: Sequence[Traversable], language: str | None
) -> Iterator[tuple[str, Traversable]]:
    for place in places:
        yield str(place / name), place / name
    if language in shipped_languages():
        yield f"{language}/{name}", shipped_folder() / str(language) / name
    yield name, shipped_folder() / name
