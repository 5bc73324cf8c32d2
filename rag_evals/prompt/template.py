"""Prompt templates: Jinja text, with YAML front matter if the template comes from a file."""

import copy
import os
import re
import traceback
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
"""Environment variable with prompt folders, which are searched before the shipped prompts."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
# The length of ten novels, more than any judge can read.
_MAX_BYTES = 10_000_000


class PromptHeader(BaseModel):
    """The front matter of a prompt file; `judge teach` writes the measured gain to `receipt`."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    version: int | str | None = None
    description: str | None = None
    response_model: str | None = None
    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}$")
    unit: Literal["claims", "sentence", "answer"] | None = None
    settings: Annotated[dict[str, Any], BeforeValidator(check_settings)] = {}
    criteria: dict[str, str] = {}
    examples: list[dict[str, Any]] = []
    receipt: dict[str, Any] = {}


class _Loader(yaml.SafeLoader):
    """A safe YAML loader that rejects aliases, because a few nested ones can exhaust memory."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # as the stubs have it
            raise yaml.MarkedYAMLError(None, None, "aliases (*) are not allowed here", mark)
        return super().compose_node(parent, index)


def split_front_matter(raw: str, origin: str) -> tuple[PromptHeader, str, int]:
    """Return the header, the template text, and the number of lines before the text."""
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
        raise PromptError(f"{origin}: {place}: {first['msg']}; allowed keys: {known}") from error
    except ConfigurationError as error:
        raise PromptError(f"{origin}: settings: {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        # For example, a date such as 2024-99-99, a number with 5,000 digits, or 10,000 brackets.
        raise PromptError(f"{origin}: front matter cannot be read: {error}") from error
    return header, raw[found.end() :], raw.count("\n", 0, found.end())


def shipped_folder() -> Traversable:
    """Return the folder of the shipped prompts, whether installed or in a checkout."""
    installed = resources.files("rag_evals") / "_prompts"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "prompts"


def shipped_source(name: str) -> str:
    """Return the source of a shipped prompt, given a name such as `STEM` or `ru/STEM`."""
    code, slash, stem = name.rpartition("/")
    known = shipped_names(code or None) if not slash or code in shipped_languages() else []
    if stem not in known:
        raise UnknownNameError.of("prompt", name, shipped_names())
    return (shipped_folder() / f"{name}{SUFFIX}").read_text(encoding="utf-8")


@cache
def shipped_names(language: str | None = None) -> tuple[str, ...]:
    """Return the stems of the shipped prompt files in a language, sorted; None is English."""
    folder = shipped_folder() if language is None else shipped_folder() / language
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(n.removesuffix(SUFFIX) for n in names if n.endswith(SUFFIX)))


@cache
def shipped_languages() -> tuple[str, ...]:
    """Return the language codes of shipped prompts, except English."""
    return tuple(sorted(entry.name for entry in shipped_folder().iterdir() if entry.is_dir()))


def search_folders(first: Sequence[Path] = ()) -> list[Path]:
    """Return the user's prompt folders: `first`, then those in `RAG_EVALS_PROMPTS`."""
    named = os.environ.get(FOLDERS_VARIABLE, "")
    folders = [*first, *(Path(part) for part in named.split(os.pathsep) if part)]
    for folder in folders:
        if not folder.is_dir():
            raise PromptError(f"prompt folder {str(folder)!r} is not a folder")
    return folders


def read_template(file: Traversable, name: str) -> str:
    """Read a template; raise `PromptError` if it is not a file, too long or not UTF-8."""
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


def _find_parent(
    name: str,
    places: Sequence[Traversable],
    language: str | None,
    chain: Collection[str],
    child: str,
) -> tuple[str, PromptHeader, str, int]:
    """Find a template by name; return its key and the result of `split_front_matter`.

    `chain` lists the prompt and the templates between it and this one. A file never extends itself,
    so a user's `score_faithfulness.jinja` can extend the shipped file of the same name.
    """
    shipped = shipped_folder()
    files = [(str(place / name), place / name) for place in places]
    if language in shipped_languages():
        files.append((f"{language}/{name}", shipped / str(language) / name))
    files.append((name, shipped / name))
    # The name comes from the template's text, and must not point outside the folders.
    for key, file in files if "/" not in name and "\\" not in name else ():
        if key not in chain and file.is_file():
            return key, *split_front_matter(read_template(file, f"template {key!r}"), key)
    raise PromptError(
        f"{child}: no template {name!r} next to it; shipped templates: "
        + ", ".join(f"{stem}{SUFFIX}" for stem in shipped_names())
    )


DATA_VARIABLES = frozenset({"question", "answer", "sentences", "chunks", "context", "statements"})
"""A template that uses one of these shows the data itself; any other has only instructions."""

