"""Which file does a template extend when it gives a name?"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from rag_evals.core import fault_of
from rag_evals.errors import PromptError
from rag_evals.prompt.header import PromptHeader, split_front_matter
from rag_evals.prompt.shipped import SUFFIX, shipped_folder, shipped_languages, shipped_names

# The text of a prompt is read by a judge; ten novels are none.
_MAX_BYTES = 10_000_000


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
