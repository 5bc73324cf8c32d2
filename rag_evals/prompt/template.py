"""How does a template file become the text that a judge reads?

A prompt is Jinja text, with YAML front matter when it comes from a file: the user's folders first,
then parents and shipped prompts. It is parsed once, its variables are checked against the ones that
exist, and data enters it as values only.
"""

import copy
import os
import re
import traceback
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import jinja2
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rag_evals.core import check_settings, fault_of, fingerprint
from rag_evals.errors import ConfigurationError, PromptError, UnknownNameError
from rag_evals.prompt.escaping import TAGS, ShownText, printed

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
    """Return the header, the template text, and how many lines come before it."""
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
    """A template that another extends or includes."""

    key: str
    header: PromptHeader
    text: str
    line_offset: int


def read_template(file: Traversable, name: str) -> str:
    """Read a template's file.

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
    """Find a template: next to the file, in the user's folders, among the shipped prompts.

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
        f"{child}: no template {name!r} next to it; shipped: "
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


DATA_VARIABLES = frozenset({"question", "answer", "sentences", "chunks", "context", "statements"})
"""A template that uses one of these places the data itself; one that uses none is instructions."""

VARIABLES = DATA_VARIABLES | {
    "reference", "examples", "language", "criteria", "task", "hardened", "statement_settings",
    "unit",
}  # fmt: skip
"""Every variable that a prompt may use."""

# What a template raises that does too much for the stack, and that reads what is not there.
_DEEP = (RecursionError, SyntaxError, MemoryError)
_WRONG = (
    jinja2.TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
)
_OF_A_TEXT = ("id", "text", "metadata")
_TAG = re.compile(r"<([A-Za-z][\w:-]*)")


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox that knows which file each template means by a name."""

    links: Mapping[tuple[str, str], str]

    def join_path(self, template: str, parent: str) -> str:
        """Return the key of the template that `parent` calls `template`."""
        return self.links.get((parent, template), template)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute; a chunk has its own, and none of the methods of a text."""
        if isinstance(obj, ShownText) and attribute not in _OF_A_TEXT:
            return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)