VARIABLES = DATA_VARIABLES | {
    "reference", "examples", "language", "criteria", "task", "hardened", "statement_settings",
    "unit",
}  # fmt: skip
"""The variables available in prompts."""

# Raised by templates that need too much stack or memory, or contain invalid expressions.
_DEEP = (RecursionError, SyntaxError, MemoryError)
_WRONG = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
_OF_A_TEXT = ("id", "text", "metadata")
_OF_A_DICT = frozenset(dir(dict))
_TAG = re.compile(r"<([A-Za-z][\w:-]*)")


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox that resolves the names of parents separately for each template."""

    links: Mapping[tuple[str, str], str]

    def join_path(self, template: str, parent: str) -> str:
        return self.links.get((parent, template), template)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute; a chunk exposes only id, text and metadata, not methods of `str`."""
        if isinstance(obj, ShownText) and attribute not in _OF_A_TEXT:
            return self.undefined(obj=obj, name=attribute)
        # Jinja looks for an attribute first, and an `AttributeError` takes long.
        if type(obj) is dict and attribute in obj and attribute not in _OF_A_DICT:
            return obj[attribute]
        return super().getattr(obj, attribute)


class Prompt:
    """A template: its text, its header and its variables.

    Attributes:
        origin: File name, or `<prompt>`; used in errors.
        stem: File stem of a shipped English prompt, which may have versions in other languages;
            None for other prompts.
        task: A one-line description: the template's own, or that of a template it extends.
        tags: Names of the tags in the template, which data must not forge.
        places_data: True if the template shows question, answer or chunks itself.
        is_same_for_all: True if the language is the only part of a sample that it uses.
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
        """Parse the template, and those that it extends or includes.

        Parents are looked up in `places`, then among the shipped prompts. `line_offset` is the
        number of lines of front matter before the text.
        """
        self.text = text
        self.origin = origin
        self.header = header or PromptHeader()
        # The prompt contains its parents' texts, so that a pickled grader does not need files.
        self._sources: dict[str, tuple[str, int]] = {origin: (text, line_offset)}
        self._links: dict[tuple[str, str], str] = {}
        used: set[str] = set()
        draws = False
        tags: set[str] = set()
        tasks = [self.header.description]
        # Each template with the templates that extend it, none of which it may extend in turn.
        pending: list[tuple[str, frozenset[str]]] = [(origin, frozenset([origin]))]
        while pending:
            key, chain = pending.pop()
            tree = self._parse(key)
            used |= meta.find_undeclared_variables(tree)
            draws = draws or any(found.name == "random" for found in tree.find_all(nodes.Filter))
            tags.update(
                tag for data in tree.find_all(nodes.TemplateData) for tag in _TAG.findall(data.data)
            )
            for name in filter(None, meta.find_referenced_templates(tree)):
                parent, above, source, lines = _find_parent(
                    name, places, self.header.language, chain, key
                )
                tasks.append(above.description)
                self._links[key, name] = parent
                if parent not in self._sources:
                    self._sources[parent] = (source, lines)
                    pending.append((parent, chain | {parent}))
        self.task = next((task for task in tasks if task), "")
        # Also include the tags around the items of rendered variables.
        self.tags = frozenset(tags | {tag for name, tag in TAGS.items() if name in used})
        self.places_data = bool(used & DATA_VARIABLES)
        self.is_same_for_all = not draws and used.isdisjoint(DATA_VARIABLES | {"reference"})
        self._used = frozenset(used)
        self.stem: str | None = None

    @classmethod
    def load(cls, prompt: "str | Path | Prompt") -> "Prompt":
        """Create a prompt from a template's text or `Path`; return a prompt unchanged."""
        if isinstance(prompt, Prompt):
            return prompt
        if isinstance(prompt, Path):
            return cls.from_file(prompt)
        if prompt.endswith(SUFFIX) and "\n" not in prompt:
            raise PromptError(f"prompt {prompt!r} looks like a file; pass it as Path({prompt!r})")
        stem = _shipped_texts().get(prompt)
        if stem is None:
            return cls(prompt)
        # The text of a shipped prompt selects that prompt, in all its languages, but without its
        # name, because it may be used with a different response model.
        known = copy.copy(cls.shipped(stem))
        known.header = known.header.model_copy(update={"name": None})
        return known

    @classmethod
    def from_file(cls, path: Path, folders: Sequence[Path] | None = None) -> "Prompt":
        """Read a prompt file, and its parents from its folder, `folders` and the shipped prompts.

        If `folders` is None, those in `RAG_EVALS_PROMPTS` are searched.
        """
        raw = read_template(path, f"prompt file {str(path)!r}")
        places = [path.parent, *(search_folders() if folders is None else folders)]
        prompt = cls._from_source(raw, origin=str(path), places=places)
        with prompt._errors_in(prompt.origin):
            _ = prompt._template
        return prompt

    @classmethod
    @cache
    def shipped(cls, name: str, language: str | None = None) -> "Prompt":
        """Load a shipped prompt by its file stem and language; None means English."""
        stem = name if language is None else f"{language}/{name}"
        prompt = cls._from_source(shipped_source(stem), origin=f"{stem}{SUFFIX}")
        prompt.stem = name if language is None else None
        return prompt

    @classmethod
    def _from_source(cls, raw: str, *, origin: str, places: Sequence[Traversable] = ()) -> "Prompt":
        header, text, offset = split_front_matter(raw, origin)
        return cls(text, origin=origin, header=header, places=places, line_offset=offset)

    def in_language(self, language: str | None) -> "Prompt":
        """Return the shipped version in a language, or the prompt itself if there is none."""
        code = (language or "").lower().replace("_", "-").partition("-")[0]
        if self.stem is None or code not in shipped_languages():
            return self
        return self.shipped(self.stem, code) if self.stem in shipped_names(code) else self

    def uses(self, variable: str) -> bool:
        """True if the template or one of its parents uses a variable."""
        return variable in self._used

    def fingerprint(self) -> str:
        """Return a hash of the sources in every language."""
        return fingerprint({code: one.sources() for code, one in self.versions().items()})

    def versions(self) -> dict[str, "Prompt"]:
        """Return the prompt in every language; the key of the prompt itself is `""`."""
        others = {code: self.in_language(code) for code in shipped_languages()}
        return {"": self} | {code: one for code, one in others.items() if one is not self}

    def sources(self) -> list[str]:
        """Return the texts of the template and its parents."""
        return [text for text, _ in self._sources.values()]

    def render(self, variables: Mapping[str, object]) -> str:
        """Render the template with a value for each of `VARIABLES`."""
        # Entering a context manager for each rendering would be slow.
        try:
            return self._template.render(variables)
        except Exception:
            with self._errors_in(self.origin):
                raise

    @contextmanager
    def _errors_in(self, name: str) -> Iterator[None]:
        """Convert an error in the body to a `PromptError` with the line number in the template."""
        try:
            yield
        except jinja2.TemplateSyntaxError as error:
            raise self._error(error.lineno, str(error.message), name) from error
        except (*_DEEP, *_WRONG) as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == "<template>"]
            raise self._error(lines[-1] if lines else None, _reason(error), name) from error

    @cached_property
    def _environment(self) -> _Environment:
        # No HTML escaping: the judge must see the data as it is.
        environment = _Environment(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=printed,
            loader=jinja2.FunctionLoader(lambda key: self._sources[key][0]),
        )
        environment.links = self._links
        # `lipsum` generates random words.
        del environment.globals["lipsum"]
        return environment

    @cached_property
    def _template(self) -> jinja2.Template:
        template = self._environment.get_template(self.origin)
        # Each render copies the globals, and Jinja's chain of dictionaries is slow to copy.
        template.globals = dict(template.globals)
        return template

    @cached_property
    def kept(self) -> dict[Hashable, str]:
        """Rendered texts that are the same for all samples."""
        return {}

    def _parse(self, name: str) -> nodes.Template:
        text, _ = self._sources[name]
        with self._errors_in(name):
            tree = self._environment.parse(text)
            for test in tree.find_all(nodes.Test):
                if test.name not in self._environment.tests:
                    raise self._error(test.lineno, f"No test named {test.name!r}.", name)
            unknown = meta.find_undeclared_variables(tree) - VARIABLES
        places = sorted(
            {(n.lineno, n.name) for n in tree.find_all(nodes.Name) if n.name in unknown}
        )
        if places:
            _, offset = self._sources[name]
            first, *others = places
            more = "".join(f"; line {line + offset}: also {word!r}" for line, word in others)
            known = ", ".join(sorted(VARIABLES))
            raise self._error(
                first[0], f"unknown variable {first[1]!r}{more}; variables are: {known}", name
            )
        return tree

    def _error(self, line: int | None, message: str, name: str) -> PromptError:
        _, offset = self._sources[name]
        place = name if line is None else f"{name}, line {line + offset}"
        return PromptError(f"{place}: {message}")

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled templates and rendered texts out of pickles; they can be recreated."""
        dropped = ("_environment", "_template", "kept")
        return {name: value for name, value in vars(self).items() if name not in dropped}


@cache
def _shipped_texts() -> dict[str, str]:
    """Return the file stems of the shipped prompts, keyed by text."""
    return {split_front_matter(shipped_source(stem), stem)[1]: stem for stem in shipped_names()}


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError) and not isinstance(error.__context__, RecursionError):
        return "the template needs more memory than is available"
    if isinstance(error, _DEEP):
        # Python's message ("too many statically nested blocks") does not help authors.
        return "the template is nested too deeply, or recurses endlessly"
    return str(error)
