"""What does a template print for a chunk, a sentence, an example? Its text, in any expression.

`{{ chunk }}`, `context | join`, `chunk ~ ""` and filters all see text, and a whole list prints as
the numbered block. What has no text, such as a generator or a method, is refused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from jinja2 import Undefined

from rag_evals.core import Chunk
from rag_evals.prompt.escaping import escape_tags

TAGS = {"chunks": "chunk", "context": "chunk", "sentences": "sentence", "statements": "statement"}
"""The tag around each item of a variable that prints as a numbered block."""

# More than one call is about; an answer's own "<s41>" is nobody's tag.
_KEYS = frozenset(f"s{number}" for number in range(100))


class ShownText(str):
    """A numbered text of the data: it is its text, with an id.

    Attributes:
        id: Its place, from 0.
        metadata: What came with a chunk; empty for sentences and statements.
    """

    __slots__ = ("_tag", "id", "metadata")
    id: int
    metadata: Mapping[str, Any]
    _tag: str

    def __new__(
        cls, text: str, id: int = 0, metadata: Mapping[str, Any] | None = None, tag: str = ""
    ) -> Self:
        """Number a text; a whole list prints it in its `tag`, such as `chunk id="0"`."""
        made = super().__new__(cls, text)
        made.id = id
        made.metadata = metadata or {}
        made._tag = tag or f'chunk id="{id}"'
        return made

    @property
    def text(self) -> str:
        """The text itself."""
        return str(self)

    @property
    def block(self) -> str:
        """The text between its tags, with its id."""
        name, numbered, _ = self._tag.partition(" ")
        text = f"\n{self}\n" if numbered else self
        return f"<{self._tag}>{text}</{name}>"


class ShownList(list[Any]):
    """Items that print as a block, one below the other; a slice does too."""

    def __str__(self) -> str:
        """Write the whole list as a judge reads it."""
        return "\n".join(one.block for one in self)

    def __getitem__(self, place: Any) -> Any:
        """Return an item, or a list that prints as this one does."""
        found = super().__getitem__(place)
        return ShownList(found) if isinstance(place, slice) else found


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One worked example as a template sees it.

    Attributes:
        question: As in a sample, or None.
        answer: As in a sample, or None.
        chunks: Numbered from 0.
        sentences: Those of the answer, numbered from 0; None where they are not shown.
        reference: As in a sample, or None.
        result: The right reply, as JSON.
        statements: Those that the reply decides, numbered from 0.
    """

    question: str | None
    answer: str | None
    chunks: Sequence[ShownText]
    sentences: Sequence[ShownText] | None
    reference: str | None
    result: str
    statements: Sequence[ShownText]

    def __str__(self) -> str:
        """Write its data and the right reply, a line or more each."""
        return "\n".join(self._lines())

    @property
    def block(self) -> str:
        """The example with an empty line behind it."""
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


class TagEscaper:
    """Makes of data what a template may print: what reads as one of its tags is escaped.

    Args:
        tags: Names of the tags that the template writes.
        hardened: False leaves data as it is; for measuring what the escaping is worth.
        keyed: The tags of sentences are the keys of the reply, `<s0>` and so on.
    """

    def __init__(self, tags: frozenset[str], *, hardened: bool = True, keyed: bool = False) -> None:
        self._keyed = keyed
        self._tags = (tags | _KEYS if keyed else tags) if hardened else frozenset()

    def text(self, text: str | None) -> str | None:
        """Escape one text; None stays None."""
        return None if text is None else escape_tags(text, self._tags)

    def chunks(self, chunks: Iterable[Chunk]) -> ShownList:
        """Escape the texts of chunks and the texts in their metadata."""
        return ShownList(
            ShownText(escape_tags(c.text, self._tags), c.id, self._value(c.metadata))
            for c in chunks
        )

    def texts(self, texts: Iterable[str], variable: str) -> ShownList:
        """Escape texts and number them from 0, for a variable such as `sentences`."""
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
    """Return what numbered texts print, also in lists of lists; None for anything else."""
    if not isinstance(value, list | tuple):
        found: str | None = getattr(value, "block", None)
        return found
    blocks = [_block(one) for one in value]
    return "\n".join(filter(None, blocks)) if value and None not in blocks else None


def printed(value: Any) -> Any:
    """Return what `{{ value }}` prints.

    Raises:
        TypeError: It is a method, a macro or an iterator, which has no text.
    """
    if isinstance(value, str | Undefined):
        return value
    block = _block(value) if isinstance(value, list | tuple) else None
    if block is not None:
        return block
    if callable(value) or isinstance(value, Iterator):
        raise TypeError(
            f"this prints a {type(value).__name__}, which has no text; call a method or a macro "
            "with (), and end map, select or reverse with | list or | join"
        )
    return value