class Prompt:
    """One template: its text, its header, and what it asks for.

    Attributes:
        text: The template as its author wrote it, without front matter.
        header: The front matter; empty for a text that did not come from a file.
        origin: File name, or `<prompt>`; errors start with it.
        task: What it asks, in one line: its description, else that of what it extends.
        tags: Names of the tags that the template writes; data must not forge them.
        places_data: True when the template shows question, answer or chunks itself.
        is_same_for_all: True when a sample, its language left out, changes nothing in it.
    """

    def __init__(
        self,
        text: str,
        *,
        origin: str = "<prompt>",
        header: PromptHeader | None = None,
        places: Sequence[Traversable] = (),
        line_offset: int = 0,
    ) -> None:
        """Parse the template and those that it extends or includes.

        Args:
            text: The template, without front matter.
            origin: What errors call it.
            header: Its front matter.
            places: Folders to find parents in, before the shipped prompts.
            line_offset: Lines of front matter before the text.

        Raises:
            PromptError: A syntax error, a variable that does not exist, or an unknown parent.
        """
        self.text = text
        self.origin = origin
        self.header = header or PromptHeader()
        # Parents travel inside the prompt, so that a pickled grader needs no files.
        self._sources: dict[str, tuple[str, int]] = {origin: (text, line_offset)}
        self._links: dict[tuple[str, str], str] = {}
        used: set[str] = set()
        draws = False
        tags: set[str] = set()
        blocks: set[str] = set()
        tasks = [self.header.description]
        # Each template with those that lead to it: none of them can be its parent.
        pending: list[tuple[str, frozenset[str]]] = [(origin, frozenset([origin]))]
        while pending:
            key, chain = pending.pop()
            tree = self._parse(key)
            used |= meta.find_undeclared_variables(tree)
            draws = draws or any(found.name == "random" for found in tree.find_all(nodes.Filter))
            blocks |= {block.name for block in tree.find_all(nodes.Block)}
            tags.update(
                tag for data in tree.find_all(nodes.TemplateData) for tag in _TAG.findall(data.data)
            )
            for name in meta.find_referenced_templates(tree):
                if name is None:
                    continue
                parent = find_parent(name, places, self.header.language, chain, key)
                tasks.append(parent.header.description)
                self._links[key, name] = parent.key
                if parent.key not in self._sources:
                    self._sources[parent.key] = (parent.text, parent.line_offset)
                    pending.append((parent.key, chain | {parent.key}))
        self.task = next((task for task in tasks if task), "")
        # The tags of a block that a variable prints are the template's, too.
        self.tags = frozenset(tags | {tag for name, tag in TAGS.items() if name in used})
        self.places_data = bool(used & DATA_VARIABLES)
        self.is_same_for_all = not draws and used.isdisjoint(DATA_VARIABLES | {"reference"})
        self._used = frozenset(used)
        self._blocks = frozenset(blocks)
        # The stem of a shipped prompt: it may have versions in other languages.
        self._stem: str | None = None

    @classmethod
    def load(cls, prompt: "str | Path | Prompt") -> "Prompt":
        """Make a prompt from text or a file; return a prompt unchanged.

        Args:
            prompt: A string is the template itself; a `Path` is a file, front matter optional.
        """
        if isinstance(prompt, Prompt):
            return prompt
        if isinstance(prompt, Path):
            return cls.from_file(prompt)
        if prompt.endswith(SUFFIX) and "\n" not in prompt:
            raise PromptError(f"prompt {prompt!r} looks like a file; pass it as Path({prompt!r})")
        stem = _shipped_texts().get(prompt)
        if stem is None:
            return cls(prompt)
        # The text of a shipped prompt is that prompt, its other languages included; its name is
        # not taken, since another response model may be meant.
        known = cls.shipped(stem)
        known.header = known.header.model_copy(update={"name": None})
        return known

    @classmethod
    def from_file(cls, path: Path, folders: Sequence[Path] | None = None) -> "Prompt":
        """Read a prompt file.

        Args:
            path: A Jinja file, front matter optional.
            folders: Where else to find what it extends, before the shipped prompts; None takes
                those of `RAG_EVALS_PROMPTS`.

        Raises:
            PromptError: The file cannot be read, or its front matter is not valid.
        """
        raw = read_template(path, f"prompt file {str(path)!r}")
        places = [path.parent, *(search_folders() if folders is None else folders)]
        prompt = cls._from_source(raw, origin=str(path), places=places)
        prompt._compile()
        return prompt

    @classmethod
    def shipped(cls, name: str, language: str | None = None) -> "Prompt":
        """Read one of the prompts that come with rag_evals, by the stem of its file.

        Args:
            name: The stem.
            language: Code of a language that the prompt is shipped in; None is English.
        """
        stem = name if language is None else f"{language}/{name}"
        prompt = cls._from_source(shipped_source(stem), origin=f"{stem}{SUFFIX}")
        prompt._stem = name if language is None else None
        return prompt

    @classmethod
    def _from_source(cls, raw: str, *, origin: str, places: Sequence[Traversable] = ()) -> "Prompt":
        header, text, offset = split_front_matter(raw, origin)
        return cls(text, origin=origin, header=header, places=places, line_offset=offset)

    def in_language(self, language: str | None) -> "Prompt":
        """Return the shipped version in a language, or the prompt itself."""
        code = (language or "").lower().replace("_", "-").partition("-")[0]
        if self._stem is None or code not in shipped_languages():
            return self
        return _shipped_in(self._stem, code) or self

    @property
    def shipped_name(self) -> str | None:
        """The stem of a shipped English prompt, else None."""
        return self._stem

    def on_top_of(self, parent: "Prompt") -> "Prompt":
        """Return this prompt with another one in place of what it extends.

        Args:
            parent: What is extended instead; its blocks are overridden by this prompt's.
        """
        changed = copy.copy(self)
        changed.__dict__ = self.__getstate__()
        names = [name for child, name in self._links if child == self.origin]
        changed._sources = {**parent._sources, self.origin: self._sources[self.origin]}
        changed._links = parent._links | {(self.origin, name): parent.origin for name in names}
        changed.tags = self.tags | parent.tags
        changed._used = self._used | parent._used
        changed.is_same_for_all = self.is_same_for_all and parent.is_same_for_all
        changed._blocks = self._blocks | parent._blocks
        changed._stem = None
        return changed

    def uses(self, variable: str) -> bool:
        """Say whether the template, or one that it extends, uses a variable."""
        return variable in self._used

    def blocks(self) -> frozenset[str]:
        """Return the names of the blocks that a prompt which extends this one may override."""
        return self._blocks

    def fingerprint(self) -> str:
        """Return a hash of its sources in every language."""
        return fingerprint(self.sources_by_language())

    def sources_by_language(self) -> dict[str, list[str]]:
        """Return `sources` for each language that the prompt comes in; its own is `""`."""
        found = {"": self.sources()}
        for code in shipped_languages() if self._stem else ():
            version = self.in_language(code)
            if version is not self:
                found[code] = version.sources()
        return found

    def examples_by_language(self) -> dict[str, list[dict[str, Any]]]:
        """Return the examples of the front matter, as `sources_by_language` does the texts."""
        codes = shipped_languages() if self._stem else ()
        return {"": self.header.examples} | {
            code: self.in_language(code).header.examples for code in codes
        }

    def sources(self) -> list[str]:
        """Return the texts of the template and its parents."""
        return [text for text, _ in self._sources.values()]

    def render(self, variables: Mapping[str, object]) -> str:
        """Fill the template.

        Args:
            variables: One value for each name in `VARIABLES`; what the sample lacks is None.

        Raises:
            PromptError: The template reads something that a value does not have.
        """
        self._compile()
        try:
            return self._template.render(variables)
        except (*_DEEP, *_WRONG) as error:
            raise self._error(_template_line(error), _reason(error), self.origin) from error

    def _compile(self) -> None:
        try:
            _ = self._template
        except jinja2.TemplateSyntaxError as error:
            raise self._error(error.lineno, str(error.message), self.origin) from error
        except (*_DEEP, *_WRONG) as error:
            raise self._error(None, _reason(error), self.origin) from error

    @cached_property
    def _environment(self) -> _Environment:
        # No HTML escaping: the judge must see the data byte for byte.
        environment = _Environment(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=printed,
            loader=jinja2.FunctionLoader(lambda key: self._sources[key][0]),
        )
        environment.links = self._links
        # Words that nobody wrote are no prompt.
        del environment.globals["lipsum"]
        return environment

    @cached_property
    def _template(self) -> jinja2.Template:
        return self._environment.get_template(self.origin)

    @cached_property
    def kept(self) -> dict[Hashable, str]:
        """What a `Rendering` has made of it before, where that is the same for all samples."""
        return {}

    def _parse(self, name: str) -> nodes.Template:
        text, _ = self._sources[name]
        try:
            tree = self._environment.parse(text)
            for test in tree.find_all(nodes.Test):
                if test.name not in self._environment.tests:
                    raise self._error(test.lineno, f"No test named {test.name!r}.", name)
            unknown = meta.find_undeclared_variables(tree) - VARIABLES
        except jinja2.TemplateSyntaxError as error:
            raise self._error(error.lineno, str(error.message), name) from error
        except (*_DEEP, ValueError) as error:
            raise self._error(None, _reason(error), name) from error
        places = sorted(
            {(n.lineno, n.name) for n in tree.find_all(nodes.Name) if n.name in unknown}
        )
        if places:
            _, offset = self._sources[name]
            first, *others = places
            more = "".join(f"; line {line + offset}: {word!r} too" for line, word in others)
            raise self._error(
                first[0], f"unknown variable {first[1]!r}{more}; {_there_are()}", name
            )
        return tree

    def _error(self, line: int | None, message: str, name: str) -> PromptError:
        _, offset = self._sources[name]
        place = name if line is None else f"{name}, line {line + offset}"
        return PromptError(f"{place}: {message}")

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was made of the texts: it cannot be pickled, or is made again."""
        dropped = ("_environment", "_template", "kept")
        return {name: value for name, value in vars(self).items() if name not in dropped}


@cache
def _shipped_in(stem: str, language: str) -> Prompt | None:
    return Prompt.shipped(stem, language) if stem in shipped_names(language) else None


@cache
def _shipped_texts() -> dict[str, str]:
    """Return the stem of each shipped prompt by its text."""
    return {split_front_matter(shipped_source(stem), stem)[1]: stem for stem in shipped_names()}


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError) and not isinstance(error.__context__, RecursionError):
        return "the template needs more memory than there is"
    if isinstance(error, _DEEP):
        # Python's words for it ("too many statically nested blocks") name nothing of the template.
        return "the template is nested too deeply, or calls itself without end"
    return str(error)


def _template_line(error: Exception) -> int | None:
    """Return the line of the template that raised; Jinja puts it into the traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<template>"]
    return frames[-1].lineno if frames else None


def _there_are() -> str:
    return f"there are: {', '.join(sorted(VARIABLES))}"
