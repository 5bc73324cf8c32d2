"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file. It is parsed once, its
variables are checked against the ones that exist, and data enters it as values only.
"""

import re
import traceback
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_evals.errors import PromptError, UnknownNameError

DATA_VARIABLES = frozenset({"question", "answer", "chunks", "context"})
"""A template that uses one of these places the data itself; one that uses none is instructions."""

VARIABLES = DATA_VARIABLES | {"reference", "examples", "language"}
"""Every variable that a prompt may use."""

_TAG = re.compile(r"<([A-Za-z][\w:-]*)")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_SUFFIX = ".jinja"


class PromptHeader(BaseModel):
    """What the front matter of a prompt file says."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, description="What the grader is called in results.")
    version: int | str | None = Field(None, description="The author's own count of changes.")
    description: str | None = Field(None, description="One line for lists of prompts.")
    response_model: str | None = Field(None, description="Catalog name of the reply's model.")
    examples: list[dict[str, Any]] = Field(default_factory=list, description="Few-shot examples.")


class Prompt:
    """One template: its text, its header, and what it asks for.

    Attributes:
        text: The template as its author wrote it, without front matter.
        header: The front matter; empty for a text that did not come from a file.
        origin: File name, or `<prompt>`; errors start with it.
        tags: Names of the tags that the template writes; data must not forge them.
        places_data: True when the template shows question, answer or chunks itself.
    """

    def __init__(
        self,
        text: str,
        *,
        origin: str = "<prompt>",
        header: PromptHeader | None = None,
        folder: Path | None = None,
        line_offset: int = 0,
    ) -> None:
        """Parse the template and those that it extends or includes.

        Raises:
            PromptError: A syntax error, a variable that does not exist, or an unknown parent.
        """
        self.text = text
        self.origin = origin
        self.header = header or PromptHeader()
        # Parents travel inside the prompt, so that a pickled grader needs no files.
        self._sources: dict[str, tuple[str, str, int]] = {origin: (text, origin, line_offset)}
        used: set[str] = set()
        tags: set[str] = set()
        pending = [origin]
        while pending:
            tree = self._parse(pending.pop())
            used |= meta.find_undeclared_variables(tree)
            tags.update(
                tag for data in tree.find_all(nodes.TemplateData) for tag in _TAG.findall(data.data)
            )
            for name in meta.find_referenced_templates(tree):
                if name is not None and name not in self._sources:
                    self._sources[name] = _read_parent(name, folder, origin)
                    pending.append(name)
        self.tags = frozenset(tags)
        self.places_data = bool(used & DATA_VARIABLES)

    @classmethod
    def load(cls, prompt: "str | Path | Prompt") -> "Prompt":
        """Make a prompt from text, from a file, or leave one as it is.

        Args:
            prompt: A string is the template itself; a `Path` is a file, front matter optional.
        """
        if isinstance(prompt, Prompt):
            return prompt
        if isinstance(prompt, Path):
            return cls.from_file(prompt)
        if prompt.endswith(_SUFFIX) and "\n" not in prompt:
            raise PromptError(f"prompt {prompt!r} looks like a file; pass it as Path({prompt!r})")
        return cls(prompt)

    @classmethod
    def from_file(cls, path: Path) -> "Prompt":
        """Read a prompt file.

        Raises:
            PromptError: The file cannot be read, or its front matter is not valid.
        """
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "missing"
            raise PromptError(f"prompt file {str(path)!r} is {kind}; expected a Jinja text file")
        try:
            raw = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"prompt file {str(path)!r} cannot be read: {error}") from error
        return cls._from_source(raw, origin=str(path), folder=path.parent)

    @classmethod
    def shipped(cls, name: str) -> "Prompt":
        """Read one of the prompts that come with rag_evals, by the stem of its file."""
        return cls._from_source(shipped_source(name), origin=f"{name}{_SUFFIX}")

    @classmethod
    def _from_source(cls, raw: str, *, origin: str, folder: Path | None = None) -> "Prompt":
        header, text, offset = _split_front_matter(raw, origin)
        return cls(text, origin=origin, header=header, folder=folder, line_offset=offset)

    def sources(self) -> list[str]:
        """Return every text that can change what is rendered: the template's and its parents'."""
        return [text for text, _, _ in self._sources.values()]

    def render(self, variables: Mapping[str, object]) -> str:
        """Fill the template.

        Args:
            variables: One value for each name in `VARIABLES`; what the sample lacks is None.

        Raises:
            PromptError: The template reads something that a value does not have.
        """
        try:
            return self._template.render(variables)
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self._error(_template_line(error), str(error), self.origin) from error

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        # No HTML escaping: the judge must see the data byte for byte.
        return ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            loader=jinja2.FunctionLoader(lambda name: self._sources[name][0]),
        )

    @cached_property
    def _template(self) -> jinja2.Template:
        return self._environment.get_template(self.origin)

    def _parse(self, name: str) -> nodes.Template:
        text, _, _ = self._sources[name]
        try:
            tree = self._environment.parse(text)
        except jinja2.TemplateSyntaxError as error:
            raise self._error(error.lineno, str(error.message), name) from error
        unknown = meta.find_undeclared_variables(tree) - VARIABLES
        for node in tree.find_all(nodes.Name):
            if node.name in unknown:
                raise self._error(
                    node.lineno, f"unknown variable {node.name!r}; {_there_are()}", name
                )
        return tree

    def _error(self, line: int | None, message: str, name: str) -> PromptError:
        _, origin, offset = self._sources[name]
        place = origin if line is None else f"{origin}, line {line + offset}"
        return PromptError(f"{place}: {message}")

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled template behind: it cannot be pickled and is made again."""
        dropped = ("_environment", "_template")
        return {name: value for name, value in vars(self).items() if name not in dropped}


def shipped_folder() -> Traversable:
    """Return the folder of the prompts that come with rag_evals, installed or in a checkout."""
    installed = resources.files("rag_evals") / "_prompts"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "prompts"


def shipped_source(name: str) -> str:
    """Return the whole file of a shipped prompt, front matter included.

    Raises:
        UnknownNameError: There is none of that name.
    """
    if name not in shipped_names():
        raise UnknownNameError.of("prompt", name, shipped_names())
    return (shipped_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def shipped_names() -> list[str]:
    """List the stems of the shipped prompt files, sorted."""
    return sorted(_stems(shipped_folder()))


def _stems(folder: Traversable) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.name.endswith(_SUFFIX):
            yield entry.name.removesuffix(_SUFFIX)


def _read_parent(name: str, folder: Path | None, child: str) -> tuple[str, str, int]:
    """Find a template that another extends: beside it, else among the shipped ones."""
    places: list[Traversable] = [shipped_folder()] if folder is None else [folder, shipped_folder()]
    for place in places:
        file = place / name
        # The name comes from the template's text and must not lead out of the folder.
        if "/" not in name and "\\" not in name and file.is_file():
            _, text, offset = _split_front_matter(file.read_text(encoding="utf-8"), name)
            return text, name, offset
    raise PromptError(
        f"{child}: no template {name!r} beside it; shipped: "
        + ", ".join(f"{stem}{_SUFFIX}" for stem in shipped_names())
    )


def _split_front_matter(raw: str, origin: str) -> tuple[PromptHeader, str, int]:
    """Return the header, the template text, and how many lines stood before it."""
    found = _FRONT_MATTER.match(raw)
    if found is None:
        return PromptHeader(), raw, 0
    try:
        loaded = yaml.safe_load(found.group(1)) or {}
        header = PromptHeader.model_validate(loaded)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        raise PromptError(f"{origin}, line {line}: front matter is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "front matter"
        known = ", ".join(PromptHeader.model_fields)
        raise PromptError(f"{origin}: {place}: {first['msg']}; keys are {known}") from error
    return header, raw[found.end() :], raw.count("\n", 0, found.end())


def _template_line(error: Exception) -> int | None:
    """Return the line of the template that raised; Jinja puts it into the traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<template>"]
    return frames[-1].lineno if frames else None


def _there_are() -> str:
    return f"there are: {', '.join(sorted(VARIABLES))}"
