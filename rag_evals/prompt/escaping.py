"""Escapes data in prompts, so that it cannot forge the prompt's tags.

Data always appears between tags written by the template. If anything in the data looks like one of
these tags, its `<` is escaped; nothing else changes. This reduces the risk of prompt injection, but
does not eliminate it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from jinja2 import Undefined

from rag_evals.core import Chunk

ESCAPED = "&lt;"
"""Replacement for the `<` of a forged tag in data."""

# `<` itself, its crossed-out, full-width and small forms, and brackets that look like it.
_OPENING = re.compile("[<≮＜﹤‹\u2329〈⟨❬❮❰⦑⧼˂ᐸᚲ≺⋖𝈶]")
# Slashes, strokes and marks that may come between `<` and the name.
_SLASHES = "/⁄∕⧸╱⟋丿ノ〳\\∖⧵⧹⟍|!?"
_NAME = re.compile(r"[\w:-]+")
# Letters that look like `>`; other closing characters are not letters, so they end a name anyway.
_CLOSING = str.maketrans("ᐳ𖼿", ">>")
# Invisible characters that are not spaces in Unicode.
_EMPTY = "\u115f\u1160\u2800\ufffc\U0001d159"
# Letters that look like Latin ones: those in Unicode's table of confusables (UTS 39) that NFKD does
# not convert to Latin, and letters on flags, in black circles and in black squares.
_TABLE = Path(__file__).resolve().parents[1] / "_data" / "look_alikes.txt"
_LOOK_ALIKES = str.maketrans(
    {letter: line[0] for line in _TABLE.read_text("utf-8").splitlines() for letter in line[2:]}
)
# A capital I, a lowercase L and the digit 1 look alike, as do an O and the digit 0.
_STROKES = str.maketrans({"l": "i", "1": "i", "0": "o"})


def escape_tags(text: str, tags: frozenset[str]) -> str:
    """Escape the `<` in anything that looks like one of the tags.

    Case, whitespace, invisible characters, full-width forms and look-alike letters are ignored: for
    the tag `chunk`, "< / ⓒHUNK > <chunky>" becomes "&lt; / ⓒHUNK > <chunky>".
    """
    # Fast path: most English texts are ASCII without `<`.
    if not tags or ("<" not in text and text.isascii()):
        return text
    names = _plain_names(tags)
    return _OPENING.sub(
        lambda found: ESCAPED if _is_tag(text, found.end(), names) else found.group(), text
    )


@cache
def _plain_names(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(_plain(tag) for tag in tags)


def _is_tag(text: str, place: int, names: frozenset[str]) -> bool:
    """True if one of the names, however disguised, starts at `place`."""
    longest = max(map(len, names))
    name = ""
    for position in range(place, len(text)):
        letters = _plain(text[position])
        if not letters or (letters in _SLASHES and not name):
            continue
        if letters[0] in _SLASHES or not _NAME.fullmatch(letters):
            return False
        name += letters
        if len(name) > longest:
            return False
        if name in names and not _goes_on(text, position + 1):
            return True
    return False


def _goes_on(text: str, place: int) -> bool:
    """True if the name continues at `place`: `<answers>` is not `<answer>`."""
    for position in range(place, len(text)):
        if text[position].isspace():
            return False
        letters = _plain(text[position])
        if letters:
            return _NAME.fullmatch(letters) is not None
    return False


@cache
def _plain_character(character: str) -> str:
    """Return what a character looks like; empty for spaces, marks and invisible characters.

    "Ｃ", "ⓒ", "⒞" and the Cyrillic "с" → "c".
    """
    # Replace before case folding: a Greek capital Nu looks like an N, but a lowercase one like a v.
    seen = unicodedata.normalize("NFKD", character.translate(_LOOK_ALIKES)).translate(_LOOK_ALIKES)
    small = seen.casefold().translate(_LOOK_ALIKES).translate(_STROKES).translate(_CLOSING)
    # NFKD turns "⒞" into "(c)".
    bare = small[1:-1] if small[:1] + small[-1:] == "()" else small
    return "".join(
        c
        for c in bare
        if not (c.isspace() or c in _EMPTY or unicodedata.category(c)[0] in ("C", "M"))
    )


def _plain(text: str) -> str:
    return "".join(map(_plain_character, text))


TAGS = {"chunks": "chunk", "context": "chunk", "sentences": "sentence", "statements": "statement"}
"""The tag around each item of a variable that is rendered as a numbered block."""

# More keys than a call can contain sentences.
_KEYS = frozenset(f"s{number}" for number in range(100))


class ShownText(str):
    """A numbered piece of data, such as a sentence; only chunks have metadata."""

    __slots__ = ("_tag", "id", "metadata")
    id: int
    metadata: Mapping[str, Any]
    _tag: str

    def __new__(
        cls, text: str, id: int = 0, metadata: Mapping[str, Any] | None = None, tag: str = ""
    ) -> Self:
        made = super().__new__(cls, text)
        made.id = id
        made.metadata = metadata or {}
        made._tag = tag or f'chunk id="{id}"'
        return made

    @property
    def text(self) -> str:
        return str(self)

    @property
    def block(self) -> str:
        name, numbered, _ = self._tag.partition(" ")
        text = f"\n{self}\n" if numbered else self
        return f"<{self._tag}>{text}</{name}>"


class ShownList(list[Any]):
    """A list that, like its slices, is rendered as a block."""

    def __str__(self) -> str:
        return "\n".join(one.block for one in self)

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return ShownList(found) if isinstance(place, slice) else found


@dataclass(frozen=True, slots=True)
class ShownExample:
    question: str | None
    answer: str | None
    chunks: Sequence[ShownText]
    sentences: Sequence[ShownText] | None
    reference: str | None
    result: str
    statements: Sequence[ShownText]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def block(self) -> str:
        """The example as text, followed by an empty line."""
        return f"{self}\n"

    def _lines(self) -> Iterator[str]:
        if self.question is not None:
            yield f"Question: {self.question}"
        yield from (f"Chunk {chunk.id}: {chunk}" for chunk in self.chunks)
        if self.reference is not None:
            yield f"Reference: {self.reference}"
        if self.sentences:
            yield from (f"Sentence {sentence.id}: {sentence}" for sentence in self.sentences)
        elif self.answer is not None:
            yield f"Answer: {self.answer}"
        yield from (f"Statement {statement.id}: {statement}" for statement in self.statements)
        yield f"Reply: {self.result}"


@cache
def _with_keys(tags: frozenset[str]) -> frozenset[str]:
    return tags | _KEYS


class TagEscaper:
    """Escapes data for a template with the given tags; leaves it unchanged if not `hardened`.

    If `keyed`, sentences are tagged with the keys of the reply: `<s0>`, `<s1>` and so on.
    """

    def __init__(self, tags: frozenset[str], *, hardened: bool = True, keyed: bool = False) -> None:
        self._keyed = keyed
        self._tags = (_with_keys(tags) if keyed else tags) if hardened else frozenset()

    def text(self, text: str | None) -> str | None:
        """Escape text; None stays None."""
        return None if text is None else escape_tags(text, self._tags)

    def chunks(self, chunks: Iterable[Chunk]) -> ShownList:
        """Escape the text and metadata of each chunk."""
        return ShownList(
            ShownText(escape_tags(c.text, self._tags), c.id, self._value(c.metadata))
            for c in chunks
        )

    def texts(self, texts: Iterable[str], variable: str) -> ShownList:
        """Escape strings, and number them from 0; `variable` is a key of `TAGS`."""
        tag = "s{}" if self._keyed and variable == "sentences" else TAGS[variable] + ' id="{}"'
        return ShownList(
            ShownText(escape_tags(text, self._tags), number, tag=tag.format(number))
            for number, text in enumerate(texts)
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._value(key): self._value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


def _block(value: Any) -> str | None:
    """Return numbered texts, or nested lists of them, as a block; None for anything else."""
    if not isinstance(value, list | tuple):
        found: str | None = getattr(value, "block", None)
        return found
    blocks = [_block(one) for one in value]
    return "\n".join(filter(None, blocks)) if value and None not in blocks else None


def printed(value: Any) -> Any:
    """Return the value to render; raise `TypeError` for a method, macro or iterator."""
    if isinstance(value, str | Undefined):
        return value
    if type(value) is ShownList:
        return str(value)
    block = _block(value) if isinstance(value, list | tuple) else None
    if block is not None:
        return block
    if callable(value) or isinstance(value, Iterator):
        raise TypeError(
            f"this renders a {type(value).__name__} instead of text; call methods and macros with "
            "(), and add | list or | join after map, select or reverse"
        )
    return value
